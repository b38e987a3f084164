// A convolution pads its image itself: zeros put around it before (slice_grad by steps of 1) become its padding, of conv2d
// and conv3d and of their weights' gradients. A crop of the gradient of an image is the gradient of the cropped image.
//   tolerance  terms of zero are left out; where a weight is infinite they were no number
//   where      steps of 1, zeros around dimensions of space alone; the op's own rule takes the sum of both paddings; a crop
//              alone reads the gradient
//   not        zeros between samples or channels, or between elements; pooling, which averages padding otherwise
#include "rewrite/bilinear.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

// Zeros before and after each dimension of space of `part` within `whole`.
struct Surround {
  std::vector<int64_t> before, after;
};
std::optional<Surround> surround_of(const ir::Shape& part, const ir::Shape& whole, const std::vector<int64_t>& ints) {
  Surround around;
  for (size_t d = 0; d < whole.size(); ++d) {
    const int64_t start = ints[2 * d], step = ints[2 * d + 1];
    if (part[d] > 1 && step != 1) return std::nullopt;
    if (d < 2 && part[d] != whole[d]) return std::nullopt;
    if (d < 2) continue;
    around.before.push_back(start);
    around.after.push_back(whole[d] - start - part[d]);
  }
  return around;
}

ir::Attrs padded(ir::Attrs attrs, const Surround& around) {
  const size_t spatial = around.before.size();
  for (size_t d = 0; d < spatial; ++d) {
    attrs.ints[spatial + d] += around.before[d];
    attrs.ints[2 * spatial + d] += around.after[d];
  }
  return attrs;
}

std::optional<ir::Graph> crop_of_gradient(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const ir::Op* dx = maker_of(graph, op.inputs[0]);
  if (dx == nullptr || (dx->kind != Kind::k_conv2d_dx && dx->kind != Kind::k_conv3d_dx)) return std::nullopt;
  const ir::TensorType part = graph.value(op.outputs[0]).type;
  const auto around = surround_of(part.shape, graph.value(op.inputs[0]).type.shape, op.attrs.ints);
  if (!around || !is_ordinary(*dx) || !is_read_by_one(graph, op.inputs[0])) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], edit.op(dx->kind, dx->name, dx->inputs, padded(dx->attrs, *around), {part}));
  return edit.done();
}

std::optional<ir::Graph> fold_pads(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind == Kind::k_slice && is_ordinary(op)) return crop_of_gradient(graph, at);
  const bool reads_image = is_convolution(op) || op.kind == Kind::k_conv2d_dw || op.kind == Kind::k_conv3d_dw;
  if (!reads_image || !is_ordinary(op)) return std::nullopt;
  const ir::Op* zeros = maker_of(graph, op.inputs[0], Kind::k_slice_grad);
  if (zeros == nullptr) return std::nullopt;
  const auto around =
      surround_of(graph.value(zeros->inputs[0]).type.shape, graph.value(op.inputs[0]).type.shape, zeros->attrs.ints);
  if (!around) return std::nullopt;
  Edit edit(graph, at);
  std::vector<ir::ValueId> inputs = op.inputs;
  inputs[0] = zeros->inputs[0];
  const ir::TensorType type = edit.type(op.outputs[0]);
  edit.replace(op.outputs[0], edit.op(op.kind, op.name, std::move(inputs), padded(op.attrs, *around), {type}));
  return edit.done();
}

}  // namespace

const Rule kFoldPads{
    "fold-pads", "zeros around an image become the padding of its convolution", Preserves::kValues, 1e-6, false,
    fold_pads};

}  // namespace pantoum::rewrite
