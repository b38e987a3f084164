// Engines of a device profile: what its GPU, its NPU or another cluster computes beside its processor.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cost/build_cost_graph.h"
#include "cost/profile_store.h"

namespace pantoum::cost {

// Reads "cpu,gpu": engines of the profile, the processor first. "cpu": empty, for the processor alone.
//   errors  E0115: the profile has no such engine, or the text names one twice or leaves the processor out
[[nodiscard]] Result<std::vector<std::string>> parse_engine_names(const std::string& text, const DeviceProfile& device,
                                                                  const std::string& where);

// Measured times of engines beside the processor: of each engine, op, operands and attributes the least.
class EngineTimes {
 public:
  // Reads those of the machine from the store. E0275.
  [[nodiscard]] static Result<EngineTimes> read(ProfileStore& store, const std::string& machine);
  // Null: none is known.
  [[nodiscard]] const OpSample* find(const std::string& engine, const OpKey& key) const;
  // Does it have any of this engine?
  [[nodiscard]] bool has(const std::string& engine) const;

 private:
  std::map<std::string, OpSample> samples_;
};

struct EngineOffer {  // what an engine computes of a graph
  std::string engine;
  size_t measured = 0, modelled = 0;  // ops
};

// Gives the device the named engines of its profile, and one that stands for the bandwidth of memory where the profile has that.
// Every kernel of an op is offered on each of them once, as ALGORITHM@ENGINE, of the class of numerics CLASS@ENGINE where the engine rounds in its own
// way. The seconds are those of the table where it has times of this engine, and ops without one are not offered there; else the profile's.
// The ops' first choices keep their places: a plan of the graph before is one of the graph after.
[[nodiscard]] std::vector<EngineOffer> add_profile_engines(BuiltCostGraph& built, const ir::Graph& graph,
                                                          const DeviceProfile& device,
                                                          const std::vector<std::string>& names,
                                                          const EngineTimes& times);

// Gives the graph the engines and choices of `given`, which add_profile_engines has made of the same graph. False, with the graph unchanged: of another.
[[nodiscard]] bool take_profile_engines(BuiltCostGraph& built, const CostGraph& given);

}  // namespace pantoum::cost
