// Convolutions of volumes and their gradients, on plain tensors.
#include "kernels/onednn/kernels.h"

namespace pantoum::onednn {
namespace {

Desc plain(const pt_tensor& tensor) {
  return row_major(Dims(tensor.dims, tensor.dims + tensor.rank));
}

// Groups are a dimension of their own.
Desc plain_weight(const pt_tensor& w, int64_t groups) {
  Dims dims(w.dims, w.dims + w.rank);
  if (groups == 1) return row_major(dims);
  dims[0] /= groups;
  dims.insert(dims.begin(), groups);
  return row_major(dims);
}

ConvShape shape_of(const pt_tensor& x, const pt_tensor& w, const pt_tensor& y, const int64_t* ints) {
  const auto three = [ints](int first, int64_t less) {
    return Dims{ints[first] - less, ints[first + 1] - less, ints[first + 2] - less};
  };
  return {.x = plain(x),
          .w = plain_weight(w, ints[PT_CONV3D_GROUPS]),
          .y = plain(y),
          .strides = three(PT_CONV3D_STRIDE_D, 0),
          .dilations = three(PT_CONV3D_DILATION_D, 1),
          .before = three(PT_CONV3D_PAD_FRONT, 0),
          .after = three(PT_CONV3D_PAD_BACK, 0)};
}

}  // namespace

bool make_volume_convolution(const pt_call& call, Prepared& prepared) {
  const ConvShape shape = shape_of(call.inputs[0], call.inputs[1], call.outputs[0], call.ints);
  const Desc bias = call.input_count > 2 ? plain(call.inputs[2]) : none();
  const PrimitiveHandle made = convolution(shape, bias, ConvAlgorithm::kDirect, prepared.later());
  if (made.is_reference) return false;
  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC, shape.x, {0}}, {DNNL_ARG_WEIGHTS, shape.w, {1}}, {DNNL_ARG_DST, shape.y, {call.input_count}}};
  if (call.input_count > 2) arguments.push_back({DNNL_ARG_BIAS, bias, {2}});
  prepared.add(made, std::move(arguments));
  return true;
}

bool make_volume_convolution_data(const pt_call& call, Prepared& prepared) {
  const ConvShape shape = shape_of(call.outputs[0], call.inputs[1], call.inputs[0], call.ints);
  const PrimitiveHandle made = convolution_data(shape, ConvAlgorithm::kDirect, prepared.later());
  if (made.is_reference) return false;
  prepared.add(
      made, {{DNNL_ARG_DIFF_SRC, shape.x, {2}}, {DNNL_ARG_WEIGHTS, shape.w, {1}}, {DNNL_ARG_DIFF_DST, shape.y, {0}}});
  return true;
}

bool make_volume_convolution_weights(const pt_call& call, Prepared& prepared) {
  const ConvShape shape = shape_of(call.inputs[0], call.outputs[0], call.inputs[1], call.ints);
  const PrimitiveHandle made = convolution_weights(shape, ConvAlgorithm::kDirect, prepared.later());
  if (made.is_reference) return false;
  prepared.add(
      made, {{DNNL_ARG_SRC, shape.x, {0}}, {DNNL_ARG_DIFF_WEIGHTS, shape.w, {2}}, {DNNL_ARG_DIFF_DST, shape.y, {1}}});
  return true;
}

}  // namespace pantoum::onednn
