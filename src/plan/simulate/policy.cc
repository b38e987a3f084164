#include "plan/simulate/policy.h"

#include <algorithm>

namespace pantoum::plan {

namespace {

// By tensor: the last stage at which an op that has to be computed reads it under the choices; 0: none.
std::vector<int32_t> last_reads(const Model& model, const std::vector<int32_t>& choices) {
  std::vector<int32_t> last(model.tensors.size(), 0);
  const std::vector<char> needed = needed_ops(model, choices);
  for (size_t op = 0; op < model.ops.size(); ++op) {
    if (!needed[op]) continue;
    for (const int32_t tensor : model.ops[op].choices[static_cast<size_t>(choices[op])].reads)
      last[static_cast<size_t>(tensor)] = std::max(last[static_cast<size_t>(tensor)], model.ops[op].stage);
  }
  return last;
}

}  // namespace

Policy keep_all(const Model& model, std::vector<int32_t> choices) {
  const std::vector<int32_t> reads = last_reads(model, choices);
  Policy policy{.choices = std::move(choices)};
  policy.gaps.reserve(model.gaps.size());
  for (const Gap& gap : model.gaps) {
    const TensorModel& tensor = model.tensors[static_cast<size_t>(gap.tensor)];
    const bool last = gap.to == model.never();
    const bool unread = gap.free && reads[static_cast<size_t>(gap.tensor)] < gap.to;
    const bool stays = !(last || unread) || tensor.pinned;
    policy.gaps.push_back({.evict = stays ? gap.to : gap.from,
                           .again = gap.to,
                           .until = gap.to,
                           .fetch = gap.to,
                           .page = last && tensor.ends_in_aux && tensor.start != problem::Home::kAux});
  }
  return policy;
}

}  // namespace pantoum::plan
