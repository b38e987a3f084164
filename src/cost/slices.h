// Ways to compute ops in slices: what a budget needs where not even one op fits whole.
//
// An op that has axes (runtime/slices.h) is offered with its operands whole in RAM or in storage, in every combination that can help, and cut along
// these axes in loops of every useful order and extent. Of all these the generator keeps those that no other beats in bytes of workspace and seconds of
// transfers. It walks the loops of the runtime itself, so that a choice's bytes and transfers are those of a run.
#pragma once

#include <string>

#include "base/result.h"
#include "cost/build_cost_graph.h"
#include "cost/device.h"

namespace pantoum::cost {

struct SliceOptions {
  Bytes budget =
      0;  // operands that are small beside it are never streamed, and of slices that need more the leanest alone are offered
  int threads = 1;  // of the pool on which ops run
};

// Makes the alignment of tensors a multiple of the storage's blocks, which slices are moved in: a microcontroller's is that of its words. Does nothing
// on a device without a pager.
void align_to_blocks(BuiltCostGraph& built);

// Adds choices to the ops of `built`, which was made of `graph`; ops whose kernels are a back end's get none. Does nothing on a device without a pager,
// or where the alignment is no multiple of its blocks (align_to_blocks).
void add_slices(BuiltCostGraph& built, const ir::Graph& graph, const Compute& compute, const SliceOptions& options);

// Adds the choices in slices that the same ops of `given` have, an earlier graph of the step. Leaves out what is no slicing of the op.
void take_slices_of(const CostGraph& given, BuiltCostGraph& built, const ir::Graph& graph, const Compute& compute,
                    int threads);

// The name of a kernel's algorithm in slices, and what such a name says; none: it is no such name.
[[nodiscard]] std::string name_in_slices(const std::string& algorithm, const pt_slicing& slicing);
[[nodiscard]] std::optional<pt_slicing> slicing_of_name(const std::string& name);

}  // namespace pantoum::cost
