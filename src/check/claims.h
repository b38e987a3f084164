// All that a plan says of itself, held against what is found: the whole of `pantoum verify`.
#pragma once

#include "check/certificate.h"
#include "check/replay.h"
#include "check/words.h"

namespace pantoum::check {

struct Judgement {
  Found found;
  ProvedBounds proved;
  double bound = 0;  // of the objective
  double gap = 1;    // the plan is no further from it, as a share of the plan's value
};

// Replays the plan and checks every claim: budget and limits, what it was free to do, predictions, the table of
// storage, bounds and their order, gap, status.
//
// Bytes and counts are equal. Seconds and joules lie in an interval (Found::time, Found::energy): limits are judged by its
// upper end and bounds by its lower one, without a tolerance. Predictions may differ by a relative 1e-9.
//   errors  those of replay() and prove_bounds(); E0802 a limit that is not surely kept, E0803 a prediction that is wrong,
//           E0804 storage without a table, E0806 a bound that is not proved, E0807 what the question forbids,
//           E0808 a gap or a status that does not follow
Result<Judgement> judge(const Plan& plan);

// The parts that a plan needs to be one, whatever it claims of its bound: limits and freedoms of a question.
Result<void> check_question_kept(const Question& question, const Found& found);

// Refusals: is it proved, from the cost graph alone, that no plan answers the question?

// Checks that the proof is for exactly the question asked, and that it proves more than the question allows. The proof must hold
// for every order if the question leaves the order free, else for the graph's order. A plan that comes with the proof must be
// valid for its own question.
//   returns  what is proved, in bytes, seconds or joules: no less than is claimed
//   errors   E0221 the graph; E0805 and E0806 as of certificates; E0809 a proof of less, of another order, or of
//            nothing that was asked; the errors of judge() for the plan, with their place
Result<double> check_refusal(const Refusal& refusal);

}  // namespace pantoum::check
