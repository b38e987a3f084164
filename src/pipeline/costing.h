// From a model's programs to cost graphs: the device's layouts and fusions, equivalent graphs, what every op takes.
#pragma once

#include "cost/device.h"
#include "pipeline/graph_search.h"
#include "pipeline/measure_machine.h"
#include "pipeline/pipeline.h"
#include "plan/attempts/algorithm_search.h"

namespace pantoum::pipeline {

// One pass over the programs of a model, which outlive it, as the request does: begin, add_costs, search, tell.
class Costing {
 public:
  // Measures the storage. Errors as MachineMeasurement::begin.
  [[nodiscard]] static Result<Costing> begin(const Compiled& compiled, const PlanRequest& request,
                                             cost::DeviceProfile device);

  // Rewrites every program for the device (the first by the request's substitutions too) and adds its costs. E0231 the
  // substitutions are another model's; those of build_cost_graph.
  [[nodiscard]] Result<void> add_costs(Compiled& compiled);
  // Equivalent graphs of the first program that cost less in unlimited RAM, cheapest first, with their costs: what they
  // cost in the budget is for the planner to say. Before them the graph of the plan that planning starts from.
  [[nodiscard]] Result<void> search(Compiled& compiled);
  // What was measured, and what could not be.
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
