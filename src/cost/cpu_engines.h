// Engines of the host's processors: teams of threads that compute ops at the same time.
#pragma once

#include <string>
#include <vector>

#include "cost/build_cost_graph.h"

namespace pantoum::cost {

struct CpuEngine {
  std::string name;  // as it was written: "cpu0", "cpu4-7"
  int threads = 1;   // as many as it names processors
};

// Reads "cpu0,cpu1" or "cpu0-3,cpu4-7". "cpu": empty, for one engine of all threads.
//   errors  E0115: the text is no such list; it names a processor twice; it has more engines than a plan can have
[[nodiscard]] Result<std::vector<CpuEngine>> parse_engines(const std::string& text, const std::string& where);

// Gives the device these engines, and one more that stands for the bandwidth of memory. A choice on as many threads as an engine has is offered on every
// such engine; any other is computed by all engines together. The ops' first choices keep their places: a plan of the graph before is one of the
// graph after. A choice that uses more than half of the device's bandwidth, with operands that no cache holds, takes the bandwidth too.
//   hand_off  seconds until one engine knows that another has ended
void add_engines(BuiltCostGraph& built, const ir::Graph& graph, const DeviceProfile& device,
                 const std::vector<CpuEngine>& engines, Seconds hand_off);

}  // namespace pantoum::cost
