// Substitutions of inference, where parameters and stored statistics are fixed: what is computed of them alone is computed now,
// by the portable kernels, and what scales and shifts channels becomes part of the weights before it.
#include <algorithm>

#include "ir/kernel_call.h"
#include "rewrite/edit.h"
#include "rewrite/rule.h"

namespace pantoum::rewrite {
namespace {

using Contents = std::vector<std::byte>;

constexpr ir::Bytes kMostBytes = ir::Bytes{1} << 30;  // of one constant

Contents contents_of(const Value& value) {
  if (value.data) return value.data.copy();
  return Contents(static_cast<size_t>(value.type.bytes()), std::byte{0});
}

// Runs the reference kernel; false: there is none, or it failed.
bool run(const Graph& graph, const Op& op, std::vector<Contents>& inputs, std::vector<Contents>& outputs) {
  const auto dtype = static_cast<uint8_t>(graph.value(op.outputs[0]).type.dtype);
  const pt_kernel* kernel = pt_kernel_find(pt_portable_kernels(), static_cast<uint16_t>(op.kind), dtype, 0, 0);
  if (kernel == nullptr) return false;
  std::vector<pt_tensor> in, out;
  for (size_t input = 0; input < inputs.size(); ++input)
    in.push_back(ir::tensor_at(graph.value(op.inputs[input]).type, inputs[input].data()));
  for (size_t output = 0; output < outputs.size(); ++output)
    out.push_back(ir::tensor_at(graph.value(op.outputs[output]).type, outputs[output].data()));
  return ir::run_kernel(*kernel, op, in, out, {1, 0, 0}) == PT_OK;
}

// Is the value fixed before the program runs?
bool is_fixed(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return value.producer == kNone && value.next == kNone &&
         (value.role == ir::Role::kConstant || value.role == ir::Role::kParameter || value.role == ir::Role::kBuffer);
}

// The op's outputs as constants in its place: their names stay. False, and the graph as it was, where an input is not
// fixed, an output is kept, no portable kernel of that precision computes the op, or the kernel refuses the numbers.
// What has no data is zeros. `producer`s are not renumbered: `ops` keeps its length, the op without operands.
bool fold_op(Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  if (!is_ordinary(op) || op.inputs.empty() || op.outputs.empty()) return false;
  for (const ValueId input : op.inputs)
    if (!is_fixed(graph, input)) return false;
  for (const ValueId output : op.outputs)
    if (graph.value(output).type.bytes() > kMostBytes || is_kept(graph, output)) return false;
  std::vector<Contents> inputs, outputs;
  for (const ValueId input : op.inputs) inputs.push_back(contents_of(graph.value(input)));
  for (const ValueId output : op.outputs)
    outputs.emplace_back(static_cast<size_t>(graph.value(output).type.bytes()), std::byte{0});
  if (op.kind == Kind::k_alias) {
    outputs[0] = std::move(inputs[0]);
  } else if (!run(graph, op, inputs, outputs)) {
    return false;
  }
  for (size_t output = 0; output < outputs.size(); ++output) {
    Value& value = graph.value(op.outputs[output]);
    value.role = ir::Role::kConstant;
    value.producer = kNone;
    value.data = std::make_shared<const Contents>(std::move(outputs[output]));
  }
  graph.ops[position_of(id)].inputs.clear();
  graph.ops[position_of(id)].outputs.clear();
  return true;
}

// All that fold_op can of the ops that make values from `first` on; then the graph without them.
void fold_new_ops(Graph& graph, ValueId first) {
  for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
    const auto& outputs = graph.op(op).outputs;
    const bool is_new =
        !outputs.empty() && std::ranges::all_of(outputs, [first](ValueId value) { return value >= first; });
    if (is_new) static_cast<void>(fold_op(graph, op));
  }
  ir::drop_dead_ops(graph);
}

// The shape in which a vector over the channels broadcasts against the weight.
Shape beside_weight(const Op& product, const Shape& weight, int64_t channels) {
  Shape shape(weight.size(), 1);
  const bool rows = product.kind != Kind::k_matmul || product.attrs.ints[1] != 0;
  shape[rows ? (product.kind == Kind::k_matmul ? weight.size() - 2 : 0) : weight.size() - 1] = channels;
  return shape;
}

// The convolution or product of matrices, with a bias or without, that alone makes what `value` is for one reader, and
// whose weight and bias are fixed; of a product, channels are columns. Null: none.
const Op* fixed_product(const Graph& graph, ValueId value) {
  const Op* op = maker_of(graph, value);
  if (op == nullptr || !is_ordinary(*op)) return nullptr;
  if (op->kind != Kind::k_matmul && op->kind != Kind::k_conv2d && op->kind != Kind::k_conv3d) return nullptr;
  for (size_t input = 1; input < op->inputs.size(); ++input)
    if (!is_fixed(graph, op->inputs[input])) return nullptr;
  return is_read_by_one(graph, value) ? op : nullptr;
}

int64_t channels_of(const Graph& graph, const Op& product) {
  const Shape& shape = graph.value(product.outputs[0]).type.shape;
  return product.kind == Kind::k_matmul ? shape.back() : shape[1];
}

// Vectors over the channels, all of fixed values of the graph in `edit`; kNone: 1, or 0.
struct ChannelAffine {
  ValueId factor = kNone, shift = kNone;
};
// y = factor P(x) + shift as P with other weights: `product` with its weight times the factor and its bias times the factor
// plus the shift. Returns what it makes.
ValueId with_affine(Edit& edit, const Op& product, const ChannelAffine& affine) {
  const std::string& name = product.name;
  std::vector<ValueId> inputs = product.inputs;
  const int64_t channels = channels_of(edit.graph(), product);
  if (affine.factor != kNone) {
    const Shape shape = beside_weight(product, edit.type(inputs[1]).shape, channels);
    const ValueId factor = edit.reshape(name + ".factor", affine.factor, shape);
    inputs[1] = edit.op(Kind::k_mul, name + ".weight", {inputs[1], factor}, {});
    if (inputs.size() == 3) inputs[2] = edit.op(Kind::k_mul, name + ".bias", {inputs[2], affine.factor}, {});
  }
  if (affine.shift != kNone && inputs.size() == 3) {
    inputs[2] = edit.op(Kind::k_add, name + ".shifted", {inputs[2], affine.shift}, {});
  } else if (affine.shift != kNone) {
    inputs.push_back(affine.shift);
  }
  return edit.op(product.kind, name, std::move(inputs), product.attrs);
}

// The fixed operand as a vector over the channels; kNone: it is none.
ValueId as_channels(Edit& edit, const Op& product, ValueId operand, const Shape& image) {
  const Shape shape = edit.type(operand).shape;
  const int64_t channels = channels_of(edit.graph(), product);
  const std::string name = product.name + ".channels";
  if (edit.type(operand).elements() == 1 && shape.size() <= image.size()) {
    const ValueId number = edit.reshape(name, operand, {});
    return edit.op(Kind::k_expand, name, {number}, {{}, {1}}, {{edit.type(operand).dtype, {channels}}});
  }
  const size_t from_end = product.kind == Kind::k_matmul ? 1 : image.size() - 1;
  if (shape.size() < from_end || shape.size() > image.size()) return kNone;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != (d == shape.size() - from_end ? channels : 1)) return kNone;
  return edit.reshape(name, operand, {channels});
}

// The factor or shift of each channel, if the op is a mul, add or sub with a fixed operand.
std::optional<ChannelAffine> affine_of_operand(Edit& edit, const Op& op, const Op& product, size_t fixed) {
  const ValueId operand = op.inputs[fixed];
  if (!is_fixed(edit.graph(), operand)) return std::nullopt;
  const ValueId vector = as_channels(edit, product, operand, edit.type(op.outputs[0]).shape);
  if (vector == kNone) return std::nullopt;
  if (op.kind == Kind::k_mul) return ChannelAffine{vector, kNone};
  if (op.kind == Kind::k_add) return ChannelAffine{kNone, vector};
  return ChannelAffine{kNone, edit.op(Kind::k_neg, op.name + ".shift", {vector}, {})};
}

// a and b of scale, as vectors over the channels.
ChannelAffine affine_of_scale(Edit& edit, const Op& op, const Op& product) {
  const int64_t channels = channels_of(edit.graph(), product);
  const DType dtype = edit.type(op.outputs[0]).dtype;
  const auto vector = [&](const char* what, double number) {
    return edit.constant(op.name + what, {dtype, {channels}}, number);
  };
  const double a = op.attrs.reals[0], b = op.attrs.reals[1];
  return {a == 1 ? kNone : vector(".factor", a), b == 0 ? kNone : vector(".shift", b)};
}

}  // namespace

// Where nothing trains, parameters and statistics are constants, and an op on them is computed now: weights that were joined
// or scaled by another rule are stored as they are used.
//   tolerance  the portable kernels' sums and functions in place of the device's
//   where      any op with a portable kernel of the precision, all of whose inputs are constants, parameters or buffers
//   not        outputs of the graph; draws at random; constants of more than 1 GiB
//   note       what the model's weights are when the rule applies is what it computes with: zeros, where there are none
std::optional<Graph> fold_parameters(const Graph& graph, OpId at) {
  const std::vector<ValueId>& inputs = graph.op(at).inputs;
  if (!std::ranges::all_of(inputs, [&](ValueId input) { return is_fixed(graph, input); })) return std::nullopt;
  Graph folded = graph;
  if (!fold_op(folded, at)) return std::nullopt;
  ir::drop_dead_ops(folded);
  return folded;
}

// Batch norm by stored statistics is y = f x + s for each channel, f = scale / sqrt(var + eps), s = bias - mean f: of a
// convolution or product before it, the weights times f, and the bias times f plus s. The new weights are computed now.
//   tolerance  weights are rounded where the image was; the measure is |f| times the sum of |W| |x|, plus |s|
//   where      the norm alone reads a conv2d, conv3d or product of two dimensions whose weight and bias are fixed, and its own
//              four vectors are fixed
//   not        training, where statistics are of the batch; transposed convolutions, which take no bias; norms before
//              convolutions, whose padding is no number of the norm's
std::optional<Graph> fold_batch_norm(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  if (op.kind != Kind::k_batch_norm_eval || !is_ordinary(op)) return std::nullopt;
  for (size_t input = 1; input < op.inputs.size(); ++input)
    if (!is_fixed(graph, op.inputs[input])) return std::nullopt;
  const Op* product = fixed_product(graph, op.inputs[0]);
  if (product == nullptr) return std::nullopt;
  const size_t rank = graph.value(op.inputs[0]).type.shape.size();
  if (product->kind == Kind::k_matmul && rank != 2) return std::nullopt;
  Edit edit(graph, at);
  const std::string& name = op.name;
  const ValueId variance = edit.scale(name + ".variance", op.inputs[4], 1, op.attrs.reals[0]),
                deviation = edit.op(Kind::k_sqrt, name + ".deviation", {variance}, {}),
                factor = edit.op(Kind::k_div, name + ".factor", {op.inputs[1], deviation}, {}),
                mean = edit.op(Kind::k_mul, name + ".mean", {op.inputs[3], factor}, {}),
                shift = edit.op(Kind::k_sub, name + ".shift", {op.inputs[2], mean}, {});
  edit.replace(op.outputs[0], with_affine(edit, *product, {factor, shift}));
  auto folded = edit.done();
  if (folded) fold_new_ops(*folded, static_cast<ValueId>(graph.values.size()));
  return folded;
}

// What scales and shifts each channel behind a convolution or product of fixed weights becomes part of its weights and bias:
// scale, and mul, add and sub with a fixed number, or one for each channel.
//   tolerance  weights are rounded where the image was
//   where      it alone reads a conv2d, conv3d or product whose weight and bias are fixed, and changes no shape
//   not        numbers that differ within a channel; a fixed number minus the image; training
std::optional<Graph> fold_scale_shift(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  const bool scales = op.kind == Kind::k_scale;
  if (!scales && op.kind != Kind::k_mul && op.kind != Kind::k_add && op.kind != Kind::k_sub) return std::nullopt;
  const TensorType& type = graph.value(op.outputs[0]).type;
  for (size_t side = 0; side < (op.kind == Kind::k_sub ? 1 : op.inputs.size()); ++side) {
    const Op* product = fixed_product(graph, op.inputs[side]);
    if (product == nullptr || graph.value(op.inputs[side]).type != type) continue;
    Edit edit(graph, at);
    const auto affine = scales ? affine_of_scale(edit, op, *product) : affine_of_operand(edit, op, *product, 1 - side);
    if (!affine) continue;
    edit.replace(op.outputs[0], with_affine(edit, *product, *affine));
    auto folded = edit.done();
    if (folded) fold_new_ops(*folded, static_cast<ValueId>(graph.values.size()));
    return folded;
  }
  return std::nullopt;
}

}  // namespace pantoum::rewrite
