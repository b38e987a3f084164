// When the bytes of what was written out and freed can be had without waiting for the write.
#pragma once

#include <vector>

#include "plan/simulate/event.h"
#include "plan/simulate/model.h"

namespace pantoum::plan {

// By event: for a free whose tensor is still being written, the event before which that write has ended, or before
// which the budget leaves no other bytes; for all others the event itself. Empty where nothing is freed so early.
// Runs the stream as if offsets did not matter. Whoever keeps the bytes until then loses nothing: all of them fit, and
// nobody waits who need not. Cost: linear.
std::vector<size_t> write_completions(const Model& model, const std::vector<Event>& events, Bytes budget);

}  // namespace pantoum::plan
