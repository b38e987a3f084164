// A kernel with zeros around it, and as much more padding, makes the same convolution: so that it may be merged with a larger
// one of the same image (MetaFlow).
//   tolerance  terms of zero are added; where the image is infinite they are no number
//   where      a fixed weight, one group, and another convolution of the image with the same strides and dilation, whose
//              kernel and padding are larger by the same
//   not        kernels that are larger in one dimension and smaller in another; training, whose gradient would have to be cut
#include "rewrite/bilinear.h"
#include "rewrite/fold.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

// The place of `small`'s kernel in `large`'s; nothing where they do not make the same positions.
std::optional<ir::Attrs> place_of_kernel(const ir::Graph& graph, const ir::Op& small, const ir::Op& large) {
  const ir::Shape &from = graph.value(small.inputs[1]).type.shape, &to = graph.value(large.inputs[1]).type.shape;
  const size_t spatial = from.size() - 2;
  ir::Attrs place{{0, 1, 0, 1}, {}};
  bool grows = false;
  for (size_t d = 0; d < spatial; ++d) {
    const auto attr = [&](const ir::Op& op, size_t which) { return op.attrs.ints[which * spatial + d]; };
    const int64_t before = attr(large, 1) - attr(small, 1), after = attr(large, 2) - attr(small, 2);
    const int64_t dilation = attr(small, 3), more = to[2 + d] - from[2 + d];
    const bool same = attr(small, 0) == attr(large, 0) && dilation == attr(large, 3);
    if (!same || more < 0 || before < 0 || after < 0 || before % dilation != 0 || before + after != more * dilation)
      return std::nullopt;
    place.ints.insert(place.ints.end(), {before / dilation, 1});
    grows = grows || more > 0;
  }
  if (!grows) return std::nullopt;
  return place;
}

std::optional<ir::Graph> enlarge_kernel(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (!is_convolution(op) || !is_bilinear(op) || !is_constant(graph, op.inputs[1], true)) return std::nullopt;
  for (const ir::Op& other : graph.ops) {
    if (other.kind != op.kind || other.inputs[0] != op.inputs[0] || !is_bilinear(other)) continue;
    const auto place = place_of_kernel(graph, op, other);
    if (!place) continue;
    Edit edit(graph, at);
    ir::TensorType type = edit.type(other.inputs[1]);
    type.shape[0] = edit.type(op.inputs[1]).shape[0];
    std::vector<ir::ValueId> inputs = op.inputs;
    inputs[1] = edit.op(Kind::k_slice_grad, op.name + ".weight", {inputs[1]}, *place, {type});
    edit.replace(op.outputs[0], edit.op(op.kind, op.name, std::move(inputs), other.attrs));
    auto enlarged = edit.done();
    if (enlarged) fold_new_ops(*enlarged, static_cast<ir::ValueId>(graph.values.size()), true);
    return enlarged;
  }
  return std::nullopt;
}

}  // namespace

const Rule kEnlargeKernel{"enlarge-kernel",
                          "a kernel grows by zeros to that of another convolution of the image",
                          Preserves::kValues,
                          1e-6,
                          true,
                          enlarge_kernel};

}  // namespace pantoum::rewrite
