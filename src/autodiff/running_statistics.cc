#include "autodiff/running_statistics.h"

#include <fmt/format.h>

#include "base/globs.h"

namespace pantoum::autodiff {
namespace {

bool fits(const std::string& glob, const Graph& graph, ValueId value) {
  return graph.value(value).role == ir::Role::kBuffer && base::matches(glob, graph.value(value).name);
}

// The norms whose statistics this is: that of one, or the sum of several calls, each weighed.
void find_norms(const Graph& graph, ValueId statistic, std::vector<OpId>& norms) {
  const OpId maker = graph.value(statistic).producer;
  if (maker == kNone) return;
  const Op& op = graph.op(maker);
  if (op.kind == Kind::k_batch_norm) norms.push_back(maker);
  if (op.kind != Kind::k_scale && op.kind != Kind::k_add) return;
  for (const ValueId input : op.inputs) find_norms(graph, input, norms);
}

}  // namespace

StatsOf stats_of_means(const Graph& graph) {
  StatsOf stats;
  for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
    if (graph.op(op).kind != Kind::k_batch_norm_stats) continue;
    std::vector<OpId> means, variances;
    find_norms(graph, graph.op(op).inputs[2], means);
    find_norms(graph, graph.op(op).inputs[3], variances);
    if (means != variances) continue;
    for (const OpId norm : means) stats.emplace(graph.op(norm).outputs[1], op);
  }
  return stats;
}

Result<void> use_running_statistics(Graph& graph, Op& op, const StatsOf& stats_of) {
  const auto found = stats_of.find(op.outputs[1]);
  if (found == stats_of.end()) {
    return fail("E0299", "a batch norm has no running statistics to evaluate it with", op.name);
  }
  const std::vector<ValueId>& stats = graph.op(found->second).inputs;
  graph.value(op.outputs[1]).producer = graph.value(op.outputs[2]).producer = kNone;
  op.kind = Kind::k_batch_norm_eval;
  op.inputs = {op.inputs[0], op.inputs[1], op.inputs[2], stats[0], stats[1]};
  op.outputs.resize(1);
  return {};
}

Result<void> freeze_statistics(Graph& forward, const std::vector<std::string>& globs) {
  const StatsOf stats_of = stats_of_means(forward);
  std::vector<char> matched(globs.size(), 0);
  for (Op& op : forward.ops) {
    if (op.kind == Kind::k_batch_norm_eval)  // already
      for (size_t glob = 0; glob < globs.size(); ++glob)
        if (fits(globs[glob], forward, op.inputs[3]) || fits(globs[glob], forward, op.inputs[4])) matched[glob] = 1;
    if (op.kind != Kind::k_batch_norm) continue;
    const auto found = stats_of.find(op.outputs[1]);
    if (found == stats_of.end()) continue;
    const std::vector<ValueId> stats = forward.op(found->second).inputs;
    bool wanted = false;
    for (size_t glob = 0; glob < globs.size(); ++glob) {
      if (!fits(globs[glob], forward, stats[0]) && !fits(globs[glob], forward, stats[1])) continue;
      wanted = true;
      matched[glob] = 1;
    }
    if (!wanted) continue;
    PANTOUM_TRY(use_running_statistics(forward, op, stats_of));
    forward.value(stats[0]).next = forward.value(stats[1]).next = kNone;
  }
  ir::drop_dead_ops(forward);
  std::vector<std::string> unmatched;
  for (size_t glob = 0; glob < globs.size(); ++glob)
    if (!matched[glob]) unmatched.push_back(fmt::format("'{}'", globs[glob]));
  if (unmatched.empty()) return {};
  return fail("E0104", "--freeze-stats names no running statistic of a batch norm", forward.name,
              "see the names with: pantoum inspect", std::move(unmatched));
}

}  // namespace pantoum::autodiff
