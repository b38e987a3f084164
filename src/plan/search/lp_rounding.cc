#include "plan/search/search.h"

#include <algorithm>
#include <utility>

#include "plan/bound/relaxation.h"

namespace pantoum::plan {
namespace {

constexpr double kHalf = 0.5;

class Rounding {
 public:
  Rounding(const Relaxation& relaxation, const Point& point)
      : relaxation_(relaxation), model_(relaxation.model()), point_(point) {}

  IntervalPolicy round(IntervalIndex interval) const {
    const Interval& span = model_.intervals[interval];
    IntervalPolicy policy = retained(span);
    // A segment opens right after the boundary of the one before it.
    Segment segment = relaxation_.segment_of(span.from) + 1;
    const Segment last = relaxation_.segment_of(span.to);
    Stage left = span.from;
    while (segment <= last && in_ram(segment, span.tensor)) left = relaxation_.boundary(segment++ - 1);
    if (segment > last) return policy;
    policy.evict = left;
    policy.page = may_page(model_, interval) &&
                  (!may_drop(model_, interval) || value(relaxation_.paged_out(span.tensor)) > kHalf);
    Segment back = last;
    while (back > segment && in_ram(back, span.tensor)) --back;
    if (back < last) policy.retain = std::max(left + 1, relaxation_.boundary(back - 1) + 1);
    return policy;
  }

 private:
  // More likely than not, when the segment opens.
  bool in_ram(Segment segment, TensorIndex tensor) const {
    const ColumnIndex column = relaxation_.in_ram(segment, tensor);
    return !column.exists() || point_[column] >= kHalf;  // nothing is known of what only some choices read
  }
  double value(ColumnIndex column) const { return column.exists() ? point_[column] : 0; }

  const Relaxation& relaxation_;
  const Model& model_;
  const Point& point_;
};

}  // namespace

Policy round_lp(const Relaxation& relaxation, const Point& point, Choices choices) {
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
