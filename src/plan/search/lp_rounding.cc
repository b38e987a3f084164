#include "plan/search/lp_rounding.h"

namespace pantoum::plan {
namespace {

constexpr double kHalf = 0.5;

class Rounding {
 public:
  Rounding(const Relaxation& relaxation, const std::vector<double>& point)
      : relaxation_(relaxation), model_(relaxation.model()), point_(point) {}

  [[nodiscard]] IntervalPolicy round(IntervalIndex interval) const {
    const Interval& span = model_.intervals[interval];
    IntervalPolicy policy = retained(span);
    // An epoch opens right after the boundary of the one before it.
    int32_t epoch = relaxation_.epoch_of(span.from) + 1;
    const int32_t last = relaxation_.epoch_of(span.to);
    Stage left = span.from;
    while (epoch <= last && retains(epoch, span.tensor)) left = relaxation_.boundary(epoch++ - 1);
    if (epoch > last) return policy;
    policy.evict = left;
    policy.page = may_page(model_, interval) &&
                  (!may_drop(model_, interval) || value(relaxation_.paged_out(span.tensor)) > kHalf);
    int32_t back = last;
    while (back > epoch && retains(back, span.tensor)) --back;
    if (back < last) policy.retain = std::max(left + 1, relaxation_.boundary(back - 1) + 1);
    return policy;
  }

 private:
  [[nodiscard]] bool retains(int32_t epoch, TensorIndex tensor) const {
    const int32_t column = relaxation_.in_ram(epoch, tensor);
    return column < 0 || value(column) >= kHalf;  // nothing is known of what only some choices read
  }
  [[nodiscard]] double value(int32_t column) const { return column < 0 ? 0 : point_[static_cast<size_t>(column)]; }

  const Relaxation& relaxation_;
  const Model& model_;
  const std::vector<double>& point_;
};

}  // namespace

Policy round_lp(const Relaxation& relaxation, const std::vector<double>& point, Choices choices) {
  const Model& model = relaxation.model();
  Policy policy = keep_all(model, std::move(choices));
  const Rounding rounding(relaxation, point);
  for (const IntervalIndex interval : model.intervals.indices()) {
    const Interval& span = model.intervals[interval];
    const bool free = !model.tensors[span.tensor].pinned && (may_page(model, interval) || may_drop(model, interval));
    if (free && span.to <= model.end() && span.to - span.from > 1)
      policy.intervals[interval] = rounding.round(interval);
  }
  return policy;
}

}  // namespace pantoum::plan
