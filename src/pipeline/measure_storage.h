// The speed of the storage that the page file would lie on, measured once on this machine.
#pragma once

#include <string>

#include "cost/profile_store.h"
#include "pantoum/result.h"
#include "problem/cost_graph.h"

namespace pantoum::pipeline {

// Writes and reads a page file of 8 MiB in `folder`, by the pager that a run would use, in small and large transfers,
// and fits latency and rate to both directions; kept in the store. `encrypt`: as the run does, whose time is in both.
// E0902, E0903 when the folder cannot be used; E0908.
[[nodiscard]] Result<void> measure_storage(const std::string& folder, bool encrypt, cost::ProfileStore& store,
                                           problem::Pager& pager);

}  // namespace pantoum::pipeline
