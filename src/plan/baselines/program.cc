#include "plan/baselines/program.h"

#include <Cbc_C_Interface.h>
#include <Clp_C_Interface.h>

#include <memory>
#include <numeric>
#include <string>

#include "base/index.h"
#include "base/no_unwinding.h"

namespace pantoum::plan::baseline {
namespace {

// The elements by column, as both solvers want them.
struct Columns {
  std::vector<CoinBigIndex> start;
  std::vector<int> row;
  std::vector<double> value;
};

Columns by_column(const Program& program) {
  Columns columns;
  columns.start.assign(program.lower.size() + 1, 0);
  for (const auto& [row, entry] : program.elements) ++columns.start[base::position_of(entry.first) + 1];
  std::partial_sum(columns.start.begin(), columns.start.end(), columns.start.begin());
  columns.row.resize(program.elements.size());
  columns.value.resize(program.elements.size());
  std::vector<CoinBigIndex> next(columns.start.begin(), columns.start.end() - 1);
  for (const auto& [row, entry] : program.elements) {
    const auto at = base::position_of(next[base::position_of(entry.first)]++);
    columns.row[at] = row;
    columns.value[at] = entry.second;
  }
  return columns;
}

}  // namespace

Term Program::add_column(double least, double most, bool whole) {
  lower.push_back(least);
  upper.push_back(most);
  cost.push_back(0);
  integer.push_back(whole);
  return {static_cast<int32_t>(lower.size()) - 1, 0};
}

void Program::add_row(double least, const Sum& sum, double most) {
  const auto row = static_cast<int32_t>(row_lower.size());
  row_lower.push_back(least <= -kFree ? -kFree : least - sum.constant);
  row_upper.push_back(most >= kFree ? kFree : most - sum.constant);
  for (const auto& entry : sum.entries) elements.emplace_back(row, entry);
}

double Program::value(const std::vector<double>& values) const {
  return std::inner_product(values.begin(), values.end(), cost.begin(), 0.0);
}

bool Program::holds(const std::vector<double>& values, size_t first) const {
  std::vector<double> sums(row_lower.size(), 0);
  for (const auto& [row, entry] : elements)
    sums[base::position_of(row)] += entry.second * values[base::position_of(entry.first)];
  for (size_t row = first; row < sums.size(); ++row)
    if (sums[row] < row_lower[row] - 1e-9 || sums[row] > row_upper[row] + 1e-9) return false;
  return true;
}

Solution solve(const Program& program, double seconds, const std::vector<double>* start) {
  const base::NoUnwinding solving;
  const Columns columns = by_column(program);
  const std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)> model(Cbc_newModel(), Cbc_deleteModel);
  const int count = static_cast<int>(program.lower.size());
  Cbc_setLogLevel(model.get(), 0);
  Cbc_loadProblem(model.get(), count, static_cast<int>(program.row_lower.size()), columns.start.data(),
                  columns.row.data(), columns.value.data(), program.lower.data(), program.upper.data(),
                  program.cost.data(), program.row_lower.data(), program.row_upper.data());
  for (int column = 0; column < count; ++column)
    if (program.integer[base::position_of(column)]) Cbc_setInteger(model.get(), column);
  Cbc_setParameter(model.get(), "log", "0");
  Cbc_setParameter(model.get(), "timeMode", "elapsed");
  Cbc_setMaximumSeconds(model.get(), seconds);
  Cbc_setAllowableFractionGap(model.get(), 1e-6);
  if (start != nullptr) {
    std::vector<int> all(program.lower.size());
    std::iota(all.begin(), all.end(), 0);
    Cbc_setMIPStartI(model.get(), count, all.data(), start->data());
  }
  Cbc_solve(model.get());
  Solution solution;
  if (Cbc_isProvenInfeasible(model.get())) solution.verdict = Solution::Verdict::kInfeasible;
  const double* best = Cbc_bestSolution(model.get());
  if (best == nullptr) return solution;
  solution.values.assign(best, best + count);
  solution.verdict = Cbc_isProvenOptimal(model.get()) ? Solution::Verdict::kOptimal : Solution::Verdict::kIncumbent;
  return solution;
}

Solution relax(const Program& program, double seconds) {
  const base::NoUnwinding solving;
  const Columns columns = by_column(program);
  const std::unique_ptr<Clp_Simplex, decltype(&Clp_deleteModel)> model(Clp_newModel(), Clp_deleteModel);
  Clp_setLogLevel(model.get(), 0);
  Clp_loadProblem(model.get(), static_cast<int>(program.lower.size()), static_cast<int>(program.row_lower.size()),
                  columns.start.data(), columns.row.data(), columns.value.data(), program.lower.data(),
                  program.upper.data(), program.cost.data(), program.row_lower.data(), program.row_upper.data());
  Clp_setMaximumSeconds(model.get(), seconds);
  Clp_initialSolve(model.get());
  Solution solution;
  if (Clp_isProvenPrimalInfeasible(model.get())) solution.verdict = Solution::Verdict::kInfeasible;
  if (!Clp_isProvenOptimal(model.get())) return solution;
  const double* values = Clp_getColSolution(model.get());
  solution.values.assign(values, values + program.lower.size());
  solution.verdict = Solution::Verdict::kOptimal;
  return solution;
}

}  // namespace pantoum::plan::baseline
