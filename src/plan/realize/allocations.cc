#include "plan/realize/allocations.h"

#include <algorithm>
#include <numeric>

namespace pantoum::plan {

using problem::Instruction;
namespace {

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

// Instruction i runs in [2i + 1, 2i + 2); the start is 0.
class Collector {
 public:
  Collector(const Model& model, const std::vector<Event>& events, const std::vector<size_t>& until)
      : model_(model), events_(events), until_(until) {
    open_.assign(model.tensors.size(), -1);
    closing_ = 2 * static_cast<int64_t>(events.size()) + 2;
  }

  Allocations run(const std::map<int64_t, Bytes>& fixed) {
    start(fixed);
    out_.outputs.resize(events_.size());
    out_.workspace.assign(events_.size(), -1);
    for (size_t index = 0; index < events_.size(); ++index) add(index);
    finish();
    number_groups();
    return std::move(out_);
  }

 private:
  int32_t open(int64_t begin, Bytes size) {
    out_.all.push_back({.begin = begin, .end = closing_, .size = size, .group = -1, .fixed = std::nullopt});
    parent_.push_back(static_cast<int32_t>(parent_.size()));
    return parent_.back();
  }
  int32_t root(int32_t of) {
    while (parent_[z(of)] != of) of = parent_[z(of)] = parent_[z(parent_[z(of)])];
    return of;
  }
  void unite(int32_t a, int32_t b) { parent_[z(root(a))] = root(b); }

  void start(const std::map<int64_t, Bytes>& fixed) {
    if (model_.staging > 0) out_.staging = open(0, model_.staging);
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor) {
      if (model_.tensors[tensor].start != problem::Home::kRam) continue;
      open_[tensor] = open(0, model_.tensors[tensor].bytes);
      out_.initial[static_cast<int32_t>(tensor)] = open_[tensor];
      const auto given = fixed.find(model_.tensors[tensor].id);
      if (given != fixed.end()) out_.all[z(open_[tensor])].fixed = given->second;
    }
  }

  void add(size_t index) {
    const Event& event = events_[index];
    const int64_t begin = 2 * static_cast<int64_t>(index) + 1;
    if (event.what == Do::kCompute) return compute(event, index, begin);
    if (event.what == Do::kPageIn) {
      open_[z(event.subject)] = open(begin, model_.tensors[z(event.subject)].bytes);
      out_.outputs[index] = {open_[z(event.subject)]};
    }
    if (event.what == Do::kFree) {
      out_.all[z(open_[z(event.subject)])].end = until_.empty() ? begin : 2 * static_cast<int64_t>(until_[index]) + 1;
      open_[z(event.subject)] = -1;
    }
  }

  void compute(const Event& event, size_t index, int64_t begin) {
    const ChoiceModel& how = model_.ops[z(event.subject)].choices[z(event.choice)];
    for (size_t write = 0; write < how.writes.size(); ++write) {
      const int32_t tensor = how.writes[write], source = event.taken_over[write];
      if (open_[z(tensor)] < 0) {
        const int32_t made = open(begin, model_.tensors[z(tensor)].bytes);
        open_[z(tensor)] = made;
        if (source >= 0) {
          unite(made, open_[z(source)]);
          out_.all[z(open_[z(source)])].end = begin;
          open_[z(source)] = -1;
        }
      }
      out_.outputs[index].push_back(open_[z(tensor)]);
    }
    if (how.workspace == 0) return;
    const Bytes bytes = workspace_bytes(event);
    out_.workspace[index] = open(begin, bytes);
    out_.all.back().end = begin + 1;
  }

  [[nodiscard]] Bytes workspace_bytes(const Event& event) const {
    return model_.ops[z(event.subject)].choices[z(event.choice)].workspace;
  }

  void finish() {
    const auto join = [&](int32_t tensor, int32_t home) {
      if (open_[z(tensor)] >= 0) unite(open_[z(tensor)], out_.initial.at(home));
    };
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor)
      if (model_.tensors[tensor].home >= 0) join(static_cast<int32_t>(tensor), model_.tensors[tensor].home);
    for (const auto& [tensor, home] : model_.duplicate_homes) join(tensor, home);
  }

  void number_groups() {
    std::vector<int32_t> members(parent_.size(), 0);
    for (size_t each = 0; each < parent_.size(); ++each) ++members[z(root(static_cast<int32_t>(each)))];
    for (size_t each = 0; each < parent_.size(); ++each) {
      const int32_t top = root(static_cast<int32_t>(each));
      if (members[z(top)] > 1) out_.all[each].group = top;
    }
  }

  const Model& model_;
  const std::vector<Event>& events_;
  const std::vector<size_t>& until_;
  Allocations out_;
  std::vector<int32_t> open_;    // by tensor: its allocation now
  std::vector<int32_t> parent_;  // union of allocations with one offset
  int64_t closing_ = 0;
};

}  // namespace

Allocations make_allocations(const Model& model, const std::vector<Event>& events,
                             const std::map<int64_t, Bytes>& fixed, const std::vector<size_t>& until) {
  return Collector(model, events, until).run(fixed);
}

void write_instructions(const Model& model, const std::vector<Event>& events, const Allocations& allocations,
                        const place::Placement& placement, Plan& plan) {
  plan.initial.clear();
  plan.instructions.clear();
  plan.staging_at = allocations.staging < 0 ? -1 : placement.at[z(allocations.staging)];
  for (const auto& [tensor, allocation] : allocations.initial)
    plan.initial[model.tensors[z(tensor)].id] = placement.at[z(allocation)];
  for (size_t index = 0; index < events.size(); ++index) {
    const Event& event = events[index];
    Instruction entry{.what = event.what};
    for (const int32_t allocation : allocations.outputs[index]) entry.at.push_back(placement.at[z(allocation)]);
    if (event.what == Do::kCompute) {
      const OpModel& op = model.ops[z(event.subject)];
      entry.subject = op.id;
      entry.choice = op.choices[z(event.choice)].number;
      if (allocations.workspace[index] >= 0) entry.workspace_at = placement.at[z(allocations.workspace[index])];
    } else {
      entry.subject = model.tensors[z(event.subject)].id;
    }
    plan.instructions.push_back(std::move(entry));
  }
}

}  // namespace pantoum::plan
