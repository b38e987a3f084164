#include "import/compose.h"

namespace pantoum::import {
namespace {

constexpr size_t kMean = 0, kVariance = 1;

struct Call {
  std::vector<ValueId> found;  // mean and variance of its batch
  double count = 0;            // elements of a channel
  double keeps = 0;            // weight of the old
};

// A variance of n elements is kept times n / (n - 1); one without such a factor as it is.
double unbiased(double count) {
  return count > 1 ? count / (count - 1) : 1;
}

// The weight of each call's statistic in the sum.
std::vector<double> shares(const std::vector<Call>& calls, size_t which, double all) {
  std::vector<double> found(calls.size());
  double behind = 1;
  for (size_t call = calls.size(); call-- > 0;) {
    found[call] = (1 - calls[call].keeps) * behind / (1 - all);
    if (which == kVariance) found[call] *= unbiased(calls[call].count) / unbiased(calls.back().count);
    behind *= calls[call].keeps;
  }
  return found;
}

ValueId weighted_sum(ir::Builder& builder, const std::vector<Call>& calls, size_t which, double all) {
  const std::vector<double> share = shares(calls, which, all);
  ValueId sum = builder.scale(calls[0].found[which], share[0]);
  for (size_t call = 1; call < calls.size(); ++call)
    sum = builder.op(Kind::k_add, "statistics", {sum, builder.scale(calls[call].found[which], share[call])});
  return sum;
}

void update_once(ir::Builder& builder, const std::pair<ValueId, ValueId>& buffers, const std::vector<Call>& calls) {
  double all = 1;
  for (const Call& call : calls) all *= call.keeps;
  std::vector<ValueId> inputs = {buffers.first, buffers.second, calls.back().found[kMean],
                                 calls.back().found[kVariance]};
  if (all != 1)  // else nothing moves
    for (const size_t which : {kMean, kVariance}) inputs[2 + which] = weighted_sum(builder, calls, which, all);
  const std::vector<ValueId> next = builder.add(Kind::k_batch_norm_stats, "statistics", std::move(inputs),
                                                {{static_cast<int64_t>(calls.back().count)}, {all}});
  if (builder.error()) return;
  builder.graph().value(buffers.first).next = next[kMean];
  builder.graph().value(buffers.second).next = next[kVariance];
}

}  // namespace

ValueId kept_statistic(const Graph& graph, ValueId value, size_t which) {
  for (OpId maker = graph.value(value).producer; maker != ir::kNone; maker = graph.value(value).producer) {
    const Op& op = graph.op(maker);
    const bool moves = op.kind == Kind::k_batch_norm_stats && op.outputs[which] == value;
    if (!moves && op.kind != Kind::k_alias) return ir::kNone;
    value = op.inputs[moves ? which : 0];
  }
  return graph.value(value).role == ir::Role::kBuffer ? value : ir::kNone;
}

void merge_statistics(ir::Builder& builder) {
  std::map<std::pair<ValueId, ValueId>, std::vector<Call>> calls_of;
  for (const Op& op : builder.graph().ops) {
    if (op.kind != Kind::k_batch_norm_stats) continue;
    const ValueId mean = kept_statistic(builder.graph(), op.inputs[0], kMean);
    const ValueId variance = kept_statistic(builder.graph(), op.inputs[1], kVariance);
    if (mean == ir::kNone || variance == ir::kNone) continue;
    calls_of[{mean, variance}].push_back(
        {{op.inputs[2], op.inputs[3]}, static_cast<double>(op.attrs.ints[0]), op.attrs.reals[0]});
  }
  for (const auto& [buffers, calls] : calls_of)
    if (calls.size() > 1) update_once(builder, buffers, calls);
}

}  // namespace pantoum::import
