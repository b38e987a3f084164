#include "host/crews.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/status_error.h"
#include "runtime/plan_bytes.h"

namespace pantoum::host {

Result<std::vector<CrewThreads>> crew_threads(const pt_plan& plan, std::span<const int> threads,
                                              std::span<const Team> teams) {
  const uint32_t count = pt_plan_engines(&plan);
  if (threads.size() < count)
    return fail("E0251", fmt::format("the plan computes on {} engines, and {} are given", count, threads.size()),
                "--engines", "plan the model again for these engines");
  std::vector<CrewThreads> crews;
  for (uint32_t op = 0; op < plan.op_count; ++op) {
    pt_op_view view;
    if (pt_decode_op(&plan, op, &view) != PT_OK) return status_failure(PT_E_PLAN, "opening the plan");
    if (std::ranges::find(crews, view.engines, &CrewThreads::engines) != crews.end()) continue;
    CrewThreads crew{view.engines, 0};
    for (uint32_t engine = 0; engine < count; ++engine) {
      if ((view.engines >> engine & 1) == 0) continue;
      crew.threads += static_cast<uint32_t>(threads[engine]);
      if (engine < teams.size()) crew.team.insert(crew.team.end(), teams[engine].begin(), teams[engine].end());
    }
    if (processors_of(crew.team).empty()) crew.team.clear();
    crews.push_back(std::move(crew));
  }
  return crews;
}

Result<Crews> Crews::create(std::span<const CrewThreads> threads, const pt_kernel_table* kernels,
                            const pt_pool* shared) {
  Crews made;
  for (const CrewThreads& each : threads) {
    pt_crew crew{each.engines, kernels, nullptr};
    if (shared != nullptr && each.threads == shared->threads && each.team.empty()) {
      crew.pool = shared;
    } else if (each.threads > 1) {
      PANTOUM_ASSIGN(std::unique_ptr<ThreadPool> pool, each.team.empty()
                                                           ? ThreadPool::create(static_cast<int>(each.threads))
                                                           : ThreadPool::create(each.team));
      crew.pool = pool->interface();
      made.pools.push_back(std::move(pool));
    }
    made.crews.push_back(crew);
  }
  return made;
}

}  // namespace pantoum::host
