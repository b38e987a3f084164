#include "plan/bound/relaxation.h"

#include <cmath>

#include "base/lists.h"
#include "plan/bound/bounds.h"

namespace pantoum::plan {

namespace {

constexpr Segment kFlowSegments = 16;  // with columns W and F, at most

double joules(const OpModel& op) {
  return cheapest(op, [](const ChoiceModel& choice) { return choice.joules; });
}
double seconds(const OpModel& op) {
  return cheapest(op, [](const ChoiceModel& choice) { return choice.seconds; });
}

// All that any choice of the op holds while it runs.
std::set<TensorIndex> touched(const OpModel& op) {
  std::set<TensorIndex> all;
  for (const ChoiceModel& choice : op.choices) {
    all.insert(choice.reads.begin(), choice.reads.end());
    all.insert(choice.writes.begin(), choice.writes.end());
  }
  return all;
}

// Returns the bytes that the topmost block of the arena need not be rounded up by.
Bytes rounding(const Model& model) {
  Bytes most = 0;
  for (const TensorModel& tensor : model.tensors) most = std::max(most, tensor.size - tensor.bytes);
  for (const OpModel& op : model.ops)
    for (const ChoiceModel& choice : op.choices) most = std::max(most, choice.workspace - choice.workspace_given);
  return most;
}

}  // namespace

bool transfers(const Model& model) {
  return std::ranges::any_of(model.tensors, [&](const TensorModel& tensor) {
    return tensor.start == Home::kAux || tensor.can_page || (tensor.ends_in_aux && model.paging);
  });
}

namespace {

class RelaxationBuilder : public Relaxation {
 public:
  RelaxationBuilder(const Model& model, const RelaxationOptions& options, const std::vector<Stage>& boundaries)
      : Relaxation(Empty{}, model, options, boundaries) {
    work_price_ = find_work_price();
    if (work_price_ > 0) options_.most_seconds.reset();
    // What flows count as done before a boundary is so in one order.
    flows_ = model.async && model.paging && model.uses(Switch::kFlowCuts) && timed() && !options.any_order;
    find_segments();
    find_windows();
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

 private:
  ColumnIndex add_column(double cost, std::optional<Certificate::Decision> decision) {
    decisions_.push_back(decision);
    return columns_.push_back({.cost = cost});
  }

  void find_segments() {
    Segment segment = 0;
    for (Stage stage = 0; stage <= model_.end(); ++stage) {
      segment_of_.push_back(segment);
      if (stage == boundary(segment)) ++segment;
    }
  }

  void find_windows() {
    reads_ = common_reads(model_);
    if (options_.any_order) {
      windows_ = windows_of(model_, reads_, {boundaries_.begin(), boundaries_.end()});
      return;
    }
    for (const OpModel& op : model_.ops) windows_.first.push_back(segment_of(op.stage));
    windows_.last = windows_.first;
  }

  void find_definitions() {
    for (const TensorIndex tensor : model_.tensors.indices()) {
      const TensorModel& entry = model_.tensors[tensor];
      const OpIndex maker = entry.producer;
      definition_segment_.push_back(maker.exists() ? first_segment(maker) : -1);
      defined_[tensor] = maker.exists() ? !model_.ops[maker].optional && !floats(maker) : entry.start == Home::kRam;
    }
  }

  void find_pinned() {
    replaced_.assign(model_.tensors.size(), segments());
    taker_.assign(model_.tensors.size(), OpIndex());
    std::set<TensorIndex> several;  // ops may take its bytes
    for (const OpIndex op : model_.ops.indices()) {
      touched_.push_back(touched(model_.ops[op]));
      for (const ChoiceModel& choice : model_.ops[op].choices)
        for (const TensorIndex source : choice.shares) {
          if (!source.exists()) continue;
          replaced_[source] = std::min(replaced_[source], first_segment(op));
          if (taker_[source].exists() && taker_[source] != op) several.insert(source);
          taker_[source] = op;
        }
    }
    for (const TensorIndex source : several) taker_[source] = OpIndex();
    for (const TensorIndex tensor : model_.tensors.indices()) {
      const TensorModel& entry = model_.tensors[tensor];
      if (entry.pinned && entry.start == Home::kRam && model_.uses(Switch::kPinnedRoom)) pinned_.push_back(tensor);
    }
    budget_ = options_.question.budget_bytes() + rounding(model_) - model_.staging;
  }

  void find_needs() {
    needs_.resize(boundaries_.size());
    for (const OpIndex op : model_.ops.indices()) {
      if (model_.ops[op].optional || floats(op)) continue;
      std::vector<TensorIndex>& needs = needs_[first_segment(op)];
      needs.insert(needs.end(), reads(op).begin(), reads(op).end());
    }
    for (const TensorIndex tensor : model_.tensors.indices())
      if (model_.tensors[tensor].ends_in_ram) needs_[segments() - 1].push_back(tensor);
    for (Segment segment = 0; segment < segments(); ++segment) {
      std::vector<TensorIndex>& needs = needs_[segment];
      base::make_set(needs);
      std::erase_if(needs,
                    [&](TensorIndex tensor) { return available(segment, tensor) || model_.tensors[tensor].pinned; });
    }
  }

  // last_use_[i]: the last segment in which i is of use, to a reader (of one that floats: in its window) or to recompute
  // something that is.
  void find_last_uses() {
    for (const TensorModel& tensor : model_.tensors) {
      const bool starts = tensor.start == Home::kRam || tensor.start == Home::kAux;
      const bool ever = !model_.uses(Switch::kLastUses) && (starts || tensor.producer.exists());
      last_use_.push_back(ever ? segments() - 1 : -1);
    }
    for (Segment segment = 0; segment < segments(); ++segment)
      for (const TensorIndex tensor : needs_[segment]) last_use_[tensor] = std::max(last_use_[tensor], segment);
    for (const OpIndex op : model_.ops.indices().descending()) {
      const OpModel& entry = model_.ops[op];
      Segment last = entry.recomputable || entry.optional ? last_use_of_outputs(entry) : -1;
      if (floats(op)) last = std::max(last, last_segment(op));
      for (const TensorIndex tensor : reads(op)) last_use_[tensor] = std::max(last_use_[tensor], last);
    }
  }

  Segment last_use_of_outputs(const OpModel& op) const {
    Segment last = -1;
    for (const ChoiceModel& choice : op.choices)
      for (const TensorIndex tensor : choice.writes) last = std::max(last, last_use_[tensor]);
    return last;
  }

  void add_columns() {
    s_ = i_ = w_ = f_ = ColumnGrid<TensorIndex>(segments(), model_.tensors.size());
    r_ = ColumnGrid<OpIndex>(segments(), model_.ops.size());
    for (const TensorIndex tensor : model_.tensors.indices())
      if (!model_.tensors[tensor].pinned) add_tensor_columns(tensor);
    for (const OpIndex op : model_.ops.indices()) add_op_columns(op);
    for (const OpIndex op : model_.ops.indices())
      if (!model_.ops[op].optional) (floats(op) ? floating_ : constant_) += cost_of(model_.ops[op]);
  }

  void add_tensor_columns(TensorIndex tensor) {
    const bool energy = options_.question.objective == Objective::kEnergy;
    const TensorModel& entry = model_.tensors[tensor];
    const Segment first = std::max(0, definition_segment(tensor)), last = last_use_[tensor];
    const bool stored = entry.start == Home::kAux;
    // What must end in storage may go there early, and come back, whatever is switched off.
    const bool pages = stored || entry.can_page || (entry.ends_in_aux && model_.paging);
    if (pages && !stored && (last > definition_segment(tensor) || entry.ends_in_aux)) {
      x_[tensor] = add_column(energy ? entry.out_j : 0, {{Variable::kPagedOut, 0, tensor.value()}});
      if (entry.ends_in_aux) columns_[paged_out(tensor)].lower = 1;
    }
    for (Segment segment = first; segment <= last; ++segment) {
      if (segment > first) s_.at(segment, tensor) = add_column(0, {{Variable::kInRam, segment, tensor.value()}});
      if (pages && (!available(segment, tensor) || flows_))
        i_.at(segment, tensor) = add_column(energy ? entry.in_j : 0, {{Variable::kPagedIn, segment, tensor.value()}});
    }
  }

  void add_op_columns(OpIndex op) {
    const OpModel& entry = model_.ops[op];
    if (!entry.recomputable && !entry.optional && !floats(op)) return;
    const Segment first = first_segment(op) + (entry.optional || floats(op) ? 0 : 1);
    Segment last = entry.recomputable || entry.optional ? last_use_of_outputs(entry) : -1;
    if (floats(op)) last = std::max(last, last_segment(op));
    for (Segment segment = first; segment <= last; ++segment)
      r_.at(segment, op) = add_column(cost_of(entry), {{Variable::kComputed, segment, op.value()}});
  }

  void add_rows() {
    for (Segment segment = 0; segment < segments(); ++segment) {
      for (const TensorIndex tensor : needs(segment)) {
        Row row{.terms = {}, .lower = 1, .rule = Rule::kNeed, .of = {segment, tensor.value()}};
        if (!presence(segment, tensor, row.terms)) rows_.push_back(std::move(row));
      }
      for (const OpIndex op : model_.ops.indices()) {
        if (!recomputed(segment, op).exists()) continue;
        for (const TensorIndex tensor : reads(op)) {
          Row row{.terms = {{recomputed(segment, op), -1}},
                  .rule = Rule::kDep,
                  .of = {segment, op.value(), tensor.value()}};
          if (!presence(segment, tensor, row.terms)) rows_.push_back(std::move(row));
        }
      }
      for (const TensorIndex tensor : model_.tensors.indices()) add_tensor_rows(segment, tensor);
    }
    for (const OpIndex op : model_.ops.indices())
      if (floats(op)) add_floating_rows(op);
  }

  void add_tensor_rows(Segment segment, TensorIndex tensor) {
    if (segment + 1 < segments() && in_ram(segment + 1, tensor).exists()) {
      Row row{.terms = {{in_ram(segment + 1, tensor), -1}}, .rule = Rule::kCarry, .of = {segment, tensor.value()}};
      if (!presence(segment, tensor, row.terms)) rows_.push_back(std::move(row));
    }
    if (paged_in(segment, tensor).exists() && paged_out(tensor).exists())
      rows_.push_back({.terms = {{paged_out(tensor), 1}, {paged_in(segment, tensor), -1}},
                       .rule = Rule::kStored,
                       .of = {segment, tensor.value()}});
  }

  void add_floating_rows(OpIndex op) {
    Row row{.terms = {}, .lower = 1, .rule = Rule::kOnce, .of = {op.value()}};
    for (Segment segment = first_segment(op); segment <= last_segment(op); ++segment)
      row.add(recomputed(segment, op), 1);
    Row single{.terms = row.terms, .lower = -1, .rule = Rule::kSingle, .of = row.of};
    for (Term& term : single.terms) term.factor = -1;
    rows_.push_back(std::move(row));
    if (!model_.ops[op].recomputable) rows_.push_back(std::move(single));
    std::set<TensorIndex> made;
    for (const ChoiceModel& choice : model_.ops[op].choices) made.insert(choice.writes.begin(), choice.writes.end());
    for (const TensorIndex tensor : made) add_made_rows(tensor);
  }

  // Adds rows that forbid to read back what was not made yet. From the end of the window on they say nothing new.
  void add_made_rows(TensorIndex tensor) {
    const OpIndex maker = model_.tensors[tensor].producer;
    for (Segment segment = first_segment(maker); segment < last_segment(maker); ++segment) {
      if (!paged_in(segment, tensor).exists()) continue;
      Row row{.terms = {{paged_in(segment, tensor), -1}}, .rule = Rule::kMade, .of = {segment, tensor.value()}};
      for (Segment each = first_segment(maker); each <= segment; ++each) row.add(recomputed(each, maker), 1);
      rows_.push_back(std::move(row));
    }
  }

  void add_memory_rows() {
    if (options_.question.objective == Objective::kRam) {
      least_budget_ = add_column(1, {});
      columns_[least_budget_].upper = static_cast<double>(options_.question.budget_bytes());
    }
    for (Segment segment = 0; segment + 1 < segments(); ++segment) {
      Row row = memory_row(Rule::kMemory, segment);
      for (const TensorIndex tensor : model_.tensors.indices()) {
        const Bytes size = model_.tensors[tensor].size;
        const ColumnIndex column = in_ram(segment + 1, tensor);
        if (column.exists() && size > 0 && !touches(boundary_op(segment), tensor))
          row.terms.push_back({column, -static_cast<double>(size)});
      }
      add_floating_pinned(segment, row);
      rows_.push_back(std::move(row));
    }
  }

  // A pinned tensor whose successor is made by an op that floats is in RAM until that op is first computed.
  void add_floating_pinned(Segment segment, Row& row) const {
    for (const TensorIndex tensor : pinned_) {
      const OpIndex taker = taker_[tensor];
      const auto size = static_cast<double>(model_.tensors[tensor].size);
      if (!taker.exists() || !floats(taker) || size == 0 || touches(boundary_op(segment), tensor)) continue;
      if (segment < first_segment(taker) || segment >= last_segment(taker)) continue;
      row.lower += size;
      for (Segment each = first_segment(taker); each <= segment; ++each) row.add(recomputed(each, taker), size);
    }
  }

  // The budget beside the boundary op, as a row that has no tensor yet. With kRam the budget is a column.
  Row memory_row(Rule rule, Segment segment) const {
    const Bytes given = least_budget_.exists() ? options_.question.budget_bytes() : 0;
    const Bytes left = budget_beside(segment, boundary_op(segment)) - given;
    Row row{.lower = -static_cast<double>(left), .rule = rule, .of = {segment}};
    row.add(least_budget_, 1);
    return row;
  }

  void add_time_rows() {
    if (!timed()) return;
    makespan_ = add_column(second_cost(), {});
    columns_[makespan_].upper = options_.question.deadline ? *options_.question.deadline : *options_.most_seconds;
    Row work{.terms = {{makespan_, 1}}, .rule = Rule::kWork}, in{.terms = {{makespan_, 1}}, .rule = Rule::kMoveIn},
        out{.terms = {{makespan_, 1}}, .rule = Rule::kMoveOut};
    for (const OpIndex op : model_.ops.indices()) {
      const double takes = seconds(model_.ops[op]);
      if (!model_.ops[op].optional && !floats(op)) work.lower += takes;
      for (Segment segment = 0; segment < segments(); ++segment) work.add(recomputed(segment, op), -takes);
    }
    Row& reads = model_.async ? in : work;
    Row& writes = !model_.async ? work : model_.full_duplex ? out : in;
    for (const TensorIndex tensor : model_.tensors.indices()) {
      const TensorModel& entry = model_.tensors[tensor];
      for (Segment segment = 0; segment < segments(); ++segment) reads.add(paged_in(segment, tensor), -entry.in_s);
      writes.add(paged_out(tensor), -entry.out_s);
    }
    for (Row* row : {&work, &in, &out})
      if (row->terms.size() > 1 || row == &work) rows_.push_back(std::move(*row));
  }

  void add_energy_row() {
    if (!options_.question.energy_limit) return;
    Row row{.lower = -*options_.question.energy_limit, .rule = Rule::kSpend};
    for (const OpIndex op : model_.ops.indices())
      if (!model_.ops[op].optional && !floats(op)) row.lower += joules(model_.ops[op]);
    const auto add = [&](ColumnIndex column, double factor) {
      if (column.exists() && factor > 0) row.terms.push_back({column, -factor});
    };
    for (Segment segment = 0; segment < segments(); ++segment) {
      for (const OpIndex op : model_.ops.indices()) add(recomputed(segment, op), joules(model_.ops[op]));
      for (const TensorIndex tensor : model_.tensors.indices())
        add(paged_in(segment, tensor), model_.tensors[tensor].in_j);
    }
    for (const TensorIndex tensor : model_.tensors.indices()) add(paged_out(tensor), model_.tensors[tensor].out_j);
    add(makespan_, model_.idle_w);
    rows_.push_back(std::move(row));
  }

  // Returns what a second of the makespan costs in the objective.
  double second_cost() const {
    if (options_.question.objective == Objective::kTime) return 1;
    return options_.question.objective == Objective::kEnergy ? model_.idle_w + options_.second_price : 0;
  }

  // A little less where the sum may have been rounded up: a checker's may not be.
  double find_work_price() const {
    const Question& question = options_.question;
    const double cost = second_cost();
    if (transfers(model_) || question.deadline || question.energy_limit || cost <= 0) return 0;
    return question.objective == Objective::kTime ? cost : std::nextafter(cost, 0);
  }

  // Is there a column of the makespan?
  bool timed() const {
    if (work_price_ > 0) return false;
    const bool wanted =
        second_cost() > 0 || options_.question.deadline || (options_.question.energy_limit && model_.idle_w > 0);
    return wanted && (options_.question.deadline || options_.most_seconds);
  }

  // of a computation
  double cost_of(const OpModel& op) const {
    const bool energy = options_.question.objective == Objective::kEnergy;
    return (energy ? joules(op) : 0) + work_price_ * seconds(op);
  }

  void add_flow_columns() {
    if (!flows_) return;
    const Segment stride = (segments() + kFlowSegments - 1) / kFlowSegments;
    for (Segment segment = stride / 2; segment + 1 < segments(); segment += stride) {
      flow_segments_.push_back(segment);
      for (const TensorIndex tensor : model_.tensors.indices()) {
        if (!paged_out(tensor).exists() || definition_segment(tensor) > segment || last_use_[tensor] <= segment)
          continue;
        w_.at(segment, tensor) = add_column(0, {});
        f_.at(segment, tensor) = add_column(0, {});
      }
    }
  }

  void add_flow_rows() {
    for (const Segment segment : flow_segments()) add_flow_rows(segment);
  }

  void add_flow_rows(Segment segment) {
    Row flight = memory_row(Rule::kFlight, segment);
    for (const TensorIndex tensor : model_.tensors.indices()) {
      const auto size = static_cast<double>(model_.tensors[tensor].size);
      if (written(segment, tensor).exists())
        rows_.push_back(
            {.terms = {{paged_out(tensor), 1}, {written(segment, tensor), -1}, {in_flight(segment, tensor), -1}},
             .rule = Rule::kIssued,
             .of = {segment, tensor.value()}});
      if (size == 0 || touches(boundary_op(segment), tensor)) continue;
      flight.add(in_flight(segment, tensor), -size);
      if (!in_ram(segment + 1, tensor).exists()) continue;
      flight.of.push_back(tensor.value());
      flight.terms.push_back({in_ram(segment + 1, tensor), -size});
      for (Segment before = 0; before <= segment; ++before) flight.add(paged_in(before, tensor), size);
    }
    rows_.push_back(std::move(flight));
  }

  // The terms of S + R + I; true when it is 1 whatever they are.
  bool presence(Segment segment, TensorIndex tensor, std::vector<Term>& terms) const {
    if (available(segment, tensor) || model_.tensors[tensor].pinned) return true;
    const OpIndex producer = model_.tensors[tensor].producer;
    const ColumnIndex made = producer.exists() ? recomputed(segment, producer) : ColumnIndex();
    for (const ColumnIndex column : {in_ram(segment, tensor), paged_in(segment, tensor), made})
      if (column.exists()) terms.push_back({column, 1});
    return false;
  }
};

}  // namespace

Relaxation::Relaxation(const Model& model, const RelaxationOptions& options, const std::vector<Stage>& boundaries)
    : Relaxation(RelaxationBuilder(model, options, boundaries)) {}

bool Relaxation::read_at_boundary(Segment segment, TensorIndex tensor) const {
  if (boundary(segment) == model_.end()) return model_.tensors[tensor].ends_in_ram;
  const std::vector<TensorIndex>& read = reads(boundary_op(segment));
  return base::contains(read, tensor);
}

Bytes Relaxation::budget_beside(Segment segment, OpIndex op) const {
  Bytes left = budget_ - working_set(model_, model_.ops[op]);
  for (const TensorIndex tensor : pinned_)
    if (replaced_[tensor] > segment && !touches(op, tensor)) left -= model_.tensors[tensor].size;
  return left;
}

}  // namespace pantoum::plan
