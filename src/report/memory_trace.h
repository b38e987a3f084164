// RAM and events over the instructions of a plan.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace pantoum::report {

struct TracePoint {
  plan::Do what = plan::Do::kCompute;
  int64_t subject = 0;        // op or tensor id
  bool again = false;         // a compute that had run before
  cost::Bytes ram_bytes = 0;  // while the instruction runs: workspace and arriving bytes included
};

// One point per instruction, as semantics.md counts RAM. The plan has passed the checker.
[[nodiscard]] std::vector<TracePoint> trace_memory(const plan::Plan& plan);

}  // namespace pantoum::report
