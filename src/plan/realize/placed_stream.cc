#include "plan/realize/placed_stream.h"

#include <utility>

#include "place/place.h"
#include "plan/realize/allocations.h"

namespace pantoum::plan {
namespace {

// Names what instructions allocate: by the op or tensor, how many instructions of it came before, and the output.
class Namer {
 public:
  static constexpr size_t kWorkspace = 0xfff;

  // Of the next instruction.
  void advance(Do what, int64_t subject) {
    const uint64_t owner = 2 * static_cast<uint64_t>(subject) + (what == Do::kCompute ? 1 : 0);
    name_ = (owner << 32) ^ (counts_[owner]++ << 12);
  }
  [[nodiscard]] uint64_t output(size_t output) const { return name_ ^ (output + 1); }
  [[nodiscard]] uint64_t workspace() const { return name_ ^ kWorkspace; }
  [[nodiscard]] static uint64_t initial(int64_t tensor) { return ~static_cast<uint64_t>(tensor); }

 private:
  std::unordered_map<uint64_t, uint64_t> counts_;
  uint64_t name_ = 0;
};

constexpr int64_t kStaging = -1;  // in place of a tensor's id

// Calls with the name and the position in `all` of each allocation.
template <class Each>
void name_all(const Model& model, const std::vector<Event>& events, const Allocations& allocations, const Each& each) {
  if (allocations.staging) each(Namer::initial(kStaging), *allocations.staging);
  for (const auto& [tensor, at] : allocations.initial) each(Namer::initial(model.tensors[tensor].id), at);
  Namer namer;
  for (size_t index = 0; index < events.size(); ++index) {
    const Event& event = events[index];
    if (event.what == Do::kFree || event.what == Do::kPageOut) continue;
    const bool computes = event.what == Do::kCompute;
    namer.advance(event.what,
                  computes ? model.ops[OpIndex(event.subject)].id : model.tensors[TensorIndex(event.subject)].id);
    for (size_t output = 0; output < allocations.outputs[index].size(); ++output)
      each(namer.output(output), allocations.outputs[index][output]);
    if (allocations.workspace[index]) each(namer.workspace(), *allocations.workspace[index]);
  }
}

}  // namespace

PlacedStream::PlacedStream(const Model& model, const PlanOptions& options, const Plan& plan)
    : model_(model), options_(options) {
  if (plan.staging_at >= 0) offsets_[Namer::initial(kStaging)] = plan.staging_at;
  for (const auto& [tensor, at] : plan.initial) offsets_[Namer::initial(tensor)] = at;
  Namer namer;
  for (const problem::Instruction& entry : plan.instructions) {
    if (entry.what == Do::kFree || entry.what == Do::kPageOut) continue;
    namer.advance(entry.what, entry.subject);
    for (size_t output = 0; output < entry.at.size(); ++output) offsets_[namer.output(output)] = entry.at[output];
    if (entry.workspace_at >= 0) offsets_[namer.workspace()] = entry.workspace_at;
  }
}

bool PlacedStream::take(const std::vector<Event>& events, int64_t nodes) {
  const Allocations allocations = make_allocations(model_, events, options_.fixed_initial, {});
  std::vector<std::optional<Bytes>> near(allocations.all.size());
  name_all(model_, events, allocations, [&](uint64_t name, size_t at) {
    if (const auto known = offsets_.find(name); known != offsets_.end()) near[at] = known->second;
  });
  const place::PlaceOptions how{.align = model_.align, .budget = options_.question.budget, .steps = nodes};
  const Result<place::Placement> found = place::adjust(allocations.all, near, how);
  if (!found) return false;
  offsets_.clear();
  name_all(model_, events, allocations, [&](uint64_t name, size_t at) { offsets_[name] = found->at[at]; });
  events_ = events;
  return true;
}

Realized PlacedStream::realized(const CostGraph& graph) const {
  const Allocations allocations = make_allocations(model_, events_, options_.fixed_initial, {});
  place::Placement placement{.at = std::vector<Bytes>(allocations.all.size(), 0)};
  name_all(model_, events_, allocations, [&](uint64_t name, size_t at) { placement.at[at] = offsets_.at(name); });
  Plan plan{.question = options_.question, .graph = graph};
  write_instructions(model_, events_, allocations, placement, plan);
  return judged(model_, options_, std::move(plan));
}

}  // namespace pantoum::plan
