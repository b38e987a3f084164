// What the planner answers: a plan, as semantics.md defines it, or the proof that there is none. Both carry certificates of
// lower bounds: rows of the planner's relaxation with multipliers, which whoever has the question can check.
// JSON is read and written in problem/plan_json.h.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "problem/cost_graph.h"
#include "problem/question.h"

namespace pantoum::problem {

// ---- certificates ----

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
  // Of several engines. Ops are positions in the order.
  kLoad,  // engine, op or -1, op or -1: what the engine runs of the ops that begin no earlier than the first one and
          // end no later than the second
  kRelay,  // op or -1, then engine or -1 and op or -1 by turns: ops one after the other, and what the engine runs between
};

// What a plan decides, 0 or 1 (a column of the relaxation; with several engines whether some compute takes one).
enum class Variable : uint8_t { kInRam, kComputed, kPagedIn, kPagedOut, kUsed };

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
    int32_t segment = 0;  // of kPagedOut and kUsed: 0
    int32_t index = 0;    // tensor, or op of kComputed, or engine of kUsed, as in rows
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

// ---- plans ----

enum class Do : uint8_t { kCompute, kPageOut, kPageIn, kFree };

struct Instruction {
  Do what = Do::kCompute;
  int64_t subject = 0;      // op id of a compute, tensor id of the others
  int choice = 0;           // compute
  std::vector<Bytes> at;    // compute: one offset per written output; page_in: one
  Bytes workspace_at = -1;  // compute with workspace; -1: none
};

enum class Status : uint8_t { kOptimal, kFeasible };
inline constexpr double kUsualGap = 1e-4;  // that is asked for where nobody says another

struct Predicted {
  Bytes peak_bytes = 0, arena_bytes = 0;
  Seconds time_s = 0;
  Joules energy_j = 0;
};
// The figures of a file that predicts nothing; nobody can refute them.
inline constexpr Predicted kNothingPredicted{-1, -1, std::numeric_limits<double>::quiet_NaN(),
                                             std::numeric_limits<double>::quiet_NaN()};

struct Bound {  // proved lower bounds; absent: none proved
  std::optional<Joules> energy_j;
  std::optional<Seconds> time_s;
  std::optional<double> edp_js;    // joules times seconds
  std::optional<double> weighted;  // by the question's weights
  bool any_order = false;          // false: holds for this plan's order of first computations
};

// What one separator of the planner's lower bound did for a plan.
// All figures are summed over all relaxations of the question.
struct SeparatorCount {
  std::string name;
  bool on = true;     // false: it was switched off, and never asked
  int64_t found = 0;  // rows that it proposed
  int64_t kept = 0;   // of these, the rows that were added to the program
  // By how much the proved bound of a relaxation rose in the rounds that this separator led, in units of the objective.
  // A round goes from one solution of the program to the next; the first separator of the list with a row kept in
  // between leads it, alone or before others. Of branch and bound only the root counts, since another case's bound is
  // not the question's. For `edp`: joules; the relaxation of the makespan alone is left out.
  double bound_moved = 0;
  Seconds seconds = 0;  // in the separator; 0 where a fixed effort stands for the clock

  friend bool operator==(const SeparatorCount&, const SeparatorCount&) = default;
};

// The step with unlimited RAM: the graph that the model gives before equivalent ones are tried, nothing paged and nothing recomputed.
struct UnplannedStep {
  Predicted figures;
  // RAM in use as steps: bytes[i] from seconds[i] on. Both may be empty.
  std::vector<Seconds> seconds;
  std::vector<Bytes> bytes;
};

struct Plan {
  Question question;                 // which it answers; its budget is always there
  std::map<int64_t, Bytes> initial;  // tensor id -> arena offset
  Bytes staging_at = -1;
  std::vector<Instruction> instructions;
  std::map<int64_t, Bytes> storage;  // tensor id -> offset in auxiliary storage
  Predicted predicted;
  Bound bound;
  std::optional<Certificate> certificate;  // of bound, where it was proved by one
  std::vector<Certificate>
      lines;  // of bound.edp_js: energy, time, and energy + price * time (plan/bound/edp_bound.h); else of
              // the figure that is not the objective, if any
  Status status = Status::kFeasible;
  std::string method;
  Seconds solver_seconds = 0;
  double gap = 1.0;                        // (value - bound) / value of the objective
  double asked_gap = kUsualGap;            // kOptimal: the gap is no more than this
  std::vector<SeparatorCount> separators;  // of the bound; empty where no linear program was asked
  CostGraph graph;
  // The options that made the graph of a model, and those of planning, each a JSON object that is opaque here
  // (pipeline/request_json.h). "": a bare cost graph's.
  std::string model, request;
  std::string updates;  // what was chosen to be trained, as pipeline/choose_updates.h has it, opaque here too; "": nothing was
  std::optional<UnplannedStep> unplanned;  // to compare with; none: the one of `graph`
  std::optional<Predicted> one_engine;     // of a plan of several: the best plan found of one; none where that misses the limits
};

// ---- refusals ----

// The proof that no plan answers a question.
struct Refusal {
  Question question;  // its budget is always there
  // Every plan that may answer the question takes at least so many bytes of RAM, seconds or joules: more than it has.
  Objective of = Objective::kRam;
  double least = 0;
  bool any_order = false;                  // false: for the graph's order alone, which is to be kept
  std::optional<Certificate> certificate;  // none: whoever has the cost graph adds it up
  std::optional<Plan> plan;                // the best one known, of the question that it says; without its graph
  CostGraph graph;
};

}  // namespace pantoum::problem
