// Has every thread of a pool a processor just now?
//
// Virtual machines lose a processor for seconds, and other processes take one: what two threads take meanwhile is what one
// takes. Times that are kept are better measured when all are there.
#pragma once

#include "base/quantities.h"
#include "pantoum/pantoum.h"

namespace pantoum::cost {

using base::Seconds;

// What a fixed chain of operations takes on all threads at once, a whole one each, over what it takes on the calling
// thread alone, each the quickest of three: 1 where every thread has a processor of the same speed, 2 where two share one.
// 1 for one thread. Some milliseconds.
[[nodiscard]] double slowdown_on_all_threads(const pt_pool& pool);

// Is that below what two threads on one processor would take?
[[nodiscard]] bool are_processors_present(const pt_pool& pool);

}  // namespace pantoum::cost
