// The proof of a lower bound: rows of the planner's relaxation with multipliers. Whoever has the question can check it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "problem/question.h"

namespace pantoum::problem {

// How a row of the relaxation (plan/bound/relaxation.h) is made, for whoever wants to make it again. Ops are positions
// in the certificate's order, tensors positions in the cost graph, segments count from 0.
enum class Rule : uint8_t {
  kNeed,     // segment, tensor
  kDep,      // segment, op, tensor
  kCarry,    // segment, tensor: into the next one
  kStored,   // segment, tensor
  kMemory,   // segment
  kWork,     //
  kMoveIn,   // (with the moves out on a half-duplex channel)
  kMoveOut,  //
  kPath,     // first segment, last segment, then for each tensor of the path: tensor, and 1 where X, 2 where W and F of
             // the segment before the first stand for the sum of I
  kRounding,  // segment, op or -1, divisor (0: the knapsack itself), then the tensors of the knapsack
  kCover,     // segment, op or -1; the op is: 0 not in it, 1 of the cover, 2 an extension; how many tensors are of the
              // cover, these, then those that extend it
  kSpend,     //
  kIssued,    // segment, tensor
  kFlight,    // segment, then the tensors whose S it counts
  kFlow,      // segment or -1, a later segment, 0 work or 1 page-ins behind its boundary
  kOnce,      // op                              (this and what follows: where an op floats, as of any order)
  kMade,      // segment, tensor
  kSingle,    // op
  kWindow,    // first segment, last segment, op, then a path as kPath has it
};

// What a plan decides, 0 or 1 (a column of the relaxation).
enum class Variable : uint8_t { kInRam, kComputed, kPagedIn, kPagedOut };

// Proof of a bound: rows of the relaxation with multipliers. Their combination, with every column at its better bound,
// is a lower bound whatever the multipliers are. Where one combination does not prove enough, plans are told apart by
// what they decide, and each case has multipliers of its own.
struct Certificate {
  struct Row {
    Rule rule = Rule::kNeed;
    std::vector<int64_t> of;
    double multiplier = 0;  // > 0; with cases 0
  };
  struct Decision {
    Variable variable = Variable::kInRam;
    int32_t segment = 0;  // of kPagedOut: 0
    int32_t index = 0;    // tensor, or op of kComputed, as in rows
  };
  struct Part {
    int32_t row = 0;
    double multiplier = 0;  // > 0
  };
  struct Case {
    std::optional<Decision> decision;  // its two cases follow, each with its own: 0, then 1
    std::vector<Part> parts;           // without one: what proves the bound here
  };
  // Which plans it is of: those that answer this. Its objective may be kRam: then the budget is only where RAM is short.
  Question question;
  double bound = 0;                     // of the objective
  double second_price = 0;              // kEnergy: joules for every second of the makespan, which the bound counts too
  std::optional<Seconds> most_seconds;  // plans that take longer are worse than the bound by their time alone
  std::vector<int64_t> order;           // op ids: plans compute them first in this order
  bool any_order = false;               // or in any other: then `order` only numbers the ops
  // The last stage of every segment: stage s first computes order[s - 1], n + 1 is the end.
  std::vector<int32_t> boundaries;
  std::vector<Row> rows;
  std::vector<Case> cases;  // empty: one, of all rows with their multipliers
};

}  // namespace pantoum::problem
