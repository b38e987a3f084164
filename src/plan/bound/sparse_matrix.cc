#include "plan/bound/sparse_matrix.h"

#include <cmath>

namespace pantoum::plan {

void SparseMatrix::Compressed::times(const std::vector<double>& x, std::vector<double>& out) const {
  for (size_t line = 0; line + 1 < starts.size(); ++line) {
    double sum = 0;
    for (auto at = static_cast<size_t>(starts[line]); at < static_cast<size_t>(starts[line + 1]); ++at)
      sum += factors[at] * x[static_cast<size_t>(places[at])];
    out[line] = sum;
  }
}

std::vector<double> SparseMatrix::Compressed::steps() const {
  std::vector<double> steps;
  for (size_t line = 0; line + 1 < starts.size(); ++line) {
    double sum = 0;
    for (auto at = static_cast<size_t>(starts[line]); at < static_cast<size_t>(starts[line + 1]); ++at)
      sum += std::abs(factors[at]);
    steps.push_back(sum > 0 ? 1 / sum : 1);
  }
  return steps;
}

void SparseMatrix::clear(size_t columns) {
  columns_ = columns;
  by_row_.starts.assign(1, 0);
  by_row_.places.clear(), by_row_.factors.clear();
}

void SparseMatrix::add(int32_t column, double factor) {
  by_row_.places.push_back(column);
  by_row_.factors.push_back(factor);
}

void SparseMatrix::end_row() {
  by_row_.starts.push_back(static_cast<int64_t>(by_row_.places.size()));
}

void SparseMatrix::finish() {
  by_column_.starts.assign(columns_ + 1, 0);
  by_column_.places.resize(by_row_.places.size()), by_column_.factors.resize(by_row_.places.size());
  for (const int32_t column : by_row_.places) ++by_column_.starts[static_cast<size_t>(column) + 1];
  for (size_t column = 0; column < columns_; ++column) by_column_.starts[column + 1] += by_column_.starts[column];
  std::vector<int64_t> next(by_column_.starts.begin(), by_column_.starts.end() - 1);
  for (size_t row = 0; row < rows(); ++row)
    for (auto at = static_cast<size_t>(by_row_.starts[row]); at < static_cast<size_t>(by_row_.starts[row + 1]); ++at) {
      const auto to = static_cast<size_t>(next[static_cast<size_t>(by_row_.places[at])]++);
      by_column_.places[to] = static_cast<int32_t>(row);
      by_column_.factors[to] = by_row_.factors[at];
    }
}

}  // namespace pantoum::plan
