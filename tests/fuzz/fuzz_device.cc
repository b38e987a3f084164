// Any bytes as a device profile (TOML): refused with a place, or a profile whose numbers are finite.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cost/device.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto profile = pantoum::cost::parse_device(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!profile) {
    if (profile.error().message.empty() || profile.error().where.empty()) std::abort();
    return 0;
  }
  if (profile->device.name.empty() || profile->device.ram_bytes <= 0) std::abort();
  if (!std::isfinite(profile->compute.flops_per_s) || !(profile->compute.flops_per_s > 0)) std::abort();
  for (const auto& level : profile->clocks)
    if (level.name.empty() || !(level.flops_factor > 0) || !(level.bytes_factor > 0) || !(level.active_w > 0))
      std::abort();
  for (const auto& cache : profile->compute.caches)
    if (cache.bytes <= 0 || !(cache.bytes_per_s > 0)) std::abort();
  return 0;
}
