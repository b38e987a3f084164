#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "autodiff/autodiff.h"
#include "autodiff/running_statistics.h"
#include "autodiff/step.h"
#include "ir/op_registry.h"
#include "pantoum/pantoum.h"

namespace pantoum::autodiff {
namespace {

// Every reader of a dropout's output reads its input.
void skip_dropout(Graph& graph) {
  std::vector<ValueId> instead(graph.values.size());
  std::iota(instead.begin(), instead.end(), 0);
  for (Op& op : graph.ops) {
    for (ValueId& input : op.inputs) input = instead[position_of(input)];
    if (op.kind == Kind::k_dropout) instead[position_of(op.outputs[0])] = op.inputs[0];
  }
  for (ValueId& output : graph.outputs) output = instead[position_of(output)];
}

// The results of one term beside the sum. Results have names of their own, whichever op computes them.
void add_measures(Builder& builder, const LossSite& site, const Metrics& metrics) {
  const auto tell = [&](const std::string& name, ValueId value) {
    builder.rename(value, name + site.suffix);
    builder.graph().results.push_back(value);
  };
  const std::vector<ValueId> operands{site.prediction, site.target};
  if (!site.suffix.empty()) tell("loss", site.weighted);
  if (site.label_weight != kNone) tell("label_weight", site.label_weight);
  if (has_labels(site.term)) {
    const auto count = [&](const std::string& name, int64_t highest) {
      tell(name,
           builder.op(Kind::k_count_correct, name + site.suffix, operands, {{site.term.ignore_index, highest}, {}}));
    };
    count("count_correct", 1);
    if (metrics.top5) count("count_top5", 5);
  } else if (metrics.mae && site.target != kNone) {
    tell("mean_absolute_error", builder.op(Kind::k_l1, "mean_absolute_error" + site.suffix, operands));
  }
}

// The forward graph as it runs once nothing trains: running statistics, no dropout, no successors.
Result<Graph> evaluated(const Graph& forward) {
  PANTOUM_TRY(ir::validate(forward));
  Graph graph = forward;
  skip_dropout(graph);
  const StatsOf stats_of = stats_of_means(graph);
  for (Op& op : graph.ops) {
    // A batch norm without running statistics is evaluated with those of the batch, as in PyTorch.
    if (op.kind == Kind::k_batch_norm && stats_of.contains(op.outputs[1]))
      PANTOUM_TRY(use_running_statistics(graph, op, stats_of));
  }
  for (Value& value : graph.values) value.next = kNone;
  return graph;
}

// Inputs and targets that no op reads, and that are no output either, are no part of the program.
void forget_unread_inputs(Graph& graph) {
  std::vector<char> read(graph.values.size(), 0);
  for (const Op& op : graph.ops)
    for (const ValueId input : op.inputs) read[position_of(input)] = 1;
  for (std::vector<ValueId>* list : {&graph.inputs, &graph.labels})
    std::erase_if(*list, [&](ValueId input) {
      if (read[position_of(input)] == 0) graph.value(input).role = ir::Role::kActivation;
      return read[position_of(input)] == 0;
    });
}

// The shape of an output whose rows are those of the samples; none if it has no such rows.
std::optional<Shape> rows_of_samples(const Shape& shape, int64_t batch) {
  if (!shape.empty() && shape.front() == batch) return shape;
  if (batch != 1 || shape.size() >= PT_MAX_RANK) return std::nullopt;
  Shape one = shape;
  one.insert(one.begin(), 1);
  return one;
}

// The term whose batch is another dimension than the first of this output; null: none.
const LossTerm* term_of(const TrainingOptions& options, const std::string& name, bool is_first) {
  for (const LossTerm& term : options.loss.terms())
    if (term.batch_axis > 0 && (term.output ? *term.output == name : is_first)) return &term;
  return nullptr;
}

bool follows_from_inputs(const Graph& graph, ValueId output) {
  const Value& root = graph.value(ir::root_of(graph, output));
  return root.producer != kNone || root.role == ir::Role::kInput || root.role == ir::Role::kLabel;
}

}  // namespace

Result<Graph> make_prediction(const Graph& forward, const TrainingOptions& options) {
  PANTOUM_ASSIGN(Graph graph, evaluated(forward));
  Builder builder(graph);
  PANTOUM_TRY(add_losses(builder, options.loss.terms()));  // targets get the names that they have in training
  graph.notes.clear();
  const Shape& first = graph.value(graph.labels.front()).type.shape;
  const int64_t batch = first.empty() ? 0 : first.front();
  for (size_t output = 0; output < graph.outputs.size(); ++output) {
    ValueId made = graph.outputs[output];
    const std::string& own = output < graph.output_names.size() ? graph.output_names[output] : graph.value(made).name;
    const std::string name = own;  // values move when the graph grows
    if (name == ir::kCapturedLoss || !follows_from_inputs(graph, made)) continue;
    if (const LossTerm* term = term_of(options, name, output == 0))
      made = batch_first(builder, made, *term, "predicted.batch_first." + name);
    const TensorType type = builder.type(made);
    const std::optional<Shape> shape = rows_of_samples(type.shape, batch);
    if (!shape) {
      graph.notes.push_back(
          fmt::format("predict leaves out the output '{}', {}: its first dimension is not the batch of {}", name,
                      ir::to_text(type), batch));
      continue;
    }
    const std::string result = fmt::format("{}:{}", output, name);
    graph.results.push_back(builder.op(Kind::k_alias, result, {made}, {}, {{type.dtype, *shape}}));
    builder.rename(graph.results.back(), result);
  }
  if (builder.error()) return Failure(*builder.error());
  graph.outputs.clear();
  graph.output_names.clear();
  ir::drop_dead_ops(graph);
  forget_unread_inputs(graph);
  return graph;
}

Result<Graph> make_inference(const Graph& forward, bool fixed) {
  PANTOUM_ASSIGN(Graph graph, evaluated(forward));
  for (Value& value : graph.values)
    if (fixed && value.producer == kNone && value.data &&
        (value.role == ir::Role::kParameter || value.role == ir::Role::kBuffer))
      value.role = ir::Role::kConstant, value.trainable = false;
  graph.results = graph.outputs;
  ir::drop_dead_ops(graph);
  return graph;
}

Result<Graph> make_evaluation(const Graph& forward, const TrainingOptions& options) {
  PANTOUM_ASSIGN(Graph graph, evaluated(forward));
  Builder builder(graph);
  PANTOUM_ASSIGN(const Losses losses, add_losses(builder, options.loss.terms()));
  graph.results = {losses.sum};
  for (const LossSite& site : losses.sites) add_measures(builder, site, options.metrics);
  if (builder.error()) return Failure(*builder.error());
  graph.outputs.clear();
  graph.output_names.clear();
  ir::drop_dead_ops(graph);
  return graph;
}

}  // namespace pantoum::autodiff
