// A first list for devices of several engines.
#pragma once

#include "plan/realize/engine_run.h"

namespace pantoum::plan {

// Lists every op once, each by the choice that ends earliest, the op whose chain to the end is longest first. What is in storage is read before it is
// needed, and what must go there is written when it is made. Bytes do not matter.
//   returns  an empty list where an op reads what an optional op makes
//   cost     the square of the number of ops
List earliest_finish(const EngineModel& model);

}  // namespace pantoum::plan
