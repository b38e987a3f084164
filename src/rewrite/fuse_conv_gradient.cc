#include <algorithm>
#include <utility>

#include "rewrite/edit.h"
#include "rewrite/passes.h"

namespace pantoum::rewrite {
namespace {

constexpr size_t kReals = 3;  // of conv2d_dz

bool is_gradient(const Op& op) {
  return ir::op_def(op.kind).traits.through_convolution && op.alternatives.empty();
}

// The conv2d_dx that this gradient alone reads; kNone where there is none, or what else the gradient reads comes later,
// or is what the convolution reads: it must not be overwritten meanwhile.
OpId convolution_before(const Graph& graph, OpId gradient, const Readers& readers) {
  const ValueId dx = graph.op(gradient).inputs[0], r = graph.op(gradient).inputs[1];
  const OpId made = graph.value(dx).producer;
  if (made == kNone || graph.op(made).kind != Kind::k_conv2d_dx || graph.value(r).producer >= made) return kNone;
  for (const ValueId read : graph.op(made).inputs)
    if (ir::root_of(graph, read) == ir::root_of(graph, r)) return kNone;
  return readers.only(dx) == gradient ? made : kNone;
}

// The convolution's place becomes the fused op's: whatever overwrites the weight stands behind it. The gradient's place
// gets the convolution, which nobody reads any more.
void fuse(Graph& graph, OpId convolution, OpId gradient) {
  Op &dx = graph.ops[position_of(convolution)], &dz = graph.ops[position_of(gradient)];
  std::vector<int64_t> ints = dx.attrs.ints;
  ints.push_back(static_cast<int64_t>(dz.kind));
  ints.push_back(dz.attrs.ints.empty() ? 0 : dz.attrs.ints[0]);
  dz.kind = Kind::k_conv2d_dz;
  dz.inputs = {dx.inputs[0], dx.inputs[1], dz.inputs[1]};
  dz.attrs.ints = std::move(ints);
  dz.attrs.reals.resize(kReals);
  graph.value(dz.outputs[0]).producer = convolution;
  graph.value(dx.outputs[0]).producer = gradient;
  std::swap(dx, dz);
}

}  // namespace

Graph fuse_conv_gradient(Graph graph) {
  const Readers readers(graph);
  for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
    if (!is_gradient(graph.op(op))) continue;
    const OpId convolution = convolution_before(graph, op, readers);
    if (convolution != kNone) fuse(graph, convolution, op);
  }
  ir::drop_dead_ops(graph);
  return graph;
}

}  // namespace pantoum::rewrite
