// Sums the rows of a certificate of a device with several engines, each times its multiplier.
//
// Of every op that must run one computation stands for it (engine_facts.h), and takes one of the permitted choices. A row
// says that the makespan is at least a sum over these computations of what each takes by its choice, and a constant. So what
// is left of the objective, less rows times multipliers, is at least the sum over ops of the least over their choices, and the
// constants. That holds whatever the order, and wherever the tensors are. Every operation is rounded down.
//
// The idle power of an engine that some compute takes counts all through the step. Cases tell by decisions which engines are
// taken; of an engine that nothing is decided of, its idle power counts while what must run by a choice takes it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "check/engine_facts.h"
#include "check/row_numbers.h"
#include "check/words.h"

namespace pantoum::check {

class EngineRows {
 public:
  // The graph has passed problem::validate.
  EngineRows(const CostGraph& graph, const Certificate& certificate);
  // E0805 unless the certificate is of any order, and numbers ops as the graph's order does.
  static Result<void> check_order(const CostGraph& graph, const Certificate& certificate);

  // Adds a row. E0805: there is no such row, or the multiplier is none.
  Result<void> add(const Certificate::Row& row, double multiplier);

  void begin_case();
  bool too_large() const { return terms_ > kMostTerms; }
  // E0805: there is nothing to decide.
  Result<void> check_decision(const Certificate::Decision& decision) const;
  void decide(const Certificate::Decision& decision, bool value);

  // The bound; infinite where the makespan has no upper bound and needs one. Where no plan is of the case, kMostQuantity.
  double total() const;

 private:
  static constexpr int64_t kMostTerms = int64_t{1} << 28;

  Result<void> add_by_rule(const Certificate::Row& row, RowNumbers& numbers);
  Result<void> load(RowNumbers& numbers);
  Result<void> relay(RowNumbers& numbers);
  Result<void> leg(int32_t from, int32_t engine, int32_t to);
  void moves(double seconds);
  void spend();
  void add_computation(int32_t op);
  void add_load(int32_t op, int32_t engine, bool launches);
  void add_constant(double seconds);
  Result<int32_t> op_or_none(RowNumbers& numbers) const;
  double left(size_t op, const EngineWay& way, size_t at) const;

  const EngineFacts facts_;
  const Certificate& asked_;
  const Pager& pager_;
  const std::vector<problem::Engine>& engines_;
  const double idle_w_;
  // What rows add, by op: to each of its seconds, to those on each engine, to its launch, and to each choice.
  std::vector<double> whole_, by_engine_, launch_;
  std::map<size_t, std::vector<double>> by_way_;
  double y_ = 0, spend_ = 0, sides_ = 0, makespan_ = 0;
  uint64_t taken_ = 0, left_out_ = 0;  // engines, as is decided
  int64_t terms_ = 0;
};

}  // namespace pantoum::check
