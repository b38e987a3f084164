// Proves a bound again from its certificate. Shares no code with the planner, and trusts no solver of linear programs.
//
// Every row is made here from the cost graph alone (step_facts.h), by the rule and for the ops, tensors and segments that
// the certificate names; why each rule holds for every plan stands beside it (certificate.cc). Whatever the
// multipliers are, what they make of the rows is a lower bound (row_sums.h). Where a certificate tells cases apart, each
// is proved alone, and the cases are those of a binary tree of decisions: no plan is in none.
#pragma once

#include "check/words.h"

namespace pantoum::check {

// The bound that the rows prove, for plans of the certificate's order, budget, limits and freedoms; of its objective.
//   errors  E0805 with the row that is none of these plans', E0806 a bound that the rows do not prove (beyond a relative
//           1e-9), E0221 for a graph that problem::validate refuses
//   cost    linear in the graph and in the terms of the rows
Result<double> check_certificate(const CostGraph& graph, const Certificate& certificate);

// Does a question include another one: no less RAM, no tighter limits, no fewer freedoms? Then what is proved of the plans
// of the certificate is proved of all that answer `asked`. Orders and objectives are not compared. E0805 where not.
Result<void> check_covers(const CostGraph& graph, const Certificate& certificate, const Question& asked);

// What every plan takes at the least that answers the plan's question in its own order of first computations, or in any
// where plan.bound.any_order says so: as the certificates prove it, and as it can be read off the cost graph.
//   errors  E0805 a certificate of another question, or with a row that is none; E0806 one that does not prove its bound
struct ProvedBounds {
  double energy_j = 0, time_s = 0, edp_js = 0;
  int64_t certificates = 0;  // that count
};
Result<ProvedBounds> prove_bounds(const Plan& plan);

// Checks that the plan's certificate (of edp: its lines, all of them), which it must have, is one of its question and
// of its own order, and that it alone proves the bound that the plan claims. A certificate's question includes the plan's where
// it has no smaller budget, no tighter limits, no fewer freedoms, and the same objective.
//   value    what the plan really costs
//   returns  the bound
//   errors   as above; E0805 a certificate of another question, E0806 a claim that is not proved, or a bound above
//            `value`
Result<double> check_bound(const Plan& plan, double value);

}  // namespace pantoum::check
