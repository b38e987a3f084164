// A refusal: the proof that no plan answers a question. JSON is read and written in problem/refusal_json.h.
#pragma once

#include <optional>

#include "problem/plan.h"

namespace pantoum::problem {

struct Refusal {
  Question question;  // its budget is always there
  // Every plan that may answer the question takes at least so many bytes of RAM, seconds or joules: more than it has.
  Objective of = Objective::kRam;
  double least = 0;
  bool any_order = false;                  // false: for the graph's order alone, which is to be kept
  std::optional<Certificate> certificate;  // none: whoever has the cost graph adds it up
  std::optional<Plan> plan;                // the best one known, of the question that it says; without its graph
  CostGraph graph;
};

}  // namespace pantoum::problem
