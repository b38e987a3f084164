#include "plan/bound/boundaries.h"

#include <algorithm>
#include <set>
#include <span>

#include "plan/bound/bounds.h"

namespace pantoum::plan {
namespace {

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

// Bytes at a stage.
struct Pressure {
  Bytes live = 0, working = 0;
};

// By stage 1..n: bytes live under a plan that retains everything (at least), and the op's working set.
std::vector<Pressure> pressures(const Model& model) {
  std::vector<Bytes> change(z(model.never()) + 1, 0);
  for (const Interval& gap : model.intervals) {
    if (gap.to == model.never() || gap.to <= gap.from + 1) continue;
    change[z(gap.from) + 1] += model.tensors[z(gap.tensor)].size;
    change[z(gap.to)] -= model.tensors[z(gap.tensor)].size;
  }
  std::vector<Pressure> result(model.ops.size() + 1);
  Bytes spanning = model.staging;
  for (const OpModel& op : model.ops) {
    spanning += change[z(op.stage)];
    const Bytes working = working_set(model, op);
    result[z(op.stage)] = {spanning + working, model.staging + working};
  }
  return result;
}

// The stage of the most `key` among the stages; the first of several.
template <class Key>
int32_t most_pressed(std::span<const int32_t> stages, Key key) {
  return *std::max_element(stages.begin(), stages.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
}

}  // namespace

std::vector<int32_t> choose_boundaries(const Model& model, Bytes budget, int32_t most) {
  const std::vector<Pressure> pressure = pressures(model);
  std::vector<int32_t> pressed;
  for (int32_t stage = 1; stage <= model.stages(); ++stage)
    if (pressure[z(stage)].live > budget && !model.ops[z(stage) - 1].optional) pressed.push_back(stage);
  const size_t count = pressed.size(), slices = z(std::max(1, most / 2));
  std::set<int32_t> chosen;
  if (count <= z(most)) chosen.insert(pressed.begin(), pressed.end());
  const auto by_live = [&](int32_t stage) { return static_cast<double>(pressure[z(stage)].live); };
  const auto by_share = [&](int32_t stage) {
    const Pressure& at = pressure[z(stage)];
    return static_cast<double>(at.live - at.working) / static_cast<double>(std::max<Bytes>(1, budget - at.working));
  };
  for (size_t slice = 0; slice < slices && count > z(most); ++slice) {
    const size_t begin = count * slice / slices, end = count * (slice + 1) / slices;
    if (begin == end) continue;
    const std::span<const int32_t> stages(&pressed[begin], end - begin);
    chosen.insert(most_pressed(stages, by_live));
    if (model.uses(Switch::kRoomBoundaries)) chosen.insert(most_pressed(stages, by_share));
  }
  std::vector<int32_t> boundaries(chosen.begin(), chosen.end());
  boundaries.push_back(model.end());
  return boundaries;
}

}  // namespace pantoum::plan
