// From what a method decides (computes and transfers, in their order) to a whole instruction stream.
//
//   compute a | compute b | page_out a | compute c | page_in a | compute d        as decided
//   compute a | compute b | page_out a, free a | compute c, free b | ...          as issued
//
// What is decided nowhere follows from semantics.md: a tensor is freed as soon as nothing reads it before it is made or
// fetched again; an output takes over the bytes of an input that dies there; what must end in storage is written after
// its last use; what starts in storage is fetched before its first. A recomputation or transfer that nobody uses is
// left out. So matrices R and S turn into actions by listing R: S says only what the frees say.
#pragma once

#include <vector>

#include "base/result.h"
#include "plan/simulate/event.h"
#include "plan/simulate/model.h"

namespace pantoum::plan::baseline {

struct Action {
  Do what = Do::kCompute;  // never kFree
  int32_t subject = 0;     // op or tensor
};
inline Action computing(OpIndex op) {
  return {Do::kCompute, op.value()};
}
inline Action moving(Do what, TensorIndex tensor) {  // kPageIn or kPageOut
  return {what, tensor.value()};
}

// The stream that the actions give, each op with its choice of `choices`. E0302 where there is none: an op that may run
// once only is asked for twice, a tensor is lost, or a parameter cannot end where the next step looks for it.
// Cost: linear.
Result<std::vector<Event>> complete(const Model& model, const Choices& choices, const std::vector<Action>& actions);

// The largest sum of live bytes of a stream, workspaces and staging buffer included, sizes rounded to the alignment.
Bytes peak_of(const Model& model, const std::vector<Event>& events);

// The matrices of Checkmate, POET and PORT, by stage (stage t first computes op t, 0-based).
struct StageActions {
  std::vector<TensorIndex> page_in, page_out;  // at the stage's start, in this order
  std::vector<OpIndex> compute;                // ascending, the stage's own last
};
std::vector<Action> in_stages(const std::vector<StageActions>& stages);

}  // namespace pantoum::plan::baseline
