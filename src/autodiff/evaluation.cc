#include <numeric>

#include "autodiff/autodiff.h"
#include "autodiff/running_statistics.h"
#include "autodiff/step.h"
#include "ir/op_registry.h"

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

}  // namespace

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
