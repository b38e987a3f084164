// A plan: the planner's answer, as semantics.md defines it. JSON is read and written in problem/plan_json.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "problem/certificate.h"
#include "problem/cost_graph.h"
#include "problem/question.h"
#include "problem/separator_count.h"

namespace pantoum::problem {

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

struct Bound {  // proved lower bounds; absent: none proved
  std::optional<Joules> energy_j;
  std::optional<Seconds> time_s;
  std::optional<double> edp_js;    // joules times seconds
  std::optional<double> weighted;  // by the question's weights
  bool any_order = false;          // false: holds for this plan's order of first computations
};

struct Plan {
  int schema = 2;                    // pantoum.plan/1 does not say what a plan was free to do
  Question question;                 // which it answers; its budget is always there
  std::map<int64_t, Bytes> initial;  // tensor id -> arena offset
  Bytes staging_at = -1;
  std::vector<Instruction> instructions;
  std::map<int64_t, Bytes> storage;  // tensor id -> offset in auxiliary storage
  Predicted predicted;
  Bound bound;
  std::optional<Certificate> certificate;  // of bound, where it was proved by one
  std::vector<Certificate> lines;  // of bound.edp_js: energy, time, and energy + price * time (plan/bound/edp_bound.h)
  Status status = Status::kFeasible;
  std::string method;
  Seconds solver_seconds = 0;
  double gap = 1.0;                        // (value - bound) / value of the objective
  double asked_gap = kUsualGap;            // kOptimal: the gap is no more than this
  std::vector<SeparatorCount> separators;  // of the bound; empty where no linear program was asked
  CostGraph graph;
  // Of a model: the options that made the graph, and those of planning, each a JSON object, opaque here
  // (pipeline/request_json.h). "": a bare cost graph's.
  std::string model, request;
};

}  // namespace pantoum::problem
