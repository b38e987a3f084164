// Has every thread of a pool a processor just now?
//
// Virtual machines lose a processor for seconds, and other processes take one: what two threads take meanwhile is what one
// takes. Times that are kept are better measured when all are there.
#pragma once

#include "base/quantities.h"
#include "pantoum/pantoum.h"

namespace pantoum::cost {

using base::Seconds;

// The seconds of a fixed chain of operations run by every thread at once, over those of one chain on the calling thread alone;
// each is the quickest of three runs. 1: every thread has a processor of the same speed; 2: two threads share one. 1 for one
// thread. Takes some milliseconds.
[[nodiscard]] double slowdown_on_all_threads(const pt_pool& pool);

// Does every thread have a processor: is the slowdown below that of two threads on one processor?
[[nodiscard]] bool are_processors_present(const pt_pool& pool);

}  // namespace pantoum::cost
