// Separators: the procedures that find violated cuts, one for each kind, in one list.
//
//   solve the program -> its point -> every separator: rows that the point violates -> add them -> solve ...
//
// All bounds by linear programming go round this way, and all ask the separators in the order of the list. A cut of a
// new kind is one more entry of it.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "plan/bound/row.h"
#include "plan/simulate/switches.h"

namespace pantoum::plan {

class Relaxation;
struct Model;

struct SeparationLimits {
  Violation violation;
  size_t knapsack_ops = std::numeric_limits<size_t>::max();  // ops up to which rows made of bytes are sought
  bool clocked = true;                                       // false: SeparatorCount::seconds stays 0
  std::function<bool()> stop = [] { return false; };         // asked in every segment: what is found so far will do
};

struct Separator {
  const char* name;
  std::vector<Switch> switches;  // it is asked where one of them is on
  std::vector<Rule> rules;       // of its rows, and of no other's
  std::vector<Row> (*separate)(const Relaxation& relaxation, const Point& point, const SeparationLimits& limits);
};
const std::vector<Separator>& separators();

// Asks the separators that are on, and counts what they do for one relaxation.
class Separation {
 public:
  // Keeps `relaxation` by reference.
  Separation(const Relaxation& relaxation, SeparationLimits limits);

  // Rows that the point violates, separator by separator.
  std::vector<Row> violated(const Point& point);
  // Does the point violate the row by more than the limit for indicators, whatever the row is made of?
  bool violates(const Point& point, const Row& row) const;
  // The caller tells of the rows that it adds to the program, and of the bound that the solved program proves.
  void kept(const std::vector<Row>& rows);
  void solved(double bound);

  const std::vector<SeparatorCount>& counts() const { return counts_; }

 private:
  const Relaxation& relaxation_;
  const SeparationLimits limits_;
  std::vector<SeparatorCount> counts_;  // as separators()
  std::optional<size_t> leader_;        // of the round that solved() ends
  std::optional<double> bound_;
};

// Adds each separator's counts; `total` may be empty.
void add_counts(std::vector<SeparatorCount>& total, std::span<const SeparatorCount> more);

// The procedures that find violated cuts, one for each kind, each explained at the head of its file. separator.h lists
// and calls them.

// Finds at most one row for each needed tensor and segment: the most violated over a, by more than `tolerance`. It
// finds also one row for each op that floats, over a and b. `stop` is called in every segment; once it returns true,
// the rows found so far are returned. Cost: segments squared times (tensors + reads).
std::vector<Row> path_cuts(
    const Relaxation& relaxation, const Point& point, double tolerance,
    const std::function<bool()>& stop = [] { return false; });

// Finds violated rows made of bytes. `stop` is called in every segment; once it returns true, the rows found so far
// are returned.
std::vector<Row> memory_cuts(
    const Relaxation& relaxation, const Point& point, double tolerance,
    const std::function<bool()>& stop = [] { return false; });

// Finds at most two rows for each segment with W: the most violated of either kind, by more than `tolerance` times
// the longest makespan. Cost: segments squared, and the columns.
std::vector<Row> flow_cuts(const Relaxation& relaxation, const Point& point, double tolerance);

}  // namespace pantoum::plan
