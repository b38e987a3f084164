#include "plan/bound/boundaries.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <span>

#include "base/lists.h"
#include "plan/bound/bounds.h"
#include "plan/bound/relaxation.h"

namespace pantoum::plan {
namespace {

// Bytes at a stage.
struct Pressure {
  Bytes live = 0, working = 0;
};

// Returns for each stage 1..n the least live bytes under a plan that retains everything, and the op's working set.
Indexed<Stage, Pressure> pressures(const Model& model) {
  Indexed<Stage, Bytes> change(position_of(model.never()) + 1);
  for (const Interval& interval : model.intervals) {
    if (interval.to == model.never() || interval.to <= interval.from + 1) continue;
    change[interval.from + 1] += model.tensors[interval.tensor].size;
    change[interval.to] -= model.tensors[interval.tensor].size;
  }
  Indexed<Stage, Pressure> result(model.ops.size() + 1);
  Bytes spanning = model.staging;
  for (const OpModel& op : model.ops) {
    spanning += change[op.stage];
    const Bytes working = working_set(model, op);
    result[op.stage] = {spanning + working, model.staging + working};
  }
  return result;
}

std::vector<Stage> pressed_stages(const Model& model, Bytes budget, const Indexed<Stage, Pressure>& pressure) {
  std::vector<Stage> pressed;
  for (Stage stage = 1; stage <= model.stages(); ++stage)
    if (pressure[stage].live > budget && !model.ops[Model::op_of(stage)].optional) pressed.push_back(stage);
  return pressed;
}

std::vector<Stage> pressed_chain(const Model& model, Bytes budget, const Indexed<Stage, Pressure>& pressure,
                                 OpIndex through) {
  Indexed<Stage, double> excess;
  double all = 1;
  for (const Pressure& at : pressure) {
    excess.push_back(static_cast<double>(std::max<Bytes>(0, at.live - budget)));
    all += excess[excess.next_index() - 1];
  }
  if (through.exists()) excess[model.ops[through].stage] += all;
  return heaviest_chain(model, excess);
}

// The stage of the most `key` among the stages; the first of several.
template <class Key>
Stage most_pressed(std::span<const Stage> stages, Key key) {
  return *std::ranges::max_element(stages, {}, key);
}

}  // namespace

std::vector<Stage> choose_boundaries(const Model& model, Bytes budget, int32_t most, bool any_order, OpIndex through) {
  const Indexed<Stage, Pressure> pressure = pressures(model);
  const std::vector<Stage> pressed =
      any_order ? pressed_chain(model, budget, pressure, through) : pressed_stages(model, budget, pressure);
  const size_t count = pressed.size(), limit = position_of(most), slices = std::max<size_t>(1, limit / 2);
  std::set<Stage> chosen;
  if (count <= limit) chosen.insert(pressed.begin(), pressed.end());
  const auto by_live = [&](Stage stage) { return static_cast<double>(pressure[stage].live); };
  const auto by_share = [&](Stage stage) {
    const Pressure& at = pressure[stage];
    return static_cast<double>(at.live - at.working) / static_cast<double>(std::max<Bytes>(1, budget - at.working));
  };
  for (size_t slice = 0; slice < slices && count > limit; ++slice) {
    const size_t begin = count * slice / slices, end = count * (slice + 1) / slices;
    if (begin == end) continue;
    const std::span<const Stage> stages(&pressed[begin], end - begin);
    chosen.insert(most_pressed(stages, by_live));
    if (model.uses(Switch::kRoomBoundaries)) chosen.insert(most_pressed(stages, by_share));
  }
  if (through.exists()) chosen.insert(model.ops[through].stage);
  std::vector<Stage> boundaries(chosen.begin(), chosen.end());
  boundaries.push_back(model.end());
  return boundaries;
}

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
        change_(position_of(end_ - open_) + 2, 0) {
    for (Stage stage = open_ + 1; stage <= end_ && stage < model_.end(); ++stage)
      if (const OpIndex op = Model::op_of(stage); !model_.ops[op].optional)
        for (const TensorIndex tensor : relaxation_.reads(op)) {
          last_read_[tensor] = stage;
          if (first_read_[tensor] == 0) first_read_[tensor] = stage;
        }
    for (const TensorIndex tensor : model_.tensors.indices()) add(tensor);
  }

  std::optional<Excess> worst() const {
    Excess worst;
    double load = 0;
    for (Stage stage = open_ + 1; stage < end_; ++stage) {
      load += change_[position_of(stage - open_)];
      const OpIndex op = Model::op_of(stage);
      if (model_.ops[op].optional) continue;
      const double excess = load - touched(op, stage) - static_cast<double>(relaxation_.budget_beside(segment_, op));
      if (excess > worst.bytes) worst = {stage, excess};
    }
    const auto budget = static_cast<double>(relaxation_.options().question.budget_bytes());
    return worst.bytes > kLeastExcess * budget ? std::optional(worst) : std::nullopt;
  }

 private:
  double at(ColumnIndex column) const { return column.exists() ? point_[column] : 0; }

  Stage definition(TensorIndex tensor) const {
    const OpIndex producer = model_.tensors[tensor].producer;
    return producer.exists() ? model_.ops[producer].stage : 0;
  }

  // How much of the tensor is there at a stage of the segment, behind its definition.
  double presence(TensorIndex tensor, Stage stage) const {
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
      change_[position_of(at - open_)] += size * (now - last);
      last = now;
    }
  }

  // Returns the bytes of what is there and the op touches. Its working set counts them.
  double touched(OpIndex op, Stage stage) const {
    double bytes = 0;
    std::vector<TensorIndex> all;
    for (const ChoiceModel& choice : model_.ops[op].choices) {
      all.insert(all.end(), choice.reads.begin(), choice.reads.end());
      all.insert(all.end(), choice.writes.begin(), choice.writes.end());
    }
    base::make_set(all);
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
  std::ranges::stable_sort(found, std::greater{}, &Excess::bytes);
  if (found.size() > most) found.resize(most);
  std::vector<Stage> stages;
  stages.reserve(found.size());
  for (const Excess& each : found) stages.push_back(each.stage);
  std::ranges::sort(stages);
  return stages;
}

namespace {

using Reads = Indexed<OpIndex, std::vector<TensorIndex>>;

// Returns for each op the segment that it ends, or -1.
Indexed<OpIndex, Segment> ends_of(const Model& model, const std::vector<Stage>& boundaries) {
  Indexed<OpIndex, Segment> ends(model.ops.size(), -1);
  for (size_t segment = 0; segment + 1 < boundaries.size(); ++segment)
    ends[Model::op_of(boundaries[segment])] = static_cast<Segment>(segment);
  return ends;
}

using OpSet = std::vector<bool>;

void add(OpSet& set, const OpSet& more) {
  for (size_t op = 0; op < set.size(); ++op) set[op] = set[op] || more[op];
}

// Returns for each op those that come before it in every order.
Indexed<OpIndex, OpSet> ancestors_of(const Model& model, const Reads& reads) {
  Indexed<OpIndex, OpSet> before(model.ops.size(), OpSet(model.ops.size()));
  for (const OpIndex op : model.ops.indices())
    for (const TensorIndex tensor : reads[op])
      if (const OpIndex maker = model.tensors[tensor].producer; maker.exists()) {
        add(before[op], before[maker]);
        before[op][position_of(maker)] = true;
      }
  return before;
}

bool comes_back(const Model& model, const TensorModel& tensor) {
  const bool stored = tensor.start == Home::kAux || tensor.can_page || (tensor.ends_in_aux && model.paging);
  return stored || (tensor.producer.exists() && model.ops[tensor.producer].recomputable);
}

bool touches(const OpModel& op, TensorIndex tensor) {
  const auto lists = [&](const std::vector<TensorIndex>& list) { return base::contains(list, tensor); };
  return std::ranges::any_of(op.choices,
                             [&](const ChoiceModel& choice) { return lists(choice.reads) || lists(choice.writes); });
}

}  // namespace

Indexed<OpIndex, Bytes> surely_held(const Model& model) {
  const Reads reads = common_reads(model);
  const Indexed<OpIndex, OpSet> before = ancestors_of(model, reads);
  Indexed<TensorIndex, std::vector<OpIndex>> readers(model.tensors.size());
  for (const OpIndex op : model.ops.indices())
    for (const TensorIndex tensor : reads[op])
      if (!model.ops[op].optional) readers[tensor].push_back(op);
  Indexed<OpIndex, Bytes> held;
  for (const OpModel& op : model.ops) held.push_back(working_set(model, op));
  for (const TensorIndex tensor : model.tensors.indices()) {
    const TensorModel& entry = model.tensors[tensor];
    const bool there = entry.producer.exists() || entry.start == Home::kRam;
    if (!there || entry.size == 0 || comes_back(model, entry)) continue;
    for (const OpIndex op : model.ops.indices()) {
      const size_t place = position_of(op);
      const bool made = !entry.producer.exists() || before[op][position_of(entry.producer)];
      const bool wanted = entry.ends_in_ram ||
                          std::ranges::any_of(readers[tensor], [&](OpIndex reader) { return before[reader][place]; });
      if (made && wanted && !touches(model.ops[op], tensor)) held[op] += entry.size;
    }
  }
  return held;
}

Reads common_reads(const Model& model) {
  Reads reads;
  for (const OpModel& op : model.ops) reads.push_back(common_reads(op));
  return reads;
}

// Ops stand behind those that make what they read, so one pass in the model's order gives what comes before each, and
// one against it what comes after. An optional op between two others counts: the later one cannot do without it.
Windows windows_of(const Model& model, const Reads& reads, const std::vector<Stage>& boundaries) {
  const Indexed<OpIndex, Segment> ends = ends_of(model, boundaries);
  const auto last = static_cast<Segment>(boundaries.size()) - 1;
  Windows windows{.first = Indexed<OpIndex, Segment>(model.ops.size(), 0),
                  .last = Indexed<OpIndex, Segment>(model.ops.size(), last)};
  for (const OpIndex op : model.ops.indices())
    for (const TensorIndex tensor : reads[op])
      if (const OpIndex maker = model.tensors[tensor].producer; maker.exists())
        windows.first[op] = std::max({windows.first[op], windows.first[maker], ends[maker] + 1});
  for (const OpIndex op : model.ops.indices().descending()) {
    if (ends[op] >= 0) windows.last[op] = ends[op];
    for (const TensorIndex tensor : reads[op])
      if (const OpIndex maker = model.tensors[tensor].producer; maker.exists())
        windows.last[maker] = std::min(windows.last[maker], windows.last[op]);
  }
  return windows;
}

std::vector<Stage> heaviest_chain(const Model& model, const Indexed<Stage, double>& weights) {
  const Reads reads = common_reads(model);
  Indexed<OpIndex, double> heaviest(model.ops.size(), 0);  // of the chains that end with the op
  Indexed<OpIndex, OpIndex> before(model.ops.size());
  OpIndex end;
  const auto weight = [&](OpIndex op) { return model.ops[op].optional ? 0 : weights[model.ops[op].stage]; };
  for (const OpIndex op : model.ops.indices()) {
    for (const TensorIndex tensor : reads[op]) {
      const OpIndex maker = model.tensors[tensor].producer;
      if (maker.exists() && (!before[op].exists() || heaviest[maker] > heaviest[before[op]])) before[op] = maker;
    }
    heaviest[op] = weight(op) + (before[op].exists() ? heaviest[before[op]] : 0);
    if (!end.exists() || heaviest[op] > heaviest[end]) end = op;
  }
  std::vector<Stage> chain;
  for (OpIndex op = end; op.exists(); op = before[op])
    if (weight(op) > 0) chain.push_back(model.ops[op].stage);
  std::ranges::reverse(chain);
  return chain;
}

}  // namespace pantoum::plan
