#include "check/certificate.h"
#include "check/engine_rows.h"
#include "check/row_numbers.h"
#include "check/row_sums.h"
#include "check/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace pantoum::check {
namespace {

// Makes the rows of a certificate again, each by its rule, and sums them with their multipliers.
//
// A row is made from the facts of the step alone, for the segments, ops and tensors that the certificate names. Why a rule
// holds for every plan stands beside it.
class CertificateRows {
 public:
  CertificateRows(const CostGraph& graph, const Certificate& certificate, const StepFacts& facts)
      : facts_(facts),
        sums_(facts, graph, certificate),
        tensors_(static_cast<int64_t>(facts.tensors().size())),
        ops_(static_cast<int64_t>(facts.ops().size())),
        async_(graph.device.pager.mode == PagerMode::kAsync),
        full_duplex_(graph.device.pager.full_duplex),
        may_spend_(certificate.question.energy_limit.has_value()),
        listed_(facts.tensors().size(), 0) {}

  // Adds a row. E0805: there is no such row, or the multiplier is none.
  Result<void> add(const Certificate::Row& row, double multiplier) {
    if (!(multiplier > 0 && multiplier <= kMostQuantity))
      return broken(fmt::format("the multiplier {} is not positive, or too large", multiplier));
    y_ = multiplier;
    Numbers numbers(row.of);
    PANTOUM_TRY(add_by_rule(row.rule, numbers));
    if (sums_.too_large()) return broken("the rows have too many terms to be checked");
    return numbers.done();
  }

  void begin_case() { sums_.begin_case(); }
  bool too_large() const { return sums_.too_large(); }
  // A plan does what the decision names, or does not. E0805: no plan can do it.
  Result<void> check_decision(const Certificate::Decision& decision) const {
    const int32_t index = decision.index;
    if (decision.segment < 0 || decision.segment >= facts_.segments())
      return broken(fmt::format("{} is no segment", decision.segment));
    const bool computes = decision.variable == Variable::kComputed;
    if (index < 0 || index >= (computes ? ops_ : tensors_))
      return broken(fmt::format("{} is no {}", index, computes ? "op" : "tensor"));
    if (decides(decision)) return {};
    return broken(fmt::format("there is nothing to decide about {} {} in segment {}", computes ? "op" : "tensor", index,
                              decision.segment));
  }

  void decide(const Certificate::Decision& decision, bool value) { sums_.decide(decision, value); }

  double total() const { return sums_.total(); }

 private:
  using Numbers = RowNumbers;
  using Column = RowSums::Column;

  // Bytes beside an op: the op that ends the segment, or one that is recomputed in it.
  struct Knapsack {
    int32_t segment = 0, op = 0;
    bool recomputed = false;
    int64_t budget = 0;
  };

  Result<void> add_by_rule(Rule rule, Numbers& numbers) {
    switch (rule) {
      case Rule::kNeed:
        return need(numbers);
      case Rule::kDep:
        return dep(numbers);
      case Rule::kCarry:
        return carry(numbers);
      case Rule::kStored:
        return stored(numbers);
      case Rule::kMemory:
        return memory(numbers);
      case Rule::kWork:
        sums_.add_work(y_);
        return {};
      case Rule::kMoveIn:
      case Rule::kMoveOut:
        return moves(rule == Rule::kMoveOut);
      case Rule::kPath:
        return path(numbers);
      case Rule::kRounding:
        return rounding(numbers);
      case Rule::kCover:
        return cover(numbers);
      case Rule::kSpend:
        return spend();
      case Rule::kIssued:
        return issued(numbers);
      case Rule::kFlight:
        return flight(numbers);
      case Rule::kFlow:
        return flow(numbers);
      case Rule::kOnce:
        return once(numbers);
      case Rule::kMade:
        return made(numbers);
      case Rule::kSingle:
        return single(numbers);
      case Rule::kWindow:
        return window(numbers);
      case Rule::kLoad:
      case Rule::kRelay:
        return broken("the rule is of several engines");
    }
    return broken(fmt::format("there is no rule {}", static_cast<int>(rule)));
  }

  bool decides(const Certificate::Decision& decision) const {
    switch (decision.variable) {
      case Variable::kInRam:
        return facts_.in_ram(decision.segment, decision.index) && !facts_.tensor(decision.index).pinned;
      case Variable::kComputed:
        return facts_.recomputed(decision.segment, decision.index);
      case Variable::kPagedIn:
        return facts_.paged_in(decision.segment, decision.index);
      case Variable::kPagedOut:
        return decision.segment == 0 && !facts_.tensor(decision.index).starts_in_aux;
      case Variable::kUsed:
        break;  // of several engines
    }
    return false;
  }

  Result<int32_t> segment(Numbers& numbers, int32_t end) const { return numbers.index("segment", 0, end); }
  Result<int32_t> tensor(Numbers& numbers) const { return numbers.index("tensor", 0, tensors_); }
  // What is in RAM in the segment was there when it opened, was paged in, or was recomputed: 1 <= S + I + R.
  Result<void> add_ways_into_ram(int32_t segment, int32_t tensor) {
    if (facts_.available(segment, segment, tensor))
      return broken(fmt::format("tensor {} is in RAM in segment {} at no cost", tensor, segment));
    if (facts_.in_ram(segment, tensor)) sums_.add(Column::kInRam, segment, tensor, y_);
    if (facts_.paged_in(segment, tensor)) sums_.add(Column::kPagedIn, segment, tensor, y_);
    const int32_t producer = facts_.tensor(tensor).producer;
    if (producer >= 0 && facts_.recomputed(segment, producer)) sums_.add(Column::kComputed, segment, producer, y_);
    return {};
  }

  // A first computation reads it in the segment, or it must be in RAM at the end.
  Result<void> need(Numbers& numbers) {
    PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments()));
    PANTOUM_ASSIGN(const int32_t read, tensor(numbers));
    if (!facts_.needed(at, read)) return broken(fmt::format("tensor {} is not needed in segment {}", read, at));
    sums_.add_side(1, y_);
    return add_ways_into_ram(at, read);
  }

  // An op that is recomputed in the segment reads it there, whatever its choice.
  Result<void> dep(Numbers& numbers) {
    PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments()));
    PANTOUM_ASSIGN(const int32_t op, numbers.index("op", 0, ops_));
    PANTOUM_ASSIGN(const int32_t read, tensor(numbers));
    if (!facts_.reads(op, read)) return broken(fmt::format("not every choice of op {} reads tensor {}", op, read));
    if (facts_.recomputed(at, op)) sums_.subtract(Column::kComputed, at, op, y_);
    return add_ways_into_ram(at, read);
  }

  // What is in RAM when the next segment opens was there during this one.
  Result<void> carry(Numbers& numbers) {
    PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments() - 1));
    PANTOUM_ASSIGN(const int32_t kept, tensor(numbers));
    if (facts_.in_ram(at + 1, kept)) sums_.subtract(Column::kInRam, at + 1, kept, y_);
    return add_ways_into_ram(at, kept);
  }

  // What is paged in and did not start in storage was paged out.
  Result<void> stored(Numbers& numbers) {
    PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments()));
    PANTOUM_ASSIGN(const int32_t moved, tensor(numbers));
    if (facts_.tensor(moved).starts_in_aux) return broken(fmt::format("tensor {} starts in storage", moved));
    if (facts_.paged_in(at, moved)) sums_.subtract(Column::kPagedIn, at, moved, y_);
    sums_.add_paged_out(moved, y_);
    return {};
  }

  // What is in RAM when the next segment opens, and is not the boundary op's, was there beside its working set.
  Result<void> memory(Numbers& numbers) {
    PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments() - 1));
    sums_.add_memory(at, y_);
    add_pinned_or_replaced(at);
    return {};
  }

  // One stream of computations, with the transfers where they block it; one channel, or one for each direction.
  Result<void> moves(bool out) {
    if (!async_) return broken("transfers of this pager are part of the work");
    if (out && !full_duplex_) return broken("the pager has one channel: its moves are one row");
    out ? sums_.add_moves_out(y_) : sums_.add_moves_in(y_);
    return {};
  }

  // First computations, recomputations, transfers and idle power cost what they cost.
  Result<void> spend() {
    if (!may_spend_) return broken("there is no limit on energy");
    sums_.add_spend(y_);
    return {};
  }

  // When a segment's boundary op begins, the first page-out of a tensor has ended (W), or has not and the tensor was freed
  // (F), or neither; W or F only where it is paged out. An op begins when it has waited for what it waits for: what it
  // overwrites in place while that is paged out is W then, so a tensor that is still written out is in RAM or was freed.
  Result<void> issued(Numbers& numbers) {
    PANTOUM_TRY(check_one_order());
    PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments() - 1));
    PANTOUM_ASSIGN(const int32_t moved, tensor(numbers));
    if (facts_.tensor(moved).starts_in_aux) return broken(fmt::format("tensor {} starts in storage", moved));
    sums_.add_paged_out(moved, y_);
    sums_.subtract(Column::kWritten, at, moved, y_);
    sums_.subtract(Column::kInFlight, at, moved, y_);
    return {};
  }

  // Then, bytes that are still written out (F) are nobody else's, as whoever computes into them waits, but of what was paged
  // in and is not there yet: that may be on its way to them. All others are beside the op's working set.
  Result<void> flight(Numbers& numbers) {
    PANTOUM_TRY(check_one_order());
    PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments() - 1));
    const int32_t op = facts_.boundary_op(at);
    ++knapsacks_;
    for (int32_t freed = 0; freed < tensors_; ++freed)
      if (facts_.tensor(freed).pages && !facts_.touches(op, freed) && facts_.tensor(freed).size > 0)
        sums_.subtract(Column::kInFlight, at, freed, y_, facts_.tensor(freed).size);
    while (numbers.more()) {
      PANTOUM_ASSIGN(const int32_t held, item(numbers, {at, op, false, 0}));
      const int64_t size = facts_.tensor(held).size;
      if (size == 0) continue;
      sums_.subtract(Column::kInRam, at + 1, held, y_, size);
      for (int32_t before = 0; before <= at; ++before)
        if (facts_.paged_in(before, held)) sums_.add(Column::kPagedIn, before, held, y_, size);
    }
    sums_.add_budget(at, y_);
    return {};
  }

  // The work up to the first segment's boundary; then what was first computed later is written, one by one, before the
  // other segment's boundary op starts; then that op and the work behind it, or the page-ins behind it, one by one.
  Result<void> flow(Numbers& numbers) {
    PANTOUM_TRY(check_one_order());
    PANTOUM_ASSIGN(const int32_t first, numbers.index("segment of the work before", -1, facts_.segments() - 1));
    PANTOUM_ASSIGN(const int32_t at,
                   numbers.index("segment of the boundary", first < 0 ? 0 : first, facts_.segments() - 1));
    PANTOUM_ASSIGN(const int64_t moves, numbers.next("mark of what follows", 0, 2));
    if (!async_) return broken("transfers of this pager are part of the work");
    if (first == at && moves == 0) return broken("the boundary op would count twice");
    sums_.add_flow(first, at, moves == 1, y_);
    return {};
  }

  // It must run, so it is computed in one of the segments in which it may be first.
  Result<void> once(Numbers& numbers) {
    PANTOUM_ASSIGN(const int32_t op, floating_op(numbers));
    for (int32_t at = facts_.op(op).segment; at <= facts_.op(op).last_segment; ++at)
      sums_.add(Column::kComputed, at, op, y_);
    sums_.add_side(1, y_);
    return {};
  }

  // What is paged in was computed before, in this segment or an earlier one.
  Result<void> made(Numbers& numbers) {
    PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments()));
    PANTOUM_ASSIGN(const int32_t moved, tensor(numbers));
    const int32_t producer = facts_.tensor(moved).producer;
    if (producer < 0 || !facts_.op(producer).floats)
      return broken(fmt::format("it is known when tensor {} is first made", moved));
    if (facts_.paged_in(at, moved)) sums_.subtract(Column::kPagedIn, at, moved, y_);
    for (int32_t each = facts_.op(producer).segment; each <= at; ++each)
      if (facts_.recomputed(each, producer)) sums_.add(Column::kComputed, each, producer, y_);
    return {};
  }

  // It runs once in the whole step.
  Result<void> single(Numbers& numbers) {
    PANTOUM_ASSIGN(const int32_t op, floating_op(numbers));
    if (facts_.op(op).may_recompute) return broken(fmt::format("op {} may be recomputed", op));
    for (int32_t at = facts_.op(op).segment; at <= facts_.op(op).last_segment; ++at)
      sums_.subtract(Column::kComputed, at, op, y_);
    sums_.add_side(-1, y_);
    return {};
  }

  // The first tensor is needed in the last segment.
  Result<void> path(Numbers& numbers) {
    PANTOUM_ASSIGN(const int32_t first, segment(numbers, facts_.segments()));
    PANTOUM_ASSIGN(const int32_t last, numbers.index("last segment", first, facts_.segments()));
    return add_path(first, last, -1, numbers);
  }

  // The op is first computed in one of the other segments in which it may be, or reads the first tensor in these.
  Result<void> window(Numbers& numbers) {
    PANTOUM_ASSIGN(const int32_t first, segment(numbers, facts_.segments()));
    PANTOUM_ASSIGN(const int32_t last, numbers.index("last segment", first, facts_.segments()));
    PANTOUM_ASSIGN(const int32_t op, floating_op(numbers));
    for (int32_t at = facts_.op(op).segment; at <= facts_.op(op).last_segment; ++at)
      if (at < first || at > last) sums_.add(Column::kComputed, at, op, y_);
    return add_path(first, last, op, numbers);
  }

  // Each tensor was in RAM when the first segment opened, or was paged in since (and then paged out once), or was
  // computed since: then all that its op reads was in RAM too. The first one is read by `reader`; -1: it is needed in the
  // last segment.
  Result<void> add_path(int32_t first, int32_t last, int32_t reader, Numbers& numbers) {
    bool needed = reader < 0;
    do {
      sums_.count_terms(last - first + 1);
      if (sums_.too_large()) break;
      PANTOUM_ASSIGN(const int32_t at, tensor(numbers));
      PANTOUM_ASSIGN(const int64_t copy, numbers.next("mark of what is paged out", 0, first > 0 ? 3 : 2));
      if (needed ? !facts_.needed(last, at) : reader < 0 || !facts_.reads(reader, at))
        return broken(fmt::format("the path does not lead to tensor {}", at));
      PANTOUM_TRY(step(first, last, at, copy));
      reader = facts_.tensor(at).producer;
      needed = false;
    } while (numbers.more());
    for (int32_t at = first; reader >= 0 && at <= last; ++at)
      if (facts_.recomputed(at, reader)) sums_.add(Column::kComputed, at, reader, y_);
    sums_.add_side(1, y_);
    return {};
  }

  // The op whose first computation may be in several segments.
  Result<int32_t> floating_op(Numbers& numbers) const {
    PANTOUM_ASSIGN(const int32_t op, numbers.index("op", 0, ops_));
    if (!facts_.op(op).floats) return broken(fmt::format("it is known when op {} is first computed", op));
    return op;
  }

  // What is pinned is there until the op that makes its successor is first computed: 1 - the sum of R so far, at least.
  void add_pinned_or_replaced(int32_t segment) {
    if (!facts_.any_order()) return;
    for (int32_t held = 0; held < tensors_; ++held) {
      const TensorFacts& facts = facts_.tensor(held);
      if (facts.size == 0 || !facts_.pinned_or_replaced(segment, held)) continue;
      if (facts_.touches(facts_.boundary_op(segment), held)) continue;
      sums_.add_side(facts.size, y_);
      for (int32_t each = facts_.op(facts.taker).segment; each <= segment; ++each)
        sums_.add(Column::kComputed, each, facts.taker, y_, facts.size);
    }
  }

  // What has been computed or written before a boundary is known in one order alone.
  Result<void> check_one_order() const {
    if (facts_.any_order()) return broken("it does not hold for any order");
    return {};
  }

  // S, and the sum of I or X or the copy's W and F, of one tensor of a path. W and F: the copy that is read was
  // written, or was being written and freed, before the first segment; or else the tensor was in RAM since then without
  // it, as nothing overwrites it before it is written.
  Result<void> step(int32_t first, int32_t last, int32_t at, int64_t copy) {
    if (facts_.available(first, last, at))
      return broken(fmt::format("tensor {} is in RAM in segments {} to {} at no cost", at, first, last));
    if (facts_.in_ram(first, at)) sums_.add(Column::kInRam, first, at, y_);
    if (copy > 0) {
      if (facts_.tensor(at).starts_in_aux) return broken(fmt::format("tensor {} starts in storage", at));
      if (copy == 1) sums_.add_paged_out(at, y_);
      if (copy == 2) PANTOUM_TRY(check_one_order());
      if (copy == 2 && facts_.tensor(at).pages && facts_.tensor(at).definition_segment < first) {
        sums_.add(Column::kWritten, first - 1, at, y_);
        sums_.add(Column::kInFlight, first - 1, at, y_);
      }
      return {};
    }
    for (int32_t each = first; each <= last; ++each)
      if (facts_.paged_in(each, at)) sums_.add(Column::kPagedIn, each, at, y_);
    return {};
  }

  // The sum of w_i u_i is at most the budget beside the op in every plan, where u_i is 1 for what is in RAM when the next segment
  // opens, beside the op that ends this one; or for what is in RAM all through the segment, beside an op that is
  // recomputed in it (which counts as an item: without it, the same bytes are there when the segment opens).
  Result<Knapsack> knapsack(Numbers& numbers) {
    PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments()));
    PANTOUM_ASSIGN(const int32_t op, numbers.index("op", -1, ops_));
    ++knapsacks_;
    if (op < 0) {
      if (at + 1 == facts_.segments()) return broken("no op ends the last segment");
      const int32_t ends = facts_.boundary_op(at);
      return Knapsack{at, ends, false, facts_.budget_beside(at, ends) - facts_.op(ends).working_set};
    }
    if (!facts_.recomputed(at, op)) return broken(fmt::format("op {} is not recomputed in segment {}", op, at));
    return Knapsack{at, op, true, facts_.budget_beside(at, op)};
  }

  Result<int32_t> item(Numbers& numbers, const Knapsack& knapsack) {
    PANTOUM_ASSIGN(const int32_t held, tensor(numbers));
    if (listed_[static_cast<size_t>(held)] == knapsacks_) return broken(fmt::format("tensor {} stands twice", held));
    listed_[static_cast<size_t>(held)] = knapsacks_;
    if (facts_.tensor(held).pinned || facts_.touches(knapsack.op, held))
      return broken(fmt::format("tensor {} is no choice beside op {}", held, knapsack.op));
    const bool after = knapsack.segment + 1 < facts_.segments() && facts_.in_ram(knapsack.segment + 1, held);
    if (!after && !stays_for_reader(knapsack, held))
      return broken(fmt::format("tensor {} is not made before segment {}", held, knapsack.segment + 1));
    if (knapsack.recomputed && facts_.available(knapsack.segment, knapsack.segment, held))
      return broken(fmt::format("tensor {} may come in segment {} at no cost", held, knapsack.segment));
    return held;
  }

  // Read when the segment ends, so in RAM then.
  bool stays_for_reader(const Knapsack& knapsack, int32_t held) const {
    if (!knapsack.recomputed) return false;
    if (knapsack.segment + 1 == facts_.segments()) return facts_.tensor(held).ends_in_ram;
    return facts_.reads(facts_.boundary_op(knapsack.segment), held);
  }

  // u_i, or what is at most it: in RAM at the end of the segment, and neither paged in nor recomputed in it.
  void pack(const Knapsack& knapsack, int32_t held, int64_t factor) {
    if (factor == 0) return;
    const int32_t at = knapsack.segment, producer = facts_.tensor(held).producer;
    if (stays_for_reader(knapsack, held))
      sums_.add_side(factor, y_);
    else
      sums_.subtract(Column::kInRam, at + 1, held, y_, factor);
    if (!knapsack.recomputed) return;
    if (facts_.paged_in(at, held)) sums_.add(Column::kPagedIn, at, held, y_, factor);
    if (producer >= 0 && facts_.recomputed(at, producer)) sums_.add(Column::kComputed, at, producer, y_, factor);
  }

  void pack_op(const Knapsack& knapsack, int64_t factor) {
    if (factor > 0) sums_.subtract(Column::kComputed, knapsack.segment, knapsack.op, y_, factor);
  }

  // The knapsack itself, or weights and budget divided and rounded down: the u_i are whole numbers.
  Result<void> rounding(Numbers& numbers) {
    PANTOUM_ASSIGN(const Knapsack beside, knapsack(numbers));
    PANTOUM_ASSIGN(const int64_t divisor, numbers.next("divisor", 0, int64_t{1} << 61));
    const auto divided = [&](int64_t bytes) {
      if (divisor == 0) return bytes;
      return bytes >= 0 ? bytes / divisor : -((divisor - 1 - bytes) / divisor);
    };
    if (beside.recomputed) pack_op(beside, divided(facts_.op(beside.op).working_set));
    while (numbers.more()) {
      PANTOUM_ASSIGN(const int32_t held, item(numbers, beside));
      pack(beside, held, divided(facts_.tensor(held).size));
    }
    sums_.add_side(-divided(beside.budget), y_);
    return {};
  }

  // Items that exceed the budget together: one of them is missing; and as many others that are no lighter than any
  // of them exceed it too.
  Result<void> cover(Numbers& numbers) {
    PANTOUM_ASSIGN(const Knapsack beside, knapsack(numbers));
    PANTOUM_ASSIGN(const int64_t role, numbers.next("role of the op", 0, beside.recomputed ? 3 : 1));
    PANTOUM_ASSIGN(const int64_t members, numbers.next("number of tensors", 0, tensors_ + 1));
    const int64_t own = facts_.op(beside.op).working_set;
    int64_t weight = role == 1 ? own : 0, heaviest = weight, lightest = role == 2 ? own : INT64_MAX;
    for (int64_t member = 0; member < members || numbers.more(); ++member) {
      PANTOUM_ASSIGN(const int32_t held, item(numbers, beside));
      const int64_t size = facts_.tensor(held).size;
      if (member < members)
        weight += size, heaviest = std::max(heaviest, size);
      else
        lightest = std::min(lightest, size);
      pack(beside, held, 1);
    }
    if (role > 0) pack_op(beside, 1);
    const int64_t count = members + (role == 1 ? 1 : 0);
    if (count == 0 || weight <= beside.budget)
      return broken(fmt::format("the cover of {} bytes does not exceed {}", weight, beside.budget));
    if (lightest < heaviest)
      return broken(fmt::format("{} bytes extend a cover whose heaviest has {}", lightest, heaviest));
    sums_.add_side(1 - count, y_);
    return {};
  }

  const StepFacts& facts_;
  RowSums sums_;
  const int64_t tensors_, ops_;
  const bool async_, full_duplex_, may_spend_;
  std::vector<int64_t> listed_;  // by tensor: in which knapsack
  int64_t knapsacks_ = 0;
  double y_ = 0;  // the row's multiplier
};

Result<void> check_question(const Certificate& certificate) {
  const auto bad = [](double seconds) { return !(seconds >= 0 && seconds <= kMostQuantity); };
  if (bad(certificate.question.deadline.value_or(0))) return broken("is no time", ".question.deadline_s");
  if (bad(certificate.most_seconds.value_or(0))) return broken("is no time", ".most_seconds");
  if (bad(certificate.question.energy_limit.value_or(0))) return broken("is no energy", ".question.energy_limit_j");
  if (bad(certificate.second_price)) return broken("is no price", ".second_price_w");
  if (certificate.second_price > 0 && certificate.question.objective != Objective::kEnergy)
    return broken("counts beside energy alone", ".second_price_w");
  if (certificate.question.objective == Objective::kEdp) return broken("is proved by lines", ".question.objective");
  if (certificate.question.objective == Objective::kRam && !certificate.question.budget)
    return broken("bounds RAM up to a budget, and has none", ".question.budget_bytes");
  if (!std::isfinite(certificate.bound)) return broken("is no bound", ".bound");
  return {};
}

template <class Rows>
Result<void> add_row(Rows& rows, const Certificate& certificate, size_t row, double multiplier) {
  auto added = rows.add(certificate.rows[row], multiplier);
  if (added) return {};
  Error error = std::move(added).error();
  error.where += fmt::format(".rows[{}]", row);
  return Failure(std::move(error));
}

template <class Rows>
Result<double> prove_rows(Rows& rows, const Certificate& certificate) {
  for (size_t row = 0; row < certificate.rows.size(); ++row)
    PANTOUM_TRY(add_row(rows, certificate, row, certificate.rows[row].multiplier));
  if (!std::isfinite(rows.total())) return broken("the rows bound nothing: their sum is not finite", ".rows");
  return rows.total();
}

struct Decided {
  Certificate::Decision decision;
  bool value = false;
};

template <class Rows>
Result<double> prove_case(Rows& rows, const Certificate& certificate, const Certificate::Case& entry,
                          const std::vector<Decided>& decided, const std::string& where) {
  rows.begin_case();
  for (const auto& [decision, value] : decided) rows.decide(decision, value);
  if (rows.too_large()) return broken("the cases have too many decisions to be checked", where);
  for (const Certificate::Part& part : entry.parts) {
    if (part.row < 0 || static_cast<size_t>(part.row) >= certificate.rows.size())
      return broken(fmt::format("{} is no row", part.row), where);
    PANTOUM_TRY(add_row(rows, certificate, static_cast<size_t>(part.row), part.multiplier));
  }
  if (!std::isfinite(rows.total())) return broken("its rows bound nothing: their sum is not finite", where);
  return rows.total();
}

// Every plan decides each variable one way, so it is in exactly one of the cases that decide nothing more; what is
// proved of all of them is the least.
template <class Rows>
Result<double> prove_cases(Rows& rows, const Certificate& certificate) {
  for (const Certificate::Row& row : certificate.rows)
    if (row.multiplier != 0) return broken("rows of cases have their multipliers there", ".rows");
  std::vector<Decided> decided;
  double least = std::numeric_limits<double>::infinity();
  bool complete = false;
  for (size_t index = 0; index < certificate.cases.size(); ++index) {
    const std::string where = fmt::format(".cases[{}]", index);
    const Certificate::Case& entry = certificate.cases[index];
    if (complete) return broken("no decision leads to the case", where);
    if (entry.decision) {
      if (!entry.parts.empty()) return broken("a case that is decided further has no rows", where);
      auto decides = rows.check_decision(*entry.decision);
      if (!decides) return broken(decides.error().message, where);
      decided.push_back({*entry.decision, false});
      continue;
    }
    PANTOUM_ASSIGN(const double total, prove_case(rows, certificate, entry, decided, where));
    least = std::min(least, total);
    while (!decided.empty() && decided.back().value) decided.pop_back();
    complete = decided.empty();
    if (!complete) decided.back().value = true;
  }
  if (!complete) return broken("a decision has no case of its second way", ".cases");
  return least;
}

}  // namespace

Result<double> check_certificate(const CostGraph& graph, const Certificate& certificate) {
  PANTOUM_TRY(problem::validate(graph));
  PANTOUM_TRY(check_question(certificate));
  const auto prove = [&](auto& rows) {
    return certificate.cases.empty() ? prove_rows(rows, certificate) : prove_cases(rows, certificate);
  };
  double total = 0;
  if (problem::has_queues(graph)) {
    PANTOUM_TRY(EngineRows::check_order(graph, certificate));
    EngineRows rows(graph, certificate);
    PANTOUM_ASSIGN(total, prove(rows));
  } else {
    PANTOUM_ASSIGN(const StepFacts facts, StepFacts::make(graph, certificate));
    CertificateRows rows(graph, certificate, facts);
    PANTOUM_ASSIGN(total, prove(rows));
  }
  const double proved = std::max(0.0, total);  // no plan costs less than nothing
  if (above(certificate.bound, proved))
    return fail("E0806", fmt::format("the certificate claims {} and its rows prove {}", certificate.bound, proved),
                "x-certificate.bound");
  return proved;
}

}  // namespace pantoum::check
