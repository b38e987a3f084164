// What a linear program proves, as a certificate that a plan can carry and anyone can check.
#pragma once

#include "plan/bound/linear_program.h"
#include "plan/bound/primal_dual.h"
#include "plan/bound/relaxation.h"

namespace pantoum::plan {

// The question that the relaxation is of, and as yet no row.
[[nodiscard]] Certificate question(const Relaxation& relaxation, const PlanOptions& options);

// The rows with a multiplier, of the solution that `program` holds now: to be called where its proved() is taken,
// before rows are added or forgotten (of a PrimalDual: the best multipliers, at any time). `options` are those that the
// relaxation's model was made with. No column's bounds were changed: cases are for a ProofTree.
[[nodiscard]] Certificate certify(const Relaxation& relaxation, const LinearProgram& program,
                                  const PlanOptions& options);
[[nodiscard]] Certificate certify(const Relaxation& relaxation, const PrimalDual& program, const PlanOptions& options);

// The stages that end epochs of the certificate whose memory it uses (rows of memory with a multiplier). Few do nearly
// all of the work: a relaxation of these epochs alone proves about as much, and is small.
[[nodiscard]] std::vector<int32_t> pressing_stages(const Certificate& certificate);

}  // namespace pantoum::plan
