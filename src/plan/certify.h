// What a linear program proves, as a certificate that a plan can carry and anyone can check.
#pragma once

#include "plan/linear_program.h"
#include "plan/primal_dual.h"
#include "plan/relaxation.h"

namespace pantoum::plan {

// The rows with a multiplier, of the solution that `program` holds now: to be called where its proved() is taken,
// before rows are added or forgotten (of a PrimalDual: the best multipliers, at any time). `options` are those that the
// relaxation's model was made with. Column bounds that were changed by set_bounds are not in a certificate.
[[nodiscard]] Certificate certify(const Relaxation& relaxation, const LinearProgram& program,
                                  const PlanOptions& options);
[[nodiscard]] Certificate certify(const Relaxation& relaxation, const PrimalDual& program, const PlanOptions& options);

}  // namespace pantoum::plan
