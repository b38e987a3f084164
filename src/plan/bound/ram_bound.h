// The RAM that every plan needs, where limits on time or energy, or what may not be paged, ask for more than the
// largest working set: the relaxation with the RAM itself as its objective.
#pragma once

#include <optional>
#include <string>

#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

struct Model;

struct RamBound {
  Bytes bytes = 0;                         // no plan of the model's order, or of any, needs less
  std::string why;                         // the ops at which it is needed
  std::optional<Certificate> certificate;  // objective kRam
};

// At most `seconds`, or `iterations` of the simplex where that is > 0. The budget of `options`: where RAM is short, for
// the boundaries of the segments. `any_order`: of all orders of first computations.
RamBound ram_bound(const Model& model, const PlanOptions& options, double seconds, int64_t iterations,
                   bool any_order = false);

}  // namespace pantoum::plan
