#include "plan/baselines/chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/baselines/task.h"

namespace pantoum::plan::baseline {
namespace {

Result<void> add_forward(const Task& task, OpIndex op, Indexed<TensorIndex, int32_t>& state_of, Chain& chain) {
  const OpModel& model = task.model.ops[op];
  if (!model.recomputable)
    return does_not_apply(task, fmt::format("op {} of the forward chain may run once only", model.id));
  bool linked = chain.forward.empty();
  for (const TensorIndex tensor : task.kernel(op).reads) {
    const int32_t state = state_of[tensor];
    if (state < 0) continue;
    if (state != chain.length() - 1)
      return does_not_apply(task, fmt::format("the forward part is no chain: op {} reads what was made before its "
                                              "predecessor",
                                              model.id));
    linked = true;
  }
  if (!linked)
    return does_not_apply(task,
                          fmt::format("the forward part is no chain: op {} does not read its predecessor", model.id));
  for (const TensorIndex tensor : task.kernel(op).writes) state_of[tensor] = chain.length();
  chain.forward.push_back(op);
  return {};
}

Result<void> add_backward(const Task& task, OpIndex op, const Indexed<TensorIndex, int32_t>& state_of, Chain& chain,
                          int32_t& step) {
  int32_t least = chain.length(), most = -1;
  for (const TensorIndex tensor : task.kernel(op).reads) {
    const int32_t state = state_of[tensor];
    if (state >= 0) least = std::min(least, state), most = std::max(most, state);
  }
  if (most >= 0) step = std::min(step, least + 1);
  if (most > step)
    return does_not_apply(task, fmt::format("the backward part does not run the forward chain back: op {} reads "
                                            "state {} after state {}",
                                            task.model.ops[op].id, most, step - 1));
  chain.steps[step].push_back(op);
  return {};
}

}  // namespace

Result<Chain> find_chain(const Task& task) {
  const Stage boundary = find_forward_backward_boundary(task);
  if (boundary == 0) return does_not_apply(task, "no tensor waits for a later op: there is nothing to plan");
  Chain chain;
  Indexed<TensorIndex, int32_t> state_of(task.model.tensors.size(), -1);
  const std::vector<OpIndex> ops = needed_in_order(task);
  for (const OpIndex op : ops)
    if (task.model.ops[op].stage <= boundary) PANTOUM_TRY(add_forward(task, op, state_of, chain));
  chain.steps.resize(chain.forward.size() + 1);
  int32_t step = chain.length();
  for (const OpIndex op : ops)
    if (task.model.ops[op].stage > boundary) PANTOUM_TRY(add_backward(task, op, state_of, chain, step));
  return chain;
}

}  // namespace pantoum::plan::baseline
