#include "problem/objective_values.h"

#include "base/units.h"

namespace pantoum::problem {

const char* name_of(Objective objective) {
  constexpr const char* kNames[] = {"energy", "time", "edp", "ram"};
  return kNames[static_cast<size_t>(objective)];
}

std::string show_value(Objective objective, double value) {
  if (objective == Objective::kTime) return base::show_seconds(value);
  return base::show_joules(value) + (objective == Objective::kEdp ? " s" : "");
}

}  // namespace pantoum::problem
