// A sparse matrix, compressed by rows and by columns: for products with it and with its transpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pantoum::plan {

class SparseMatrix {
 public:
  // Begins anew, with no rows.
  void clear(size_t columns);
  // A factor of the row that is being written; `end_row` closes it.
  void add(size_t column, double factor);
  void end_row();
  // Makes the transpose: after the last row, before any product.
  void finish();

  [[nodiscard]] size_t rows() const { return by_row_.starts.size() - 1; }
  [[nodiscard]] size_t columns() const { return columns_; }
  // out = A x, out = A' y. Sums in the order in which the factors were added.
  void times(const std::vector<double>& x, std::vector<double>& out) const { by_row_.times(x, out); }
  void transposed(const std::vector<double>& y, std::vector<double>& out) const { by_column_.times(y, out); }
  // 1 over the sum of the sizes of a row's or column's factors; 1 for an empty one.
  [[nodiscard]] std::vector<double> row_steps() const { return by_row_.steps(); }
  [[nodiscard]] std::vector<double> column_steps() const { return by_column_.steps(); }

 private:
  struct Compressed {
    std::vector<size_t> starts{0};
    std::vector<uint32_t> places;
    std::vector<double> factors;
    void times(const std::vector<double>& x, std::vector<double>& out) const;
    [[nodiscard]] std::vector<double> steps() const;
  };

  size_t columns_ = 0;
  Compressed by_row_, by_column_;
};

}  // namespace pantoum::plan
