// Makes the rows of a certificate again, each by its rule, and sums them with their multipliers.
//
// A row is made from the facts of the step alone, for the segments, ops and tensors that the certificate names. Why a rule
// holds for every plan stands beside it: in certificate_rows.cc, of knapsacks in certificate_knapsacks.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "check/row_numbers.h"
#include "check/row_sums.h"
#include "check/step_facts.h"

namespace pantoum::check {

class CertificateRows {
 public:
  using Certificate = problem::Certificate;

  CertificateRows(const problem::CostGraph& graph, const Certificate& certificate, const StepFacts& facts);

  // Adds a row. E0805: there is no such row, or the multiplier is none.
  Result<void> add(const Certificate::Row& row, double multiplier);

  void begin_case() { sums_.begin_case(); }
  [[nodiscard]] bool too_large() const { return sums_.too_large(); }
  // A plan either does it or does not. What no plan does is no decision: E0805.
  [[nodiscard]] Result<void> check_decision(const Certificate::Decision& decision) const;
  void decide(const Certificate::Decision& decision, bool value) { sums_.decide(decision, value); }

  [[nodiscard]] double total() const { return sums_.total(); }

 private:
  using Numbers = RowNumbers;
  using Column = RowSums::Column;

  // Bytes beside an op: the op that ends the segment, or one that is recomputed in it.
  struct Knapsack {
    int32_t segment = 0, op = 0;
    bool recomputed = false;
    int64_t budget = 0;
  };

  Result<void> add_by_rule(problem::Rule rule, Numbers& numbers);
  [[nodiscard]] bool decides(const Certificate::Decision& decision) const;
  Result<int32_t> segment(Numbers& numbers, int32_t end) const { return numbers.index("segment", 0, end); }
  Result<int32_t> tensor(Numbers& numbers) const { return numbers.index("tensor", 0, tensors_); }
  Result<void> add_ways_into_ram(int32_t segment, int32_t tensor);

  Result<void> need(Numbers& numbers);
  Result<void> dep(Numbers& numbers);
  Result<void> carry(Numbers& numbers);
  Result<void> stored(Numbers& numbers);
  Result<void> memory(Numbers& numbers);
  Result<void> moves(bool out);
  Result<void> spend();
  Result<void> issued(Numbers& numbers);
  Result<void> flight(Numbers& numbers);
  Result<void> flow(Numbers& numbers);
  Result<void> once(Numbers& numbers);
  Result<void> made(Numbers& numbers);
  Result<void> single(Numbers& numbers);
  Result<void> path(Numbers& numbers);
  Result<void> window(Numbers& numbers);
  Result<void> add_path(int32_t first, int32_t last, int32_t reader, Numbers& numbers);
  Result<int32_t> floating_op(Numbers& numbers) const;
  void add_pinned_or_replaced(int32_t segment);
  [[nodiscard]] Result<void> check_one_order() const;
  Result<void> step(int32_t first, int32_t last, int32_t at, int64_t copy);

  Result<Knapsack> knapsack(Numbers& numbers);
  Result<int32_t> item(Numbers& numbers, const Knapsack& knapsack);
  [[nodiscard]] bool stays_for_reader(const Knapsack& knapsack, int32_t held) const;
  void pack(const Knapsack& knapsack, int32_t held, int64_t factor);
  void pack_op(const Knapsack& knapsack, int64_t factor);
  Result<void> rounding(Numbers& numbers);
  Result<void> cover(Numbers& numbers);

  const StepFacts& facts_;
  RowSums sums_;
  const int64_t tensors_, ops_;
  const bool async_, full_duplex_, may_spend_;
  std::vector<int64_t> listed_;  // by tensor: in which knapsack
  int64_t knapsacks_ = 0;
  double y_ = 0;  // the row's multiplier
};

}  // namespace pantoum::check
