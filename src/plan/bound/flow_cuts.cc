#include "plan/bound/flow_cuts.h"

#include "plan/bound/relaxation.h"

namespace pantoum::plan {
namespace {

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

class FlowSeparator {
 public:
  FlowSeparator(const Relaxation& relaxation, const std::vector<double>& point)
      : relaxation_(relaxation), model_(relaxation.model()), point_(point) {
    const size_t segments = z(relaxation.segments());
    work_.assign(segments + 1, 0), ends_.assign(segments + 1, 0), computed_.assign(segments + 1, 0),
        ins_.assign(segments, 0);
    for (const OpModel& op : model_.ops) {
      const int32_t segment = relaxation.segment_of(op.stage);
      seconds_.push_back(cheapest(op, [](const ChoiceModel& choice) { return choice.seconds; }));
      if (op.optional) continue;
      work_[z(segment) + 1] += seconds_.back();
      if (op.stage == relaxation.boundary(segment)) ends_[z(segment)] = seconds_.back();
    }
    for (int32_t segment = 0; segment < relaxation.segments(); ++segment) add_segment(segment);
  }

  // The most violated for the segment; nothing where none is by more than `least`.
  void cut(int32_t segment, bool moves, double least, std::vector<Row>& cuts) const {
    std::vector<double> outs(z(segment) + 2, 0);  // by a + 1
    for (int32_t tensor = 0; tensor < static_cast<int32_t>(model_.tensors.size()); ++tensor)
      if (const int32_t column = relaxation_.written(segment, tensor); column >= 0)
        outs[z(latest(tensor)) + 1] += model_.tensors[z(tensor)].out_s * at(column);
    for (size_t after = outs.size() - 1; after-- > 0;) outs[after] += outs[after + 1];
    double behind = moves ? 0 : work_.back() - work_[z(segment) + 1] + ends_[z(segment)];
    for (int32_t each = segment + 1; each < relaxation_.segments(); ++each)
      behind += moves ? ins_[z(each)] : computed_[z(each) + 1] - computed_[z(each)];
    int32_t best = -2;
    for (int32_t first = -1; first < (moves ? segment + 1 : segment); ++first) {
      const double before = work_[z(first + 1)] + computed_[z(first + 1)];
      const double lack = before + outs[z(first + 1)] + behind - at(relaxation_.makespan());
      if (lack > least) best = first, least = lack;
    }
    if (best > -2) cuts.push_back(row(best, segment, moves));
  }

 private:
  [[nodiscard]] double at(int32_t column) const { return column < 0 ? 0 : point_[z(column)]; }

  // The last a for which the tensor counts.
  [[nodiscard]] int32_t latest(int32_t tensor) const {
    return model_.tensors[z(tensor)].producer < 0 ? -1 : relaxation_.definition_segment(tensor) - 1;
  }

  void add_segment(int32_t segment) {
    work_[z(segment) + 1] += work_[z(segment)];
    computed_[z(segment) + 1] = computed_[z(segment)];
    for (int32_t op = 0; op < model_.stages(); ++op)
      computed_[z(segment) + 1] += seconds_[z(op)] * at(relaxation_.recomputed(segment, op));
    for (int32_t tensor = 0; tensor < static_cast<int32_t>(model_.tensors.size()); ++tensor)
      ins_[z(segment)] += model_.tensors[z(tensor)].in_s * at(relaxation_.paged_in(segment, tensor));
  }

  [[nodiscard]] Row row(int32_t first, int32_t segment, bool moves) const {
    Row row{.terms = {{relaxation_.makespan(), 1}}, .rule = Rule::kFlow, .of = {first, segment, moves ? 1 : 0}};
    row.lower = work_[z(first + 1)];
    if (!moves) row.lower += work_.back() - work_[z(segment) + 1] + ends_[z(segment)];
    const auto add = [&](int32_t column, double seconds) {
      if (column >= 0) row.terms.push_back({column, -seconds});
    };
    for (int32_t each = 0; each < relaxation_.segments(); ++each)
      for (int32_t op = 0; op < model_.stages(); ++op)
        if (each <= first || (!moves && each > segment)) add(relaxation_.recomputed(each, op), seconds_[z(op)]);
    for (int32_t tensor = 0; tensor < static_cast<int32_t>(model_.tensors.size()); ++tensor) {
      const TensorModel& entry = model_.tensors[z(tensor)];
      if (latest(tensor) >= first) add(relaxation_.written(segment, tensor), entry.out_s);
      for (int32_t each = segment + 1; moves && each < relaxation_.segments(); ++each)
        add(relaxation_.paged_in(each, tensor), entry.in_s);
    }
    return row;
  }

  const Relaxation& relaxation_;
  const Model& model_;
  const std::vector<double>& point_;
  std::vector<double> seconds_;          // by op
  std::vector<double> work_, computed_;  // of the segments before: first computations, and the others
  std::vector<double> ends_, ins_;       // by segment: its boundary op, its page-ins
};

}  // namespace

std::vector<Row> flow_cuts(const Relaxation& relaxation, const std::vector<double>& point, double tolerance) {
  std::vector<Row> cuts;
  if (relaxation.flow_segments().empty()) return cuts;
  const double least = tolerance * relaxation.columns()[z(relaxation.makespan())].upper;
  const FlowSeparator separator(relaxation, point);
  for (const int32_t segment : relaxation.flow_segments())
    for (const bool moves : {false, true}) separator.cut(segment, moves, least, cuts);
  return cuts;
}

}  // namespace pantoum::plan
