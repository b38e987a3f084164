// What was found of one kernel on some shapes, on one machine, and the key under which it is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/graph.h"
#include "pantoum/pantoum.h"
#include "problem/cost_graph.h"

namespace pantoum::cost {

using problem::Bytes;
using problem::Joules;
using problem::Seconds;

// All that a time depends on. A store keeps one sample for each key.
struct OpKey {
  std::string machine;  // processor, kernels and their versions; the name of a device whose figures came from elsewhere
  std::string engine = "cpu";
  std::string op, algorithm;
  std::string operands;    // "f32[8,4] f32[4,2]->f32[8,2]"
  std::string attributes;  // "0,1|0.5": whole numbers, then others
  int threads = 1;
  bool operator==(const OpKey&) const = default;
};

[[nodiscard]] OpKey op_key(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel, uint32_t threads,
                           const std::string& machine);

// The parts of the key in one text, for tables of this process alone. A character that no part contains separates them.
[[nodiscard]] std::string text_of(const OpKey& key);

struct OpSample {
  Seconds seconds = 0;            // the median with cold caches: a run's operands were not used by the runs before it
  Seconds low_s = 0, high_s = 0;  // the 95% interval of the median; the extremes where there are fewer than 6 runs
  std::optional<Seconds> warm_s = {};  // the median with operands that the last run has just touched
  int64_t runs = 0;
  Bytes workspace_bytes = 0;
  std::optional<Joules> joules = {};  // of one run, above the idle baseline
  std::string meter = {};             // that measured them
};

}  // namespace pantoum::cost
