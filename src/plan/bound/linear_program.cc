#include "plan/bound/linear_program.h"
#include "base/no_unwinding.h"
#include "plan/bound/row.h"

#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#include <algorithm>
#include <cmath>

namespace pantoum::plan {
namespace {

// The largest factor of a row: CLP sees rows whose factors are at most 1.
double scale_of(const Row& row) {
  double most = 0;
  for (const Term& term : row.terms) most = std::max(most, std::abs(term.factor));
  return most > 0 ? 1 / most : 1;
}

// CLP takes no costs of 1e25 and more: of huge ones it sees a power of two's part.
double scale_of_costs(const Columns& columns) {
  constexpr int kMostExponent = 50;
  double most = 0;
  for (const Column& column : columns) most = std::max(most, std::abs(column.cost));
  if (!(most > 0) || !std::isfinite(most)) return 1;
  const int exponent = std::ilogb(most);
  return exponent > kMostExponent ? std::ldexp(1.0, -exponent) : 1;
}

}  // namespace

struct LinearProgram::Impl {
  Columns columns;
  std::vector<Row> rows;
  std::vector<double> scales;
  double cost_scale = 1;
  std::vector<int> slack_rounds;
  Point point;
  std::vector<double> ray;  // multipliers in place of the solver's; empty: its own
  ClpSimplex solver;
  int64_t iterations = 0;
};

LinearProgram::LinearProgram(const Columns& columns, Start start) : impl_(std::make_unique<Impl>()) {
  const base::NoUnwinding solving;
  impl_->columns = columns;
  impl_->cost_scale = scale_of_costs(columns);
  ClpSimplex& solver = impl_->solver;
  solver.setLogLevel(0);
  solver.resize(0, static_cast<int>(columns.size()));
  for (const ColumnIndex column : columns.indices()) {
    solver.setObjectiveCoefficient(column.value(), columns[column].cost * impl_->cost_scale);
    solver.setColumnBounds(column.value(), columns[column].lower, columns[column].upper);
  }
  solver.setOptimizationDirection(1);
  if (start == Start::kUpper) begin_above();
  impl_->point.assign(columns.size(), 0);
}

LinearProgram::~LinearProgram() = default;

void LinearProgram::begin_above() {
  impl_->solver.createStatus();
  for (const ColumnIndex column : impl_->columns.indices())
    if (impl_->columns[column].cost == 0) impl_->solver.setColumnStatus(column.value(), ClpSimplex::atUpperBound);
}

void LinearProgram::add(std::vector<Row> rows) {
  if (rows.empty()) return;
  const base::NoUnwinding solving;
  std::vector<CoinBigIndex> starts{0};
  std::vector<int> columns;
  std::vector<double> factors, lower, upper(rows.size(), COIN_DBL_MAX);
  for (Row& row : rows) {
    const double scale = scale_of(row);
    for (const Term& term : row.terms) columns.push_back(term.column.value()), factors.push_back(term.factor * scale);
    starts.push_back(static_cast<CoinBigIndex>(columns.size()));
    lower.push_back(row.lower * scale);
    impl_->scales.push_back(scale);
    impl_->slack_rounds.push_back(0);
    impl_->rows.push_back(std::move(row));
  }
  impl_->solver.addRows(static_cast<int>(rows.size()), lower.data(), upper.data(), starts.data(), columns.data(),
                        factors.data());
}

void LinearProgram::set_bounds(ColumnIndex column, double lower, double upper) {
  impl_->columns[column].lower = lower;
  impl_->columns[column].upper = upper;
  impl_->solver.setColumnBounds(column.value(), lower, upper);
}

LinearProgram::Answer LinearProgram::solve(double seconds, int64_t iterations) {
  if (impl_->rows.empty() || impl_->columns.empty()) return solve_by_hand();
  const base::NoUnwinding solving;
  ClpSimplex& solver = impl_->solver;
  impl_->ray.clear();
  solver.setMaximumSeconds(seconds > 0 ? seconds : -1);
  solver.setMaximumIterations(iterations > 0 ? static_cast<int>(std::min<int64_t>(iterations, 1 << 30)) : 1 << 30);
  solver.dual(0, 0);
  impl_->iterations += solver.numberIterations();
  const double* point = solver.primalColumnSolution();
  impl_->point = Point(std::vector<double>(point, point + solver.numberColumns()));
  const double* activity = solver.primalRowSolution();
  for (size_t row = 0; row < impl_->rows.size(); ++row) {
    const bool slack = activity[row] > impl_->rows[row].lower * impl_->scales[row] + 1e-7;
    impl_->slack_rounds[row] = slack ? impl_->slack_rounds[row] + 1 : 0;
  }
  if (solver.status() == 0) return Answer::kOptimal;
  return solver.status() == 1 ? Answer::kInfeasible : Answer::kStopped;
}

// Without rows or columns, which CLP does not take.
LinearProgram::Answer LinearProgram::solve_by_hand() {
  for (const ColumnIndex column : impl_->columns.indices()) {
    const Column& entry = impl_->columns[column];
    impl_->point[column] = entry.cost >= 0 ? entry.lower : entry.upper;
  }
  const bool holds = std::ranges::all_of(impl_->rows, [](const Row& row) { return row.lower <= 0; });
  return holds ? Answer::kOptimal : Answer::kInfeasible;
}

const Point& LinearProgram::point() const {
  return impl_->point;
}
size_t LinearProgram::rows() const {
  return impl_->rows.size();
}
const Row& LinearProgram::row(size_t index) const {
  return impl_->rows[index];
}
double LinearProgram::multiplier(size_t index) const {
  if (impl_->columns.empty()) return 0;
  if (!impl_->ray.empty()) return impl_->ray[index];
  return std::max(0.0, impl_->solver.dualRowSolution()[index]) * impl_->scales[index] / impl_->cost_scale;
}

bool LinearProgram::take_ray(double least) {
  const std::unique_ptr<double[]> ray(impl_->columns.empty() ? nullptr : impl_->solver.infeasibilityRay());
  if (!ray) return false;
  double spent = 0;  // the most that the columns' costs can take away
  for (const Column& column : impl_->columns)
    spent += std::abs(column.cost) * std::max(std::abs(column.lower), std::abs(column.upper));
  for (const double sign : {1.0, -1.0}) {
    Indexed<ColumnIndex, double> cost(impl_->columns.size());
    std::vector<double> multipliers(impl_->rows.size());
    double value = 0;
    for (size_t row = 0; row < impl_->rows.size(); ++row) {
      multipliers[row] = std::max(0.0, sign * ray[row]) * impl_->scales[row];
      value += multipliers[row] * impl_->rows[row].lower;
      for (const Term& term : impl_->rows[row].terms) cost[term.column] -= term.factor * multipliers[row];
    }
    for (const ColumnIndex column : cost.indices())
      value += std::min(cost[column] * impl_->columns[column].lower, cost[column] * impl_->columns[column].upper);
    if (!(value > 1e-9)) continue;
    for (double& multiplier : multipliers) multiplier *= 1.01 * (std::max(0.0, least) + spent) / value;
    impl_->ray = std::move(multipliers);
    if (proved() > least) return true;
    impl_->ray.clear();
  }
  return false;
}

std::vector<unsigned char> LinearProgram::basis() const {
  const unsigned char* status = impl_->solver.statusArray();
  return {status, status + impl_->solver.numberRows() + impl_->solver.numberColumns()};
}

void LinearProgram::set_basis(const std::vector<unsigned char>& basis) {
  impl_->solver.copyinStatus(basis.data());
}
int64_t LinearProgram::iterations() const {
  return impl_->iterations;
}

double LinearProgram::proved() const {
  std::vector<double> multipliers(impl_->rows.size());
  for (size_t row = 0; row < multipliers.size(); ++row) multipliers[row] = multiplier(row);
  return dual_bound(impl_->columns, impl_->rows, multipliers);
}

size_t LinearProgram::forget_slack(size_t first, int rounds) {
  std::vector<int> gone;
  size_t kept = first;
  for (size_t row = first; row < impl_->rows.size(); ++row) {
    const bool basic = impl_->solver.getRowStatus(static_cast<int>(row)) == ClpSimplex::basic;
    if (basic && impl_->slack_rounds[row] >= rounds) {
      gone.push_back(static_cast<int>(row));
      continue;
    }
    if (kept != row) {
      impl_->rows[kept] = std::move(impl_->rows[row]);
      impl_->scales[kept] = impl_->scales[row];
      impl_->slack_rounds[kept] = impl_->slack_rounds[row];
    }
    ++kept;
  }
  impl_->rows.resize(kept), impl_->scales.resize(kept), impl_->slack_rounds.resize(kept);
  if (!gone.empty()) impl_->solver.deleteRows(static_cast<int>(gone.size()), gone.data());
  return gone.size();
}

namespace {

// Sums in 64 bits of mantissa; `error` bounds what the additions and multiplications may have lost.
class SafeSum {
 public:
  void add(double a, double b) {
    const long double product = static_cast<long double>(a) * static_cast<long double>(b);
    sum_ += product;
    size_ += std::abs(product);
    ++count_;
  }
  long double low() const { return sum_ - error(); }

 private:
  long double error() const { return size_ * static_cast<long double>(count_ + 2) * 0x1p-62L; }
  long double sum_ = 0, size_ = 0;
  int64_t count_ = 0;
};

// Margin for the right sides, which may be far larger than their sum. A checker that adds them up in 64 bits, each of
// them a sum of up to thousands of terms, comes no further below.
constexpr long double kOneByOne = 0x1p-46L;

}  // namespace

double dual_bound(const Columns& columns, const std::vector<Row>& rows, const std::vector<double>& multipliers) {
  Indexed<ColumnIndex, SafeSum> reduced(columns.size());
  SafeSum total;
  long double sides = 0;
  for (const ColumnIndex column : columns.indices()) reduced[column].add(columns[column].cost, 1);
  for (size_t row = 0; row < rows.size(); ++row) {
    const double y = multipliers[row];
    if (y == 0) continue;
    total.add(rows[row].lower, y);
    sides += std::abs(static_cast<long double>(rows[row].lower) * static_cast<long double>(y));
    for (const Term& term : rows[row].terms) reduced[term.column].add(-term.factor, y);
  }
  long double bound = total.low() - sides * kOneByOne;
  for (const ColumnIndex column : columns.indices()) {
    const Column& entry = columns[column];
    const long double low = reduced[column].low();
    const long double least =
        std::min(low * static_cast<long double>(entry.lower), low * static_cast<long double>(entry.upper));
    bound += least - std::abs(least) * 0x1p-62L;
  }
  return std::nextafter(static_cast<double>(bound - std::abs(bound) * 0x1p-50L), -HUGE_VAL);
}

}  // namespace pantoum::plan
