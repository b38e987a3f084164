#include "plan/realize/allocations.h"
#include "plan/search/search.h"
#include "plan/simulate/order.h"
#include "plan/simulate/simulate.h"

#include <algorithm>
#include <utility>

namespace pantoum::plan {

namespace {

// Returns the moment at which instruction `event` begins. Instruction i runs in [2i + 1, 2i + 2); the step starts at moment 0.
int64_t begin_of(size_t event) {
  return 2 * static_cast<int64_t>(event) + 1;
}

class Collector {
 public:
  Collector(const Model& model, const std::vector<Event>& events, const std::vector<size_t>& until)
      : model_(model),
        events_(events),
        until_(until),
        open_(model.tensors.size()),
        closing_(begin_of(events.size()) + 1) {}

  Allocations run(const Surroundings& around) {
    start(around.fixed);
    out_.outputs.resize(events_.size());
    out_.workspace.resize(events_.size());
    for (size_t event = 0; event < events_.size(); ++event) add(event);
    finish();
    out_.own = out_.all.size();
    if (around.others != nullptr)
      for (const OtherProgram& other : *around.others) append(other);
    number_groups();
    return std::move(out_);
  }

 private:
  size_t open(int64_t begin, Bytes size) {
    out_.all.push_back({.begin = begin, .end = closing_, .size = size, .group = -1, .fixed = std::nullopt});
    parent_.push_back(parent_.size());
    return parent_.back();
  }
  void close(TensorIndex tensor, int64_t end) {
    out_.all[*open_[tensor]].end = end;
    open_[tensor].reset();
  }

  size_t root(size_t of) {
    while (parent_[of] != of) of = parent_[of] = parent_[parent_[of]];
    return of;
  }
  void unite(size_t a, size_t b) { parent_[root(a)] = root(b); }

  void start(const std::map<int64_t, Bytes>& fixed) {
    if (model_.staging > 0) out_.staging = open(0, model_.staging);
    for (const TensorIndex tensor : model_.tensors.indices()) {
      const TensorModel& entry = model_.tensors[tensor];
      if (entry.start != Home::kRam) continue;
      const size_t initial = open(0, entry.bytes);
      open_[tensor] = out_.initial[tensor] = initial;
      const auto given = fixed.find(entry.id);
      if (given != fixed.end()) out_.all[initial].fixed = given->second;
    }
  }

  void add(size_t index) {
    const Event& event = events_[index];
    if (event.what == Do::kCompute) return compute(event, index);
    const TensorIndex tensor(event.subject);
    if (event.what == Do::kPageIn) {
      open_[tensor] = open(begin_of(index), model_.tensors[tensor].bytes);
      out_.outputs[index] = {*open_[tensor]};
    }
    if (event.what == Do::kFree) close(tensor, begin_of(until_.empty() ? index : until_[index]));
  }

  void compute(const Event& event, size_t index) {
    const ChoiceModel& how = kernel_of(model_, event);
    for (size_t write = 0; write < how.writes.size(); ++write) {
      const TensorIndex tensor = how.writes[write], source = event.taken_over[write];
      if (!open_[tensor]) {
        const size_t made = open(begin_of(index), model_.tensors[tensor].bytes);
        open_[tensor] = made;
        if (source.exists()) {
          unite(made, *open_[source]);
          close(source, begin_of(index));
        }
      }
      out_.outputs[index].push_back(*open_[tensor]);
    }
    if (how.workspace == 0) return;
    out_.workspace[index] = open(begin_of(index), how.workspace);
    out_.all.back().end = begin_of(index) + 1;
  }

  void finish() {
    const auto join = [&](TensorIndex tensor, TensorIndex home) {
      if (open_[tensor]) unite(*open_[tensor], out_.initial.at(home));
    };
    for (const TensorIndex tensor : model_.tensors.indices())
      if (model_.tensors[tensor].home.exists()) join(tensor, model_.tensors[tensor].home);
    for (const auto& [tensor, home] : model_.duplicate_homes) join(tensor, home);
  }

  // Appends the allocations of another program, at moments after all earlier allocations. A tensor that both programs share gets one offset.
  void append(const OtherProgram& other) {
    const size_t first = out_.all.size();
    const int64_t begin = closing_;
    std::map<int32_t, size_t> groups;
    for (const place::Allocation& each : other.all) {
      const size_t at = open(begin + each.begin, each.size);
      out_.all[at].end = begin + each.end;
      closing_ = std::max(closing_, out_.all[at].end);
      if (each.group >= 0) unite(at, groups.emplace(each.group, at).first->second);
    }
    for (const auto& [tensor, at] : out_.initial)
      if (const auto same = other.shared.find(model_.tensors[tensor].id); same != other.shared.end())
        unite(first + same->second, at);
  }

  void number_groups() {
    std::vector<int32_t> members(parent_.size(), 0);
    for (size_t each = 0; each < parent_.size(); ++each) ++members[root(each)];
    for (size_t each = 0; each < parent_.size(); ++each)
      if (members[root(each)] > 1) out_.all[each].group = static_cast<int32_t>(root(each));
  }

  const Model& model_;
  const std::vector<Event>& events_;
  const std::vector<size_t>& until_;
  Allocations out_;
  Indexed<TensorIndex, std::optional<size_t>> open_;  // the tensor's present allocation
  std::vector<size_t> parent_;                        // union-find: allocations of one set share an offset
  int64_t closing_;
};

}  // namespace

Allocations make_allocations(const Model& model, const std::vector<Event>& events, const Surroundings& around,
                             const std::vector<size_t>& until) {
  return Collector(model, events, until).run(around);
}

void write_instructions(const Model& model, const std::vector<Event>& events, const Allocations& allocations,
                        const place::Placement& placement, Plan& plan) {
  plan.initial.clear();
  plan.instructions.clear();
  plan.staging_at = allocations.staging ? placement.at[*allocations.staging] : -1;
  for (const auto& [tensor, at] : allocations.initial) plan.initial[model.tensors[tensor].id] = placement.at[at];
  for (size_t index = 0; index < events.size(); ++index) {
    const Event& event = events[index];
    Instruction entry{.what = event.what};
    for (const size_t output : allocations.outputs[index]) entry.at.push_back(placement.at[output]);
    if (event.what == Do::kCompute) {
      entry.subject = model.ops[OpIndex(event.subject)].id;
      entry.choice = kernel_of(model, event).number;
      if (allocations.workspace[index]) entry.workspace_at = placement.at[*allocations.workspace[index]];
    } else {
      entry.subject = model.tensors[TensorIndex(event.subject)].id;
    }
    plan.instructions.push_back(std::move(entry));
  }
}

std::optional<std::vector<place::Bytes>> offsets_beside(const OtherProgram& other,
                                                        const std::map<int64_t, place::Bytes>& initial,
                                                        place::Bytes align, place::Bytes budget) {
  constexpr int64_t kSteps = 20'000;
  std::vector<place::Allocation> all = other.all;
  for (const auto& [tensor, at] : other.shared)
    if (const auto found = initial.find(tensor); found != initial.end()) all[at].fixed = found->second;
  Result<place::Placement> placed = place::place(all, {.align = align, .budget = budget, .steps = kSteps});
  if (!placed) return std::nullopt;
  return std::move(placed->at);
}

std::optional<OtherProgram> other_program(const CostGraph& graph, const Plan& plan, const PlanOptions& options) {
  CostGraph ordered = graph;
  ordered.order = order_of(plan, graph);
  const Model model = make_model(ordered, options);
  const std::optional<Policy> policy = policy_of(plan, model);
  if (!policy) return std::nullopt;
  Simulator simulator(model, {.question = options.question});
  if (!simulator.reset(*policy).fits()) return std::nullopt;
  Allocations allocations = make_allocations(model, simulator.events(), {.fixed = {}, .others = nullptr}, {});
  OtherProgram other{.all = std::move(allocations.all), .shared = {}};
  for (const auto& [tensor, at] : allocations.initial) other.shared.emplace(model.tensors[tensor].id, at);
  return other;
}

}  // namespace pantoum::plan
