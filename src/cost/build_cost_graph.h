// Training graph and device -> cost graph; and which op and value of the training graph each of its entries is.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cost/device.h"
#include "ir/graph.h"
#include "pantoum/pantoum.h"
#include "problem/cost_graph.h"

namespace pantoum::cost {

using problem::CostGraph;

enum class ParamsIn {
  kRam,
  kAux,
  kAuto
};  // kAuto: RAM while parameters and state take less than a quarter of the budget

struct CostGraphOptions {
  ParamsIn params_in = ParamsIn::kRam;
  std::optional<Bytes> budget;        // what kAuto compares with; none: no limit
  std::set<std::string> in_rom = {};  // values that are read in place and take no RAM (read_in_place)
  bool in_place = true;
  const pt_kernel_table* kernels = nullptr;  // algorithms and workspaces; null: pt_portable_kernels()
  int threads = 1;                           // of the pool that ops run on
  bool first_choices = false;                // gives each op its first choice alone
  std::map<std::string, std::string> classes =
      {};  // by an op's name: the one class of numerics that its choices may have
};

struct BuiltCostGraph {
  CostGraph graph;
  std::vector<ir::OpId> op_of;                           // by cost-graph op id (ids are 0..n-1)
  std::vector<ir::ValueId> value_of;                     // by cost-graph tensor id (ids are 0..n-1): the root value
  std::vector<int64_t> tensor_of;                        // by ir value id; -1: no bytes of its own (unused)
  std::vector<std::vector<const pt_kernel*>> kernel_of;  // by op id and choice
  std::vector<std::vector<ir::Op>> computed_as;          // by op id and choice: the op or one of its alternatives
  std::vector<std::vector<int>> threads_of;              // by op id and choice; 0: all
};

// Makes the cost graph of a training step. Aliases vanish. Bytes are rounded up to the device's alignment. Inputs, labels and
// results start or end in RAM as the step needs; parameters, buffers, state and constants live where in_rom and params_in say.
// Times are those of the device's model (measure.h replaces them by measured ones).
//   errors  E0404 ops without a kernel (names all of them)
[[nodiscard]] Result<BuiltCostGraph> build_cost_graph(const ir::Graph& graph, const DeviceProfile& device,
                                                      const CostGraphOptions& options);

}  // namespace pantoum::cost
