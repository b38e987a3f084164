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

}  // namespace pantoum::report
