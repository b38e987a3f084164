// A linear program that grows: rows are added, slack ones forgotten, bounds changed. Solved by CLP's dual simplex; what
// counts as proved is evaluated here, from any multipliers, and trusts no solver.
#pragma once

#include <memory>
#include <vector>

#include "plan/bound/row.h"

namespace pantoum::plan {

class LinearProgram {
 public:
  // Where the simplex begins: columns without a cost at their lower bounds, or at their upper ones. The latter meets all
  // rows but those of memory, and pays where there are thousands of columns.
  enum class Start : uint8_t { kLower, kUpper };
  explicit LinearProgram(const Columns& columns, Start start = Start::kLower);
  ~LinearProgram();
  LinearProgram(const LinearProgram&) = delete;
  LinearProgram& operator=(const LinearProgram&) = delete;

  void add(std::vector<Row> rows);
  void set_bounds(ColumnIndex column, double lower, double upper);

  enum class Answer : uint8_t { kOptimal, kInfeasible, kStopped };
  // Solves for at most `seconds`, or `iterations` of the simplex where that is > 0.
  Answer solve(double seconds, int64_t iterations = 0);
  const Point& point() const;
  // After kInfeasible: multipliers that prove more than `least` take the place of the last ones; false: none found.
  bool take_ray(double least);
  // The state of the simplex, from which it can go on after other columns' bounds were tried. Void once rows change.
  std::vector<unsigned char> basis() const;
  void set_basis(const std::vector<unsigned char>& basis);
  // A lower bound of the program's value from the last multipliers: b'y + sum of min over the bounds of (c - A'y)_j
  // x_j, rounded down by what the sums may err.
  double proved() const;
  // Drops rows from `first` on that were slack in the last `rounds` solutions; returns how many.
  size_t forget_slack(size_t first, int rounds);
  size_t rows() const;
  const Row& row(size_t index) const;
  double multiplier(size_t index) const;
  int64_t iterations() const;  // so far

 private:
  Answer solve_by_hand();
  void begin_above();

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pantoum::plan
