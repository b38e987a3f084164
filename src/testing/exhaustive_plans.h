// The least that any plan of a small cost graph costs, by exhaustive search: what the planner's bounds and plans are
// held against in tests. Shares nothing with the planner; the rules are those of semantics.md.
//
// A relaxation: offsets are not searched. The tensors in RAM, workspace and staging fit when their sizes, rounded up to
// the alignment but for one, do not exceed the RAM; that is necessary in every arena. What starts in RAM and has a
// successor to stand in its place is followed from owner to owner. With an asynchronous pager transfers take no time.
// So the optimum found is at most the true one, and equal to it where the offsets fit and time is either irrelevant or
// a sum (no pager, or a synchronous one). What takes the bytes of a page_out that has not ended waits for it, so that here
// nothing is refused for it, and nothing waits.
#pragma once

#include <optional>

#include "problem/cost_graph.h"
#include "problem/question.h"

namespace pantoum::plan_test {

// The value of the cheapest plan (of the relaxation above). Infinity: there is none. Nothing: the graph has more than 32
// tensors or ops, or the search took more than `most_states`.
[[nodiscard]] std::optional<double> exhaustive_optimum(const problem::CostGraph& graph,
                                                       const problem::Question& question, size_t most_states = 200'000);

}  // namespace pantoum::plan_test
