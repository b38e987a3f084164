// Why a plan costs what it costs: what binds, what is largest at the peak, what waits, what returns, what more RAM
// buys.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "check/replay.h"
#include "problem/plan.h"
#include "report/timeline.h"

namespace pantoum::report {

// A plan that the checker accepts, with the checker's figures; the plan's prediction is these figures.
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
  std::vector<Probe> probes;         // more RAM; the first is the plan's own: what more search alone gives
  std::optional<Probe> no_deadline;  // of a plan that has one
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

struct Energy {  // the step's, in parts
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
  Energy energy;
  NextBytes next;
  [[nodiscard]] bool ram_binds() const;       // with everything kept the step would cost less
  [[nodiscard]] bool deadline_binds() const;  // without it the step would cost less
};

// `checked` outlives the answer.
[[nodiscard]] Explanation explain(const CheckedPlan& checked, NextBytes next);

// The dearest of everything, for people.
[[nodiscard]] std::string to_text(const Explanation& why);
// The parts as JSON, which the report has too.
[[nodiscard]] nlohmann::ordered_json figures(const problem::Predicted& step);
[[nodiscard]] nlohmann::ordered_json to_json(const Probe& probe);
[[nodiscard]] nlohmann::ordered_json to_json(const Energy& energy);
[[nodiscard]] nlohmann::ordered_json to_json(const ComputedAgain& entry, const class Names& names);
[[nodiscard]] nlohmann::ordered_json to_json(const Paged& entry, const Names& names);
// All of it.
[[nodiscard]] nlohmann::ordered_json to_json(const Explanation& why);

}  // namespace pantoum::report
