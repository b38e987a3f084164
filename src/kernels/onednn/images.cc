// Pooling and reorders on images in blocks of channels.
#include <optional>

#include "kernels/onednn/kernels.h"

namespace pantoum::onednn {
namespace {

// The arrangement of a call's operands, inputs first.
bool arrange(const Asked& asked, pt_arranged* arranged) {
  const pt_call& call = asked.call;
  pt_tensor operands[PT_MAX_OPERANDS];
  for (int input = 0; input < call.input_count; ++input) operands[input] = call.inputs[input];
  for (int output = 0; output < call.output_count; ++output) operands[call.input_count + output] = call.outputs[output];
  return pt_arrange(asked.op, operands, call.input_count, call.output_count, call.ints, arranged) != 0;
}

Desc desc_of(const pt_arranged& of) {
  return image(of.plain, of.layout, of.block);
}

PoolShape pool_shape(const Desc& x, const Desc& y, const int64_t* ints, dnnl::algorithm algorithm) {
  return {.x = x,
          .y = y,
          .kernel = {ints[PT_POOL_KERNEL_H], ints[PT_POOL_KERNEL_W]},
          .strides = {ints[PT_POOL_STRIDE_H], ints[PT_POOL_STRIDE_W]},
          .dilations = {ints[PT_POOL_DILATION_H] - 1, ints[PT_POOL_DILATION_W] - 1},
          .before = {ints[PT_POOL_PAD_TOP], ints[PT_POOL_PAD_LEFT]},
          .after = {ints[PT_POOL_PAD_BOTTOM], ints[PT_POOL_PAD_RIGHT]},
          .algorithm = algorithm};
}

PoolShape pool_shape(const pt_arranged& x, const pt_arranged& y, const int64_t* ints, dnnl::algorithm algorithm) {
  return pool_shape(desc_of(x), desc_of(y), ints, algorithm);
}

// An average that includes padding counts only the padding that the model declares. oneDNN cannot do this for windows that ceil_mode extends beyond it.
bool ends_inside(const PoolShape& shape) {
  for (size_t dim = 0; dim < 2; ++dim) {
    const auto last =
        (extents(shape.y)[2 + dim] - 1) * shape.strides[dim] + (shape.kernel[dim] - 1) * (shape.dilations[dim] + 1) + 1;
    if (last > extents(shape.x)[2 + dim] + shape.before[dim] + shape.after[dim]) return false;
  }
  return true;
}

dnnl::algorithm average(const pt_call& call) {
  return call.ints[PT_POOL_COUNT_INCLUDE_PAD] != 0 ? dnnl::algorithm::pooling_avg_include_padding
                                                   : dnnl::algorithm::pooling_avg_exclude_padding;
}

}  // namespace

bool make_reorder(const Asked& asked, Prepared& prepared) {
  const pt_call& call = asked.call;
  pt_arranged arranged[2];
  if (!arrange(asked, arranged)) return false;
  const auto desc = [](const pt_arranged& of, bool is_image) {
    return is_image ? image(of.plain, of.layout, of.block) : weight(of.plain, 1, of.layout, of.block);
  };
  const bool is_image = call.ints[0] == PT_LAYOUT_NCHWC || call.ints[1] == PT_LAYOUT_NCHWC;
  const Desc from = desc(arranged[0], is_image), to = desc(arranged[1], is_image);
  prepared.add(reorder(from, to), {{DNNL_ARG_FROM, from, {0}}, {DNNL_ARG_TO, to, {1}}});
  return true;
}

bool make_pool(const Asked& asked, Prepared& prepared) {
  pt_arranged arranged[2];
  if (!arrange(asked, arranged)) return false;
  const bool averages = asked.op == PT_OP_avg_pool_nchwc;
  const dnnl::algorithm algorithm = averages ? average(asked.call) : dnnl::algorithm::pooling_max;
  const PoolShape shape = pool_shape(arranged[0], arranged[1], asked.call.ints, algorithm);
  if (averages && !ends_inside(shape)) return false;
  prepared.add(pool(shape, false), {{DNNL_ARG_SRC, shape.x, {0}}, {DNNL_ARG_DST, shape.y, {1}}});
  return true;
}

// oneDNN's backward primitive reads what its forward primitive records. The forward primitive therefore runs again and records it in the workspace.
bool make_max_pool_grad(const Asked& asked, Prepared& prepared) {
  const pt_call& call = asked.call;
  pt_arranged arranged[3];
  if (!arrange(asked, arranged)) return false;
  const PoolShape shape = pool_shape(arranged[1], arranged[0], call.ints, dnnl::algorithm::pooling_max);
  const PrimitiveHandle forward = pool(shape, true);
  const Place y{Place::kWorkspace, prepared.reserve(shape.y)},
      noted{Place::kWorkspace, prepared.reserve(forward.workspace)};
  prepared.add(
      forward,
      {{DNNL_ARG_SRC, shape.x, {1}}, {DNNL_ARG_DST, shape.y, y}, {DNNL_ARG_WORKSPACE, forward.workspace, noted}});
  prepared.add(pool_grad(shape), {{DNNL_ARG_DIFF_DST, shape.y, {0}},
                                  {DNNL_ARG_WORKSPACE, forward.workspace, noted},
                                  {DNNL_ARG_DIFF_SRC, shape.x, {2}}});
  return true;
}

namespace {

// An image in blocks of channels. Channels of padding count as channels, since pooling never mixes channels.
std::optional<Desc> whole_blocks(const pt_tensor& tensor) {
  if (tensor.rank != 5 || (tensor.dims[4] != 8 && tensor.dims[4] != 16)) return std::nullopt;
  pt_tensor logical = tensor;
  logical.rank = 4;
  logical.dims[1] = tensor.dims[1] * tensor.dims[4];
  return image(logical, PT_LAYOUT_NCHWC, tensor.dims[4]);
}

std::optional<PoolShape> taps_shape(const pt_call& call, const pt_tensor& x, const pt_tensor& y) {
  const std::optional<Desc> from = whole_blocks(x), to = whole_blocks(y);
  if (!from || !to) return std::nullopt;
  return pool_shape(*from, *to, call.ints, dnnl::algorithm::pooling_max);
}

}  // namespace

// oneDNN's forward primitive records the tap of each output for its backward primitive: a tensor with a byte for each output.
bool make_max_pool_taps(const Asked& asked, Prepared& prepared) {
  const pt_call& call = asked.call;
  const pt_tensor& y = call.outputs[0];
  const std::optional<PoolShape> shape = taps_shape(call, call.inputs[0], y);
  if (!shape) return false;
  const PrimitiveHandle forward = pool(*shape, true);
  if (forward.workspace.get_size() != pt_elements(&y)) return false;
  const Place values{Place::kWorkspace, prepared.reserve(shape->y)};
  prepared.add(
      forward,
      {{DNNL_ARG_SRC, shape->x, {0}}, {DNNL_ARG_DST, shape->y, values}, {DNNL_ARG_WORKSPACE, forward.workspace, {1}}});
  return true;
}

bool make_max_pool_grad_taps(const Asked& asked, Prepared& prepared) {
  const pt_call& call = asked.call;
  const std::optional<PoolShape> shape = taps_shape(call, call.outputs[0], call.inputs[0]);
  if (!shape) return false;
  const PrimitiveHandle forward = pool(*shape, true);
  if (forward.workspace.get_size() != pt_elements(&call.inputs[1])) return false;
  prepared.add(pool_grad(*shape), {{DNNL_ARG_DIFF_DST, shape->y, {0}},
                                   {DNNL_ARG_WORKSPACE, forward.workspace, {1}},
                                   {DNNL_ARG_DIFF_SRC, shape->x, {2}}});
  return true;
}

bool make_avg_pool_grad(const Asked& asked, Prepared& prepared) {
  const pt_call& call = asked.call;
  pt_arranged arranged[2];
  if (!arrange(asked, arranged)) return false;
  const PoolShape shape = pool_shape(arranged[1], arranged[0], call.ints, average(call));
  if (!ends_inside(shape)) return false;
  prepared.add(pool_grad(shape), {{DNNL_ARG_DIFF_DST, shape.y, {0}}, {DNNL_ARG_DIFF_SRC, shape.x, {1}}});
  return true;
}

}  // namespace pantoum::onednn
