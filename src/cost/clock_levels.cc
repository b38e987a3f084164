#include "cost/clock_levels.h"

#include <algorithm>

namespace pantoum::cost {

using problem::Choice;

Compute at_level(const Compute& compute, const ClockLevel& level) {
  Compute scaled = compute;
  scaled.flops_per_s *= level.flops_factor;
  scaled.op_overhead_s /= level.flops_factor;
  scaled.bytes_per_s *= level.bytes_factor;
  for (CacheLevel& cache : scaled.caches) cache.bytes_per_s *= level.flops_factor;  // caches run at the core's clock
  scaled.active_w = level.active_w;
  return scaled;
}

std::vector<Choice> at_clock_levels(const Choice& choice, const Work& work, const DeviceProfile& device) {
  if (device.clocks.empty()) return {choice};
  const Seconds nominal = modelled_seconds(device.compute, work);
  std::vector<Choice> levels;
  for (const ClockLevel& level : device.clocks) {
    Choice at = choice;
    at.algorithm += "@" + level.name;
    if (nominal > 0) at.time_s *= modelled_seconds(at_level(device.compute, level), work) / nominal;
    at.energy_j = at.time_s * level.active_w;
    levels.push_back(std::move(at));
  }
  std::stable_sort(levels.begin(), levels.end(), [](const Choice& a, const Choice& b) {
    return a.time_s != b.time_s ? a.time_s < b.time_s : a.energy_j < b.energy_j;
  });
  std::vector<Choice> kept;
  for (Choice& level : levels)
    if (kept.empty() || level.energy_j < kept.back().energy_j) kept.push_back(std::move(level));
  return kept;
}

}  // namespace pantoum::cost
