#include <numeric>

#include "autodiff/autodiff.h"
#include "autodiff/loss.h"
#include "autodiff/running_statistics.h"
#include "ir/op_registry.h"

namespace pantoum::autodiff {
namespace {

using ir::Graph;
using ir::Kind;
using ir::Op;
using ir::ValueId;

// Every reader of a dropout's output reads its input.
void skip_dropout(Graph& graph) {
  std::vector<ValueId> instead(graph.values.size());
  std::iota(instead.begin(), instead.end(), 0);
  for (Op& op : graph.ops) {
    for (ValueId& input : op.inputs) input = instead[static_cast<size_t>(input)];
    if (op.kind == Kind::k_dropout) instead[static_cast<size_t>(op.outputs[0])] = op.inputs[0];
  }
  for (ValueId& output : graph.outputs) output = instead[static_cast<size_t>(output)];
}

}  // namespace

Result<Graph> make_evaluation(const Graph& forward, const TrainingOptions& options) {
  PANTOUM_TRY(ir::validate(forward));
  Graph graph = forward;
  skip_dropout(graph);
  const StatsOf stats_of = stats_of_means(graph);
  for (Op& op : graph.ops) {
    if (op.kind == Kind::k_batch_norm) PANTOUM_TRY(use_running_statistics(graph, op, stats_of));
  }
  for (ir::Value& value : graph.values) value.next = ir::kNone;
  ir::Builder builder(graph);
  PANTOUM_ASSIGN(const LossSite site, add_loss(builder, options.loss));
  graph.results = {site.loss};
  if (options.loss == Loss::kCrossEntropy) {
    graph.results.push_back(builder.op(Kind::k_count_correct, "count_correct", {site.prediction, site.label}));
  }
  if (builder.error()) return Failure(*builder.error());
  graph.outputs.clear();
  ir::drop_dead_ops(graph);
  return graph;
}

}  // namespace pantoum::autodiff
