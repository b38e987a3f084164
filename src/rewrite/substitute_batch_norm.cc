// Batch norm by stored statistics is y = f x + s for each channel, f = scale / sqrt(var + eps), s = bias - mean f: of a
// convolution or product before it, the weights times f, and the bias times f plus s. The new weights are computed now.
//   tolerance  weights are rounded where the image was; the measure is |f| times the sum of |W| |x|, plus |s|
//   where      the norm alone reads a conv2d, conv3d or product of two dimensions whose weight and bias are fixed, and its own
//              four vectors are fixed
//   not        training, where statistics are of the batch; transposed convolutions, which take no bias; norms before
//              convolutions, whose padding is no number of the norm's
#include "rewrite/fold.h"
#include "rewrite/fold_affine.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> fold_batch_norm(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_batch_norm_eval || !is_ordinary(op)) return std::nullopt;
  for (size_t input = 1; input < op.inputs.size(); ++input)
    if (!is_constant(graph, op.inputs[input], true)) return std::nullopt;
  const ir::Op* product = fixed_product(graph, op.inputs[0]);
  if (product == nullptr) return std::nullopt;
  const size_t rank = graph.value(op.inputs[0]).type.shape.size();
  if (product->kind == Kind::k_matmul && rank != 2) return std::nullopt;
  Edit edit(graph, at);
  const std::string& name = op.name;
  const ir::ValueId variance = edit.scale(name + ".variance", op.inputs[4], 1, op.attrs.reals[0]),
                    deviation = edit.op(Kind::k_sqrt, name + ".deviation", {variance}, {}),
                    factor = edit.op(Kind::k_div, name + ".factor", {op.inputs[1], deviation}, {}),
                    mean = edit.op(Kind::k_mul, name + ".mean", {op.inputs[3], factor}, {}),
                    shift = edit.op(Kind::k_sub, name + ".shift", {op.inputs[2], mean}, {});
  edit.replace(op.outputs[0], with_affine(edit, *product, {factor, shift}));
  auto folded = edit.done();
  if (folded) fold_new_ops(*folded, static_cast<ir::ValueId>(graph.values.size()), true);
  return folded;
}

}  // namespace

const Rule kFoldBatchNorm{"fold-batch-norm",
                          "batch norm by stored statistics becomes part of the weights before it",
                          Preserves::kValues,
                          1e-5,
                          true,
                          fold_batch_norm};

}  // namespace pantoum::rewrite
