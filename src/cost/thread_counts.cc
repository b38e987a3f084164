#include "cost/thread_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>

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

namespace {

constexpr int kTries = 3;
constexpr int64_t kChain = 400'000;  // some 0.4 ms: waking a thread takes a small part of it
constexpr double kShared = 1.5;

// Each operation waits for the last: threads that share a core's units hardly slow each other down.
uint64_t follow_chain(uint64_t start) {
  uint64_t number = start;
  for (int64_t at = 0; at < kChain; ++at) number = number * 6364136223846793005U + 1442695040888963407U;
  return number;
}

void follow_chains(void* sum, size_t begin, size_t end) {
  for (size_t chain = begin; chain < end; ++chain) *static_cast<std::atomic<uint64_t>*>(sum) += follow_chain(chain);
}

template <typename Act>
Seconds quickest_of(const Act& act) {
  Seconds quickest = std::numeric_limits<Seconds>::infinity();
  for (int run = 0; run < kTries; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    act();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    quickest = std::min(quickest, taken.count());
  }
  return quickest;
}

}  // namespace

double slowdown_on_all_threads(const pt_pool& pool) {
  constexpr Seconds kLeastAlone = 1e-9;
  if (pool.threads <= 1) return 1;
  std::atomic<uint64_t> sum = 0;
  const Seconds alone = quickest_of([&] { follow_chains(&sum, 0, 1); });
  const Seconds together = quickest_of([&] { pool.run(pool.context, pool.threads, follow_chains, &sum); });
  return together / std::max(alone, kLeastAlone);
}

bool are_processors_present(const pt_pool& pool, double slowest) {
  return slowdown_on_all_threads(pool) < kShared * slowest;
}

}  // namespace pantoum::cost
