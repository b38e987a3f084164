// Proves a bound again from its certificate. Shares no code with the planner, and trusts no solver of linear programs.
//
// Every row is made here from the cost graph alone (step_facts.h), by the rule and for the ops, tensors and segments that
// the certificate names; why each rule holds for every plan stands beside it (certificate_rows.h). Whatever the
// multipliers are, what they make of the rows is a lower bound (row_sums.h). Where a certificate tells cases apart, each
// is proved alone, and the cases are those of a binary tree of decisions: no plan is in none.
#pragma once

#include "problem/cost_graph.h"
#include "problem/plan.h"

namespace pantoum::check {

// The bound that the rows prove, for plans of the certificate's order, budget, limits and freedoms; of its objective.
//   errors  E0805 with the row that is none of these plans', E0806 a bound that the rows do not prove (beyond a relative
//           1e-9), E0221 for a graph that problem::validate refuses
//   cost    linear in the graph and in the terms of the rows
[[nodiscard]] Result<double> check_certificate(const problem::CostGraph& graph,
                                               const problem::Certificate& certificate);

// Checks that the plan's certificate (of edp: its lines, all of them), which it must have, is one of its question and
// of its own order, and that it proves the bound that the plan claims. A certificate's question includes the plan's where
// it has no smaller budget, no tighter limits, no fewer freedoms, and the same objective.
//   value    what the plan really costs
//   returns  the bound
//   errors   as above; E0805 a certificate of another question, E0806 a claim that is not proved, or a bound above
//            `value`
[[nodiscard]] Result<double> check_bound(const problem::Plan& plan, double value);

}  // namespace pantoum::check
