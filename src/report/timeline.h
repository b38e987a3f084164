// Finds which computes hide a transfer, and for which transfers the step waits.
//
//   engine    |  conv1  |  conv2  |....wait....|  conv3  |
//   channel        |   out x   |   in w        |
//                     hidden    hidden   stall
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "check/replay.h"
#include "problem/plan.h"

namespace pantoum::report {

struct Overlap {
  size_t instruction = 0;  // a compute
  double seconds = 0;      // during which it runs beside the transfer
};

struct Transfer {
  size_t instruction = 0;
  int64_t tensor = 0;
  bool out = false;
  problem::Bytes bytes = 0;
  double issue_s = 0, begin_s = 0, end_s = 0, energy_j = 0;
  std::vector<Overlap> computes;  // in order
  double hidden_s = 0;            // sum over `computes`
  double stall_s = 0;             // no op computes, because the step waits for this transfer
};

// Why an engine of several computes nothing: the issuer launches its next op only then; another engine of the op's gang is busy; an input is still
// made, or arrives; bytes that it writes are still used; what it waited for has ended, and a hand-off lies between; there is no next op.
enum class Idle { kLaunch, kGang, kValue, kBytes, kHandOff, kOver };
inline constexpr std::array kIdle{"launch", "gang", "value", "bytes", "hand_off", "over"};  // by Idle

struct Gap {
  size_t engine = 0;  // of the device
  Idle why = Idle::kOver;
  double begin_s = 0, end_s = 0;
  size_t instruction = 0;  // the compute that begins behind it; kOver: as many as there are
};

struct Timeline {
  std::vector<Transfer> transfers;  // in the order of issue
  double compute_s = 0;             // all computes
  double stall_s = 0;               // all stalls: the makespan less the time in which an engine computes
  std::vector<double> busy_s;       // by engine of the device: its computes
  std::vector<Gap> gaps;            // of several engines: when those that the plan uses compute nothing; in the order of time for each

  // Seconds by Idle.
  [[nodiscard]] std::array<double, kIdle.size()> idle_s(size_t engine) const;
};

// `spans` are those of the checker for a plan that it accepts. Cost: linear in instructions and overlaps.
[[nodiscard]] Timeline timeline_of(const problem::Plan& plan, const std::vector<check::Span>& spans);

// The RAM in use and the event at each instruction of a plan.

struct TracePoint {
  problem::Do what = problem::Do::kCompute;
  int64_t subject = 0;           // op or tensor id
  bool again = false;            // a compute that had run before
  problem::Bytes ram_bytes = 0;  // while the instruction runs: workspace and arriving bytes included
};

// Returns one point per instruction; semantics.md defines how RAM is counted. The plan must have passed the checker.
[[nodiscard]] std::vector<TracePoint> trace_memory(const problem::Plan& plan);

// RAM in use as steps: bytes[i] from seconds[i] on.
struct RamOverTime {
  std::vector<problem::Seconds> seconds;
  std::vector<problem::Bytes> bytes;
};
// `spans` are those of the checker for the plan that was traced.
[[nodiscard]] RamOverTime ram_over_time(const std::vector<TracePoint>& trace, const std::vector<check::Span>& spans);

// Returns the step of a cost graph with unlimited RAM: no paging, no recomputing; outputs in place of inputs if `in_place`. Errors as plan::unplanned.
[[nodiscard]] Result<problem::UnplannedStep> unplanned_step(const problem::CostGraph& graph, bool in_place);

struct Resident {
  enum class Role { kHeld, kRead, kWritten, kArriving, kLeaving, kWorkspace, kStaging };
  int64_t tensor = -1;  // -1: workspace, staging
  problem::Bytes bytes = 0;
  Role role = Role::kHeld;  // in that instruction
};

// Returns what is in RAM while one instruction runs, the largest first. The sum of the bytes is ram_bytes of the trace.
[[nodiscard]] std::vector<Resident> residents_at(const problem::Plan& plan, size_t instruction);

}  // namespace pantoum::report
