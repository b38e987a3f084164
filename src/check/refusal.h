// Refusals: is it proved, from the cost graph alone, that no plan answers the question?
#pragma once

#include "check/words.h"

namespace pantoum::check {

// Checks that the proof is one for exactly the question asked, of any order where that may be chosen, and of the graph's
// where it may not, and that what it proves is more than the question allows. The plan that it knows must hold, by its
// own question.
//   returns  what is proved, in bytes, seconds or joules: no less than is claimed
//   errors   E0221 the graph; E0805 and E0806 as of certificates; E0809 a proof of less, of another order, or of
//            nothing that was asked; as judge() has them of the plan, with its place
Result<double> check_refusal(const Refusal& refusal);

}  // namespace pantoum::check
