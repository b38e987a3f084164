#include "check/row_sums.h"

#include <algorithm>
#include <limits>

#include "check/directed.h"

namespace pantoum::check {
namespace {

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

double times(double multiplier, int64_t factor, bool upwards) {
  if (factor == 1) return multiplier;
  return upwards ? up(multiplier * at_least(factor)) : std::max(0.0, down(multiplier * at_most(factor)));
}

// The product of two that are not negative, at most.
double part(double a, double b) {
  return std::max(0.0, down(a * b));
}

// The better bound of a column in [0, 1]; NaN stays NaN.
double better(double left) {
  return left >= 0 ? 0 : left;
}

}  // namespace

RowSums::RowSums(const StepFacts& facts, const cost::Device& device, const plan::Certificate& certificate)
    : facts_(facts),
      asked_(certificate),
      energy_(certificate.objective == plan::Objective::kEnergy),
      ram_(certificate.objective == plan::Objective::kRam),
      sync_(device.pager.mode != cost::PagerMode::kAsync),
      full_duplex_(device.pager.full_duplex),
      idle_w_(device.idle_w) {
  for (Grid& grid : grids_) grid.resize(std::max(facts.tensors().size(), facts.ops().size()));
  paged_out_.assign(facts.tensors().size(), 0);
  memory_.assign(z(facts.epochs()), 0);
  makespan_ = energy_ ? sum_down(idle_w_, certificate.second_price) : ram_ ? 0 : 1;
  need_ = ram_ ? 1 : 0;
  for (const OpFacts& op : facts.ops()) {
    if (op.optional) continue;
    joules_ = sum_down(joules_, op.joules);
    seconds_ = sum_down(seconds_, op.seconds);
  }
}

double RowSums::cost(Column column, int32_t index) const {
  if (!energy_ || column == Column::kInRam) return 0;
  return column == Column::kComputed ? facts_.op(index).joules : facts_.tensor(index).in_j;
}

double* RowSums::cell(Column column, int32_t epoch, int32_t index) {
  ++terms_;
  std::vector<double>& row = grids_[static_cast<size_t>(column)][z(index)];
  if (row.empty()) {
    cells_ += facts_.epochs();
    if (too_large()) return nullptr;
    row.assign(z(facts_.epochs()), cost(column, index));
  }
  return &row[z(epoch)];
}

void RowSums::add(Column column, int32_t epoch, int32_t index, double multiplier, int64_t factor) {
  if (double* left = cell(column, epoch, index)) *left = sum_down(*left, -times(multiplier, factor, true));
}

void RowSums::subtract(Column column, int32_t epoch, int32_t index, double multiplier, int64_t factor) {
  if (double* left = cell(column, epoch, index)) *left = sum_down(*left, times(multiplier, factor, false));
}

void RowSums::add_paged_out(int32_t tensor, double multiplier) {
  paged_out_[z(tensor)] = sum_up(paged_out_[z(tensor)], multiplier);
}

void RowSums::add_side(int64_t side, double multiplier) {
  const double term = side >= 0 ? times(multiplier, side, false) : -times(multiplier, -side, true);
  sides_ = sum_down(sides_, term);
}

void RowSums::add_memory(int32_t epoch, double multiplier) {
  const int32_t op = facts_.boundary_op(epoch);
  memory_[z(epoch)] = sum_down(memory_[z(epoch)], multiplier);
  add_side(facts_.op(op).working_set - facts_.capacity(epoch, op) + (ram_ ? asked_.ram : 0), multiplier);
  if (ram_) need_ = sum_down(need_, -multiplier);
}

void RowSums::add_work(double multiplier) {
  work_ = sum_down(work_, multiplier);
  makespan_ = sum_down(makespan_, -multiplier);
  sides_ = sum_down(sides_, part(multiplier, seconds_));
}
void RowSums::add_moves_in(double multiplier) {
  moves_in_ = sum_down(moves_in_, multiplier);
  makespan_ = sum_down(makespan_, -multiplier);
}
void RowSums::add_moves_out(double multiplier) {
  moves_out_ = sum_down(moves_out_, multiplier);
  makespan_ = sum_down(makespan_, -multiplier);
}

// The joules of all that is paid, idle power included: at most most_energy.
void RowSums::add_spend(double multiplier) {
  spend_ = sum_down(spend_, multiplier);
  makespan_ = sum_down(makespan_, part(multiplier, idle_w_));
  sides_ = sum_down(sides_, part(multiplier, joules_));
  sides_ = sum_down(sides_, -up(multiplier * *asked_.most_energy));
}

double RowSums::in_ram_total() const {
  double total = 0;
  const Grid& grid = grids_[static_cast<size_t>(Column::kInRam)];
  for (int32_t tensor = 0; z(tensor) < facts_.tensors().size(); ++tensor) {
    const std::vector<double>& row = grid[z(tensor)];
    for (size_t epoch = 1; epoch < row.size(); ++epoch) {
      if (row[epoch] >= 0) continue;
      const auto before = static_cast<int32_t>(epoch) - 1;
      const bool held = !facts_.touches(facts_.boundary_op(before), tensor);
      const double raised = held ? times(memory_[z(before)], facts_.tensor(tensor).size, false) : 0;
      total = sum_down(total, better(sum_down(row[epoch], raised)));
    }
  }
  return total;
}

double RowSums::computed_total() const {
  double total = 0;
  const Grid& grid = grids_[static_cast<size_t>(Column::kComputed)];
  for (size_t op = 0; op < facts_.ops().size(); ++op)
    for (const double left : grid[op])
      if (!(left >= 0)) {
        const double raised = sum_down(part(work_, facts_.ops()[op].seconds), part(spend_, facts_.ops()[op].joules));
        total = sum_down(total, better(sum_down(left, raised)));
      }
  return total;
}

double RowSums::paged_in_total() const {
  double total = 0;
  const double weight = sync_ ? work_ : moves_in_;
  const Grid& grid = grids_[static_cast<size_t>(Column::kPagedIn)];
  for (size_t tensor = 0; tensor < facts_.tensors().size(); ++tensor)
    for (const double left : grid[tensor])
      if (!(left >= 0)) {
        const TensorFacts& facts = facts_.tensors()[tensor];
        const double raised = sum_down(part(weight, facts.in_s), part(spend_, facts.in_j));
        total = sum_down(total, better(sum_down(left, raised)));
      }
  return total;
}

// What must end in storage and does not start there is paged out: its column is 1.
double RowSums::paged_out_total() const {
  double total = 0;
  const double weight = sync_ ? work_ : full_duplex_ ? moves_out_ : moves_in_;
  for (size_t index = 0; index < facts_.tensors().size(); ++index) {
    const TensorFacts& tensor = facts_.tensors()[index];
    if (tensor.starts_in_aux) continue;
    const double cost = sum_down(energy_ ? tensor.out_j : 0, -paged_out_[index]);
    const double left = sum_down(cost, sum_down(part(weight, tensor.out_s), part(spend_, tensor.out_j)));
    total = sum_down(total, tensor.ends_in_aux ? left : better(left));
  }
  return total;
}

double RowSums::makespan_total() const {
  if (makespan_ >= 0) return 0;
  if (asked_.deadline) return down(makespan_ * *asked_.deadline);
  if (asked_.most_seconds > 0 && !ram_) return down(makespan_ * asked_.most_seconds);
  return -std::numeric_limits<double>::infinity();
}

double RowSums::need_total() const {
  return need_ >= 0 ? 0 : down(need_ * at_least(asked_.ram));
}

double RowSums::total() const {
  const double constant = energy_ ? joules_ : 0;
  double total = sum_down(constant, sides_);
  for (const double sum :
       {in_ram_total(), computed_total(), paged_in_total(), paged_out_total(), makespan_total(), need_total()})
    total = sum_down(total, sum);
  if (ram_) return std::min(total, at_most(asked_.ram));  // a plan that needs more than `ram`
  if (makespan_ >= 0 || asked_.deadline) return total;
  const double slow = energy_ ? sum_down(constant, part(sum_down(idle_w_, asked_.second_price), asked_.most_seconds))
                              : asked_.most_seconds;
  return slow < total ? slow : total;  // a plan that takes longer than most_seconds
}

}  // namespace pantoum::check
