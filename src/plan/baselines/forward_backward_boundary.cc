#include "plan/baselines/forward_backward_boundary.h"

#include <algorithm>
#include <unordered_set>

#include "plan/baselines/task.h"

namespace pantoum::plan::baseline {
namespace {

bool is_update(const Task& task, OpIndex op, const std::unordered_set<int64_t>& successors) {
  const auto& writes = task.kernel(op).writes;
  return std::any_of(writes.begin(), writes.end(),
                     [&](TensorIndex tensor) { return successors.contains(task.model.tensors[tensor].id); });
}

}  // namespace

std::vector<OpIndex> needed_in_order(const Task& task) {
  const auto needed = needed_ops(task.model, task.choices);
  std::vector<OpIndex> ops;
  for (const OpIndex op : needed.indices())
    if (needed[op]) ops.push_back(op);
  return ops;
}

Stage find_forward_backward_boundary(const Task& task) {
  std::unordered_set<int64_t> successors;
  for (const problem::Tensor& tensor : task.graph.tensors)
    if (tensor.next >= 0) successors.insert(tensor.next);
  const Model& model = task.model;
  Indexed<TensorIndex, Stage> last(model.tensors.size(), 0);
  const std::vector<OpIndex> ops = needed_in_order(task);
  for (const OpIndex op : ops)
    if (!is_update(task, op, successors))
      for (const TensorIndex tensor : task.kernel(op).reads) last[tensor] = model.ops[op].stage;
  Indexed<Stage, int32_t> change(model.ops.size() + 3, 0);  // in tensors that cross the end of the stage
  for (const OpIndex op : ops)
    for (const TensorIndex tensor : task.kernel(op).writes) {
      if (last[tensor] <= model.ops[op].stage) continue;
      ++change[model.ops[op].stage];
      --change[last[tensor]];
    }
  Stage boundary = 0;
  int32_t most = 0, now = 0;
  for (Stage stage = 1; stage <= model.stages(); ++stage) {
    now += change[stage];
    if (now > most) most = now, boundary = stage;
  }
  return boundary;
}

}  // namespace pantoum::plan::baseline
