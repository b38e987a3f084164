// Convolutions and their gradients, on images in blocks of channels, on plain ones and on plain volumes, and the layouts that they want.
#include <array>
#include <optional>
#include <vector>

#include "kernels/onednn/kernels.h"

namespace pantoum::onednn {
namespace {

// Which operand is which.
struct Roles {
  int x, w, y;
};
constexpr Roles kForward{0, 1, -1}, kData{-1, 1, 0}, kWeights{0, -1, 1};

struct Arranged {
  pt_arranged x{}, w{}, y{};
  int x_at = 0, w_at = 0, y_at = 0;
};

// On plain images oneDNN's convolutions are products of copied patches; with few channels the portable kernels, which
// copy nothing, take .2 to .8 of their time (one core with AVX-512, images of 14 x 14 and 28 x 28, batch 32).
bool is_slow_on_plain(const Asked& asked) {
  const pt_tensor& w = asked.op == PT_OP_conv2d_dw ? asked.call.outputs[0] : asked.call.inputs[1];
  const uint32_t outputs = w.dims[0], inputs = w.dims[1], rows = w.dims[2], columns = w.dims[3];
  if (rows * columns == 1) return false;
  switch (asked.op) {
    case PT_OP_conv2d_dx:
      return outputs <= 64;
    case PT_OP_conv2d_dw:
      return outputs <= 16;
    case PT_OP_conv2d:
    case PT_OP_conv2d_act:
      return outputs <= 16 && (inputs >= 8 || rows * columns > 9);
    default:
      return false;
  }
}

// -1 stands for the first output. Plain convolutions lie as they are; false for those that oneDNN is slow at, too.
bool arrange(const Asked& asked, const Roles& roles, Arranged& arranged) {
  const uint16_t op = asked.op;
  const pt_call& call = asked.call;
  if (is_slow_on_plain(asked)) return false;
  pt_tensor operands[PT_MAX_OPERANDS];
  pt_arranged all[PT_MAX_OPERANDS];
  for (int input = 0; input < call.input_count; ++input) operands[input] = call.inputs[input];
  operands[call.input_count] = call.outputs[0];
  if (pt_plain_op(op) == op) {
    for (int operand = 0; operand <= call.input_count; ++operand)
      all[operand] = {operands[operand], PT_LAYOUT_PLAIN, 1};
  } else if (pt_arrange(op, operands, call.input_count, 1, call.ints, all) == 0) {
    return false;
  }
  const auto at = [&](int role) { return role < 0 ? static_cast<int>(call.input_count) : role; };
  arranged = {all[at(roles.x)], all[at(roles.w)], all[at(roles.y)], at(roles.x), at(roles.w), at(roles.y)};
  return true;
}

Desc desc_of(const pt_arranged& of) {
  return of.plain.rank == 5 ? row_major(dims_of(of.plain)) : image(of.plain, of.layout, of.block);
}

// Groups are a dimension of their own.
Desc volume_weight(const pt_tensor& w, int64_t groups) {
  Dims dims = dims_of(w);
  if (groups == 1) return row_major(dims);
  dims[0] /= groups;
  dims.insert(dims.begin(), groups);
  return row_major(dims);
}

ConvShape shape_of(const Desc& x, const Desc& w, const Desc& y, const int64_t* ints) {
  return {.x = x,
          .w = w,
          .y = y,
          .strides = {ints[PT_CONV_STRIDE_H], ints[PT_CONV_STRIDE_W]},
          .dilations = {ints[PT_CONV_DILATION_H] - 1, ints[PT_CONV_DILATION_W] - 1},
          .before = {ints[PT_CONV_PAD_TOP], ints[PT_CONV_PAD_LEFT]},
          .after = {ints[PT_CONV_PAD_BOTTOM], ints[PT_CONV_PAD_RIGHT]}};
}

ConvShape volume_shape(const Desc& x, const Desc& w, const Desc& y, const int64_t* ints) {
  const auto three = [ints](int first, int64_t less) {
    return Dims{ints[first] - less, ints[first + 1] - less, ints[first + 2] - less};
  };
  return {.x = x,
          .w = w,
          .y = y,
          .strides = three(PT_CONV3D_STRIDE_D, 0),
          .dilations = three(PT_CONV3D_DILATION_D, 1),
          .before = three(PT_CONV3D_PAD_FRONT, 0),
          .after = three(PT_CONV3D_PAD_BACK, 0)};
}

ConvShape shape_of(const Arranged& arranged, const int64_t* ints) {
  if (arranged.x.plain.rank == 5)
    return volume_shape(desc_of(arranged.x), volume_weight(arranged.w.plain, ints[PT_CONV3D_GROUPS]),
                        desc_of(arranged.y), ints);
  const Desc w = weight(arranged.w.plain, ints[PT_CONV_GROUPS], arranged.w.layout, arranged.w.block);
  return shape_of(desc_of(arranged.x), w, desc_of(arranged.y), ints);
}

std::vector<Argument> forward_arguments(const ConvShape& shape, const Desc& bias, const Arranged& arranged) {
  std::vector<Argument> arguments = {{DNNL_ARG_SRC, shape.x, {arranged.x_at}},
                                     {DNNL_ARG_WEIGHTS, shape.w, {arranged.w_at}},
                                     {DNNL_ARG_DST, shape.y, {arranged.y_at}}};
  if (bias != none()) arguments.push_back({DNNL_ARG_BIAS, bias, {2}});
  return arguments;
}

ConvAlgorithm algorithm_of(const Asked& asked) {
  return asked.algorithm == kWinograd ? ConvAlgorithm::kWinograd : ConvAlgorithm::kDirect;
}

using MakeGradient = PrimitiveHandle (*)(const ConvShape& shape, ConvAlgorithm algorithm, int later);

// `names`: the primitive's arguments for x, w and y.
bool make_gradient(const Asked& asked, Prepared& prepared, const Roles& roles, MakeGradient make,
                   const std::array<int, 3>& names) {
  Arranged arranged;
  if (!arrange(asked, roles, arranged)) return false;
  const ConvShape shape = shape_of(arranged, asked.call.ints);
  const PrimitiveHandle made = make(shape, algorithm_of(asked), prepared.later());
  if (made.is_reference) return false;
  prepared.add(made, {{names[0], shape.x, {arranged.x_at}},
                      {names[1], shape.w, {arranged.w_at}},
                      {names[2], shape.y, {arranged.y_at}}});
  return true;
}

PrimitiveHandle with_any_weight(uint16_t op, const ConvShape& shape) {
  switch (op) {
    case PT_OP_conv2d_dx_nchwc:
      return convolution_data(shape, ConvAlgorithm::kDirect, 0);
    case PT_OP_conv2d_dw_nchwc:
      return convolution_weights(shape, ConvAlgorithm::kDirect, 0);
    default:
      return convolution(shape, none(), ConvAlgorithm::kDirect, 0);
  }
}

}  // namespace

bool make_convolution(const Asked& asked, Prepared& prepared) {
  Arranged arranged;
  if (!arrange(asked, kForward, arranged)) return false;
  const ConvShape shape = shape_of(arranged, asked.call.ints);
  const Desc bias = asked.call.input_count > 2 ? row_major(dims_of(asked.call.inputs[2])) : none();
  const PrimitiveHandle made = convolution(shape, bias, algorithm_of(asked), prepared.later());
  if (made.is_reference) return false;
  prepared.add(made, forward_arguments(shape, bias, arranged));
  return true;
}

bool make_convolution_act(const Asked& asked, Prepared& prepared) {
  Arranged arranged;
  const std::optional<Epilogue> epilogue = epilogue_of(asked.call);
  if (!epilogue || !arrange(asked, kForward, arranged)) return false;
  const ConvShape shape = shape_of(arranged, asked.call.ints);
  const Desc bias = epilogue->inputs > 2 ? row_major(dims_of(asked.call.inputs[2])) : none();
  const PrimitiveHandle plain = convolution(shape, bias, algorithm_of(asked), prepared.later());
  if (plain.is_reference) return false;
  const auto finishing = [&](const FinishedBy& finish) {
    return convolution(shape, bias, algorithm_of(asked), finish, plain.implementation);
  };
  add_finished(*epilogue, plain, shape.y, forward_arguments(shape, bias, arranged), finishing, prepared);
  return true;
}

bool make_convolution_data(const Asked& asked, Prepared& prepared) {
  return make_gradient(asked, prepared, kData, convolution_data,
                       {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST});
}

bool make_convolution_weights(const Asked& asked, Prepared& prepared) {
  return make_gradient(asked, prepared, kWeights, convolution_weights,
                       {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST});
}

int weight_layout(uint16_t op, const pt_tensor* x, const pt_tensor* y, const uint32_t w[4], const int64_t* ints) {
  const uint32_t block = y->dims[4];
  const auto logical = [&](const pt_tensor& of, int64_t channels) {
    pt_tensor plain = of;
    plain.rank = 4;
    plain.dims[1] = static_cast<uint32_t>(channels);
    return image(plain, of.rank == 5 ? PT_LAYOUT_NCHWC : PT_LAYOUT_PLAIN, block);
  };
  const int64_t groups = ints[PT_CONV_GROUPS];
  try {
    const Desc x_desc = logical(*x, ints[PT_CONV_NCHWC_CHANNELS]), y_desc = logical(*y, ints[PT_CONV_NCHWC_OUTPUTS]);
    const PrimitiveHandle made = with_any_weight(op, shape_of(x_desc, any_weight(w, groups), y_desc, ints));
    if (made.is_reference) return PT_LAYOUT_PLAIN;
    pt_tensor plain{};
    plain.rank = 4;
    for (int dim = 0; dim < 4; ++dim) plain.dims[dim] = w[dim];
    for (int layout = PT_LAYOUT_OIHW_IO; layout < PT_LAYOUT_COUNT; ++layout)
      if (weight(plain, groups, static_cast<pt_layout>(layout), block) == made.weights) return layout;
  } catch (const dnnl::error&) {  // no implementation
  }
  return PT_LAYOUT_PLAIN;
}

}  // namespace pantoum::onednn
