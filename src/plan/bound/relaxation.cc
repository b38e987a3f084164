#include "plan/bound/relaxation.h"

#include <algorithm>
#include <set>

#include "plan/bound/bounds.h"

namespace pantoum::plan {

using problem::Variable;
namespace {

constexpr int32_t kFlowEpochs = 16;  // with columns W and F, at most

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

struct Pressure {
  Bytes live = 0, working = 0;
};

// By stage 1..n: bytes live under a plan that keeps everything (at least), and the op's working set.
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

}  // namespace

std::vector<int32_t> choose_boundaries(const Model& model, Bytes ram, int32_t most) {
  const std::vector<Pressure> pressure = pressures(model);
  std::vector<int32_t> pressed;
  for (int32_t stage = 1; stage <= model.stages(); ++stage)
    if (pressure[z(stage)].live > ram && !model.ops[z(stage) - 1].optional) pressed.push_back(stage);
  std::set<int32_t> chosen(pressed.begin(), pressed.end());
  if (static_cast<int32_t>(pressed.size()) > most) {
    chosen.clear();
    const int32_t slices = std::max(1, most / 2), count = static_cast<int32_t>(pressed.size());
    const auto by_excess = [&](int32_t stage) { return static_cast<double>(pressure[z(stage)].live); };
    const auto by_room = [&](int32_t stage) {
      const Pressure& at = pressure[z(stage)];
      return static_cast<double>(at.live - at.working) / static_cast<double>(std::max<Bytes>(1, ram - at.working));
    };
    for (int32_t slice = 0; slice < slices; ++slice) {
      const auto begin = pressed.begin() + int64_t{count} * slice / slices;
      const auto end = pressed.begin() + int64_t{count} * (slice + 1) / slices;
      if (begin == end) continue;
      chosen.insert(*std::max_element(begin, end, [&](int32_t a, int32_t b) { return by_excess(a) < by_excess(b); }));
      if (model.uses(Switch::kRoomBoundaries))
        chosen.insert(*std::max_element(begin, end, [&](int32_t a, int32_t b) { return by_room(a) < by_room(b); }));
    }
  }
  std::vector<int32_t> boundaries(chosen.begin(), chosen.end());
  boundaries.push_back(model.end());
  return boundaries;
}

Relaxation::Relaxation(const Model& model, const RelaxationOptions& options, const std::vector<int32_t>& boundaries)
    : model_(model),
      options_(options),
      tensors_(static_cast<int32_t>(model.tensors.size())),
      ops_(static_cast<int32_t>(model.ops.size())),
      boundaries_(boundaries) {
  flows_ = model.async && model.paging && model.uses(Switch::kFlowCuts) && timed();
  read_model();
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

void Relaxation::read_model() {
  epoch_of_.resize(z(model_.end()) + 1);
  for (int32_t stage = 0, epoch = 0; stage <= model_.end(); ++stage) {
    epoch_of_[z(stage)] = epoch;
    if (stage == boundaries_[z(epoch)]) ++epoch;
  }
  birth_.assign(z(tensors_), 0);
  born_.assign(z(tensors_), 0);
  for (int32_t tensor = 0; tensor < tensors_; ++tensor) {
    const TensorModel& entry = model_.tensors[z(tensor)];
    const bool made = entry.producer >= 0;
    birth_[z(tensor)] = made ? epoch_of(model_.ops[z(entry.producer)].stage) : -1;
    born_[z(tensor)] = made ? !model_.ops[z(entry.producer)].optional : entry.start == problem::Home::kRam;
  }
  for (const OpModel& op : model_.ops) touched_.push_back(touched(op));
  replaced_.assign(z(tensors_), model_.never());
  for (const OpModel& op : model_.ops)
    for (const ChoiceModel& choice : op.choices)
      for (const int32_t source : choice.shares)
        if (source >= 0) replaced_[z(source)] = std::min(replaced_[z(source)], op.stage);
  for (int32_t tensor = 0; tensor < tensors_; ++tensor)
    if (model_.uses(Switch::kPinnedRoom) && model_.tensors[z(tensor)].pinned &&
        model_.tensors[z(tensor)].start == problem::Home::kRam)
      pinned_.push_back(tensor);
  room_ = options_.question.budget_bytes() + rounding(model_) - model_.staging;
  needs_.resize(boundaries_.size());
  for (int32_t op = 0; op < ops_; ++op) {
    reads_.push_back(common_reads(model_.ops[z(op)]));
    if (model_.ops[z(op)].optional) continue;
    std::vector<int32_t>& needs = needs_[z(epoch_of(model_.ops[z(op)].stage))];
    needs.insert(needs.end(), reads_.back().begin(), reads_.back().end());
  }
  for (int32_t tensor = 0; tensor < tensors_; ++tensor)
    if (model_.tensors[z(tensor)].ends_in_ram) needs_.back().push_back(tensor);
  for (int32_t epoch = 0; epoch < epochs(); ++epoch) {
    std::vector<int32_t>& needs = needs_[z(epoch)];
    std::sort(needs.begin(), needs.end());
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    std::erase_if(needs, [&](int32_t tensor) { return given(epoch, tensor) || model_.tensors[z(tensor)].pinned; });
  }
}

// last_[i]: the last epoch in which i is of use, to a reader or to make again something that is.
void Relaxation::find_last_uses() {
  last_.assign(z(tensors_), -1);
  for (int32_t tensor = 0; tensor < tensors_ && !model_.uses(Switch::kLastUses); ++tensor) {
    const TensorModel& entry = model_.tensors[z(tensor)];
    const bool had = entry.producer >= 0 || entry.start == problem::Home::kRam || entry.start == problem::Home::kAux;
    if (had) last_[z(tensor)] = epochs() - 1;
  }
  for (int32_t epoch = 0; epoch < epochs(); ++epoch)
    for (const int32_t tensor : needs_[z(epoch)]) last_[z(tensor)] = std::max(last_[z(tensor)], epoch);
  for (int32_t op = ops_ - 1; op >= 0; --op) {
    const OpModel& entry = model_.ops[z(op)];
    if (!entry.recomputable && !entry.optional) continue;
    int32_t last = -1;
    for (const ChoiceModel& choice : entry.choices)
      for (const int32_t tensor : choice.writes) last = std::max(last, last_[z(tensor)]);
    for (const int32_t tensor : reads_[z(op)]) last_[z(tensor)] = std::max(last_[z(tensor)], last);
  }
}

void Relaxation::add_columns() {
  const bool energy = options_.question.objective == Objective::kEnergy;
  const auto cells = [&](int32_t count) { return z(epochs()) * z(count); };
  s_.assign(cells(tensors_), -1), i_.assign(cells(tensors_), -1), r_.assign(cells(ops_), -1),
      x_.assign(z(tensors_), -1);
  for (int32_t tensor = 0; tensor < tensors_; ++tensor) {
    const TensorModel& entry = model_.tensors[z(tensor)];
    if (entry.pinned) continue;
    const bool stored = entry.start == problem::Home::kAux;
    // What must end in storage may go there early, and come back, whatever is switched off.
    const bool pages = stored || entry.can_page || (entry.ends_in_aux && model_.paging);
    if (pages && !stored && (last_[z(tensor)] > birth(tensor) || entry.ends_in_aux)) {
      x_[z(tensor)] = add_column(energy ? entry.out_j : 0, {{Variable::kPagedOut, 0, tensor}});
      if (entry.ends_in_aux) columns_.back().lower = 1;
    }
    for (int32_t epoch = std::max(0, birth(tensor)); epoch <= last_[z(tensor)]; ++epoch) {
      if (epoch > std::max(0, birth(tensor)))
        s_[z(epoch) * z(tensors_) + z(tensor)] = add_column(0, {{Variable::kInRam, epoch, tensor}});
      if (pages && (!given(epoch, tensor) || flows_))
        i_[z(epoch) * z(tensors_) + z(tensor)] =
            add_column(energy ? entry.in_j : 0, {{Variable::kPagedIn, epoch, tensor}});
    }
  }
  for (int32_t op = 0; op < ops_; ++op) {
    const OpModel& entry = model_.ops[z(op)];
    if (!entry.recomputable && !entry.optional) continue;
    int32_t last = -1;
    for (const ChoiceModel& choice : entry.choices)
      for (const int32_t tensor : choice.writes) last = std::max(last, last_[z(tensor)]);
    for (int32_t epoch = epoch_of(entry.stage) + (entry.optional ? 0 : 1); epoch <= last; ++epoch)
      r_[z(epoch) * z(ops_) + z(op)] = add_column(energy ? joules(entry) : 0, {{Variable::kComputed, epoch, op}});
  }
  for (const OpModel& op : model_.ops)
    if (!op.optional && energy) constant_ += joules(op);
}

// The terms of S + R + I; true when it is 1 whatever they are.
bool Relaxation::available(int32_t epoch, int32_t tensor, std::vector<Term>& terms) const {
  if (given(epoch, tensor) || model_.tensors[z(tensor)].pinned) return true;
  const int32_t producer = model_.tensors[z(tensor)].producer;
  for (const int32_t column :
       {in_ram(epoch, tensor), paged_in(epoch, tensor), producer >= 0 ? again(epoch, producer) : -1})
    if (column >= 0) terms.push_back({column, 1});
  return false;
}

void Relaxation::add_rows() {
  for (int32_t epoch = 0; epoch < epochs(); ++epoch) {
    for (const int32_t tensor : needs(epoch)) {
      Row row{.terms = {}, .lower = 1, .rule = Rule::kNeed, .of = {epoch, tensor}};
      if (!available(epoch, tensor, row.terms)) rows_.push_back(std::move(row));
    }
    for (int32_t op = 0; op < ops_; ++op) {
      if (again(epoch, op) < 0) continue;
      for (const int32_t tensor : reads(op)) {
        Row row{.terms = {{again(epoch, op), -1}}, .rule = Rule::kDep, .of = {epoch, op, tensor}};
        if (!available(epoch, tensor, row.terms)) rows_.push_back(std::move(row));
      }
    }
    for (int32_t tensor = 0; tensor < tensors_; ++tensor) {
      if (epoch + 1 < epochs() && in_ram(epoch + 1, tensor) >= 0) {
        Row row{.terms = {{in_ram(epoch + 1, tensor), -1}}, .rule = Rule::kCarry, .of = {epoch, tensor}};
        if (!available(epoch, tensor, row.terms)) rows_.push_back(std::move(row));
      }
      if (paged_in(epoch, tensor) >= 0 && paged_out(tensor) >= 0)
        rows_.push_back({.terms = {{paged_out(tensor), 1}, {paged_in(epoch, tensor), -1}},
                         .rule = Rule::kStored,
                         .of = {epoch, tensor}});
    }
  }
}

bool Relaxation::read_at_boundary(int32_t epoch, int32_t tensor) const {
  if (boundary(epoch) == model_.end()) return model_.tensors[z(tensor)].ends_in_ram;
  const std::vector<int32_t>& read = reads(boundary(epoch) - 1);
  return std::find(read.begin(), read.end(), tensor) != read.end();
}

Bytes Relaxation::room_beside(int32_t epoch, int32_t op) const {
  Bytes room = room_ - working_set(model_, model_.ops[z(op)]);
  for (const int32_t tensor : pinned_)
    if (replaced_[z(tensor)] > boundary(epoch) && !touches(op, tensor)) room -= model_.tensors[z(tensor)].size;
  return room;
}

void Relaxation::add_memory_rows() {
  const bool least = options_.question.objective == Objective::kRam;
  if (least) need_ = add_column(1, {}), columns_.back().upper = static_cast<double>(options_.question.budget_bytes());
  for (int32_t epoch = 0; epoch + 1 < epochs(); ++epoch) {
    const int32_t op = boundary(epoch) - 1;
    const Bytes room = room_beside(epoch, op) - (least ? options_.question.budget_bytes() : 0);
    Row row{.lower = -static_cast<double>(room), .rule = Rule::kMemory, .of = {epoch}};
    if (least) row.terms.push_back({need_, 1});
    for (int32_t tensor = 0; tensor < tensors_; ++tensor) {
      const Bytes size = model_.tensors[z(tensor)].size;
      if (const int32_t column = in_ram(epoch + 1, tensor); column >= 0 && size > 0 && !touches(op, tensor))
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
  const int32_t whole = whole_ = add_column(second_cost(), {});
  columns_.back().upper = options_.question.deadline ? *options_.question.deadline : *options_.most_seconds;
  Row work{.terms = {{whole, 1}}, .rule = Rule::kWork}, in{.terms = {{whole, 1}}, .rule = Rule::kMoveIn},
      out{.terms = {{whole, 1}}, .rule = Rule::kMoveOut};
  for (int32_t op = 0; op < ops_; ++op) {
    const double takes = seconds(model_.ops[z(op)]);
    if (!model_.ops[z(op)].optional) work.lower += takes;
    for (int32_t epoch = 0; epoch < epochs(); ++epoch)
      if (again(epoch, op) >= 0) work.terms.push_back({again(epoch, op), -takes});
  }
  Row& reads = model_.async ? in : work;
  Row& writes = !model_.async ? work : model_.full_duplex ? out : in;
  for (int32_t tensor = 0; tensor < tensors_; ++tensor) {
    const TensorModel& entry = model_.tensors[z(tensor)];
    for (int32_t epoch = 0; epoch < epochs(); ++epoch)
      if (paged_in(epoch, tensor) >= 0) reads.terms.push_back({paged_in(epoch, tensor), -entry.in_s});
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
  for (int32_t epoch = 0; epoch < epochs(); ++epoch) {
    for (int32_t op = 0; op < ops_; ++op) add(again(epoch, op), joules(model_.ops[z(op)]));
    for (int32_t tensor = 0; tensor < tensors_; ++tensor) add(paged_in(epoch, tensor), model_.tensors[z(tensor)].in_j);
  }
  for (int32_t tensor = 0; tensor < tensors_; ++tensor) add(paged_out(tensor), model_.tensors[z(tensor)].out_j);
  add(whole_, model_.idle_w);
  rows_.push_back(std::move(row));
}

void Relaxation::add_flow_columns() {
  w_.assign(s_.size(), -1), f_.assign(s_.size(), -1);
  if (!flows_) return;
  const int32_t stride = (epochs() + kFlowEpochs - 1) / kFlowEpochs;
  for (int32_t epoch = stride / 2; epoch + 1 < epochs(); epoch += stride) {
    flow_epochs_.push_back(epoch);
    for (int32_t tensor = 0; tensor < tensors_; ++tensor) {
      if (paged_out(tensor) < 0 || birth(tensor) > epoch || last_[z(tensor)] <= epoch) continue;
      w_[z(epoch) * z(tensors_) + z(tensor)] = add_column(0, {});
      f_[z(epoch) * z(tensors_) + z(tensor)] = add_column(0, {});
    }
  }
}

void Relaxation::add_flow_rows() {
  for (const int32_t epoch : flow_epochs()) {
    const int32_t op = boundary(epoch) - 1;
    const Bytes room = room_beside(epoch, op) - (need_ >= 0 ? options_.question.budget_bytes() : 0);
    Row flight{.lower = -static_cast<double>(room), .rule = Rule::kFlight, .of = {epoch}};
    if (need_ >= 0) flight.terms.push_back({need_, 1});
    for (int32_t tensor = 0; tensor < tensors_; ++tensor) {
      const auto size = static_cast<double>(model_.tensors[z(tensor)].size);
      if (written(epoch, tensor) >= 0)
        rows_.push_back(
            {.terms = {{paged_out(tensor), 1}, {written(epoch, tensor), -1}, {in_flight(epoch, tensor), -1}},
             .rule = Rule::kIssued,
             .of = {epoch, tensor}});
      if (size == 0 || touches(op, tensor)) continue;
      if (in_flight(epoch, tensor) >= 0) flight.terms.push_back({in_flight(epoch, tensor), -size});
      if (in_ram(epoch + 1, tensor) < 0) continue;
      flight.of.push_back(tensor);
      flight.terms.push_back({in_ram(epoch + 1, tensor), -size});
      for (int32_t before = 0; before <= epoch; ++before)
        if (paged_in(before, tensor) >= 0) flight.terms.push_back({paged_in(before, tensor), size});
    }
    rows_.push_back(std::move(flight));
  }
}

}  // namespace pantoum::plan
