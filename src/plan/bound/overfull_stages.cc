#include "plan/bound/overfull_stages.h"

#include <algorithm>
#include <optional>

#include "plan/bound/relaxation.h"

namespace pantoum::plan {
namespace {

constexpr double kLeastExcess = 1e-3;  // of the budget

struct Excess {
  Stage stage = 0;
  double bytes = 0;
};

// The bytes that are in RAM at each stage of one segment, at the least.
class SegmentLoad {
 public:
  SegmentLoad(const Relaxation& relaxation, const Point& point, Segment segment, bool reuse)
      : relaxation_(relaxation),
        model_(relaxation.model()),
        point_(point),
        segment_(segment),
        open_(segment == 0 ? 0 : relaxation.boundary(segment - 1)),
        end_(relaxation.boundary(segment)),
        reuse_(reuse),
        first_read_(model_.tensors.size(), 0),
        last_read_(model_.tensors.size(), 0),
        change_(base::position_of(end_ - open_) + 2, 0) {
    for (Stage stage = open_ + 1; stage <= end_ && stage < model_.end(); ++stage)
      if (const OpIndex op = Model::op_of(stage); !model_.ops[op].optional)
        for (const TensorIndex tensor : relaxation_.reads(op)) {
          last_read_[tensor] = stage;
          if (first_read_[tensor] == 0) first_read_[tensor] = stage;
        }
    for (const TensorIndex tensor : model_.tensors.indices()) add(tensor);
  }

  [[nodiscard]] std::optional<Excess> worst() const {
    Excess worst;
    double load = 0;
    for (Stage stage = open_ + 1; stage < end_; ++stage) {
      load += change_[base::position_of(stage - open_)];
      const OpIndex op = Model::op_of(stage);
      if (model_.ops[op].optional) continue;
      const double excess = load - touched(op, stage) - static_cast<double>(relaxation_.budget_beside(segment_, op));
      if (excess > worst.bytes) worst = {stage, excess};
    }
    const auto budget = static_cast<double>(relaxation_.options().question.budget_bytes());
    return worst.bytes > kLeastExcess * budget ? std::optional(worst) : std::nullopt;
  }

 private:
  [[nodiscard]] double at(ColumnIndex column) const { return column.exists() ? point_[column] : 0; }

  [[nodiscard]] Stage definition(TensorIndex tensor) const {
    const OpIndex producer = model_.tensors[tensor].producer;
    return producer.exists() ? model_.ops[producer].stage : 0;
  }

  // How much of the tensor is there at a stage of the segment, behind its definition.
  [[nodiscard]] double presence(TensorIndex tensor, Stage stage) const {
    if (model_.tensors[tensor].pinned || definition(tensor) >= stage) return 0;
    const OpIndex producer = model_.tensors[tensor].producer;
    const double brought = at(relaxation_.paged_in(segment_, tensor)) +
                           (producer.exists() ? at(relaxation_.recomputed(segment_, producer)) : 0);
    const bool last = segment_ + 1 == relaxation_.segments();
    const double after = last ? model_.tensors[tensor].ends_in_ram : at(relaxation_.in_ram(segment_ + 1, tensor));
    const double part = reuse_ && stage > first_read_[tensor] ? 0 : brought;
    return std::max(0.0, last_read_[tensor] >= stage ? 1 - part : after - brought);
  }

  void add(TensorIndex tensor) {
    const auto size = static_cast<double>(model_.tensors[tensor].size);
    const Stage from = std::max(open_, definition(tensor)) + 1;
    if (from >= end_ || size == 0) return;
    double last = 0;
    for (const Stage at : {from, std::max(from, first_read_[tensor] + 1), std::max(from, last_read_[tensor] + 1)}) {
      if (at >= end_) break;
      const double now = presence(tensor, at);
      change_[base::position_of(at - open_)] += size * (now - last);
      last = now;
    }
  }

  // Of what is there, what the op touches: its working set has that.
  [[nodiscard]] double touched(OpIndex op, Stage stage) const {
    double bytes = 0;
    std::vector<TensorIndex> all;
    for (const ChoiceModel& choice : model_.ops[op].choices) {
      all.insert(all.end(), choice.reads.begin(), choice.reads.end());
      all.insert(all.end(), choice.writes.begin(), choice.writes.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const TensorIndex tensor : all)
      bytes += static_cast<double>(model_.tensors[tensor].size) * presence(tensor, stage);
    return bytes;
  }

  const Relaxation& relaxation_;
  const Model& model_;
  const Point& point_;
  const Segment segment_;
  const Stage open_, end_;
  const bool reuse_;
  Indexed<TensorIndex, Stage> first_read_, last_read_;
  std::vector<double> change_;
};

}  // namespace

std::vector<Stage> overfull_stages(const Relaxation& relaxation, const Point& point, size_t most) {
  std::vector<Excess> found;
  for (const bool reuse : {false, true}) {
    for (Segment segment = 0; segment < relaxation.segments(); ++segment)
      if (const auto worst = SegmentLoad(relaxation, point, segment, reuse).worst()) found.push_back(*worst);
    if (!found.empty()) break;
  }
  std::stable_sort(found.begin(), found.end(), [](const Excess& a, const Excess& b) { return a.bytes > b.bytes; });
  if (found.size() > most) found.resize(most);
  std::vector<Stage> stages;
  stages.reserve(found.size());
  for (const Excess& each : found) stages.push_back(each.stage);
  std::sort(stages.begin(), stages.end());
  return stages;
}

}  // namespace pantoum::plan
