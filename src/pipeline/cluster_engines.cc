#include "pipeline/cluster_engines.h"

#include <algorithm>

#include "host/processors.h"
#include "host/thread_pool.h"
#include "pipeline/measure_machine.h"

namespace pantoum::pipeline {
namespace {

bool has_all(const std::vector<int>& processors, const std::vector<int>& of) {
  return std::ranges::includes(processors, of);
}

}  // namespace

Result<ClusterTimes> measure_clusters(Compiled& compiled, const PlanRequest& request,
                                      const cost::DeviceProfile& profile, problem::Seconds seconds) {
  ClusterTimes found;
  found.seconds.resize(request.engines.size());
  const std::vector<host::Cluster> clusters = host::clusters_of(host::allowed_processors());
  if (clusters.size() < 2) return found;
  const std::vector<int>& measured = clusters.front().processors;
  for (size_t at = 0; at < request.engines.size(); ++at) {
    const cost::HostEngine& engine = request.engines[at];
    if (engine.opencl || engine.processors.empty()) continue;
    host::Team team = host::team_on_processors(clusters, engine.processors, engine.threads);
    if (team.front().processors.empty() || has_all(measured, team.front().processors)) continue;
    const double slower = clusters.front().slowest / team.front().share;
    PANTOUM_ASSIGN(const std::unique_ptr<host::ThreadPool> pool, host::ThreadPool::create(std::move(team)));
    PANTOUM_ASSIGN(MachineMeasurement machine, MachineMeasurement::begin(request, *compiled.kernels, profile));
    MachineMeasurement::OnCluster on = machine.measure_cluster(*pool, compiled.training(), slower,
                                                               seconds / static_cast<double>(request.engines.size()));
    found.seconds[at] = std::move(on.seconds);
    found.answers.push_back({engine.name, slower, std::move(on.times)});
    machine.tell(compiled.warnings);
  }
  return found;
}

}  // namespace pantoum::pipeline
