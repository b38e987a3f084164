#include "api/access.h"
#include "cost/device.h"

namespace pantoum {
namespace {

const char* storage_of(problem::PagerMode mode) {
  return mode == problem::PagerMode::kAsync ? "async" : mode == problem::PagerMode::kSync ? "sync" : "none";
}

}  // namespace

Result<DeviceInfo> describe(const Device& device) {
  PANTOUM_ASSIGN(const cost::DeviceProfile profile, cost::load_device(device.name));
  return DeviceInfo{.name = profile.device.name,
                    .description = profile.description,
                    .source = profile.source,
                    .ram_bytes = profile.device.ram_bytes,
                    .rom_bytes = profile.rom_bytes,
                    .align_bytes = profile.device.align_bytes,
                    .storage = storage_of(profile.device.pager.mode),
                    .is_measured = profile.host};
}

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all;
  for (const std::string& name : cost::device_names())
    if (Result<DeviceInfo> info = describe({name})) all.push_back(*std::move(info));
  return all;
}

}  // namespace pantoum
