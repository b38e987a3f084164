#include "cost/thread_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace pantoum::cost {

std::vector<int> fewer_threads(const Compute& compute, int all) {
  std::vector<int> counts;
  if (compute.core_w <= 0) return counts;
  for (const int threads : {1, 2})
    if (threads < all) counts.push_back(threads);
  return counts;
}

std::string of_threads(const std::string& name, int threads) {
  return fmt::format("{}@{}t", name, threads);
}

int threads_of_class(const std::string& name) {
  const size_t at = name.rfind('@');
  if (at == std::string::npos || name.back() != 't') return 0;
  int threads = 0;
  const char* const end = name.data() + name.size() - 1;
  const auto [stop, wrong] = std::from_chars(name.data() + at + 1, end, threads);
  return wrong == std::errc() && stop == end && threads > 0 ? threads : 0;
}

problem::Watts watts_on(const Compute& compute, int threads) {
  return compute.active_w + std::max(0, threads - 1) * compute.core_w;
}

problem::Choice on_fewer_threads(const problem::Choice& choice, const Work& work, const Compute& compute, int threads,
                                 int all, bool keeps_bits) {
  Compute fewer = compute;
  fewer.flops_per_s *= static_cast<double>(threads) / all;
  problem::Choice on = choice;
  on.algorithm = of_threads(on.algorithm, threads);
  if (!keeps_bits) on.numerics = of_threads(on.numerics, threads);
  const Seconds with_all = modelled_seconds(compute, work);
  if (with_all > 0) on.time_s *= modelled_seconds(fewer, work) / with_all;
  on.energy_j = on.time_s * watts_on(compute, threads);
  return on;
}

}  // namespace pantoum::cost
