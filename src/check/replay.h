// The independent replay behind `pantoum verify`: semantics.md as a program, in C++. Shares no code with the planner.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "check/words.h"

namespace pantoum::check {

struct Counts {
  int64_t compute = 0, recompute = 0, page_in = 0, page_out = 0, free = 0;
  int64_t streams = 0;  // computes that stream
};

// The interval in which the exact value lies: sums rounded down and up.
struct Interval {
  double low = 0, high = 0;
};

// The first instruction that makes use of what a question may forbid; none: no instruction does.
struct FreedomsUsed {
  std::optional<int64_t> paging;  // moves what neither starts nor must end in storage, or reads there what was written
  std::optional<int64_t> recomputing;
  std::optional<int64_t> in_place;  // takes over bytes of another tensor than the one that it succeeds
  std::optional<int64_t> numerics;  // a choice of another class than the op's first
};

struct Found {  // what the plan really needs
  int64_t peak_bytes = 0, arena_bytes = 0;
  double time_s = 0, energy_j = 0;
  Counts counts;
  int64_t bytes_in = 0, bytes_out = 0;        // from storage and to it
  int64_t streamed_in = 0, streamed_out = 0;  // of these, by computes that stream
  bool keeps_order = true;
  Interval time, energy;  // around time_s and energy_j
  FreedomsUsed used;
  bool uses_storage = false;  // a tensor is there at some time
};

// What lets a compute begin at last. kIssuer: the issuer hands it over; kEngines: an engine that it takes, or a channel
// through which it streams, is free; kValue, kBytes: an instruction that made an input, or used bytes that it writes, has
// ended.
enum class Wait { kIssuer, kEngines, kValue, kBytes };

// When one instruction ran. A compute that begins after its issue has waited; so has all that follows.
struct Span {
  double issue_s = 0, begin_s = 0, end_s = 0;
  Wait why = Wait::kIssuer;  // of a compute
  double ended_s = 0;        // when that has ended: what lies between this and begin_s is a hand-off
};

// Replays every instruction. A compute that overwrites bytes in place, or recomputes in place, waits for a page_out of
// them that has not ended.
//   question  whose budget and limits the plan must keep; the plan's own without it
//   spans     receives one entry per instruction
//   errors    E0801 with the instruction's index and the rule that it breaks, E0802 over budget or deadline, E0803 a
//             prediction or bound that the replay refutes, E0804 the storage table; E0221 for a graph that
//             `problem::validate` refuses
//   unasked   a prediction that is negative (bytes) or NaN counts as not made; an empty storage table is not checked
//   cost      near linear in the instructions, but for transfers in flight
Result<Found> replay(const CostGraph& graph, const Plan& plan, const Question& question,
                     std::vector<Span>* spans = nullptr);
Result<Found> replay(const CostGraph& graph, const Plan& plan);

}  // namespace pantoum::check
