#include "plan/baselines/forward_backward_boundary.h"

#include <algorithm>
#include <unordered_set>

#include "plan/baselines/task.h"

namespace pantoum::plan::baseline {
namespace {

bool is_update(const Task& task, int32_t op, const std::unordered_set<int64_t>& successors) {
  const auto& writes = task.kernel(op).writes;
  return std::any_of(writes.begin(), writes.end(), [&](int32_t tensor) {
    return successors.contains(task.model.tensors[static_cast<size_t>(tensor)].id);
  });
}

}  // namespace

std::vector<int32_t> needed_in_order(const Task& task) {
  const auto needed = needed_ops(task.model, task.choices);
  std::vector<int32_t> ops;
  for (size_t op = 0; op < needed.size(); ++op)
    if (needed[op]) ops.push_back(static_cast<int32_t>(op));
  return ops;
}

int32_t find_forward_backward_boundary(const Task& task) {
  std::unordered_set<int64_t> successors;
  for (const problem::Tensor& tensor : task.graph.tensors)
    if (tensor.next >= 0) successors.insert(tensor.next);
  const Model& model = task.model;
  std::vector<int32_t> last(model.tensors.size(), 0);
  const std::vector<int32_t> ops = needed_in_order(task);
  for (const int32_t op : ops)
    if (!is_update(task, op, successors))
      for (const int32_t tensor : task.kernel(op).reads) last[static_cast<size_t>(tensor)] = op + 1;
  std::vector<int32_t> change(static_cast<size_t>(model.never()) + 1, 0);  // by stage: in tensors that cross its end
  for (const int32_t op : ops)
    for (const int32_t tensor : task.kernel(op).writes) {
      if (last[static_cast<size_t>(tensor)] <= op + 1) continue;
      ++change[static_cast<size_t>(op) + 1];
      --change[static_cast<size_t>(last[static_cast<size_t>(tensor)])];
    }
  int32_t boundary = 0, most = 0, now = 0;
  for (int32_t stage = 1; stage <= model.stages(); ++stage) {
    now += change[static_cast<size_t>(stage)];
    if (now > most) most = now, boundary = stage;
  }
  return boundary;
}

}  // namespace pantoum::plan::baseline
