// Refusals: is it proved, from the cost graph alone, that no plan answers the question?
#pragma once

#include "check/words.h"

namespace pantoum::check {

// Checks that the proof is for exactly the question asked, and that it proves more than the question allows. The proof must hold
// for every order if the question leaves the order free, else for the graph's order. A plan that comes with the proof must be
// valid for its own question.
//   returns  what is proved, in bytes, seconds or joules: no less than is claimed
//   errors   E0221 the graph; E0805 and E0806 as of certificates; E0809 a proof of less, of another order, or of
//            nothing that was asked; the errors of judge() for the plan, with their place
Result<double> check_refusal(const Refusal& refusal);

}  // namespace pantoum::check
