// Path cuts: what is needed in a segment was somewhere since an earlier one opened.
//
// For segments a < b and a tensor i that is needed in b, with o the op that makes i:
//
//   A_i = S[a,i] + min(sum of I[a..b,i], X[i]) + min(sum of R[a..b,o], the least A_k over the inputs k of o)
//   A_i = 1 for what is first computed in [a,b]
//
// In every plan A_i >= 1 (with the OR over the segments for each sum), so where the point gives less, the path of the
// least inputs is a cut. Exact: no cut is missed.
//
// Where the relaxation has W and F of segment a - 1, these stand for X: a copy in storage that is read in [a,b] was
// written, or on the way there, when the boundary op of a - 1 started; else i was in RAM after it without being paged
// in.
//
// Where all orders are meant, an op p that floats (relaxation.h) and reads i is first computed outside [a,b], or i was
// somewhere in it, for all a and b: sum of R[e,p] over the rest of its window + A_i >= 1.
//
// The structure of lot sizing (Barany, Van Roy and Wolsey, 1984), projected.
#include "plan/bound/separator.h"

#include <algorithm>

#include "plan/bound/relaxation.h"

namespace pantoum::plan {
namespace {

constexpr double kViolationStep = 0.02;  // a wider window must violate by so much more

class PathSeparator {
 public:
  PathSeparator(const Relaxation& relaxation, const Point& point, double tolerance)
      : relaxation_(relaxation),
        model_(relaxation.model()),
        point_(point),
        tolerance_(tolerance),
        step_(relaxation.model().uses(Switch::kPathStep) ? kViolationStep : 0) {
    value_.assign(model_.tensors.size(), 1);
    via_.assign(model_.tensors.size(), TensorIndex());
    for (const TensorIndex tensor : model_.tensors.indices()) by_stage_.push_back(tensor);
    std::ranges::stable_sort(by_stage_, {}, [&](TensorIndex tensor) { return model_.tensors[tensor].producer; });
    for (const OpIndex op : model_.ops.indices())
      if (relaxation_.floats(op)) floating_.push_back(floating(op));
  }

  std::vector<Row> run(const std::function<bool()>& stop) {
    std::vector<Row> cuts;
    for (Segment last = 1; last < relaxation_.segments() && !stop(); ++last) {
      const std::vector<TensorIndex>& needs = relaxation_.needs(last);
      if (needs.empty() && floating_.empty()) continue;
      std::vector<double> worst(needs.size(), 1 - tolerance_);
      ins_.assign(model_.tensors.size(), 0), computes_.assign(model_.ops.size(), 0);
      add_segment(last);
      for (Segment first = last - 1; first >= 0; --first) {
        add_segment(first);
        evaluate(first, last);
        for (size_t need = 0; need < needs.size(); ++need) {
          if (value_[needs[need]] >= worst[need] - step_) continue;
          worst[need] = value_[needs[need]];
          cuts.push_back(cut(needs[need], first, last));
        }
        for (Floating& each : floating_) cut_floating(each, first, last);
      }
    }
    for (Floating& each : floating_)
      if (!each.worst.terms.empty()) cuts.push_back(std::move(each.worst));
    return cuts;
  }

 private:
  // Returns the value of the column, but not less than 0: with a solver's slightly negative zeros a path would go on
  // through an op that cannot be recomputed, to tensors that have no columns.
  double at(ColumnIndex column) const { return column.exists() ? std::max(0.0, point_[column]) : 0; }

  struct Floating {
    OpIndex op;
    std::vector<double> before;  // by segments behind its first one: the sum of R in the window's before
    double value = 1;            // of the left side of the worst row
    Row worst;                   // empty: none is violated
  };

  Floating floating(OpIndex op) const {
    Floating entry{.op = op, .before = {0}, .value = 1 - tolerance_, .worst = {}};
    for (Segment segment = relaxation_.first_segment(op); segment <= relaxation_.last_segment(op); ++segment)
      entry.before.push_back(entry.before.back() + at(relaxation_.recomputed(segment, op)));
    return entry;
  }

  // The sum of R in the window, but for the segments from `first` to `last`.
  double outside(const Floating& entry, Segment first, Segment last) const {
    const Segment from = std::max(first, relaxation_.first_segment(entry.op)) - relaxation_.first_segment(entry.op);
    const Segment to = std::min(last, relaxation_.last_segment(entry.op)) - relaxation_.first_segment(entry.op) + 1;
    const std::vector<double>& before = entry.before;
    return before.back() - before[position_of(to)] + before[position_of(from)];
  }

  void cut_floating(Floating& entry, Segment first, Segment last) const {
    if (last < relaxation_.first_segment(entry.op) || first > relaxation_.last_segment(entry.op)) return;
    const double elsewhere = outside(entry, first, last);
    if (elsewhere >= entry.value) return;
    for (const TensorIndex tensor : relaxation_.reads(entry.op)) {
      if (elsewhere + value_[tensor] >= entry.value - step_) continue;
      entry.value = elsewhere + value_[tensor];
      entry.worst = window_cut(entry.op, tensor, first, last);
    }
  }

  void add_segment(Segment segment) {
    for (const TensorIndex tensor : ins_.indices()) ins_[tensor] += at(relaxation_.paged_in(segment, tensor));
    for (const OpIndex op : computes_.indices()) computes_[op] += at(relaxation_.recomputed(segment, op));
  }

  // Does a path cut count what was written rather than what was read?
  bool by_writing(TensorIndex tensor) const {
    return model_.tensors[tensor].start != Home::kAux && model_.uses(Switch::kStoredOnce);
  }
  bool flows(Segment first) const { return first > 0 && relaxation_.flows(first - 1); }
  double copied(TensorIndex tensor, Segment first) const {
    if (!flows(first)) return at(relaxation_.paged_out(tensor));
    return at(relaxation_.written(first - 1, tensor)) + at(relaxation_.in_flight(first - 1, tensor));
  }
  double own(TensorIndex tensor, Segment first) const {
    const double paged = !by_writing(tensor) ? ins_[tensor] : std::min(ins_[tensor], copied(tensor, first));
    return at(relaxation_.in_ram(first, tensor)) + paged;
  }

  void evaluate(Segment first, Segment last) {
    for (const TensorIndex tensor : by_stage_) {
      const TensorModel& entry = model_.tensors[tensor];
      via_[tensor] = TensorIndex();
      value_[tensor] = 1;
      const bool free =
          relaxation_.definition_segment(tensor) >= first || (first == 0 && relaxation_.definition_segment(tensor) < 0);
      if (entry.pinned || relaxation_.definition_segment(tensor) > last || (relaxation_.defined(tensor) && free))
        continue;
      double made = 0;
      if (entry.producer.exists()) {
        made = computes_[entry.producer];
        for (const TensorIndex input : relaxation_.reads(entry.producer))
          if (value_[input] < made) made = value_[input], via_[tensor] = input;
      }
      value_[tensor] = std::min(1.0, own(tensor, first) + made);
    }
  }

  Row cut(TensorIndex tensor, Segment first, Segment last) const {
    Row row{.lower = 1, .rule = Rule::kPath, .of = {first, last}};
    add_path(tensor, first, last, row);
    return row;
  }

  Row window_cut(OpIndex op, TensorIndex tensor, Segment first, Segment last) const {
    Row row{.lower = 1, .rule = Rule::kWindow, .of = {first, last, op.value()}};
    for (Segment segment = relaxation_.first_segment(op); segment <= relaxation_.last_segment(op); ++segment)
      if (segment < first || segment > last) row.add(relaxation_.recomputed(segment, op), 1);
    add_path(tensor, first, last, row);
    return row;
  }

  void add_path(TensorIndex tensor, Segment first, Segment last, Row& row) const {
    for (;; tensor = via_[tensor]) {
      row.add(relaxation_.in_ram(first, tensor), 1);
      const ColumnIndex out = relaxation_.paged_out(tensor);
      const bool once = by_writing(tensor) && out.exists() && copied(tensor, first) < ins_[tensor];
      row.of.insert(row.of.end(), {tensor.value(), !once ? 0 : flows(first) ? 2 : 1});
      if (once && flows(first))
        row.add(relaxation_.written(first - 1, tensor), 1), row.add(relaxation_.in_flight(first - 1, tensor), 1);
      else if (once)
        row.add(out, 1);
      else
        for (Segment segment = first; segment <= last; ++segment) row.add(relaxation_.paged_in(segment, tensor), 1);
      if (!via_[tensor].exists()) break;
    }
    const OpIndex producer = model_.tensors[tensor].producer;
    for (Segment segment = first; producer.exists() && segment <= last; ++segment)
      row.add(relaxation_.recomputed(segment, producer), 1);
  }

  const Relaxation& relaxation_;
  const Model& model_;
  const Point& point_;
  const double tolerance_, step_;
  std::vector<TensorIndex> by_stage_;
  std::vector<Floating> floating_;
  Indexed<TensorIndex, TensorIndex> via_;
  Indexed<TensorIndex, double> value_, ins_;
  Indexed<OpIndex, double> computes_;
};

}  // namespace

std::vector<Row> path_cuts(const Relaxation& relaxation, const Point& point, double tolerance,
                           const std::function<bool()>& stop) {
  return PathSeparator(relaxation, point, tolerance).run(stop);
}

}  // namespace pantoum::plan
