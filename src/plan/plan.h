// A plan: the planner's answer, as semantics.md defines it. JSON is read and written in artifact/plan_json.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cost/cost_graph.h"

namespace pantoum::plan {

using cost::Bytes;
using cost::CostGraph;
using cost::Joules;
using cost::Seconds;

enum class Do : uint8_t { kCompute, kPageOut, kPageIn, kFree };

struct Instruction {
  Do what = Do::kCompute;
  int64_t subject = 0;      // op id of a compute, tensor id of the others
  int choice = 0;           // compute
  std::vector<Bytes> at;    // compute: one offset per written output; page_in: one
  Bytes workspace_at = -1;  // compute with workspace; -1: none
};

// kEdp: energy times makespan. kRam, of certificates alone: the bytes that a plan needs.
enum class Objective : uint8_t { kEnergy, kTime, kEdp, kRam };
enum class Status : uint8_t { kOptimal, kFeasible };

struct Predicted {
  Bytes peak_bytes = 0, arena_bytes = 0;
  Seconds time_s = 0;
  Joules energy_j = 0;
};

struct Bound {  // proved lower bounds; absent: none proved
  std::optional<Joules> energy_j;
  std::optional<Seconds> time_s;
  std::optional<double> edp_js;  // joules times seconds
  bool any_order = false;        // false: holds for this plan's order of first computations
};

// How a row of the relaxation (plan/relaxation.h) is made, for whoever wants to make it again. Ops are positions in the
// certificate's order, tensors positions in the cost graph, epochs count from 0.
enum class Rule : uint8_t {
  kNeed,     // epoch, tensor
  kDep,      // epoch, op, tensor
  kCarry,    // epoch, tensor: into the next one
  kStored,   // epoch, tensor
  kMemory,   // epoch
  kWork,     //
  kMoveIn,   // (with the moves out on a half-duplex channel)
  kMoveOut,  //
  kPath,     // first epoch, last epoch, then for each tensor of the path: tensor, and 1 where X, 2 where W and F of the
             // epoch before the first stand for the sum of I
  kRounding,  // epoch, op or -1, divisor (0: the knapsack itself), then the tensors of the knapsack
  kCover,     // epoch, op or -1; the op is: 0 not in it, 1 of the cover, 2 an extension; how many tensors are of the
              // cover, these, then those that extend it
  kSpend,     //
  kIssued,    // epoch, tensor
  kFlight,    // epoch, then the tensors whose S it counts
  kFlow,      // epoch or -1, a later epoch, 0 work or 1 page-ins behind its boundary
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
    int32_t epoch = 0;  // of kPagedOut: 0
    int32_t index = 0;  // tensor, or op of kComputed, as in rows
  };
  struct Part {
    int32_t row = 0;
    double multiplier = 0;  // > 0
  };
  struct Case {
    std::optional<Decision> decision;  // its two cases follow, each with its own: 0, then 1
    std::vector<Part> parts;           // without one: what proves the bound here
  };
  double bound = 0;  // of the objective
  Objective objective = Objective::kEnergy;
  Bytes ram = 0;
  double second_price = 0;  // kEnergy: joules for every second of the makespan, which the bound counts too
  std::optional<Seconds> deadline;
  std::optional<Joules> most_energy;  // plans spend no more
  Seconds most_seconds = 0;           // > 0: plans that take longer are worse than the bound by their time alone
  bool paging = true, remat = true, in_place = true, any_numerics = false;  // what plans may do
  std::vector<int64_t> order;  // op ids: plans compute them first in this order
  std::vector<int32_t>
      boundaries;  // the last stage of every epoch: stage s first computes order[s - 1], n + 1 is the end
  std::vector<Row> rows;
  std::vector<Case> cases;  // empty: one, of all rows with their multipliers
};

struct Plan {
  Bytes budget_bytes = 0;
  std::optional<Seconds> deadline_s;
  std::optional<Joules> most_energy_j;
  Objective objective = Objective::kEnergy;
  std::map<int64_t, Bytes> initial;  // tensor id -> arena offset
  Bytes staging_at = -1;
  std::vector<Instruction> instructions;
  std::map<int64_t, Bytes> storage;  // tensor id -> offset in auxiliary storage
  Predicted predicted;
  Bound bound;
  std::optional<Certificate> certificate;  // of bound, where it was proved by one
  std::vector<Certificate> lines;  // of bound.edp_js: energy, time, and energy + price * time (plan/edp_bound.h)
  Status status = Status::kFeasible;
  std::string method;
  Seconds solver_seconds = 0;
  double gap = 1.0;  // (value - bound) / value of the objective
  CostGraph graph;
  std::vector<std::string> command;  // words that made it, for who has to make the same graph again; opaque here
};

}  // namespace pantoum::plan
