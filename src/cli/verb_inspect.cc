#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "autodiff/autodiff.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/model_options.h"
#include "import/onnx.h"
#include "pipeline/pipeline.h"

namespace pantoum::cli {
namespace {

using Json = nlohmann::ordered_json;

struct InspectOptions {
  Common common;
  ModelWords model;
  PlanWords plan;
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
          {"folded", info.folded},
          {"warnings", info.warnings},
          {"notes", info.notes},
          {"tensors", tensors},
          {"nodes", nodes}};
}

void print_tensors(const std::vector<import::TensorInfo>& tensors) {
  for (const import::TensorInfo& tensor : tensors) {
    const char* trains = tensor.trains == "yes" ? "trains" : tensor.trains == "no" ? "fixed" : "ambiguous";
    std::printf("  %-40s %-20s %-9s %s\n", tensor.name.c_str(), tensor.type.c_str(), trains, tensor.why.c_str());
  }
}

void print_text(const import::ModelInfo& info) {
  std::printf(
      "%s: opset %lld, IR %lld, by %s; %zu nodes, %lld parameters, batch %s\n", info.graph_name.c_str(),
      static_cast<long long>(info.opset), static_cast<long long>(info.ir_version),
      info.producer.empty() ? "unknown" : info.producer.c_str(), info.nodes.size(),
      static_cast<long long>(info.parameter_count),
      info.batch_name.empty() ? std::to_string(info.batch).c_str() : ("named '" + info.batch_name + "'").c_str());
  for (const import::NodeCoverage& node : info.nodes) {
    std::printf("  %-28s %-20s forward %-3s gradient %-3s %s\n", node.name.c_str(), node.op_type.c_str(),
                node.forward ? "yes" : "no", node.gradient ? "yes" : "no",
                fmt::format("{}", fmt::join(node.output_shapes, " ")).c_str());
    if (!node.note.empty()) std::printf("      note: %s\n", node.note.c_str());
    if (!node.problem.empty()) std::printf("      problem: %s\n", node.problem.c_str());
  }
  print_tensors(info.tensors);
  for (const std::string& folded : info.folded) std::printf("problem: %s\n", folded.c_str());
  if (!info.folded.empty())
    std::printf("  export with optimize=False, or give --accept-folded to train the file as it is\n");
  for (const std::string& warning : info.warnings) std::printf("warning: %s\n", warning.c_str());
  for (const std::string& note : info.notes) {
    const bool of_a_node = std::any_of(info.nodes.begin(), info.nodes.end(), [&](const auto& node) {
      return !node.note.empty() && note.ends_with(": " + node.note);
    });
    if (!of_a_node) std::printf("note: %s\n", note.c_str());
  }
}

bool trainable(const import::ModelInfo& info) {
  return info.folded.empty() && std::all_of(info.nodes.begin(), info.nodes.end(),
                                            [](const import::NodeCoverage& node) { return node.problem.empty(); });
}

// The training step's peak without a plan, where the model can be trained.
Result<problem::Bytes> unplanned_peak(const InspectOptions& options) {
  PANTOUM_ASSIGN(pipeline::ModelOptions model, model_options(options.model));
  if (model.batch == 0) model.batch = 1;
  PANTOUM_ASSIGN(const pipeline::PlanRequest request, plan_request(options.plan));
  PANTOUM_ASSIGN(const pipeline::Compiled compiled, pipeline::compile_model(model, request));
  PANTOUM_ASSIGN(const problem::Predicted step, pipeline::unplanned_step(compiled.training().cost.graph, request));
  return step.peak_bytes;
}

Result<int> inspect(const InspectOptions& options) {
  PANTOUM_ASSIGN(const import::ModelInfo info,
                 import::inspect_onnx(options.model.model, {.batch = options.model.batch,
                                                            .train = options.model.train,
                                                            .freeze = options.model.freeze,
                                                            .accept_folded = options.model.accept_folded}));
  Json json = to_json(info);
  if (!options.common.json()) print_text(info);
  if (trainable(info)) {
    const Result<problem::Bytes> peak = unplanned_peak(options);
    const int64_t batch = std::max<int64_t>(1, info.batch);
    if (peak) {
      json["unplanned_peak_bytes"] = *peak;
      if (!options.common.json())
        std::printf("one training step at batch %lld takes %s when nothing is planned\n", static_cast<long long>(batch),
                    base::show_bytes(*peak).c_str());
    } else if (!options.common.json()) {
      std::printf("no training step could be made with these options:\n%s", to_text(peak.error()).c_str());
    } else {
      json["training_problem"] = {
          {"error", peak.error().code}, {"message", peak.error().message}, {"notes", peak.error().notes}};
    }
  }
  if (options.common.json()) std::printf("%s\n", json.dump(1).c_str());
  return trainable(info) ? 0 : 4;
}

}  // namespace

void add_inspect(CommandLine& line) {
  auto options = std::make_shared<InspectOptions>();
  Verb verb = line.add_verb("inspect", "operators, shapes, coverage of every node, memory without a plan");
  verb.add_option("MODEL", options->model.model, "an ONNX model").required();
  add_model_options(verb, options->model);
  add_common(verb, options->common);
  verb.does([options] { return inspect(*options); });
}

}  // namespace pantoum::cli
