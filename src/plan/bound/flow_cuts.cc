// Flow cuts: what the pager's channel moves takes the time that there is for it.
//
// For a segment e that has columns W, and a in -1..e:
//
//   T >= work up to a's boundary op + the seconds of writing W[e,i] for all i first computed after a + what follows e
//
// What is first computed after a's boundary op is not written before that op ended. What is written when e's boundary
// op starts was written one by one. And behind that start there is still
//
//   the work from e's boundary op on (a < e), or
//   the page-ins of the segments after e, one by one.
//
// Work counts the first computations, and R in segments up to a, or after e. (a = -1: no work, and all W.)
#include "plan/bound/separator.h"

#include "plan/bound/relaxation.h"

namespace pantoum::plan {
namespace {

class FlowSeparator {
 public:
  FlowSeparator(const Relaxation& relaxation, const Point& point)
      : relaxation_(relaxation), model_(relaxation.model()), point_(point) {
    const size_t segments = position_of(relaxation.segments());
    work_.assign(segments + 1, 0), computed_.assign(segments + 1, 0);
    ends_.assign(segments, 0), ins_.assign(segments, 0);
    for (const OpModel& op : model_.ops) {
      const Segment segment = relaxation.segment_of(op.stage);
      seconds_.push_back(cheapest(op, [](const ChoiceModel& choice) { return choice.seconds; }));
      if (op.optional) continue;
      work_[segment + 1] += seconds_.back();
      if (op.stage == relaxation.boundary(segment)) ends_[segment] = seconds_.back();
    }
    for (Segment segment = 0; segment < relaxation.segments(); ++segment) add_segment(segment);
  }

  // The most violated for the segment; nothing where none is by more than `least`.
  void cut(Segment segment, bool moves, double least, std::vector<Row>& cuts) const {
    Indexed<Segment, double> outs(position_of(segment) + 2);  // by a + 1
    for (const TensorIndex tensor : model_.tensors.indices())
      if (const ColumnIndex column = relaxation_.written(segment, tensor); column.exists())
        outs[latest(tensor) + 1] += model_.tensors[tensor].out_s * at(column);
    for (Segment after = segment; after >= 0; --after) outs[after] += outs[after + 1];
    double behind = moves ? 0 : work_.back() - work_[segment + 1] + ends_[segment];
    for (Segment each = segment + 1; each < relaxation_.segments(); ++each)
      behind += moves ? ins_[each] : computed_[each + 1] - computed_[each];
    Segment best = -2;
    for (Segment first = -1; first < (moves ? segment + 1 : segment); ++first) {
      const double before = work_[first + 1] + computed_[first + 1];
      const double lack = before + outs[first + 1] + behind - at(relaxation_.makespan());
      if (lack > least) best = first, least = lack;
    }
    if (best > -2) cuts.push_back(row(best, segment, moves));
  }

 private:
  double at(ColumnIndex column) const { return column.exists() ? point_[column] : 0; }

  // The last a for which the tensor counts.
  Segment latest(TensorIndex tensor) const {
    return model_.tensors[tensor].producer.exists() ? relaxation_.definition_segment(tensor) - 1 : -1;
  }

  void add_segment(Segment segment) {
    work_[segment + 1] += work_[segment];
    computed_[segment + 1] = computed_[segment];
    for (const OpIndex op : model_.ops.indices())
      computed_[segment + 1] += seconds_[op] * at(relaxation_.recomputed(segment, op));
    for (const TensorIndex tensor : model_.tensors.indices())
      ins_[segment] += model_.tensors[tensor].in_s * at(relaxation_.paged_in(segment, tensor));
  }

  Row row(Segment first, Segment segment, bool moves) const {
    Row row{.terms = {{relaxation_.makespan(), 1}}, .rule = Rule::kFlow, .of = {first, segment, moves ? 1 : 0}};
    row.lower = work_[first + 1];
    if (!moves) row.lower += work_.back() - work_[segment + 1] + ends_[segment];
    for (Segment each = 0; each < relaxation_.segments(); ++each)
      for (const OpIndex op : model_.ops.indices())
        if (each <= first || (!moves && each > segment)) row.add(relaxation_.recomputed(each, op), -seconds_[op]);
    for (const TensorIndex tensor : model_.tensors.indices()) {
      const TensorModel& entry = model_.tensors[tensor];
      if (latest(tensor) >= first) row.add(relaxation_.written(segment, tensor), -entry.out_s);
      for (Segment each = segment + 1; moves && each < relaxation_.segments(); ++each)
        row.add(relaxation_.paged_in(each, tensor), -entry.in_s);
    }
    return row;
  }

  const Relaxation& relaxation_;
  const Model& model_;
  const Point& point_;
  Indexed<OpIndex, double> seconds_;
  Indexed<Segment, double> work_, computed_;  // of the segments before: first computations, and the others
  Indexed<Segment, double> ends_, ins_;       // its boundary op, its page-ins
};

}  // namespace

std::vector<Row> flow_cuts(const Relaxation& relaxation, const Point& point, double tolerance) {
  std::vector<Row> cuts;
  if (relaxation.flow_segments().empty()) return cuts;
  const double least = tolerance * relaxation.columns()[relaxation.makespan()].upper;
  const FlowSeparator separator(relaxation, point);
  for (const Segment segment : relaxation.flow_segments())
    for (const bool moves : {false, true}) separator.cut(segment, moves, least, cuts);
  return cuts;
}

}  // namespace pantoum::plan
