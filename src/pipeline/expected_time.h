// Plans where transfers take the processor's time, which a plan's own time does not tell (semantics.md): on this machine,
// where the threads of training have every core.
#pragma once

#include "pipeline/pipeline.h"
#include "pipeline/request.h"

namespace pantoum::pipeline {

// Which figures of the storage plans of this request are made with, before anything is planned: by time those that a
// waiting step finds, so that deadlines, warm starts and other planners' plans are told by the same; otherwise those that
// are held back, but for a warm start that was made with the first.
void choose_storage_costs(Compiled& compiled, const PlanRequest& request);

// As find_best_plans, after choose_storage_costs. Where the storage was measured and the least time is asked, of the plans the one whose step is
// expected to be the shortest; for other objectives a step that waits for its storage is planned with what it finds then,
// but for those with a deadline.
// With a warm start neither: the answer is no worse than that plan, by its own time.
[[nodiscard]] Result<void> find_plans_as_expected(Compiled& compiled, const PlanRequest& request,
                                                  const plan::PlanOptions& options, plan::Infeasible* infeasible);

// How long a step of a training plan takes here: where the storage was measured, with what a waiting step finds it to
// take, and with what transfers take of the processor.
[[nodiscard]] problem::Seconds expected_seconds(const Compiled& compiled, const problem::Plan& plan);

}  // namespace pantoum::pipeline
