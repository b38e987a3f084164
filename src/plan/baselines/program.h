// Mixed-integer linear programs, built row by row and given to CBC; their relaxations, given to CLP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace pantoum::plan::baseline {

// A variable, or a constant where the formulation fixes it.
struct Term {
  int32_t column = -1;  // -1: the constant
  double constant = 0;
};

// A weighted sum of terms.
class Sum {
 public:
  Sum& add(double weight, Term term) {
    if (term.column < 0)
      constant += weight * term.constant;
    else
      entries.emplace_back(term.column, weight);
    return *this;
  }
  std::vector<std::pair<int32_t, double>> entries;
  double constant = 0;
};

struct Program {
  // Minimised: the sum of cost * column.
  Term add_column(double least, double most, bool whole);
  void add_row(double least, const Sum& sum, double most);  // least <= sum <= most
  double value(const std::vector<double>& values) const;    // the sum of cost * value
  // Do the rows from `first` on hold?
  bool holds(const std::vector<double>& values, size_t first) const;

  std::vector<double> lower, upper, cost;  // by column
  std::vector<char> integer;
  std::vector<double> row_lower, row_upper;
  std::vector<std::pair<int32_t, std::pair<int32_t, double>>> elements;  // row, column, weight
};

inline constexpr double kFree = 1e30;

struct Solution {
  enum class Verdict { kOptimal, kIncumbent, kInfeasible, kNothing } verdict = Verdict::kNothing;
  std::vector<double> values;  // by column; with kOptimal and kIncumbent
};

// CBC with its default cuts and heuristics, one thread, silent. `start`: a solution to begin with, or null.
// Cost: `seconds`, exceeded by the root's linear program where that is large; nothing else ends it.
Solution solve(const Program& program, double seconds, const std::vector<double>* start = nullptr);

// The linear relaxation, by CLP. kOptimal, kInfeasible or kNothing.
Solution relax(const Program& program, double seconds);

}  // namespace pantoum::plan::baseline
