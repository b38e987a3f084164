// The boundaries of the relaxation's segments: where live bytes press on the budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/bound/row.h"
#include "plan/simulate/model.h"

namespace pantoum::plan {

// What the reads of a step say of every order of its first computations.
//
// An op is first computed after the ops that make what each of its choices reads. A chain is a row of ops that must all
// run, each after the one before in that sense: every plan first computes them in this sequence, whatever else it
// reorders. So boundaries at a chain cut every plan into the same segments, and an op's window is where it may first
// be computed: after the last link that it comes after, and by the first link that comes after it.

using Segment = int32_t;  // one counts with segments, so they are plain numbers

// Returns for each op what every choice of it reads.
Indexed<OpIndex, std::vector<TensorIndex>> common_reads(const Model& model);

struct Windows {  // by op: the first and the last segment in which it can first be computed
  Indexed<OpIndex, Segment> first, last;
};
// Returns the windows of all orders. `boundaries`: the stages of a chain, and the end. Cost: linear.
Windows windows_of(const Model& model, const Indexed<OpIndex, std::vector<TensorIndex>>& reads,
                   const std::vector<Stage>& boundaries);

// By op: the bytes that are surely in RAM when it first runs, whatever the order: its working set, and of what cannot
// come back once it is gone all that was made before and is read or must be there after. Cost: ops times (ops + reads).
Indexed<OpIndex, Bytes> surely_held(const Model& model);

// The stages of the chain whose weights (by stage, >= 0) sum to the most, those of weight 0 left out; ascending. An op
// that is optional has no weight. Cost: linear.
std::vector<Stage> heaviest_chain(const Model& model, const Indexed<Stage, double>& weights);

// Stages at which the live bytes of a plan that retains everything exceed `budget`, and the end; ascending. All of
// them, or about `most`: of each of most / 2 slices of equal number the stage with the most live bytes, and the one
// where they fill most of what the op's working set leaves. `any_order`: of a chain, the one that exceeds
// the budget by the most bytes in all; `through`: of those with this op, which it has for sure.
std::vector<Stage> choose_boundaries(const Model& model, Bytes budget, int32_t most, bool any_order = false,
                                     OpIndex through = {});

class Relaxation;

// At most `most` stages that are no boundaries, ascending: of each segment the one that exceeds the budget most, and of
// all segments the worst. What surely is in RAM at a stage: a tensor that the segment's first computations read later,
// or that is there when the next one opens, and that neither was paged in nor recomputed in the segment. Cost: segments
// times (tensors + stages).
std::vector<Stage> overfull_stages(const Relaxation& relaxation, const Point& point, size_t most);

}  // namespace pantoum::plan
