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

enum class Objective : uint8_t { kEnergy, kTime };
enum class Status : uint8_t { kOptimal, kFeasible };

struct Predicted {
  Bytes peak_bytes = 0, arena_bytes = 0;
  Seconds time_s = 0;
  Joules energy_j = 0;
};

struct Bound {  // proved lower bounds; absent: none proved
  std::optional<Joules> energy_j;
  std::optional<Seconds> time_s;
  bool any_order = false;  // false: holds for this plan's order of first computations
};

struct Plan {
  Bytes budget_bytes = 0;
  std::optional<Seconds> deadline_s;
  Objective objective = Objective::kEnergy;
  std::map<int64_t, Bytes> initial;  // tensor id -> arena offset
  Bytes staging_at = -1;
  std::vector<Instruction> instructions;
  std::map<int64_t, Bytes> storage;  // tensor id -> offset in auxiliary storage
  Predicted predicted;
  Bound bound;
  Status status = Status::kFeasible;
  std::string method;
  Seconds solver_seconds = 0;
  double gap = 1.0;  // (value - bound) / value of the objective
  CostGraph graph;
};

}  // namespace pantoum::plan
