// Sums the rows of a certificate, each times its multiplier: what is left of the columns' costs, and the right sides.
//
// A plan gives every column a value between its bounds (0 and 1 but for makespan and RAM), and meets every row, so its
// objective is at least the sum of the right sides and, for each column, what is left of its cost times the better of
// its bounds. Every operation is rounded down. Columns that no row lowers add nothing and are not stored; rows that
// only raise columns (memory, work, moves, spend, flow) are kept as one multiplier each. In a case of the certificate
// some columns are decided: they add what is left of their cost where they are 1, and else nothing.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "base/index.h"
#include "check/step_facts.h"

namespace pantoum::check {

class RowSums {
 public:
  enum class Column : uint8_t { kInRam, kComputed, kPagedIn, kWritten, kInFlight };

  RowSums(const StepFacts& facts, const problem::Device& device, const problem::Certificate& certificate);

  // Terms: factor times the column stands in a row of this multiplier; both > 0.
  void add(Column column, int32_t segment, int32_t index, double multiplier, int64_t factor = 1);
  void subtract(Column column, int32_t segment, int32_t index, double multiplier, int64_t factor = 1);
  void add_paged_out(int32_t tensor, double multiplier);
  // Right sides.
  void add_side(int64_t side, double multiplier);
  void add_budget(int32_t segment, double multiplier);  // beside the boundary op, on the lesser side
  // Whole rows.
  void add_memory(int32_t segment, double multiplier);
  void add_work(double multiplier);
  void add_moves_in(double multiplier);
  void add_moves_out(double multiplier);
  void add_spend(double multiplier);  // there is a limit on energy
  void add_flow(int32_t first, int32_t segment, bool moves, double multiplier);

  // From the start again, for the case of these decisions.
  void begin_case();
  void decide(const problem::Certificate::Decision& decision, bool value);

  void count_terms(int64_t terms) { terms_ += terms; }  // that were looked at
  [[nodiscard]] bool too_large() const { return cells_ > kMostCells || terms_ > kMostTerms; }
  // The bound; NaN or infinite where a sum overflows or the makespan has no upper bound and needs one.
  [[nodiscard]] double total() const;

 private:
  static constexpr int64_t kTermsOfDecision = 64, kTermsOfRow = 8;  // what takes as long as so many terms
  static constexpr int64_t kMostCells = int64_t{1} << 25, kMostTerms = int64_t{1} << 28;
  using BySegment = base::Indexed<int32_t, double>;
  using Grid = base::Indexed<int32_t, BySegment>;  // by index, then by segment; empty: nothing stored

  double* cell(Column column, int32_t segment, int32_t index);
  [[nodiscard]] double cost(Column column, int32_t index) const;
  [[nodiscard]] double left(Column column, int32_t segment, int32_t index) const;  // of its cost, at most
  [[nodiscard]] double left_paged_out(int32_t tensor) const;
  [[nodiscard]] double column_total(Column column) const;
  [[nodiscard]] double paged_out_total() const;
  [[nodiscard]] double written_total() const;
  [[nodiscard]] double in_flight_total() const;
  [[nodiscard]] double decided_total() const;
  [[nodiscard]] double makespan_total() const;
  [[nodiscard]] double need_total() const;

  const StepFacts& facts_;
  const problem::Certificate& asked_;
  const bool energy_, ram_, sync_, full_duplex_;
  const double idle_w_;
  Grid grids_[5];
  base::Indexed<int32_t, double> paged_out_;  // by tensor: what rows took from its cost
  BySegment memory_;
  BySegment flow_computed_, flow_ins_;
  base::Indexed<int32_t, BySegment> flow_written_;  // by segment, by one more than that of the work before; or empty
  double work_ = 0, moves_in_ = 0, moves_out_ = 0, spend_ = 0;
  double joules_ = 0, seconds_ = 0;             // of the first computations
  double sides_ = 0, makespan_ = 0, need_ = 0;  // need_: of the bytes, where they are the objective
  int64_t cells_ = 0, terms_ = 0;
  std::map<std::tuple<problem::Variable, int32_t, int32_t>, bool> decided_;  // with segment and index
};

}  // namespace pantoum::check
