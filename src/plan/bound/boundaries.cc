#include "plan/bound/boundaries.h"

#include <algorithm>
#include <set>
#include <span>

#include "plan/bound/bounds.h"
#include "plan/bound/precedence.h"
#include "plan/simulate/switches.h"

namespace pantoum::plan {
namespace {

// Bytes at a stage.
struct Pressure {
  Bytes live = 0, working = 0;
};

// By stage 1..n: bytes live under a plan that retains everything (at least), and the op's working set.
Indexed<Stage, Pressure> pressures(const Model& model) {
  Indexed<Stage, Bytes> change(base::position_of(model.never()) + 1);
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
  return *std::max_element(stages.begin(), stages.end(), [&](Stage a, Stage b) { return key(a) < key(b); });
}

}  // namespace

std::vector<Stage> choose_boundaries(const Model& model, Bytes budget, int32_t most, bool any_order, OpIndex through) {
  const Indexed<Stage, Pressure> pressure = pressures(model);
  const std::vector<Stage> pressed =
      any_order ? pressed_chain(model, budget, pressure, through) : pressed_stages(model, budget, pressure);
  const size_t count = pressed.size(), limit = base::position_of(most), slices = std::max<size_t>(1, limit / 2);
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

}  // namespace pantoum::plan
