#include "problem/objective_values.h"

#include <fmt/format.h>

#include "base/units.h"

namespace pantoum::problem {

const char* name_of(Objective objective) {
  constexpr const char* kNames[] = {"energy", "time", "edp", "ram", "weighted"};
  return kNames[static_cast<size_t>(objective)];
}

std::string show_value(Objective objective, double value) {
  if (objective == Objective::kTime) return base::show_seconds(value);
  if (objective == Objective::kWeighted) return fmt::format("{:.4g}", value);
  return base::show_joules(value) + (objective == Objective::kEdp ? " s" : "");
}

}  // namespace pantoum::problem
