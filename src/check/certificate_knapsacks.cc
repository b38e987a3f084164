// The rows of a certificate that round and cover a knapsack of bytes.
#include <algorithm>

#include "check/certificate_rows.h"

namespace pantoum::check {

// The sum of w_i u_i is at most the budget beside the op in every plan, where u_i is 1 for what is in RAM when the next segment
// opens, beside the op that ends this one; or for what is in RAM all through the segment, beside an op that is
// recomputed in it (which counts as an item: without it, the same bytes are there when the segment opens).
Result<CertificateRows::Knapsack> CertificateRows::knapsack(Numbers& numbers) {
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

Result<int32_t> CertificateRows::item(Numbers& numbers, const Knapsack& knapsack) {
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
bool CertificateRows::stays_for_reader(const Knapsack& knapsack, int32_t held) const {
  if (!knapsack.recomputed) return false;
  if (knapsack.segment + 1 == facts_.segments()) return facts_.tensor(held).ends_in_ram;
  return facts_.reads(facts_.boundary_op(knapsack.segment), held);
}

// u_i, or what is at most it: in RAM at the end of the segment, and neither paged in nor recomputed in it.
void CertificateRows::pack(const Knapsack& knapsack, int32_t held, int64_t factor) {
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

void CertificateRows::pack_op(const Knapsack& knapsack, int64_t factor) {
  if (factor > 0) sums_.subtract(Column::kComputed, knapsack.segment, knapsack.op, y_, factor);
}

// The knapsack itself, or weights and budget divided and rounded down: the u_i are whole numbers.
Result<void> CertificateRows::rounding(Numbers& numbers) {
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
Result<void> CertificateRows::cover(Numbers& numbers) {
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

}  // namespace pantoum::check
