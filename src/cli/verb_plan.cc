#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/cli.h"
#include "cli/ini_settings.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/plan_summary.h"
#include "cli/planning.h"
#include "pipeline/choose_updates.h"
#include "pipeline/prepare_training.h"
#include "plan/planner.h"
#include "problem/cost_graph_json.h"
#include "problem/plan_json.h"

namespace pantoum::cli {
namespace {

struct PlanVerbOptions {
  Common common;
  StepAsked step;
  std::vector<std::string> dump_after;
  std::string output, binary_output, weights_output, costgraph_output;
  RefusalFiles refusal_files;
  bool require_gap = false;
};

Result<PlanSummary> plan_bare(const PlanVerbOptions& options, pipeline::PlanRequest& request,
                              plan::Infeasible& infeasible) {
  request.batch = options.step.options.batch.value_or(0);
  PANTOUM_ASSIGN(const problem::CostGraph graph, problem::read_cost_graph(options.step.costgraph));
  PANTOUM_ASSIGN(pipeline::PlannedGraph planned, pipeline::plan_cost_graph(graph, request, &infeasible));
  std::for_each(planned.warnings.begin(), planned.warnings.end(), print_warning);
  return PlanSummary{std::move(planned.plan), planned.found, planned.unplanned};
}

Result<PlanSummary> plan_network(const PlanVerbOptions& options, pipeline::PlanRequest& request,
                                 plan::Infeasible& infeasible) {
  PANTOUM_ASSIGN(const pipeline::Dump dump, dump_of(options.dump_after));
  pipeline::ModelRequest model = model_of(options.step);
  PANTOUM_TRY(pipeline::choose_updates(model, request));
  PANTOUM_ASSIGN(pipeline::Compiled compiled, pipeline::compile_model(model, request, dump));
  std::for_each(compiled.warnings.begin(), compiled.warnings.end(), print_warning);
  const Result<void> planned = pipeline::plan_model(compiled, request, nullptr, &infeasible, dump);
  pipeline::Program& training = compiled.training();
  if (!options.costgraph_output.empty())
    PANTOUM_TRY(problem::write_cost_graph(training.cost.graph, options.costgraph_output));
  if (!planned) return Failure(pipeline::with_leaner_options(planned.error(), compiled, request));
  std::for_each(compiled.planning_notes.begin(), compiled.planning_notes.end(), print_note);
  // Encoded even if no file is asked for: a plan that no trainer can run is refused here.
  PANTOUM_ASSIGN(const std::vector<std::byte> binary, pipeline::encode_programs(compiled.programs));
  if (!options.binary_output.empty())
    PANTOUM_TRY(base::write_file_atomically(options.binary_output,
                                            {reinterpret_cast<const char*>(binary.data()), binary.size()}));
  if (!options.weights_output.empty()) {
    PANTOUM_ASSIGN(const std::vector<std::string> notes,
                   pipeline::write_initial_weights(training.graph, compiled.model, options.weights_output,
                                                   compiled.fixed, compiled.computed));
    std::for_each(notes.begin(), notes.end(), print_note);
  }
  return summary_of(compiled);
}

// The one message of an interrupted run: where its best plan is.
Failure interrupted_after(const PlanSummary& answer, const PlanVerbOptions& options) {
  const std::string what = fmt::format("interrupted; the best plan so far has a gap of {:.3g}%", answer.plan.gap * 100);
  if (options.output.empty())
    return fail("E0999", what + ", and no file keeps it", "pantoum plan", "name a file with -o");
  return fail("E0999", what + " and was written", options.output, "go on from it with --warm-start " + options.output);
}

Result<int> make(const PlanVerbOptions& options) {
  const std::string& model = options.step.model;
  if (options.step.costgraph.empty() == model.empty())
    return fail("E0119", "give either a model or --costgraph", "plan",
                "pantoum plan model.onnx --ram 256KiB -o step.plan.json");
  PANTOUM_ASSIGN(pipeline::PlanRequest request, plan_of(options.step, options.step.costgraph.empty() ? "" : "energy"));
  ProgressLine line(options.common.json());
  line.phase("preparing " + (options.step.costgraph.empty() ? model : options.step.costgraph));
  attach(request.options, line);
  attach_measuring(request.measuring, line);
  plan::Infeasible infeasible;
  Result<PlanSummary> answer = options.step.costgraph.empty() ? plan_network(options, request, infeasible)
                                                              : plan_bare(options, request, infeasible);
  if (!answer) {
    PANTOUM_TRY(report_infeasible(answer.error(), infeasible, options.common, options.refusal_files));
    return Failure(unless_interrupted(answer.error()));
  }
  if (!options.output.empty()) PANTOUM_TRY(problem::write_plan(answer->plan, options.output));
  answer->expression = request.expression;
  options.common.json() ? print_json(to_json(*answer)) : print_result(to_text(*answer));
  if (was_interrupted()) return interrupted_after(*answer, options);
  if (options.require_gap && answer->plan.gap > request.options.gap)
    return fail(
        "E0303",
        fmt::format("the gap is {:.3g}% and {:.3g}% was required", answer->plan.gap * 100, request.options.gap * 100),
        "--require-gap", "give a longer --time-limit; the plan was written");
  return 0;
}

}  // namespace

void add_plan(CommandLine& line) {
  auto options = std::make_shared<PlanVerbOptions>();
  Verb verb = line.add_verb("plan", "plans one training step into a RAM budget");
  verb.add_option("MODEL", options->step.model,
                  "an ONNX model, one of TensorFlow Lite (.tflite) or of NNTrainer (.ini)");
  add_plugins(verb);
  add_ini_settings(verb, {.model = &options->step.options});
  add_cost_graph(verb, options->step);
  verb.add_option("-o,--output", options->output, "the plan, as JSON");
  verb.add_option("--binary-out", options->binary_output, "its binary twin, for the runtime");
  verb.add_option(
      "--weights-out", options->weights_output,
      "the weights that training begins with (safetensors): with the binary plan all that the C library takes");
  verb.add_option("--costgraph-out", options->costgraph_output, "the model's cost graph");
  verb.add_option("--write-min-plan", options->refusal_files.min_plan,
                  "where no plan fits: the plan of the smallest budget known");
  verb.add_option("--write-refusal", options->refusal_files.refusal,
                  "where no plan fits: the proof of it, which verify checks");
  verb.add_flag("--require-gap", options->require_gap, "exit with 7 where --gap is not reached");
  add_step_settings(verb, options->step);
  add_dump_option(verb, options->dump_after);
  add_common(verb, options->common);
  verb.does([options] { return make(*options); });
}

}  // namespace pantoum::cli
