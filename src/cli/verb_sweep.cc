#include <fmt/format.h>

#include <algorithm>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/nearest_name.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/ini_settings.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "pipeline/sweep.h"
#include "problem/cost_graph_json.h"

namespace pantoum::cli {
namespace {

constexpr std::string_view kByThemselves = "auto";

struct SweepOptions {
  Common common;
  StepAsked step;
  std::string output, ram;
  std::vector<std::string> planners{"pantoum"};
};

// Times of this machine that are not asked for anew are those of the sweep that is there.
bool keeps_costs(const SweepOptions& options) {
  const Measure measure = options.step.plan.measure;
  const bool may_measure = measure == Measure::missing || (measure == Measure::automatic && !options.step.plan.effort);
  return options.step.costgraph.empty() && may_measure;
}

Result<pipeline::SweptGraphs> graphs_of(const SweepOptions& options, pipeline::SweepRequest& request) {
  if (!options.step.costgraph.empty()) {
    request.plan.batch = options.step.options.batch.value_or(0);
    PANTOUM_ASSIGN(problem::CostGraph graph, problem::read_cost_graph(options.step.costgraph));
    return pipeline::SweptGraphs{std::move(graph)};
  }
  if (options.step.options.params_in == ParamsIn::automatic)
    return fail("E0113", "with --params-in auto every budget would ask another question", "--params-in",
                "say ram or aux");
  PANTOUM_ASSIGN(pipeline::Compiled compiled, pipeline::compile_model(model_of(options.step), request.plan));
  std::for_each(compiled.warnings.begin(), compiled.warnings.end(), print_warning);
  request.plan.batch = pipeline::batch_of(compiled);
  pipeline::SweptGraphs graphs = pipeline::swept_graphs(compiled);
  if (keeps_costs(options)) {
    PANTOUM_ASSIGN(graphs, pipeline::with_kept_costs(std::move(graphs), options.output));
  }
  request.in_slices = pipeline::graphs_in_slices(compiled, request.plan, graphs.front());
  return graphs;
}

// The planners of these names. The error suggests a name for the first one that is unknown.
auto planners_of(const std::vector<std::string>& names) -> decltype(plan::planners_named(names)) {
  auto planners = plan::planners_named(names);
  const std::vector<std::string> known = planner_names();
  for (const std::string& name : names) {
    if (planners || std::find(known.begin(), known.end(), name) != known.end()) continue;
    planners.error().help = base::hint_at(name, known) + planners.error().help;
    break;
  }
  return planners;
}

// The budgets; a share among them is refused with what the unplanned step takes.
Result<std::vector<int64_t>> budgets_of(const SweepOptions& options) {
  Result<std::vector<int64_t>> budgets = pipeline::parse_budgets(options.ram, "--ram");
  if (budgets) return budgets;
  for (size_t from = 0; from < options.ram.size();) {
    const size_t to = std::min(options.ram.find_first_of(",:", from), options.ram.size());
    const std::string part = options.ram.substr(from, to - from);
    const std::optional<double> share = base::share_in(part);
    if (share && budgets.error().message.starts_with(fmt::format("'{}' ", part)))
      return Failure(Share{*share, budgets.error()}.refused(unplanned_peak(options.step).value_or(0)));
    from = to + 1;
  }
  return budgets;
}

Result<pipeline::SweepRequest> sweep_request(const SweepOptions& options) {
  pipeline::SweepRequest request{.version = PANTOUM_VERSION, .folder = options.output};
  if (options.ram != kByThemselves) {
    PANTOUM_ASSIGN(request.budgets, budgets_of(options));
  }
  PANTOUM_ASSIGN(request.planners, planners_of(options.planners));
  PANTOUM_ASSIGN(request.plan, plan_of(options.step, options.step.costgraph.empty() ? "" : "energy"));
  if (!request.plan.expression.empty())
    return fail("E0117", "budgets are compared by energy, time, their product or a weighted sum of both", "--objective",
                "write such a sum: 0.6*energy + 0.4*time");
  request.keeps_costs = keeps_costs(options);
  return request;
}

Result<int> sweep(const SweepOptions& options) {
  if (options.step.costgraph.empty() == options.step.model.empty())
    return fail("E0119", "give either a model or --costgraph", "sweep",
                "pantoum sweep model.onnx --ram 64KiB:1MiB:16 -o DIR");
  PANTOUM_ASSIGN(pipeline::SweepRequest request, sweep_request(options));
  ProgressLine line(options.common.json());
  line.phase("preparing " + (options.step.costgraph.empty() ? options.step.model : options.step.costgraph));
  std::string label;
  attach(request.plan.options, line, &label);
  attach_measuring(request.plan.measuring, line);
  PANTOUM_ASSIGN(const pipeline::SweptGraphs graphs, graphs_of(options, request));
  if (options.ram == kByThemselves) {
    line.phase("the least RAM");
    PANTOUM_ASSIGN(request.budgets, pipeline::budgets_by_themselves(graphs.front(), request.plan, request.in_slices));
  }
  request.started = [&](const std::string& planner, size_t budget) {
    label = fmt::format("{} {}/{}  ", planner, budget + 1, request.budgets.size());
  };
  PANTOUM_ASSIGN(const report::Sweep found, pipeline::run_sweep(graphs, request));
  options.common.json() ? print_json(report::to_json(found)) : print_result(report::to_text(found));
  if (was_interrupted())
    return fail("E0999", "interrupted; the budgets that were finished are kept", options.output,
                "the same command goes on with the others");
  return 0;
}

}  // namespace

void add_sweep(CommandLine& line) {
  auto options = std::make_shared<SweepOptions>();
  Verb verb = line.add_verb("sweep", "plans one training step into many budgets: CSV, JSON, SVG");
  verb.add_option("MODEL", options->step.model,
                  "an ONNX model, one of TensorFlow Lite (.tflite) or of NNTrainer (.ini)");
  add_plugins(verb);
  add_ini_settings(verb, {.model = &options->step.options, .trains = false});
  add_cost_graph(verb, options->step);
  verb.add_option("-o,--output", options->output, "the folder; what an earlier run finished there is kept")
      .required()
      .is(Kind::kFolder);
  verb.add_option("--planners", options->planners, fmt::format("some of {}", fmt::join(planner_names(), ", ")))
      .separated_by(',')
      .known(planner_names());
  verb.add_option("--ram", options->ram,
                  "RAM budgets: 64KiB:1MiB:16 (from, to, how many), 64KiB,128KiB, or auto: 8 from the least RAM to the "
                  "unplanned peak")
      .required()
      .is(Kind::kBudgets);
  add_step_settings(
      verb, options->step,
      {"ram", "warm_start", "planner", "split_update", "feature_cache", "prefetch", "update_within", "contributions"});
  verb.option("--time-limit").described("longest time of planning one budget with one planner");
  add_common(verb, options->common);
  verb.does([options] { return sweep(*options); });
}

}  // namespace pantoum::cli
