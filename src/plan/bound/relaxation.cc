#include "plan/bound/relaxation.h"

#include <algorithm>
#include <set>

#include "plan/bound/bounds.h"

namespace pantoum::plan {

using problem::Variable;
namespace {

constexpr int32_t kFlowSegments = 16;  // with columns W and F, at most

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

double joules(const OpModel& op) {
  return cheapest(op, [](const ChoiceModel& choice) { return choice.joules; });
}
double seconds(const OpModel& op) {
  return cheapest(op, [](const ChoiceModel& choice) { return choice.seconds; });
}

std::vector<int32_t> common_reads(const OpModel& op) {
  std::vector<int32_t> common(op.choices.front().reads.begin(), op.choices.front().reads.end());
  for (const ChoiceModel& choice : op.choices)
    std::erase_if(common, [&](int32_t tensor) {
      return std::find(choice.reads.begin(), choice.reads.end(), tensor) == choice.reads.end();
    });
  return common;
}

// All that any choice of the op holds while it runs.
std::set<int32_t> touched(const OpModel& op) {
  std::set<int32_t> all;
  for (const ChoiceModel& choice : op.choices) {
    all.insert(choice.reads.begin(), choice.reads.end());
    all.insert(choice.writes.begin(), choice.writes.end());
  }
  return all;
}

// What lies on top of the arena need not be rounded up.
Bytes rounding(const Model& model) {
  Bytes most = 0;
  for (const TensorModel& tensor : model.tensors) most = std::max(most, tensor.size - tensor.bytes);
  for (const OpModel& op : model.ops)
    for (const ChoiceModel& choice : op.choices) most = std::max(most, choice.workspace - choice.workspace_given);
  return most;
}

}  // namespace

Relaxation::Relaxation(const Model& model, const RelaxationOptions& options, const std::vector<int32_t>& boundaries)
    : model_(model),
      options_(options),
      tensors_(static_cast<int32_t>(model.tensors.size())),
      ops_(static_cast<int32_t>(model.ops.size())),
      boundaries_(boundaries) {
  flows_ = model.async && model.paging && model.uses(Switch::kFlowCuts) && timed();
  find_segments();
  find_definitions();
  find_pinned();
  find_needs();
  find_last_uses();
  add_columns();
  add_rows();
  add_memory_rows();
  add_time_rows();
  add_energy_row();
  add_flow_columns();
  add_flow_rows();
}

int32_t Relaxation::add_column(double cost, std::optional<Certificate::Decision> decision) {
  columns_.push_back({.cost = cost});
  decisions_.push_back(decision);
  return static_cast<int32_t>(columns_.size()) - 1;
}

void Relaxation::find_segments() {
  segment_of_.resize(z(model_.end()) + 1);
  for (int32_t stage = 0, segment = 0; stage <= model_.end(); ++stage) {
    segment_of_[z(stage)] = segment;
    if (stage == boundaries_[z(segment)]) ++segment;
  }
}

void Relaxation::find_definitions() {
  for (const TensorModel& tensor : model_.tensors) {
    const OpModel* maker = tensor.producer >= 0 ? &model_.ops[z(tensor.producer)] : nullptr;
    definition_segment_.push_back(maker != nullptr ? segment_of(maker->stage) : -1);
    defined_.push_back(maker != nullptr ? !maker->optional : tensor.start == problem::Home::kRam);
  }
}

void Relaxation::find_pinned() {
  replaced_.assign(z(tensors_), model_.never());
  for (const OpModel& op : model_.ops) {
    touched_.push_back(touched(op));
    for (const ChoiceModel& choice : op.choices)
      for (const int32_t source : choice.shares)
        if (source >= 0) replaced_[z(source)] = std::min(replaced_[z(source)], op.stage);
  }
  for (int32_t tensor = 0; tensor < tensors_ && model_.uses(Switch::kPinnedRoom); ++tensor)
    if (model_.tensors[z(tensor)].pinned && model_.tensors[z(tensor)].start == problem::Home::kRam)
      pinned_.push_back(tensor);
  budget_ = options_.question.budget_bytes() + rounding(model_) - model_.staging;
}

void Relaxation::find_needs() {
  needs_.resize(boundaries_.size());
  for (const OpModel& op : model_.ops) {
    reads_.push_back(common_reads(op));
    if (op.optional) continue;
    std::vector<int32_t>& needs = needs_[z(segment_of(op.stage))];
    needs.insert(needs.end(), reads_.back().begin(), reads_.back().end());
  }
  for (int32_t tensor = 0; tensor < tensors_; ++tensor)
    if (model_.tensors[z(tensor)].ends_in_ram) needs_.back().push_back(tensor);
  for (int32_t segment = 0; segment < segments(); ++segment) {
    std::vector<int32_t>& needs = needs_[z(segment)];
    std::sort(needs.begin(), needs.end());
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    std::erase_if(needs,
                  [&](int32_t tensor) { return available(segment, tensor) || model_.tensors[z(tensor)].pinned; });
  }
}

// last_use_[i]: the last segment in which i is of use, to a reader or to recompute something that is.
void Relaxation::find_last_uses() {
  last_use_.assign(z(tensors_), -1);
  for (int32_t tensor = 0; tensor < tensors_ && !model_.uses(Switch::kLastUses); ++tensor) {
    const TensorModel& entry = model_.tensors[z(tensor)];
    const bool had = entry.producer >= 0 || entry.start == problem::Home::kRam || entry.start == problem::Home::kAux;
    if (had) last_use_[z(tensor)] = segments() - 1;
  }
  for (int32_t segment = 0; segment < segments(); ++segment)
    for (const int32_t tensor : needs_[z(segment)]) last_use_[z(tensor)] = std::max(last_use_[z(tensor)], segment);
  for (int32_t op = ops_ - 1; op >= 0; --op) {
    const OpModel& entry = model_.ops[z(op)];
    if (!entry.recomputable && !entry.optional) continue;
    const int32_t last = last_use_of_outputs(entry);
    for (const int32_t tensor : reads_[z(op)]) last_use_[z(tensor)] = std::max(last_use_[z(tensor)], last);
  }
}

int32_t Relaxation::last_use_of_outputs(const OpModel& op) const {
  int32_t last = -1;
  for (const ChoiceModel& choice : op.choices)
    for (const int32_t tensor : choice.writes) last = std::max(last, last_use_[z(tensor)]);
  return last;
}

void Relaxation::add_columns() {
  const auto cells = [&](int32_t count) { return std::vector<int32_t>(z(segments()) * z(count), -1); };
  s_ = cells(tensors_), i_ = cells(tensors_), r_ = cells(ops_);
  x_.assign(z(tensors_), -1);
  for (int32_t tensor = 0; tensor < tensors_; ++tensor)
    if (!model_.tensors[z(tensor)].pinned) add_tensor_columns(tensor);
  for (int32_t op = 0; op < ops_; ++op) add_op_columns(op);
  for (const OpModel& op : model_.ops)
    if (!op.optional && options_.question.objective == Objective::kEnergy) constant_ += joules(op);
}

void Relaxation::add_tensor_columns(int32_t tensor) {
  const bool energy = options_.question.objective == Objective::kEnergy;
  const TensorModel& entry = model_.tensors[z(tensor)];
  const int32_t first = std::max(0, definition_segment(tensor)), last = last_use_[z(tensor)];
  const bool stored = entry.start == problem::Home::kAux;
  // What must end in storage may go there early, and come back, whatever is switched off.
  const bool pages = stored || entry.can_page || (entry.ends_in_aux && model_.paging);
  if (pages && !stored && (last > definition_segment(tensor) || entry.ends_in_aux)) {
    x_[z(tensor)] = add_column(energy ? entry.out_j : 0, {{Variable::kPagedOut, 0, tensor}});
    if (entry.ends_in_aux) columns_.back().lower = 1;
  }
  for (int32_t segment = first; segment <= last; ++segment) {
    const size_t cell = z(segment) * z(tensors_) + z(tensor);
    if (segment > first) s_[cell] = add_column(0, {{Variable::kInRam, segment, tensor}});
    if (pages && (!available(segment, tensor) || flows_))
      i_[cell] = add_column(energy ? entry.in_j : 0, {{Variable::kPagedIn, segment, tensor}});
  }
}

void Relaxation::add_op_columns(int32_t op) {
  const OpModel& entry = model_.ops[z(op)];
  if (!entry.recomputable && !entry.optional) return;
  const double cost = options_.question.objective == Objective::kEnergy ? joules(entry) : 0;
  const int32_t first = segment_of(entry.stage) + (entry.optional ? 0 : 1), last = last_use_of_outputs(entry);
  for (int32_t segment = first; segment <= last; ++segment)
    r_[z(segment) * z(ops_) + z(op)] = add_column(cost, {{Variable::kComputed, segment, op}});
}

// The terms of S + R + I; true when it is 1 whatever they are.
bool Relaxation::presence(int32_t segment, int32_t tensor, std::vector<Term>& terms) const {
  if (available(segment, tensor) || model_.tensors[z(tensor)].pinned) return true;
  const int32_t producer = model_.tensors[z(tensor)].producer;
  for (const int32_t column :
       {in_ram(segment, tensor), paged_in(segment, tensor), producer >= 0 ? recomputed(segment, producer) : -1})
    if (column >= 0) terms.push_back({column, 1});
  return false;
}

void Relaxation::add_rows() {
  for (int32_t segment = 0; segment < segments(); ++segment) {
    for (const int32_t tensor : needs(segment)) {
      Row row{.terms = {}, .lower = 1, .rule = Rule::kNeed, .of = {segment, tensor}};
      if (!presence(segment, tensor, row.terms)) rows_.push_back(std::move(row));
    }
    for (int32_t op = 0; op < ops_; ++op) {
      if (recomputed(segment, op) < 0) continue;
      for (const int32_t tensor : reads(op)) {
        Row row{.terms = {{recomputed(segment, op), -1}}, .rule = Rule::kDep, .of = {segment, op, tensor}};
        if (!presence(segment, tensor, row.terms)) rows_.push_back(std::move(row));
      }
    }
    for (int32_t tensor = 0; tensor < tensors_; ++tensor) add_tensor_rows(segment, tensor);
  }
}

void Relaxation::add_tensor_rows(int32_t segment, int32_t tensor) {
  if (segment + 1 < segments() && in_ram(segment + 1, tensor) >= 0) {
    Row row{.terms = {{in_ram(segment + 1, tensor), -1}}, .rule = Rule::kCarry, .of = {segment, tensor}};
    if (!presence(segment, tensor, row.terms)) rows_.push_back(std::move(row));
  }
  if (paged_in(segment, tensor) >= 0 && paged_out(tensor) >= 0)
    rows_.push_back({.terms = {{paged_out(tensor), 1}, {paged_in(segment, tensor), -1}},
                     .rule = Rule::kStored,
                     .of = {segment, tensor}});
}

bool Relaxation::read_at_boundary(int32_t segment, int32_t tensor) const {
  if (boundary(segment) == model_.end()) return model_.tensors[z(tensor)].ends_in_ram;
  const std::vector<int32_t>& read = reads(boundary(segment) - 1);
  return std::find(read.begin(), read.end(), tensor) != read.end();
}

Bytes Relaxation::budget_beside(int32_t segment, int32_t op) const {
  Bytes left = budget_ - working_set(model_, model_.ops[z(op)]);
  for (const int32_t tensor : pinned_)
    if (replaced_[z(tensor)] > boundary(segment) && !touches(op, tensor)) left -= model_.tensors[z(tensor)].size;
  return left;
}

// The budget beside the boundary op, as a row that has no tensor yet. With kRam the budget is a column.
Row Relaxation::memory_row(Rule rule, int32_t segment) const {
  const Bytes given = least_budget_ >= 0 ? options_.question.budget_bytes() : 0;
  const Bytes left = budget_beside(segment, boundary(segment) - 1) - given;
  Row row{.lower = -static_cast<double>(left), .rule = rule, .of = {segment}};
  if (least_budget_ >= 0) row.terms.push_back({least_budget_, 1});
  return row;
}

void Relaxation::add_memory_rows() {
  if (options_.question.objective == Objective::kRam) {
    least_budget_ = add_column(1, {});
    columns_.back().upper = static_cast<double>(options_.question.budget_bytes());
  }
  for (int32_t segment = 0; segment + 1 < segments(); ++segment) {
    Row row = memory_row(Rule::kMemory, segment);
    for (int32_t tensor = 0; tensor < tensors_; ++tensor) {
      const Bytes size = model_.tensors[z(tensor)].size;
      const int32_t column = in_ram(segment + 1, tensor);
      if (column >= 0 && size > 0 && !touches(boundary(segment) - 1, tensor))
        row.terms.push_back({column, -static_cast<double>(size)});
    }
    rows_.push_back(std::move(row));
  }
}

// Of the objective, for a second of the makespan.
double Relaxation::second_cost() const {
  if (options_.question.objective == Objective::kTime) return 1;
  return options_.question.objective == Objective::kEnergy ? model_.idle_w + options_.second_price : 0;
}

// Is there a column of the makespan?
bool Relaxation::timed() const {
  const bool wanted =
      second_cost() > 0 || options_.question.deadline || (options_.question.energy_limit && model_.idle_w > 0);
  return wanted && (options_.question.deadline || options_.most_seconds);
}

void Relaxation::add_time_rows() {
  if (!timed()) return;
  const int32_t whole = makespan_ = add_column(second_cost(), {});
  columns_.back().upper = options_.question.deadline ? *options_.question.deadline : *options_.most_seconds;
  Row work{.terms = {{whole, 1}}, .rule = Rule::kWork}, in{.terms = {{whole, 1}}, .rule = Rule::kMoveIn},
      out{.terms = {{whole, 1}}, .rule = Rule::kMoveOut};
  for (int32_t op = 0; op < ops_; ++op) {
    const double takes = seconds(model_.ops[z(op)]);
    if (!model_.ops[z(op)].optional) work.lower += takes;
    for (int32_t segment = 0; segment < segments(); ++segment)
      if (recomputed(segment, op) >= 0) work.terms.push_back({recomputed(segment, op), -takes});
  }
  Row& reads = model_.async ? in : work;
  Row& writes = !model_.async ? work : model_.full_duplex ? out : in;
  for (int32_t tensor = 0; tensor < tensors_; ++tensor) {
    const TensorModel& entry = model_.tensors[z(tensor)];
    for (int32_t segment = 0; segment < segments(); ++segment)
      if (paged_in(segment, tensor) >= 0) reads.terms.push_back({paged_in(segment, tensor), -entry.in_s});
    if (paged_out(tensor) >= 0) writes.terms.push_back({paged_out(tensor), -entry.out_s});
  }
  for (Row* row : {&work, &in, &out})
    if (row->terms.size() > 1 || row == &work) rows_.push_back(std::move(*row));
}

void Relaxation::add_energy_row() {
  if (!options_.question.energy_limit) return;
  Row row{.lower = -*options_.question.energy_limit, .rule = Rule::kSpend};
  for (const OpModel& op : model_.ops)
    if (!op.optional) row.lower += joules(op);
  const auto add = [&](int32_t column, double factor) {
    if (column >= 0 && factor > 0) row.terms.push_back({column, -factor});
  };
  for (int32_t segment = 0; segment < segments(); ++segment) {
    for (int32_t op = 0; op < ops_; ++op) add(recomputed(segment, op), joules(model_.ops[z(op)]));
    for (int32_t tensor = 0; tensor < tensors_; ++tensor)
      add(paged_in(segment, tensor), model_.tensors[z(tensor)].in_j);
  }
  for (int32_t tensor = 0; tensor < tensors_; ++tensor) add(paged_out(tensor), model_.tensors[z(tensor)].out_j);
  add(makespan_, model_.idle_w);
  rows_.push_back(std::move(row));
}

void Relaxation::add_flow_columns() {
  w_.assign(s_.size(), -1), f_.assign(s_.size(), -1);
  if (!flows_) return;
  const int32_t stride = (segments() + kFlowSegments - 1) / kFlowSegments;
  for (int32_t segment = stride / 2; segment + 1 < segments(); segment += stride) {
    flow_segments_.push_back(segment);
    for (int32_t tensor = 0; tensor < tensors_; ++tensor) {
      if (paged_out(tensor) < 0 || definition_segment(tensor) > segment || last_use_[z(tensor)] <= segment) continue;
      w_[z(segment) * z(tensors_) + z(tensor)] = add_column(0, {});
      f_[z(segment) * z(tensors_) + z(tensor)] = add_column(0, {});
    }
  }
}

void Relaxation::add_flow_rows() {
  for (const int32_t segment : flow_segments()) add_flow_rows(segment);
}

void Relaxation::add_flow_rows(int32_t segment) {
  Row flight = memory_row(Rule::kFlight, segment);
  for (int32_t tensor = 0; tensor < tensors_; ++tensor) {
    const auto size = static_cast<double>(model_.tensors[z(tensor)].size);
    if (written(segment, tensor) >= 0)
      rows_.push_back(
          {.terms = {{paged_out(tensor), 1}, {written(segment, tensor), -1}, {in_flight(segment, tensor), -1}},
           .rule = Rule::kIssued,
           .of = {segment, tensor}});
    if (size == 0 || touches(boundary(segment) - 1, tensor)) continue;
    if (in_flight(segment, tensor) >= 0) flight.terms.push_back({in_flight(segment, tensor), -size});
    if (in_ram(segment + 1, tensor) < 0) continue;
    flight.of.push_back(tensor);
    flight.terms.push_back({in_ram(segment + 1, tensor), -size});
    for (int32_t before = 0; before <= segment; ++before)
      if (paged_in(before, tensor) >= 0) flight.terms.push_back({paged_in(before, tensor), size});
  }
  rows_.push_back(std::move(flight));
}

}  // namespace pantoum::plan
