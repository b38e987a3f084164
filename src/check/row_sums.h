// Sums the rows of a certificate, each times its multiplier: what is left of the columns' costs, and the right sides.
//
// A plan gives every column a value between its bounds (0 and 1 but for makespan and RAM), and meets every row, so its
// objective is at least the sum of the right sides and, for each column, what is left of its cost times the better of
// its bounds. Every operation is rounded down. Columns that no row lowers add nothing and are not stored; rows that
// only raise columns (memory, work, moves, spend, flow) are kept as one multiplier each. In a case of the certificate
// some columns are decided: they add what is left of their cost where they are 1, and else nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>

#include "base/index.h"
#include "check/step_facts.h"
#include "check/words.h"

namespace pantoum::check {

class RowSums {
 public:
  enum class Column : uint8_t { kInRam, kComputed, kPagedIn, kWritten, kInFlight };

  RowSums(const StepFacts& facts, const CostGraph& graph, const Certificate& certificate)
      : facts_(facts),
        asked_(certificate),
        energy_(certificate.question.objective == Objective::kEnergy),
        ram_(certificate.question.objective == Objective::kRam),
        sync_(graph.device.pager.mode != PagerMode::kAsync),
        full_duplex_(graph.device.pager.full_duplex),
        idle_w_(problem::idle_watts(graph)) {
    begin_case();
    for (const OpFacts& op : facts.ops()) {
      if (op.optional || op.floats) continue;  // one that floats is paid by its columns
      joules_ = sum_down(joules_, op.joules);
      seconds_ = sum_down(seconds_, op.seconds);
    }
  }

  // Terms: factor times the column stands in a row of this multiplier; both > 0.
  void add(Column column, int32_t segment, int32_t index, double multiplier, int64_t factor = 1) {
    if (double* left = cell(column, segment, index)) *left = sum_down(*left, -times(multiplier, factor, true));
  }
  void subtract(Column column, int32_t segment, int32_t index, double multiplier, int64_t factor = 1) {
    if (double* left = cell(column, segment, index)) *left = sum_down(*left, times(multiplier, factor, false));
  }
  void add_paged_out(int32_t tensor, double multiplier) { paged_out_[tensor] = sum_up(paged_out_[tensor], multiplier); }
  // Right sides.
  void add_side(int64_t side, double multiplier) {
    const double term = side >= 0 ? times(multiplier, side, false) : -times(multiplier, -side, true);
    sides_ = sum_down(sides_, term);
  }
  // The lesser side: the budget beside the boundary op.
  void add_budget(int32_t segment, double multiplier) {
    const int32_t op = facts_.boundary_op(segment);
    add_side(facts_.op(op).working_set - facts_.budget_beside(segment, op) + (ram_ ? *asked_.question.budget : 0),
             multiplier);
    if (ram_) need_ = sum_down(need_, -multiplier);
  }
  // Whole rows.
  void add_memory(int32_t segment, double multiplier) {
    memory_[segment] = sum_down(memory_[segment], multiplier);
    add_budget(segment, multiplier);
  }
  void add_work(double multiplier) {
    work_ = sum_down(work_, multiplier);
    makespan_ = sum_down(makespan_, -multiplier);
    sides_ = sum_down(sides_, part(multiplier, seconds_));
  }
  void add_moves_in(double multiplier) {
    moves_in_ = sum_down(moves_in_, multiplier);
    makespan_ = sum_down(makespan_, -multiplier);
  }
  void add_moves_out(double multiplier) {
    moves_out_ = sum_down(moves_out_, multiplier);
    makespan_ = sum_down(makespan_, -multiplier);
  }
  // The joules of all that is paid, idle power included: at most the limit on energy, which there must be.
  void add_spend(double multiplier) {
    spend_ = sum_down(spend_, multiplier);
    makespan_ = sum_down(makespan_, part(multiplier, idle_w_));
    sides_ = sum_down(sides_, part(multiplier, joules_));
    sides_ = sum_down(sides_, -up(multiplier * *asked_.question.energy_limit));
  }
  void add_flow(int32_t first, int32_t segment, bool moves, double multiplier) {
    makespan_ = sum_down(makespan_, -multiplier);
    const int32_t behind = facts_.boundary_op(segment);
    double seconds = 0;
    for (int32_t op = 0; op < facts_.op_count(); ++op) {
      const bool counts = (first >= 0 && op <= facts_.boundary_op(first)) || (!moves && op >= behind);
      if (counts && !facts_.op(op).optional) seconds = sum_down(seconds, facts_.op(op).seconds);
    }
    sides_ = sum_down(sides_, part(multiplier, seconds));
    for (int32_t each = 0; each < facts_.segments(); ++each) {
      double& computed = flow_computed_[each];
      double& ins = flow_ins_[each];
      if (each <= first || (!moves && each > segment)) computed = sum_down(computed, multiplier);
      if (moves && each > segment) ins = sum_down(ins, multiplier);
    }
    BySegment& written = flow_written_[segment];
    written.resize(static_cast<size_t>(facts_.segments()) + 1, 0);
    written[first + 1] = sum_down(written[first + 1], multiplier);
    count_terms(static_cast<int64_t>(facts_.ops().size()) + facts_.segments());
  }

  // Starts again, for the case of these decisions.
  void begin_case() {
    for (Grid& grid : grids_) grid.assign(std::max(facts_.tensors().size(), facts_.ops().size()), {});
    paged_out_.assign(facts_.tensors().size(), 0);
    memory_.assign(static_cast<size_t>(facts_.segments()), 0);
    flow_computed_ = flow_ins_ = memory_;
    flow_written_.assign(memory_.size(), {});
    work_ = moves_in_ = moves_out_ = spend_ = sides_ = 0;
    makespan_ = energy_ ? sum_down(idle_w_, asked_.second_price) : ram_ ? 0 : 1;
    need_ = ram_ ? 1 : 0;
    terms_ += cells_ + kTermsOfRow * static_cast<int64_t>(facts_.tensors().size() + facts_.ops().size());
    cells_ = 0;
    decided_.clear();
  }
  void decide(const Certificate::Decision& decision, bool value) {
    terms_ += kTermsOfDecision;
    decided_[{decision.variable, decision.segment, decision.index}] = value;
  }

  void count_terms(int64_t terms) { terms_ += terms; }  // that were looked at
  bool too_large() const { return cells_ > kMostCells || terms_ > kMostTerms; }
  // The bound; NaN or infinite where a sum overflows or the makespan has no upper bound and needs one.
  double total() const {
    const double constant = energy_ ? joules_ : 0;
    double total = sum_down(constant, sides_);
    for (const double sum :
         {column_total(Column::kInRam), column_total(Column::kComputed), column_total(Column::kPagedIn),
          paged_out_total(), written_total(), in_flight_total(), decided_total(), makespan_total(), need_total()})
      total = sum_down(total, sum);
    if (ram_) return std::min(total, at_most(*asked_.question.budget));  // a plan that needs more than `ram`
    if (makespan_ >= 0 || asked_.question.deadline) return total;
    const double longest = asked_.most_seconds.value_or(0);
    const double slow = energy_ ? sum_down(constant, part(sum_down(idle_w_, asked_.second_price), longest)) : longest;
    return slow < total ? slow : total;  // a plan that takes longer than most_seconds
  }

 private:
  static constexpr int64_t kTermsOfDecision = 64, kTermsOfRow = 8;  // what takes as long as so many terms
  static constexpr int64_t kMostCells = int64_t{1} << 25, kMostTerms = int64_t{1} << 28;
  static_assert(static_cast<int>(Variable::kComputed) == static_cast<int>(Column::kComputed) &&
                static_cast<int>(Variable::kPagedIn) == static_cast<int>(Column::kPagedIn));

  static double times(double multiplier, int64_t factor, bool upwards) {
    if (factor == 1) return multiplier;
    return upwards ? up(multiplier * at_least(factor)) : std::max(0.0, down(multiplier * at_most(factor)));
  }
  // The product of two that are not negative, at most.
  static double part(double a, double b) { return std::max(0.0, down(a * b)); }
  // The better bound of a column in [0, 1]; NaN stays NaN.
  static double better(double left) { return left >= 0 ? 0 : left; }

  using BySegment = base::Indexed<int32_t, double>;
  using Grid = base::Indexed<int32_t, BySegment>;  // by index, then by segment; empty: nothing stored

  double* cell(Column column, int32_t segment, int32_t index) {
    ++terms_;
    BySegment& row = grids_[static_cast<size_t>(column)][index];
    if (row.empty()) {
      cells_ += facts_.segments();
      if (too_large()) return nullptr;
      row.assign(static_cast<size_t>(facts_.segments()), cost(column, index));
    }
    return &row[segment];
  }
  double cost(Column column, int32_t index) const {
    if (!energy_) return 0;
    if (column == Column::kComputed) return facts_.op(index).joules;
    return column == Column::kPagedIn ? facts_.tensor(index).in_j : 0;
  }
  // Returns at most what is left of the column's cost.
  double left(Column column, int32_t segment, int32_t index) const {
    const BySegment& row = grids_[static_cast<size_t>(column)][index];
    const double left = row.empty() ? cost(column, index) : row[segment];
    if (column == Column::kComputed) {
      const OpFacts& op = facts_.op(index);
      const double weight = sum_down(work_, flow_computed_[segment]);
      return sum_down(left, sum_down(part(weight, op.seconds), part(spend_, op.joules)));
    }
    if (column == Column::kPagedIn) {
      const TensorFacts& tensor = facts_.tensor(index);
      const double weight = sync_ ? work_ : sum_down(moves_in_, flow_ins_[segment]);
      return sum_down(left, sum_down(part(weight, tensor.in_s), part(spend_, tensor.in_j)));
    }
    if (segment == 0 || facts_.touches(facts_.boundary_op(segment - 1), index)) return left;
    return sum_down(left, times(memory_[segment - 1], facts_.tensor(index).size, false));
  }
  double left_paged_out(int32_t tensor) const {
    const TensorFacts& facts = facts_.tensor(tensor);
    const double weight = sync_ ? work_ : full_duplex_ ? moves_out_ : moves_in_;
    const double cost = sum_down(energy_ ? facts.out_j : 0, -paged_out_[tensor]);
    return sum_down(cost, sum_down(part(weight, facts.out_s), part(spend_, facts.out_j)));
  }
  double column_total(Column column) const {
    double total = 0;
    const Grid& grid = grids_[static_cast<size_t>(column)];
    for (const int32_t index : grid.indices())
      for (const int32_t segment : grid[index].indices())
        if (!(grid[index][segment] >= 0) && !decided_.contains({static_cast<Variable>(column), segment, index}))
          total = sum_down(total, better(left(column, segment, index)));
    return total;
  }
  // What must end in storage and does not start there is paged out: its column is 1.
  double paged_out_total() const {
    double total = 0;
    for (const int32_t tensor : facts_.tensors().indices()) {
      const TensorFacts& facts = facts_.tensor(tensor);
      if (facts.starts_in_aux || decided_.contains({Variable::kPagedOut, 0, tensor})) continue;
      const double left = left_paged_out(tensor);
      total = sum_down(total, facts.ends_in_aux ? left : better(left));
    }
    return total;
  }
  // What a tensor takes to be written counts behind the work before it is first computed.
  double written_total() const {
    double total = 0;
    const Grid& grid = grids_[static_cast<size_t>(Column::kWritten)];
    for (const int32_t index : facts_.tensors().indices()) {
      const TensorFacts& tensor = facts_.tensor(index);
      const int32_t latest = tensor.producer < 0 ? -1 : tensor.definition_segment - 1;
      for (const int32_t segment : grid[index].indices()) {
        const double left = grid[index][segment];
        if (left >= 0) continue;
        double weight = 0;
        if (!flow_written_[segment].empty())
          for (int32_t first = -1; first <= latest; ++first)
            weight = sum_down(weight, flow_written_[segment][first + 1]);
        total = sum_down(total, better(sum_down(left, part(weight, tensor.out_s))));
      }
    }
    return total;
  }
  double in_flight_total() const {
    double total = 0;
    for (const BySegment& row : grids_[static_cast<size_t>(Column::kInFlight)])
      for (const double left : row) total = sum_down(total, better(left));
    return total;
  }
  double decided_total() const {
    double total = 0;
    for (const auto& [what, value] : decided_) {
      const auto& [variable, segment, index] = what;
      if (!value) continue;
      const bool out = variable == Variable::kPagedOut;
      total = sum_down(total, out ? left_paged_out(index) : left(static_cast<Column>(variable), segment, index));
    }
    return total;
  }
  double makespan_total() const {
    if (makespan_ >= 0) return 0;
    if (asked_.question.deadline) return down(makespan_ * *asked_.question.deadline);
    if (asked_.most_seconds && !ram_) return down(makespan_ * *asked_.most_seconds);
    return -std::numeric_limits<double>::infinity();
  }
  double need_total() const { return need_ >= 0 ? 0 : down(need_ * at_least(*asked_.question.budget)); }

  const StepFacts& facts_;
  const Certificate& asked_;
  const bool energy_, ram_, sync_, full_duplex_;
  const double idle_w_;
  Grid grids_[5];
  base::Indexed<int32_t, double> paged_out_;  // by tensor: what rows took from its cost
  BySegment memory_;
  BySegment flow_computed_, flow_ins_;
  base::Indexed<int32_t, BySegment> flow_written_;  // by segment, by one more than that of the work before; or empty
  double work_ = 0, moves_in_ = 0, moves_out_ = 0, spend_ = 0;
  double joules_ = 0, seconds_ = 0;             // of the first computations
  double sides_ = 0, makespan_ = 0, need_ = 0;  // need_: of the bytes, where they are the objective
  int64_t cells_ = 0, terms_ = 0;
  std::map<std::tuple<Variable, int32_t, int32_t>, bool> decided_;  // with segment and index
};

}  // namespace pantoum::check
