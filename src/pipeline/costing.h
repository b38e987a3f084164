// Makes cost graphs from a model's programs: applies the device's layouts and fusions, finds equivalent graphs, and adds the costs of every op.
#pragma once

#include "cost/device.h"
#include "pipeline/graph_search.h"
#include "pipeline/measure_machine.h"
#include "pipeline/pipeline.h"
#include "plan/attempts/algorithm_search.h"

namespace pantoum::pipeline {

// One pass over the programs of a model. Call begin, add_costs, search and tell in this order. The programs and the request must outlive the object.
class Costing {
 public:
  // Measures the storage. Errors as MachineMeasurement::begin.
  [[nodiscard]] static Result<Costing> begin(const Compiled& compiled, const PlanRequest& request,
                                             cost::DeviceProfile device);

  // Rewrites every program for the device (the first by the request's substitutions too) and adds its costs. E0231: the substitutions are of another
  // model; errors of build_cost_graph.
  [[nodiscard]] Result<void> add_costs(Compiled& compiled);
  // Finds equivalent graphs of the first program that cost less in unlimited RAM, cheapest first, and adds their costs; the planner later finds their
  // costs in the budget. The graph of the plan from which planning starts comes before them.
  [[nodiscard]] Result<void> search(Compiled& compiled);
  // Reports what was measured and what could not be measured.
  void tell(Compiled& compiled) const;

 private:
  Costing(const Compiled& compiled, const PlanRequest& request, cost::DeviceProfile device, MachineMeasurement machine)
      : compiled_(compiled), request_(request), device_(std::move(device)), machine_(std::move(machine)) {}

  [[nodiscard]] ir::Graph rewritten(ir::Graph graph, const ProgramKind& kind) const;
  // Makes a program with modelled costs.
  [[nodiscard]] Result<Program> program_of(ir::Graph graph, const ProgramKind& kind) const;
  [[nodiscard]] bool searches() const;
  [[nodiscard]] Result<void> offer(Compiled& compiled, FoundGraph found, bool remakes, const plan::Aim& aim,
                                   bool given = false);
  [[nodiscard]] Result<void> offer_start(Compiled& compiled, const std::vector<const rewrite::Rule*>& rules,
                                         const plan::Aim& aim);

  const Compiled& compiled_;
  const PlanRequest& request_;
  cost::DeviceProfile device_;
  MachineMeasurement machine_;
  cost::CostGraphOptions options_;
  bool remakes_ = true;  // activations behind norms
  ir::Graph first_;      // as autodiff made it
};

}  // namespace pantoum::pipeline
