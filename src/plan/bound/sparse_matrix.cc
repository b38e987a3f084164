#include "plan/bound/sparse_matrix.h"

#include <cmath>

namespace pantoum::plan {

void SparseMatrix::Compressed::times(const std::vector<double>& x, std::vector<double>& out) const {
  for (size_t line = 0; line + 1 < starts.size(); ++line) {
    double sum = 0;
    for (size_t at = starts[line]; at < starts[line + 1]; ++at) sum += factors[at] * x[places[at]];
    out[line] = sum;
  }
}

std::vector<double> SparseMatrix::Compressed::steps() const {
  std::vector<double> steps;
  for (size_t line = 0; line + 1 < starts.size(); ++line) {
    double sum = 0;
    for (size_t at = starts[line]; at < starts[line + 1]; ++at) sum += std::abs(factors[at]);
    steps.push_back(sum > 0 ? 1 / sum : 1);
  }
  return steps;
}

void SparseMatrix::clear(size_t columns) {
  columns_ = columns;
  by_row_.starts.assign(1, 0);
  by_row_.places.clear(), by_row_.factors.clear();
}

void SparseMatrix::add(size_t column, double factor) {
  by_row_.places.push_back(static_cast<uint32_t>(column));
  by_row_.factors.push_back(factor);
}

void SparseMatrix::end_row() {
  by_row_.starts.push_back(by_row_.places.size());
}

void SparseMatrix::finish() {
  by_column_.starts.assign(columns_ + 1, 0);
  by_column_.places.resize(by_row_.places.size()), by_column_.factors.resize(by_row_.places.size());
  for (const uint32_t column : by_row_.places) ++by_column_.starts[size_t{column} + 1];
  for (size_t column = 0; column < columns_; ++column) by_column_.starts[column + 1] += by_column_.starts[column];
  std::vector<size_t> next(by_column_.starts.begin(), by_column_.starts.end() - 1);
  for (size_t row = 0; row < rows(); ++row)
    for (size_t at = by_row_.starts[row]; at < by_row_.starts[row + 1]; ++at) {
      const size_t to = next[by_row_.places[at]]++;
      by_column_.places[to] = static_cast<uint32_t>(row);
      by_column_.factors[to] = by_row_.factors[at];
    }
}

}  // namespace pantoum::plan
