#include "plan/search/lp_rounding.h"

namespace pantoum::plan {
namespace {

constexpr double kHalf = 0.5;

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

class Rounding {
 public:
  Rounding(const Relaxation& relaxation, const std::vector<double>& point)
      : relaxation_(relaxation), model_(relaxation.model()), point_(point) {}

  [[nodiscard]] IntervalPolicy round(int32_t interval) const {
    const Interval& span = model_.intervals[z(interval)];
    IntervalPolicy policy{.evict = span.to, .retain = span.to, .until = span.to, .fetch = span.to};
    // An epoch opens right after the boundary of the one before it.
    int32_t epoch = relaxation_.epoch_of(span.from) + 1;
    const int32_t last = relaxation_.epoch_of(span.to);
    int32_t left = span.from;
    while (epoch <= last && stays(epoch, span.tensor)) left = relaxation_.boundary(epoch++ - 1);
    if (epoch > last) return policy;
    policy.evict = left;
    policy.page = may_page(model_, interval) &&
                  (!may_drop(model_, interval) || value(relaxation_.paged_out(span.tensor)) > kHalf);
    int32_t back = last;
    while (back > epoch && stays(back, span.tensor)) --back;
    if (back < last) policy.retain = std::max(left + 1, relaxation_.boundary(back - 1) + 1);
    return policy;
  }

 private:
  [[nodiscard]] bool stays(int32_t epoch, int32_t tensor) const {
    const int32_t column = relaxation_.in_ram(epoch, tensor);
    return column < 0 || point_[z(column)] >= kHalf;  // nothing is known of what only some choices read
  }
  [[nodiscard]] double value(int32_t column) const { return column < 0 ? 0 : point_[z(column)]; }

  const Relaxation& relaxation_;
  const Model& model_;
  const std::vector<double>& point_;
};

}  // namespace

Policy round_lp(const Relaxation& relaxation, const std::vector<double>& point, Choices choices) {
  const Model& model = relaxation.model();
  Policy policy = keep_all(model, std::move(choices));
  const Rounding rounding(relaxation, point);
  for (int32_t interval = 0; interval < static_cast<int32_t>(model.intervals.size()); ++interval) {
    const Interval& span = model.intervals[z(interval)];
    const bool free = !model.tensors[z(span.tensor)].pinned && (may_page(model, interval) || may_drop(model, interval));
    if (free && span.to <= model.end() && span.to - span.from > 1)
      policy.intervals[z(interval)] = rounding.round(interval);
  }
  return policy;
}

}  // namespace pantoum::plan
