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

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "plan/bound/row.h"

namespace pantoum::plan {

class SparseMatrix {
 public:
  // Begins anew, with no rows.
  void clear(size_t columns) {
    columns_ = columns;
    by_row_.starts.assign(1, 0);
    by_row_.places.clear(), by_row_.factors.clear();
  }

  // A factor of the row that is being written; `end_row` closes it.
  void add(size_t column, double factor) {
    by_row_.places.push_back(static_cast<uint32_t>(column));
    by_row_.factors.push_back(factor);
  }

  void end_row() { by_row_.starts.push_back(by_row_.places.size()); }

  // Makes the transpose: after the last row, before any product.
  void finish() {
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
    void times(const std::vector<double>& x, std::vector<double>& out) const {
      for (size_t line = 0; line + 1 < starts.size(); ++line) {
        double sum = 0;
        for (size_t at = starts[line]; at < starts[line + 1]; ++at) sum += factors[at] * x[places[at]];
        out[line] = sum;
      }
    }
    std::vector<double> steps() const {
      std::vector<double> steps;
      for (size_t line = 0; line + 1 < starts.size(); ++line) {
        double sum = 0;
        for (size_t at = starts[line]; at < starts[line + 1]; ++at) sum += std::abs(factors[at]);
        steps.push_back(sum > 0 ? 1 / sum : 1);
      }
      return steps;
    }
  };

  size_t columns_ = 0;
  Compressed by_row_, by_column_;
};

class PrimalDual {
 public:
  explicit PrimalDual(const Columns& columns) : columns_(columns) {
    for (const Column& column : columns) {
      const double unit = column.upper > 0 ? column.upper : 1;
      unit_.push_back(unit);
      cost_.push_back(column.cost * unit);
      low_.push_back(column.lower / unit);
      high_.push_back(column.upper / unit);
    }
    const double most = cost_.empty() ? 0 : *std::ranges::max_element(cost_);
    if (most > 0) cost_scale_ = most;
    for (double& cost : cost_) cost /= cost_scale_;
    x_ = x1_ = low_;
    point_.assign(columns.size(), 0);
    by_column_.assign(columns.size(), 0);
  }

  void add(std::vector<Row> rows) {
    for (Row& row : rows) {
      double most = 0;
      for (const Term& term : row.terms) most = std::max(most, std::abs(term.factor) * unit_[term.column]);
      states_.push_back({.scale = most > 0 ? 1 / most : 1});
      rows_.push_back(std::move(row));
    }
    assembled_ = false;
  }

  // `iterations` more, or until `stop`, which is asked after each.
  void solve(int iterations, const std::function<bool()>& stop) {
    if (!assembled_) assemble(stop);
    for (int iteration = 1; iteration <= iterations; ++iteration) {
      const bool check = iteration % kCheck == 0 || iteration == iterations;
      const double moved = step(check);
      if (check)
        judge(moved);
      else
        reflect();
      if (stop()) break;
    }
    for (const ColumnIndex column : unit_.indices()) point_[column] = x1_[position_of(column)] * unit_[column];
    for (size_t row = 0; row < rows_.size(); ++row) {
      RowState& state = states_[row];
      state.y = y1_[row], state.best_y = best_y_[row];
      state.idle_rounds = state.y > 0 || state.best_y > 0 ? 0 : state.idle_rounds + 1;
    }
  }

  // Drops rows from `first` on that had no multiplier after the last `rounds` calls of solve; tells `gone` of each.
  void forget_idle(size_t first, int rounds, const std::function<void(const Row&)>& gone) {
    size_t kept = first;
    for (size_t row = first; row < rows_.size(); ++row) {
      if (states_[row].idle_rounds >= rounds) {
        gone(rows_[row]);
        continue;
      }
      if (kept != row) rows_[kept] = std::move(rows_[row]), states_[kept] = states_[row];
      ++kept;
    }
    assembled_ = assembled_ && kept == rows_.size();
    rows_.resize(kept), states_.resize(kept);
  }

  const Point& point() const { return point_; }         // nearly within the rows
  double value() const { return best_ * cost_scale_; }  // what the best multipliers prove, about
  // and surely (dual_bound() in linear_program.cc)
  double proved() const {
    std::vector<double> multipliers(rows_.size());
    for (size_t row = 0; row < rows_.size(); ++row) multipliers[row] = multiplier(row);
    return dual_bound(columns_, rows_, multipliers);
  }

  size_t rows() const { return rows_.size(); }
  const Row& row(size_t index) const { return rows_[index]; }
  double multiplier(size_t index) const { return states_[index].best_y * states_[index].scale * cost_scale_; }
  int64_t iterations() const { return iterations_; }  // so far

 private:
  static constexpr int kCheck = 20;         // iterations from one look at the progress to the next
  static constexpr double kStep = 0.96;     // of the longest step that surely converges; the norm is a little guessed
  static constexpr double kEnough = 0.2;    // of the first move: begin anew
  static constexpr double kNoLonger = 0.8;  // of the first move, and it grows again
  static constexpr double kLong = 0.36;     // of all iterations since the last beginning
  static constexpr double kWeightRange = 100;  // the weight stays within this factor of the first one
  static constexpr int kFirstNorm = 20,
                       kNorm = 6;  // rounds of the power method; later ones begin with the last direction

  struct RowState {
    double scale = 1, y = 0, best_y = 0;
    int idle_rounds = 0;
  };
  // The matrix and the steps of the rows that are there now; the iteration goes on from where it was.
  void assemble(const std::function<bool()>& stop) {
    assembled_ = true;
    matrix_.clear(columns_.size());
    lower_.clear(), y_.clear(), best_y_.clear();
    for (size_t row = 0; row < rows_.size(); ++row) {
      const RowState& state = states_[row];
      for (const Term& term : rows_[row].terms)
        matrix_.add(position_of(term.column), term.factor * state.scale * unit_[term.column]);
      matrix_.end_row();
      lower_.push_back(rows_[row].lower * state.scale);
      y_.push_back(state.y);
      best_y_.push_back(state.best_y);
    }
    matrix_.finish();
    tau_ = matrix_.column_steps(), sigma_ = matrix_.row_steps();
    by_row_.assign(rows_.size(), 0);
    measure_norm(direction_.empty() ? kFirstNorm : kNorm, stop);
    if (weight_ == 0) {
      double costs = 0, sides = 0;
      for (size_t column = 0; column < cost_.size(); ++column) costs += cost_[column] * cost_[column] * tau_[column];
      for (size_t row = 0; row < lower_.size(); ++row) sides += lower_[row] * lower_[row] * sigma_[row];
      weight_ = first_weight_ = costs > 0 && sides > 0 ? std::sqrt(costs / sides) : 1;
    }
    y1_ = y0_ = y_;
    x_ = x0_ = x1_;
    since_restart_ = 0, first_move_ = last_move_ = -1;
  }

  // eta_ from the norm of S^.5 A T^.5, by the power method; direction_ is T^.5 times its vector.
  void measure_norm(int rounds, const std::function<bool()>& stop) {
    if (direction_.empty())
      for (size_t column = 0; column < columns_.size(); ++column)
        direction_.push_back(1 + static_cast<double>(column % 7) / 7);
    double norm = 1;
    for (int round = 0; round < rounds && !stop(); ++round) {
      double size = 0;
      for (size_t column = 0; column < tau_.size(); ++column)
        size += direction_[column] * direction_[column] / tau_[column];
      if (size <= 0) break;
      for (double& entry : direction_) entry /= std::sqrt(size);
      matrix_.times(direction_, by_row_);
      for (size_t row = 0; row < sigma_.size(); ++row) by_row_[row] *= sigma_[row];
      matrix_.transposed(by_row_, by_column_);
      norm = 0;
      for (size_t column = 0; column < tau_.size(); ++column) {
        norm += by_column_[column] * direction_[column];
        direction_[column] = by_column_[column] * tau_[column];
      }
    }
    eta_ = kStep / std::sqrt(std::clamp(norm, 0.05, 1.0));
  }

  // (x1, y1) from (x, y); returns how far apart they are when asked.
  double step(bool measure) {
    matrix_.transposed(y_, by_column_);
    double moved = 0;
    const double primal = eta_ / weight_, dual = eta_ * weight_;
    for (size_t column = 0; column < x_.size(); ++column) {
      const double reach = primal * tau_[column], from = x_[column];
      const double to = std::clamp(from - reach * (cost_[column] - by_column_[column]), low_[column], high_[column]);
      x1_[column] = to;
      by_column_[column] = 2 * to - from;
      if (measure) moved += (to - from) * (to - from) / reach;
    }
    matrix_.times(by_column_, by_row_);
    for (size_t row = 0; row < y_.size(); ++row) {
      const double reach = dual * sigma_[row], from = y_[row];
      const double to = std::max(0.0, from + reach * (lower_[row] - by_row_[row]));
      y1_[row] = to;
      if (measure) moved += (to - from) * (to - from) / reach;
    }
    ++iterations_, ++since_restart_;
    return std::sqrt(moved);
  }

  void reflect() {
    const double on = static_cast<double>(since_restart_) / static_cast<double>(since_restart_ + 1), back = 1 - on;
    for (size_t column = 0; column < x_.size(); ++column)
      x_[column] = on * (2 * x1_[column] - x_[column]) + back * x0_[column];
    for (size_t row = 0; row < y_.size(); ++row) y_[row] = on * (2 * y1_[row] - y_[row]) + back * y0_[row];
  }

  void restart() {
    double primal = 0, dual = 0;
    for (size_t column = 0; column < x1_.size(); ++column)
      primal += (x1_[column] - x0_[column]) * (x1_[column] - x0_[column]) / tau_[column];
    for (size_t row = 0; row < y1_.size(); ++row) dual += (y1_[row] - y0_[row]) * (y1_[row] - y0_[row]) / sigma_[row];
    if (primal > 1e-20 && dual > 1e-20)
      weight_ = std::clamp(std::sqrt(weight_ * std::sqrt(dual / primal)), first_weight_ / kWeightRange,
                           first_weight_ * kWeightRange);
    x_ = x0_ = x1_, y_ = y0_ = y1_;
    since_restart_ = 0, first_move_ = last_move_ = -1;
  }

  // Keeps the best multipliers, and decides between going on and beginning anew.
  void judge(double moved) {
    if (const double value = dual_value(); value > best_) best_ = value, best_y_ = y1_;
    if (first_move_ < 0) first_move_ = moved;
    const bool enough = moved <= kEnough * first_move_;
    const bool grows = last_move_ > 0 && moved > last_move_ && moved <= kNoLonger * first_move_;
    const bool takes_long = static_cast<double>(since_restart_) >= kLong * static_cast<double>(iterations_);
    last_move_ = moved;
    enough || grows || takes_long ? restart() : reflect();
  }

  double dual_value() {
    matrix_.transposed(y1_, by_column_);
    double value = 0;
    for (size_t row = 0; row < y1_.size(); ++row) value += lower_[row] * y1_[row];
    for (size_t column = 0; column < cost_.size(); ++column) {
      const double reduced = cost_[column] - by_column_[column];
      value += reduced > 0 ? reduced * low_[column] : reduced * high_[column];
    }
    return value;
  }

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
