// What a linear program proves, as a certificate that a plan can carry and anyone can check.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

class LinearProgram;
class PrimalDual;
class Relaxation;

// The question, order and boundaries of the relaxation, and as yet no bound and no row.
Certificate empty_certificate(const Relaxation& relaxation, const PlanOptions& options);
// Where R pays for its seconds (Relaxation::work_price): the time row, which every case has with that multiplier.
std::optional<Certificate::Row> work_row(const Relaxation& relaxation);

// The rows with a multiplier, of the solution that `program` holds now: to be called where its proved() is taken,
// before rows are added or forgotten (of a PrimalDual: the best multipliers, at any time). `options` are those that the
// relaxation's model was made with. No column's bounds were changed: cases are for a ProofTree.
Certificate certify(const Relaxation& relaxation, const LinearProgram& program, const PlanOptions& options);
Certificate certify(const Relaxation& relaxation, const PrimalDual& program, const PlanOptions& options);

// The stages that end segments of the certificate whose memory it uses (rows of memory with a multiplier). Few do
// nearly all of the work: a relaxation of these segments alone proves about as much, and is small. Those whose rows
// weigh more than `least`: multiplier times right side, of the objective. Multipliers that are not exact are seldom 0.
std::vector<int32_t> pressing_stages(const Certificate& certificate, double least = 0);

}  // namespace pantoum::plan
