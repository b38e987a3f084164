#include "plan/realize/placed_stream.h"

#include <utility>

#include "place/place.h"
#include "plan/realize/allocations.h"

namespace pantoum::plan {

class PlacedStream::Namer {
 public:
  static constexpr int64_t kWorkspace = -1;

  // Of the next instruction, which allocates something.
  void advance(const Event& event) {
    const int64_t owner = 2 * int64_t{event.subject} + (event.what == Do::kCompute ? 1 : 0);
    name_ = {.owner = owner, .nth = ++counts_[owner]};
  }
  [[nodiscard]] Name output(size_t output) const {
    return {.owner = name_.owner, .nth = name_.nth, .output = static_cast<int64_t>(output)};
  }
  [[nodiscard]] Name workspace() const { return {.owner = name_.owner, .nth = name_.nth, .output = kWorkspace}; }
  [[nodiscard]] static Name initial(TensorIndex tensor) { return {.owner = 2 * int64_t{tensor.value()}}; }
  [[nodiscard]] static Name staging() { return {.owner = -1}; }

 private:
  std::unordered_map<int64_t, int64_t> counts_;
  Name name_;
};

size_t PlacedStream::Hash::operator()(const Name& name) const {
  const auto mixed = [](size_t hash, int64_t value) {
    return (hash ^ static_cast<size_t>(value)) * size_t{0x9E3779B97F4A7C15u} + (hash >> 29);
  };
  return mixed(mixed(mixed(0, name.owner), name.nth), name.output);
}

template <class Each>
void PlacedStream::name_all(const std::vector<Event>& events, const Allocations& allocations, const Each& each) const {
  if (allocations.staging) each(Namer::staging(), *allocations.staging);
  for (const auto& [tensor, at] : allocations.initial) each(Namer::initial(tensor), at);
  Namer namer;
  for (size_t index = 0; index < events.size(); ++index) {
    if (allocations.outputs[index].empty() && !allocations.workspace[index]) continue;
    namer.advance(events[index]);
    for (size_t output = 0; output < allocations.outputs[index].size(); ++output)
      each(namer.output(output), allocations.outputs[index][output]);
    if (allocations.workspace[index]) each(namer.workspace(), *allocations.workspace[index]);
  }
}

PlacedStream::PlacedStream(const Model& model, const PlanOptions& options, const std::vector<Event>& events,
                           const Plan& plan)
    : model_(model), options_(options), events_(events) {
  const Allocations allocations = make_allocations(model, events, {options.fixed_initial, options.others}, {});
  std::vector<Bytes> at(allocations.all.size(), 0);
  if (allocations.staging) at[*allocations.staging] = plan.staging_at;
  for (const auto& [tensor, initial] : allocations.initial) at[initial] = plan.initial.at(model.tensors[tensor].id);
  for (size_t index = 0; index < events.size(); ++index) {
    const problem::Instruction& entry = plan.instructions[index];
    for (size_t output = 0; output < allocations.outputs[index].size(); ++output)
      at[allocations.outputs[index][output]] = entry.at[output];
    if (allocations.workspace[index]) at[*allocations.workspace[index]] = entry.workspace_at;
  }
  name_all(events, allocations, [&](const Name& name, size_t each) { offsets_[name] = at[each]; });
  if (options.others == nullptr) return;
  for (const OtherProgram& other : *options.others) {
    const auto found = offsets_beside(other, plan.initial, model.align, options.question.budget_bytes());
    for (size_t each = 0; each < other.all.size(); ++each)
      others_.push_back(found ? std::optional((*found)[each]) : std::nullopt);
  }
}

bool PlacedStream::take(const std::vector<Event>& events, int64_t nodes) {
  const Allocations allocations = make_allocations(model_, events, {options_.fixed_initial, options_.others}, {});
  std::vector<std::optional<Bytes>> near(allocations.all.size());
  name_all(events, allocations, [&](const Name& name, size_t at) {
    if (const auto known = offsets_.find(name); known != offsets_.end()) near[at] = known->second;
  });
  for (size_t other = 0; other < others_.size(); ++other) near[allocations.own + other] = others_[other];
  const place::PlaceOptions how{.align = model_.align, .budget = options_.question.budget, .steps = nodes};
  const Result<place::Placement> found = place::adjust(allocations.all, near, how);
  if (!found) return false;
  offsets_.clear();
  name_all(events, allocations, [&](const Name& name, size_t at) { offsets_[name] = found->at[at]; });
  others_.assign(found->at.begin() + static_cast<std::ptrdiff_t>(allocations.own), found->at.end());
  events_ = events;
  return true;
}

Realized PlacedStream::realized(const CostGraph& graph) const {
  const Allocations allocations = make_allocations(model_, events_, {options_.fixed_initial, options_.others}, {});
  place::Placement placement{.at = std::vector<Bytes>(allocations.all.size(), 0)};
  name_all(events_, allocations, [&](const Name& name, size_t at) { placement.at[at] = offsets_.at(name); });
  Plan plan{.question = options_.question, .graph = graph};
  write_instructions(model_, events_, allocations, placement, plan);
  return judged(model_, options_, std::move(plan));
}

}  // namespace pantoum::plan
