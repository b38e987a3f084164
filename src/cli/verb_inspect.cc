#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autodiff/autodiff.h"
#include "base/foreign_text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/ini_settings.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/progress.h"
#include "cost/device.h"
#include "pipeline/import_model.h"
#include "pipeline/ini_files.h"
#include "pipeline/pipeline.h"
#include "pipeline/slices.h"
#include "report/names.h"
#include "report/slices.h"

namespace pantoum::cli {
namespace {

using Json = nlohmann::ordered_json;

struct InspectOptions {
  Common common;
  StepAsked step;
  bool nodes = false;
  std::function<bool()> chose_loss;
};

Json to_json(const import::ModelInfo& info) {
  Json nodes = Json::array();
  for (const import::NodeCoverage& node : info.nodes)
    nodes.push_back({{"name", node.name},
                     {"op", node.op_type},
                     {"domain", node.domain},
                     {"forward", node.forward},
                     {"gradient", node.gradient},
                     {"outputs", node.output_shapes},
                     {"problem", node.problem},
                     {"note", node.note}});
  Json tensors = Json::array();
  for (const import::TensorInfo& tensor : info.tensors)
    tensors.push_back({{"name", tensor.name}, {"type", tensor.type}, {"trains", tensor.trains}, {"why", tensor.why}});
  return {{"graph", info.graph_name},
          {"producer", info.producer},
          {"ir_version", info.ir_version},
          {"opset", info.opset},
          {"batch_name", info.batch_name},
          {"batch", info.batch},
          {"parameters", info.parameter_count},
          {"inputs", info.inputs},
          {"outputs", info.outputs},
          {"refusal", info.refusal ? Json(info.refusal->code) : Json()},
          {"folded", info.folded},
          {"warnings", info.warnings},
          {"notes", info.notes},
          {"tensors", tensors},
          {"nodes", nodes}};
}

void print_tensors(const std::vector<import::TensorInfo>& tensors) {
  for (const import::TensorInfo& tensor : tensors) {
    const char* trains = tensor.trains == "yes" ? "trains" : tensor.trains == "no" ? "fixed" : "ambiguous";
    print_formatted("  {:<40} {:<20} {:<9} {}\n", base::one_line(tensor.name), tensor.type, trains,
                    base::one_line(tensor.why));
  }
}

void print_nodes(const std::vector<import::NodeCoverage>& nodes) {
  for (const import::NodeCoverage& node : nodes) {
    const bool checked = node.forward || !node.problem.empty();
    const char* otherwise = checked ? "no" : "?";
    print_formatted("  {:<28} {:<20} forward {:<3} gradient {:<3} {}\n", base::one_line(node.name),
                    base::one_line(node.op_type), node.forward ? "yes" : otherwise, node.gradient ? "yes" : otherwise,
                    base::one_line(fmt::format("{}", fmt::join(node.output_shapes, " "))));
    if (!node.note.empty()) print_formatted("      note: {}\n", base::one_line(node.note));
  }
}

void print_list(const char* label, const std::vector<std::string>& texts) {
  for (size_t at = 0; at < texts.size(); ++at)
    print_formatted("{:<10}{}\n", at == 0 ? label : "", base::one_line(texts[at]));
}

size_t count_of(const import::ModelInfo& info, const char* trains) {
  return static_cast<size_t>(std::count_if(info.tensors.begin(), info.tensors.end(),
                                           [&](const import::TensorInfo& tensor) { return tensor.trains == trains; }));
}

void print_problems(const import::ModelInfo& info) {
  if (!info.refusal) return print_result("problems  none\n");
  print_formatted("problems  {} [{}]\n", base::one_line(info.refusal->message), info.refusal->code);
  for (const std::string& note : info.refusal->notes) print_formatted("  problem: {}\n", base::one_line(note));
  if (info.refusal->code != "E0406")
    for (const std::string& folded : info.folded) print_formatted("  problem: {}\n", base::one_line(folded));
  if (!info.refusal->help.empty()) print_formatted("  help: {}\n", base::one_line(info.refusal->help));
}

void print_summary(const import::ModelInfo& info) {
  print_formatted(
      "{}: opset {}, IR {}, by {}; {} nodes, batch {}\n", base::one_line(info.graph_name), info.opset, info.ir_version,
      info.producer.empty() ? "unknown" : base::one_line(info.producer), info.nodes.size(),
      info.batch_name.empty() ? std::to_string(info.batch) : base::one_line("named '" + info.batch_name + "'"));
  print_list("inputs", info.inputs);
  print_list("outputs", info.outputs);
  print_formatted("trains    {} elements; of {} tensors {} train, {} of them ambiguous, and {} are fixed\n",
                  info.parameter_count, info.tensors.size(), info.tensors.size() - count_of(info, "no"),
                  count_of(info, "ambiguous"), count_of(info, "no"));
}

void print_details(const import::ModelInfo& info, bool nodes) {
  for (const std::string& warning : info.warnings) print_formatted("warning: {}\n", base::one_line(warning));
  for (const std::string& note : info.notes) print_formatted("note: {}\n", base::one_line(note));
  print_result("tensors\n");
  print_tensors(info.tensors);
  if (!nodes) return;
  print_result("nodes\n");
  print_nodes(info.nodes);
}

// The training step as it would be planned, where the model can be trained.
Result<pipeline::InspectedSlices> inspected_step(const InspectOptions& options, const import::ModelInfo& info) {
  StepAsked asked = options.step;
  if (!asked.options.batch && !info.batch_name.empty()) asked.options.batch = 1;  // else the model's own
  asked.plan.measure = Measure::off;                                              // what is told has no measured times
  PANTOUM_ASSIGN(pipeline::PlanRequest request, plan_of(asked));
  request.rewrite.search = false;  // nothing is planned
  return pipeline::inspect_slices(model_of(asked), request);
}

// Without --batch the step is looked at with a batch of 1, which every first dimension of 1 fits by chance.
Result<void> check_with_another_batch(const InspectOptions& options, const import::ModelInfo& info) {
  const auto is_one = [](const std::string& value) {
    return value.find("[1,") != std::string::npos || value.ends_with("[1]");
  };
  const bool by_chance = std::any_of(info.inputs.begin(), info.inputs.end(), is_one) ||
                         std::any_of(info.outputs.begin(), info.outputs.end(), is_one);
  if (options.step.options.batch || info.batch_name.empty() || !by_chance) return {};
  pipeline::ModelRequest model = model_of(options.step);
  model.options.batch = 2;
  PANTOUM_ASSIGN(const pipeline::PlanRequest request, plan_of(options.step));
  const Result<pipeline::Compiled> compiled = pipeline::make_graphs(model, request);
  if (compiled || compiled.error().code != "E0403") return {};
  return Failure(compiled.error());
}

// Does the value ("x f32[N,5,20]") have this many dimensions or more?
bool has_rank(const std::string& value, long least) {
  const size_t shape = value.rfind('[');
  return shape != std::string::npos &&
         std::count(value.begin() + static_cast<long>(shape), value.end(), ',') + 1 >= least;
}

// What people stumble over when they choose a loss.
std::vector<std::string> hints_of(const import::ModelInfo& info) {
  if (info.outputs.empty()) return {};
  const bool tokens = std::any_of(info.inputs.begin(), info.inputs.end(), [](const std::string& input) {
    return input.find(" i64[") != std::string::npos || input.find(" i32[") != std::string::npos;
  });
  if (tokens && has_rank(info.outputs[0], 3))
    return {
        fmt::format("a label for every token of '{}': cross_entropy, the default, has the classes on dimension 1; "
                    "where they are the last one: --loss cross_entropy,classes_last",
                    info.outputs[0])};
  return {
      "integer labels: --loss cross_entropy, which is the default; targets of the output's shape: --loss mse, or "
      "another of docs/training.md"};
}

// Tells why there is no step. Returns the exit code.
int tell_problem(const InspectOptions& options, const import::ModelInfo& info, const Error& error, Json& json) {
  json["training_problem"] = {{"error", error.code}, {"message", error.message}, {"notes", error.notes}};
  if (!options.common.json()) print_formatted("no training step could be made with these options:\n{}", to_text(error));
  // The user did not ask for a batch of 1: a model that cannot run with it may run with another.
  const bool of_batch = error.code == "E0211" && !options.step.options.batch && !info.batch_name.empty();
  return of_batch ? 0 : exit_code(error);
}

// Names the options that would allow slices, where an op exceeds the budget and they are lacking.
std::string hint_at_slices(const pipeline::InspectedSlices& found, const report::SliceNeeds& needs) {
  if (needs.beyond == 0 || found.offered) return "";
  if (found.lacks.empty()) return "; this step has no ops in slices";
  return fmt::format("; with {} ops are computed in slices", found.lacks);
}

// Tells what single ops need in RAM, and what slices of the widest cost in the budget.
void tell_ops(const InspectOptions& options, const pipeline::InspectedSlices& found, Json& json) {
  const report::OpNeeds ops(found.graph, found.question);
  const report::SliceNeeds needs = report::slice_needs(ops, found.question.budget_bytes());
  const report::Names names(found.graph);
  Json& told = json["ops"] = report::to_json(needs, names);
  told["device"] = found.graph.device.name;
  told["in_slices"] = found.offered;
  told["ways"] = Json::array();
  const auto widest = std::ranges::find(found.graph.ops, needs.whole.op, &problem::Op::id);
  const bool has_ways = found.offered && widest != found.graph.ops.end();
  if (has_ways) told["ways"] = report::ways_json(ops, *widest, std::nullopt);
  if (options.common.json()) return;
  print_formatted("ops       {}{}\n", base::one_line(report::to_text(needs, names)),
                  base::one_line(hint_at_slices(found, needs)));
  if (!has_ways) return;
  print_formatted("          {}: what its ways in this budget need in RAM, take (modelled) and move\n",
                  base::one_line(names.op(widest->id)));
  for (const std::string& line : report::ways_text(ops, *widest, std::nullopt, needs.budget))
    print_formatted("          {}\n", base::one_line(line));
}

// Tells what the training step with these options takes. Returns the exit code with which `train` would end.
int tell_step(const InspectOptions& options, const import::ModelInfo& info, Json& json) {
  if (info.refusal) return exit_code(*info.refusal);
  Result<pipeline::InspectedSlices> step = inspected_step(options, info);
  if (step)
    if (const Result<void> other = check_with_another_batch(options, info); !other) step = Failure(other.error());
  if (!step) return tell_problem(options, info, step.error(), json);
  json["unplanned_peak_bytes"] = step->unplanned_peak_bytes;
  if (!options.common.json())
    print_formatted("memory    one training step at batch {} takes {} when nothing is planned\n",
                    std::max<int64_t>(1, info.batch), base::show_bytes(step->unplanned_peak_bytes));
  tell_ops(options, *step, json);
  return 0;
}

Result<int> inspect(const InspectOptions& options) {
  const ModelOptions& asked = options.step.options;
  ProgressLine line(options.common.json());
  line.phase("reading " + options.step.model);
  PANTOUM_ASSIGN(const import::ModelInfo info,
                 pipeline::inspect_model({options.step.model}, {.batch = asked.batch.value_or(0),
                                                                .train = asked.train,
                                                                .freeze = asked.freeze,
                                                                .shapes = asked.shapes,
                                                                .accept_folded = asked.accept_folded}));
  Json json = to_json(info);
  const bool text = !options.common.json();
  if (text) print_summary(info);
  const int exit = tell_step(options, info, json);
  const bool loss_is_known = options.chose_loss() || pipeline::is_ini_model(options.step.model);
  const std::vector<std::string> hints = loss_is_known ? std::vector<std::string>() : hints_of(info);
  json["hints"] = hints;
  json["exit"] = exit;
  if (!text) return print_json(json, 1), exit;
  print_problems(info);
  for (const std::string& hint : hints) print_formatted("hint: {}\n", base::one_line(hint));
  print_details(info, options.nodes);
  return exit;
}

}  // namespace

void add_inspect(CommandLine& line) {
  auto options = std::make_shared<InspectOptions>();
  Verb verb = line.add_verb(
      "inspect", "what trains, memory without a plan, all problems; --nodes: shapes and coverage of every node");
  verb.add_option("MODEL", options->step.model,
                  "an ONNX model, one of TensorFlow Lite (.tflite) or of NNTrainer (.ini)")
      .required();
  add_plugins(verb);
  add_ini_settings(verb, {.model = &options->step.options, .trains = false});
  verb.add_flag("--nodes", options->nodes, "list every node, too");
  verb.add_settings(settings::fields_of(options->step.options),
                    {"inference", "split_update", "feature_cache", "update_within", "contributions"});
  verb.add_settings(settings::fields_of(options->step.device));
  verb.add_settings_of(plan_fields(options->step), {"ram", "reserve", "kernels"});
  verb.option("--device").known(cost::device_names());
  options->chose_loss = [loss = verb.option("--loss")] { return loss.was_given(); };
  add_common(verb, options->common);
  verb.does([options] { return inspect(*options); });
}

}  // namespace pantoum::cli
