// Makes the cost graph from a training graph and a device. Maps each op and tensor of the cost graph to the training graph.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cost/device.h"
#include "cost/roofline.h"
#include "ir/graph.h"
#include "pantoum/pantoum.h"
#include "problem/cost_graph.h"
#include "runtime/plan_bytes.h"

namespace pantoum::cost {

using problem::CostGraph;

enum class ParamsIn {
  kRam,
  kAux,
  kAuto
};  // kAuto: RAM while parameters and state take less than a quarter of the budget

struct CostGraphOptions {
  ParamsIn params_in = ParamsIn::kRam;
  std::optional<Bytes> budget;        // the budget of kAuto; nullopt: no limit
  std::set<std::string> in_rom = {};  // values that are read in place and take no RAM (read_in_place)
  bool in_place = true;
  const pt_kernel_table* kernels = nullptr;  // algorithms and workspaces; null: pt_portable_kernels()
  int threads = 1;                           // threads of the pool on which ops run
  std::set<int> thread_counts = {};          // numbers of threads, below `threads`, on which ops are offered as well
  bool first_choices = false;                // gives each op only its first choice
  std::map<std::string, std::string> classes =
      {};  // by an op's name: the only class of numerics that its choices may have
};

struct BuiltCostGraph {
  CostGraph graph;
  std::vector<ir::OpId> op_of;                           // by cost-graph op id (ids are 0..n-1)
  std::vector<ir::ValueId> value_of;                     // by cost-graph tensor id (ids are 0..n-1): the root value
  std::vector<int64_t> tensor_of;                        // by ir value id; -1: no bytes of its own (unused)
  std::vector<std::vector<const pt_kernel*>> kernel_of;  // by op id and choice
  std::vector<std::vector<ir::Op>> computed_as;          // by op id and choice: the op or one of its alternatives
  std::vector<std::vector<int>> threads_of;              // by op id and choice; 0: all
  std::map<std::pair<size_t, size_t>, pt_slicing> slicing_of;  // by op id and choice: how it is computed in slices
  // The device's engines that have threads of their own, and those that compute ops, a bit each; 0: one engine.
  uint8_t with_threads = 0, computing = 0;
};

// Makes the cost graph of a training step. Aliases vanish. Bytes are rounded up to the device's alignment. Inputs, labels and
// results start or end in RAM as the step needs; parameters, buffers, state and constants have the homes that in_rom and params_in select. Times are
// those of the device's model (measure.h replaces them by measured ones).
//   errors  E0404 ops without a kernel (names all of them)
[[nodiscard]] Result<BuiltCostGraph> build_cost_graph(const ir::Graph& graph, const DeviceProfile& device,
                                                      const CostGraphOptions& options);

// The dtype of the key of a kernel that computes the op.
[[nodiscard]] ir::DType key_dtype(const ir::Graph& graph, const ir::Op& op);

// Selects tensors for memory that kernels read in place, such as a microcontroller's flash.

// Returns the names of parameters, buffers and constants that no program changes or has as a result: as many as fit into `device.rom_bytes`, in the
// order of the first program (training, which has all of them). All programs of a plan read them in place, so they are
// chosen once. Bytes are counted as compile_programs lays them out, or a few more.
[[nodiscard]] std::set<std::string> read_in_place(const std::vector<const ir::Graph*>& programs,
                                                  const DeviceProfile& device);

// Clock levels: a device that can compute fast or with little power offers each way to run an op once for each level.
//
// Bits do not depend on the clock: a level is a choice ALGORITHM@LEVEL of the same class of numerics, with other seconds and
// joules. The planner chooses among the levels, by energy_j = own joules + idle_w x makespan:
//
//   watts |  fast  ____                 with idle_w > 0, what is done early stops the idle watts of the whole step
//         |       |    |..idle..        sooner (race to idle); with idle_w = 0, or behind a transfer that is waited
//         |       |    |_________       for anyway, the level with the least joules of its own wins
//         +-----------------------> s
//
// The cost of changing the clock is not modelled. The plan names the level; the runtime does not set it.

// The rates at a level. The overhead of an op consists of instructions, so it scales as flops do.
[[nodiscard]] Compute at_level(const Compute& compute, const ClockLevel& level);

// Returns the choice once for each level, the fastest first, without levels that another level dominates (no slower, no more joules). Seconds
// scale as the model's for `work` do, so that a kernel's measured slowdown remains. Without levels, returns only the unchanged choice.
[[nodiscard]] std::vector<problem::Choice> at_clock_levels(const problem::Choice& choice, const Work& work,
                                                           const DeviceProfile& device);

}  // namespace pantoum::cost
