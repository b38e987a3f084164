#include "plan/policy.h"

namespace pantoum::plan {

Policy keep_all(const Model& model, std::vector<int32_t> choices) {
  Policy policy{.choices = std::move(choices)};
  policy.gaps.reserve(model.gaps.size());
  for (const Gap& gap : model.gaps) {
    const TensorModel& tensor = model.tensors[static_cast<size_t>(gap.tensor)];
    const bool last = gap.to == model.never();
    const bool stays = !last || tensor.pinned;
    policy.gaps.push_back({.evict = stays ? gap.to : gap.from,
                           .again = gap.to,
                           .until = gap.to,
                           .fetch = gap.to,
                           .page = last && tensor.ends_in_aux && tensor.start != cost::Home::kAux});
  }
  return policy;
}

}  // namespace pantoum::plan
