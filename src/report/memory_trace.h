// RAM and events over the instructions of a plan.
#pragma once

#include <cstdint>
#include <vector>

#include "problem/plan.h"

namespace pantoum::report {

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
