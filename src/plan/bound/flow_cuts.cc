#include "plan/bound/flow_cuts.h"

namespace pantoum::plan {
namespace {

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

class Separator {
 public:
  Separator(const Relaxation& relaxation, const std::vector<double>& point)
      : relaxation_(relaxation), model_(relaxation.model()), point_(point) {
    const size_t epochs = z(relaxation.epochs());
    work_.assign(epochs + 1, 0), ends_.assign(epochs + 1, 0), computed_.assign(epochs + 1, 0), ins_.assign(epochs, 0);
    for (const OpModel& op : model_.ops) {
      const int32_t epoch = relaxation.epoch_of(op.stage);
      seconds_.push_back(cheapest(op, [](const ChoiceModel& choice) { return choice.seconds; }));
      if (op.optional) continue;
      work_[z(epoch) + 1] += seconds_.back();
      if (op.stage == relaxation.boundary(epoch)) ends_[z(epoch)] = seconds_.back();
    }
    for (int32_t epoch = 0; epoch < relaxation.epochs(); ++epoch) add_epoch(epoch);
  }

  // The most violated for the epoch; nothing where none is by more than `least`.
  void cut(int32_t epoch, bool moves, double least, std::vector<Row>& cuts) const {
    std::vector<double> outs(z(epoch) + 2, 0);  // by a + 1
    for (int32_t tensor = 0; tensor < static_cast<int32_t>(model_.tensors.size()); ++tensor)
      if (const int32_t column = relaxation_.written(epoch, tensor); column >= 0)
        outs[z(latest(tensor)) + 1] += model_.tensors[z(tensor)].out_s * at(column);
    for (size_t after = outs.size() - 1; after-- > 0;) outs[after] += outs[after + 1];
    double behind = moves ? 0 : work_.back() - work_[z(epoch) + 1] + ends_[z(epoch)];
    for (int32_t each = epoch + 1; each < relaxation_.epochs(); ++each)
      behind += moves ? ins_[z(each)] : computed_[z(each) + 1] - computed_[z(each)];
    int32_t best = -2;
    for (int32_t first = -1; first < (moves ? epoch + 1 : epoch); ++first) {
      const double before = work_[z(first + 1)] + computed_[z(first + 1)];
      const double lack = before + outs[z(first + 1)] + behind - at(relaxation_.makespan());
      if (lack > least) best = first, least = lack;
    }
    if (best > -2) cuts.push_back(row(best, epoch, moves));
  }

 private:
  [[nodiscard]] double at(int32_t column) const { return column < 0 ? 0 : point_[z(column)]; }

  // The last a for which the tensor counts.
  [[nodiscard]] int32_t latest(int32_t tensor) const {
    return model_.tensors[z(tensor)].producer < 0 ? -1 : relaxation_.birth(tensor) - 1;
  }

  void add_epoch(int32_t epoch) {
    work_[z(epoch) + 1] += work_[z(epoch)];
    computed_[z(epoch) + 1] = computed_[z(epoch)];
    for (int32_t op = 0; op < model_.stages(); ++op)
      computed_[z(epoch) + 1] += seconds_[z(op)] * at(relaxation_.again(epoch, op));
    for (int32_t tensor = 0; tensor < static_cast<int32_t>(model_.tensors.size()); ++tensor)
      ins_[z(epoch)] += model_.tensors[z(tensor)].in_s * at(relaxation_.paged_in(epoch, tensor));
  }

  [[nodiscard]] Row row(int32_t first, int32_t epoch, bool moves) const {
    Row row{.terms = {{relaxation_.makespan(), 1}}, .rule = Rule::kFlow, .of = {first, epoch, moves ? 1 : 0}};
    row.lower = work_[z(first + 1)];
    if (!moves) row.lower += work_.back() - work_[z(epoch) + 1] + ends_[z(epoch)];
    const auto add = [&](int32_t column, double seconds) {
      if (column >= 0) row.terms.push_back({column, -seconds});
    };
    for (int32_t each = 0; each < relaxation_.epochs(); ++each)
      for (int32_t op = 0; op < model_.stages(); ++op)
        if (each <= first || (!moves && each > epoch)) add(relaxation_.again(each, op), seconds_[z(op)]);
    for (int32_t tensor = 0; tensor < static_cast<int32_t>(model_.tensors.size()); ++tensor) {
      const TensorModel& entry = model_.tensors[z(tensor)];
      if (latest(tensor) >= first) add(relaxation_.written(epoch, tensor), entry.out_s);
      for (int32_t each = epoch + 1; moves && each < relaxation_.epochs(); ++each)
        add(relaxation_.paged_in(each, tensor), entry.in_s);
    }
    return row;
  }

  const Relaxation& relaxation_;
  const Model& model_;
  const std::vector<double>& point_;
  std::vector<double> seconds_;          // by op
  std::vector<double> work_, computed_;  // of the epochs before: first computations, and the others
  std::vector<double> ends_, ins_;       // by epoch: its boundary op, its page-ins
};

}  // namespace

std::vector<Row> flow_cuts(const Relaxation& relaxation, const std::vector<double>& point, double tolerance) {
  std::vector<Row> cuts;
  if (relaxation.flow_epochs().empty()) return cuts;
  const double least = tolerance * relaxation.columns()[z(relaxation.makespan())].upper;
  const Separator separator(relaxation, point);
  for (const int32_t epoch : relaxation.flow_epochs())
    for (const bool moves : {false, true}) separator.cut(epoch, moves, least, cuts);
  return cuts;
}

}  // namespace pantoum::plan
