// A linear program that grows, solved by a first-order method: products with a sparse matrix and nothing else, so a
// step costs the same at any size and a start from the last answer is free. Multipliers are good to few digits early
// on, and any of them prove a bound.
//
// The primal-dual hybrid gradient method for min c'x, Ax >= b, l <= x <= u, with step sizes T = diag(tau) and
// S = diag(sigma) from the sums of columns and rows (Pock and Chambolle, 2011) and a weight w between the two:
//   x1 = clamp(x - (eta / w) T (c - A'y)),  y1 = max(0, y + eta w S (b - A (2 x1 - x))),  eta below 1 / |S^.5 A T^.5|
// anchored and reflected (Halpern; Lu and Yang, 2024): z = k/(k+1) (2 z1 - z) + 1/(k+1) z0, begun anew from z1 once a
// step is a fifth as long as the first, or grows again; w follows the distances travelled since.
// No clock and no libm decides anything: the same iterations give the same multipliers anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "plan/bound/row.h"

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

  size_t rows() const { return by_row_.starts.size() - 1; }
  size_t columns() const { return columns_; }
  // out = A x, out = A' y. Sums in the order in which the factors were added.
  void times(const std::vector<double>& x, std::vector<double>& out) const { by_row_.times(x, out); }
  void transposed(const std::vector<double>& y, std::vector<double>& out) const { by_column_.times(y, out); }
  // 1 over the sum of the sizes of a row's or column's factors; 1 for an empty one.
  std::vector<double> row_steps() const { return by_row_.steps(); }
  std::vector<double> column_steps() const { return by_column_.steps(); }

 private:
  struct Compressed {
    std::vector<size_t> starts{0};
    std::vector<uint32_t> places;
    std::vector<double> factors;
    void times(const std::vector<double>& x, std::vector<double>& out) const;
    std::vector<double> steps() const;
  };

  size_t columns_ = 0;
  Compressed by_row_, by_column_;
};

class PrimalDual {
 public:
  explicit PrimalDual(const Columns& columns);

  void add(std::vector<Row> rows);
  // `iterations` more, or until `stop`, which is asked after each.
  void solve(int iterations, const std::function<bool()>& stop);
  // Drops rows from `first` on that had no multiplier after the last `rounds` calls of solve; tells `gone` of each.
  void forget_idle(size_t first, int rounds, const std::function<void(const Row&)>& gone);

  const Point& point() const { return point_; }         // nearly within the rows
  double value() const { return best_ * cost_scale_; }  // what the best multipliers prove, about
  double proved() const;                                // and surely (dual_bound.h)
  size_t rows() const { return rows_.size(); }
  const Row& row(size_t index) const { return rows_[index]; }
  double multiplier(size_t index) const { return states_[index].best_y * states_[index].scale * cost_scale_; }
  int64_t iterations() const { return iterations_; }  // so far

 private:
  struct RowState {
    double scale = 1, y = 0, best_y = 0;
    int idle_rounds = 0;
  };
  void assemble(const std::function<bool()>& stop);
  void measure_norm(int rounds, const std::function<bool()>& stop);
  double step(bool measure);
  void reflect();
  void restart();
  void judge(double moved);
  double dual_value();

  const Columns columns_;
  Indexed<ColumnIndex, double> unit_;      // the upper bound, which is scaled to 1
  std::vector<double> cost_, low_, high_;  // by column, scaled; the largest cost to 1
  double cost_scale_ = 1;
  std::vector<Row> rows_;
  std::vector<RowState> states_;
  bool assembled_ = false;

  SparseMatrix matrix_;
  std::vector<double> lower_, tau_, sigma_, direction_;
  double eta_ = 1, weight_ = 0, first_weight_ = 0;
  std::vector<double> x_, x0_, x1_, y_, y0_, y1_, by_column_, by_row_;
  Point point_;
  std::vector<double> best_y_;
  double best_ = -1e300, first_move_ = -1, last_move_ = -1;
  int64_t iterations_ = 0, since_restart_ = 0;
};

}  // namespace pantoum::plan
