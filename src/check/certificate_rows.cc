#include "check/certificate_rows.h"

namespace pantoum::check {

using problem::Rule;

CertificateRows::CertificateRows(const problem::CostGraph& graph, const Certificate& certificate,
                                 const StepFacts& facts)
    : facts_(facts),
      sums_(facts, graph.device, certificate),
      tensors_(static_cast<int64_t>(facts.tensors().size())),
      ops_(static_cast<int64_t>(facts.ops().size())),
      async_(graph.device.pager.mode == problem::PagerMode::kAsync),
      full_duplex_(graph.device.pager.full_duplex),
      may_spend_(certificate.question.energy_limit.has_value()),
      listed_(facts.tensors().size(), 0) {}

Result<void> CertificateRows::add(const Certificate::Row& row, double multiplier) {
  if (!(multiplier > 0 && multiplier <= kMostQuantity))
    return broken(fmt::format("the multiplier {} is not positive, or too large", multiplier));
  y_ = multiplier;
  Numbers numbers(row.of);
  PANTOUM_TRY(add_by_rule(row.rule, numbers));
  if (sums_.too_large()) return broken("the rows have too many terms to be checked");
  return numbers.done();
}

// A plan either does it or does not. What no plan does is no decision.
Result<void> CertificateRows::check_decision(const Certificate::Decision& decision) const {
  const int32_t index = decision.index;
  if (decision.segment < 0 || decision.segment >= facts_.segments())
    return broken(fmt::format("{} is no segment", decision.segment));
  const bool computes = decision.variable == problem::Variable::kComputed;
  if (index < 0 || index >= (computes ? ops_ : tensors_))
    return broken(fmt::format("{} is no {}", index, computes ? "op" : "tensor"));
  if (decides(decision)) return {};
  return broken(fmt::format("there is nothing to decide about {} {} in segment {}", computes ? "op" : "tensor", index,
                            decision.segment));
}

bool CertificateRows::decides(const Certificate::Decision& decision) const {
  switch (decision.variable) {
    case problem::Variable::kInRam:
      return facts_.in_ram(decision.segment, decision.index) && !facts_.tensor(decision.index).pinned;
    case problem::Variable::kComputed:
      return facts_.recomputed(decision.segment, decision.index);
    case problem::Variable::kPagedIn:
      return facts_.paged_in(decision.segment, decision.index);
    case problem::Variable::kPagedOut:
      return decision.segment == 0 && !facts_.tensor(decision.index).starts_in_aux;
  }
  return false;
}

Result<void> CertificateRows::add_by_rule(Rule rule, Numbers& numbers) {
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
  }
  return broken(fmt::format("there is no rule {}", static_cast<int>(rule)));
}

// What is in RAM in the segment was there when it opened, was paged in, or was recomputed: 1 <= S + I + R.
Result<void> CertificateRows::add_ways_into_ram(int32_t segment, int32_t tensor) {
  if (facts_.available(segment, segment, tensor))
    return broken(fmt::format("tensor {} is in RAM in segment {} at no cost", tensor, segment));
  if (facts_.in_ram(segment, tensor)) sums_.add(Column::kInRam, segment, tensor, y_);
  if (facts_.paged_in(segment, tensor)) sums_.add(Column::kPagedIn, segment, tensor, y_);
  const int32_t producer = facts_.tensor(tensor).producer;
  if (producer >= 0 && facts_.recomputed(segment, producer)) sums_.add(Column::kComputed, segment, producer, y_);
  return {};
}

// A first computation reads it in the segment, or it must be in RAM at the end.
Result<void> CertificateRows::need(Numbers& numbers) {
  PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments()));
  PANTOUM_ASSIGN(const int32_t read, tensor(numbers));
  if (!facts_.needed(at, read)) return broken(fmt::format("tensor {} is not needed in segment {}", read, at));
  sums_.add_side(1, y_);
  return add_ways_into_ram(at, read);
}

// An op that is recomputed in the segment reads it there, whatever its choice.
Result<void> CertificateRows::dep(Numbers& numbers) {
  PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments()));
  PANTOUM_ASSIGN(const int32_t op, numbers.index("op", 0, ops_));
  PANTOUM_ASSIGN(const int32_t read, tensor(numbers));
  if (!facts_.reads(op, read)) return broken(fmt::format("not every choice of op {} reads tensor {}", op, read));
  if (facts_.recomputed(at, op)) sums_.subtract(Column::kComputed, at, op, y_);
  return add_ways_into_ram(at, read);
}

// What is in RAM when the next segment opens was there during this one.
Result<void> CertificateRows::carry(Numbers& numbers) {
  PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments() - 1));
  PANTOUM_ASSIGN(const int32_t kept, tensor(numbers));
  if (facts_.in_ram(at + 1, kept)) sums_.subtract(Column::kInRam, at + 1, kept, y_);
  return add_ways_into_ram(at, kept);
}

// What is paged in and did not start in storage was paged out.
Result<void> CertificateRows::stored(Numbers& numbers) {
  PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments()));
  PANTOUM_ASSIGN(const int32_t moved, tensor(numbers));
  if (facts_.tensor(moved).starts_in_aux) return broken(fmt::format("tensor {} starts in storage", moved));
  if (facts_.paged_in(at, moved)) sums_.subtract(Column::kPagedIn, at, moved, y_);
  sums_.add_paged_out(moved, y_);
  return {};
}

// What is in RAM when the next segment opens, and is not the boundary op's, was there beside its working set.
Result<void> CertificateRows::memory(Numbers& numbers) {
  PANTOUM_ASSIGN(const int32_t at, segment(numbers, facts_.segments() - 1));
  sums_.add_memory(at, y_);
  add_pinned_or_replaced(at);
  return {};
}

// What is pinned is there until the op that makes its successor is first computed: 1 - the sum of R so far, at least.
void CertificateRows::add_pinned_or_replaced(int32_t segment) {
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
Result<void> CertificateRows::check_one_order() const {
  if (facts_.any_order()) return broken("it does not hold for any order");
  return {};
}

// One stream of computations, with the transfers where they block it; one channel, or one for each direction.
Result<void> CertificateRows::moves(bool out) {
  if (!async_) return broken("transfers of this pager are part of the work");
  if (out && !full_duplex_) return broken("the pager has one channel: its moves are one row");
  out ? sums_.add_moves_out(y_) : sums_.add_moves_in(y_);
  return {};
}

// First computations, recomputations, transfers and idle power cost what they cost.
Result<void> CertificateRows::spend() {
  if (!may_spend_) return broken("there is no limit on energy");
  sums_.add_spend(y_);
  return {};
}

// When a segment's boundary op begins, the first page-out of a tensor has ended (W), or has not and the tensor was freed
// (F), or neither; W or F only where it is paged out. An op begins when it has waited for what it waits for: what it
// overwrites in place while that is paged out is W then, so a tensor that is still written out is in RAM or was freed.
Result<void> CertificateRows::issued(Numbers& numbers) {
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
Result<void> CertificateRows::flight(Numbers& numbers) {
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
Result<void> CertificateRows::flow(Numbers& numbers) {
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

// The op whose first computation may be in several segments.
Result<int32_t> CertificateRows::floating_op(Numbers& numbers) const {
  PANTOUM_ASSIGN(const int32_t op, numbers.index("op", 0, ops_));
  if (!facts_.op(op).floats) return broken(fmt::format("it is known when op {} is first computed", op));
  return op;
}

// It must run, so it is computed in one of the segments in which it may be first.
Result<void> CertificateRows::once(Numbers& numbers) {
  PANTOUM_ASSIGN(const int32_t op, floating_op(numbers));
  for (int32_t at = facts_.op(op).segment; at <= facts_.op(op).last_segment; ++at)
    sums_.add(Column::kComputed, at, op, y_);
  sums_.add_side(1, y_);
  return {};
}

// It runs once in the whole step.
Result<void> CertificateRows::single(Numbers& numbers) {
  PANTOUM_ASSIGN(const int32_t op, floating_op(numbers));
  if (facts_.op(op).may_recompute) return broken(fmt::format("op {} may be recomputed", op));
  for (int32_t at = facts_.op(op).segment; at <= facts_.op(op).last_segment; ++at)
    sums_.subtract(Column::kComputed, at, op, y_);
  sums_.add_side(-1, y_);
  return {};
}

// What is paged in was computed before, in this segment or an earlier one.
Result<void> CertificateRows::made(Numbers& numbers) {
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

// The first tensor is needed in the last segment.
Result<void> CertificateRows::path(Numbers& numbers) {
  PANTOUM_ASSIGN(const int32_t first, segment(numbers, facts_.segments()));
  PANTOUM_ASSIGN(const int32_t last, numbers.index("last segment", first, facts_.segments()));
  return add_path(first, last, -1, numbers);
}

// The op is first computed in one of the other segments in which it may be, or reads the first tensor in these.
Result<void> CertificateRows::window(Numbers& numbers) {
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
Result<void> CertificateRows::add_path(int32_t first, int32_t last, int32_t reader, Numbers& numbers) {
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

// S, and the sum of I or X or the copy's W and F, of one tensor of a path. W and F: the copy that is read was
// written, or was being written and freed, before the first segment; or else the tensor was in RAM since then without
// it, as nothing overwrites it before it is written.
Result<void> CertificateRows::step(int32_t first, int32_t last, int32_t at, int64_t copy) {
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

}  // namespace pantoum::check
