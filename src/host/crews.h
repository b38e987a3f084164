// What computes the ops of each set of engines of a plan: pools of as many threads as these engines have.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "host/thread_pool.h"
#include "pantoum/pantoum.h"

namespace pantoum::host {

struct CrewThreads {
  uint8_t engines = 0;  // a bit each
  uint32_t threads = 1;  // 0: of an engine that has none, as a device
  Team team = {};        // places of the threads; empty: as team_of
};

// The sets of engines that ops of the plan take, each once. `threads`: of each engine; `teams`: the places of its threads, empty where the system
// places them. E0251: the plan has more engines, or cannot be read.
Result<std::vector<CrewThreads>> crew_threads(const pt_plan& plan, std::span<const int> threads,
                                              std::span<const Team> teams = {});

struct Crews {
  std::vector<pt_crew> crews;
  std::vector<std::unique_ptr<ThreadPool>> pools;

  // Pools of as many threads; none for one thread or less. `shared`, if it is not null, is the pool of the crews that have as many and are not
  // placed. E0905.
  static Result<Crews> create(std::span<const CrewThreads> threads, const pt_kernel_table* kernels,
                              const pt_pool* shared);
};

}  // namespace pantoum::host
