// Which compute hides which transfer, and which transfer makes the step wait.
//
//   engine    |  conv1  |  conv2  |....wait....|  conv3  |
//   channel        |   out x   |   in w        |
//                     hidden    hidden   stall
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "check/replay.h"
#include "problem/plan.h"

namespace pantoum::report {

struct Overlap {
  size_t instruction = 0;  // a compute
  double seconds = 0;      // that it runs beside the transfer
};

struct Transfer {
  size_t instruction = 0;
  int64_t tensor = 0;
  bool out = false;
  problem::Bytes bytes = 0;
  double issue_s = 0, begin_s = 0, end_s = 0, energy_j = 0;
  std::vector<Overlap> computes;  // in order
  double hidden_s = 0;            // the sum of them
  double stall_s = 0;             // nothing is computed, and this is what is waited for
};

struct Timeline {
  std::vector<Transfer> transfers;  // in the order of issue
  double compute_s = 0;             // all computes
  double stall_s = 0;               // all stalls: the makespan less the computes
};

// `spans` are the checker's, of a plan that has passed. Cost: linear in instructions and overlaps.
[[nodiscard]] Timeline timeline_of(const problem::Plan& plan, const std::vector<check::Span>& spans);

// RAM and events over the instructions of a plan.

struct TracePoint {
  problem::Do what = problem::Do::kCompute;
  int64_t subject = 0;           // op or tensor id
  bool again = false;            // a compute that had run before
  problem::Bytes ram_bytes = 0;  // while the instruction runs: workspace and arriving bytes included
};

// One point per instruction, as semantics.md counts RAM. The plan has passed the checker.
[[nodiscard]] std::vector<TracePoint> trace_memory(const problem::Plan& plan);

struct Resident {
  enum class Role { kHeld, kRead, kWritten, kArriving, kLeaving, kWorkspace, kStaging };
  int64_t tensor = -1;  // -1: workspace, staging
  problem::Bytes bytes = 0;
  Role role = Role::kHeld;  // in that instruction
};

// What is in RAM while one instruction runs, as it is counted; the largest first. The sum is the trace's ram_bytes.
[[nodiscard]] std::vector<Resident> residents_at(const problem::Plan& plan, size_t instruction);

}  // namespace pantoum::report
