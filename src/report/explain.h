// Explains the cost of a plan: the limits that bind, the largest tensors at the peak, waits, paged and recomputed tensors, and the effect of more
// RAM.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "check/replay.h"
#include "problem/plan.h"
#include "report/slices.h"
#include "report/timeline.h"

namespace pantoum::report {

// A plan that the checker accepts. The plan's prediction has the checker's figures.
struct CheckedPlan {
  problem::Plan plan;
  check::Found found;
  std::vector<check::Span> spans;
};

// E08xx as check::replay.
[[nodiscard]] Result<CheckedPlan> check_plan(problem::Plan plan);

struct Probe {      // the same question, planned again
  double more = 0;  // 0.05: 5% more RAM
  problem::Bytes ram_bytes = 0;
  problem::Predicted predicted;
};

struct NextBytes {
  std::vector<Probe>
      probes;  // with more RAM; the first has the plan's own RAM and shows the effect of more search alone
  std::optional<Probe> no_deadline;  // without the deadline, if the plan has one
  problem::Predicted unplanned;      // everything kept
};

struct ComputedAgain {
  int64_t op = 0, times = 0;
  double seconds = 0, energy_j = 0;
};

struct Paged {
  int64_t tensor = 0;
  int64_t outs = 0, ins = 0;
  problem::Bytes bytes = 0;  // of the tensor
  double seconds = 0, hidden_s = 0, stall_s = 0, energy_j = 0;
};

// Of the ways of an op that need more RAM than its own and cost less, the one that needs the least.
struct NextWay {
  problem::Bytes more_bytes = 0;
  int64_t less_moved = 0;  // bytes that storage need not read or write; below 0: it moves more
  double saves_s = 0, saves_j = 0;
};

struct Streamed {  // an op that streams or is computed in slices; figures of all its computations
  int64_t op = 0;
  int choice = 0;
  std::string algorithm;
  std::vector<int> slices;  // steps of its loops; empty: the graph does not tell
  problem::Bytes workspace_bytes = 0;
  problem::Bytes needs_bytes = 0;             // RAM: workspace and whole operands
  std::optional<problem::Bytes> whole_bytes;  // the same of its leanest whole form, if it has one
  problem::Bytes bytes_in = 0, bytes_out = 0;
  problem::Bytes once_bytes = 0;  // of the operands that it streams, each once
  int64_t transfers = 0;
  double seconds = 0, moving_s = 0, energy_j = 0;  // of the op with its transfers; of its transfers alone, both
  double moved_share = 0;                          // of the bytes that the step reads from storage and writes to it
  double time_share = 0;                           // of the step's time
  std::optional<NextWay> next;                     // none: no other way of it costs less
};

struct Energy {  // the step's, in parts; paging_j: of all that goes to storage and comes from it
  double first_j = 0, again_j = 0, paging_j = 0, idle_j = 0;
};

struct Explanation {
  const problem::Plan& plan;
  check::Found found;
  size_t peak_instruction = 0;
  std::vector<Resident> at_peak;  // largest first
  Timeline timeline;
  std::vector<ComputedAgain> again;  // dearest first
  std::vector<Paged> paged;          // dearest first
  std::vector<Streamed> streamed;    // dearest first
  std::optional<SliceNeeds> slices;  // of a step with ops in `streamed`
  Energy energy;
  NextBytes next;
  [[nodiscard]] bool ram_binds() const;       // returns whether the step would cost less if it retained everything
  [[nodiscard]] bool deadline_binds() const;  // returns whether the step would cost less without the deadline
};

// Explains the plan `checked`, which must outlive the answer.
[[nodiscard]] Explanation explain(const CheckedPlan& checked, NextBytes next);

// Returns the most expensive parts as text.
[[nodiscard]] std::string to_text(const Explanation& why);
// Returns the parts as JSON; the report contains the same JSON.
[[nodiscard]] nlohmann::ordered_json figures(const problem::Predicted& step);
[[nodiscard]] nlohmann::ordered_json to_json(const Probe& probe);
[[nodiscard]] nlohmann::ordered_json to_json(const Energy& energy);
// Seconds that each engine of the device computes, and of several, by why it computes nothing (Idle).
[[nodiscard]] nlohmann::ordered_json engine_times(const Explanation& why);
[[nodiscard]] nlohmann::ordered_json to_json(const ComputedAgain& entry, const class Names& names);
[[nodiscard]] nlohmann::ordered_json to_json(const Paged& entry, const Names& names);
[[nodiscard]] nlohmann::ordered_json to_json(const Streamed& entry, const Names& names);
// All of it.
[[nodiscard]] nlohmann::ordered_json to_json(const Explanation& why);

}  // namespace pantoum::report
