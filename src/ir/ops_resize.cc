// resize: images of another size, by the nearest element or linearly. It reads nothing of the forward pass backwards.
#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

Result<void> check_resize(const TensorType& x, const TensorType& y, const Attrs& attrs) {
  PANTOUM_TRY(want_rank(x, 4, "the image"));
  PANTOUM_TRY(want_rank(y, 4, "the resized image"));
  if (x.shape[0] != y.shape[0] || x.shape[1] != y.shape[1]) return refuse("samples and channels must stay as they are");
  const auto known = [](int64_t value, int64_t count) { return value >= 0 && value < count; };
  const std::vector<int64_t>& ints = attrs.ints;
  if (!known(ints[PT_RESIZE_LINEAR], 2) || !known(ints[PT_RESIZE_COORDINATES], PT_RESIZE_COORDINATE_COUNT) ||
      !known(ints[PT_RESIZE_ROUNDING], PT_RESIZE_ROUNDING_COUNT)) {
    return refuse("its mode, coordinates or rounding is unknown");
  }
  for (const double scale : attrs.reals) {
    if (!(scale > 1e-9 && scale < 1e9)) return refuse(fmt::format("the scale {} is out of range", scale));
  }
  return {};
}

Types resize_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  PANTOUM_TRY(check_resize(types.inputs[0], types.outputs[0], types.attrs));
  return std::vector<TensorType>{{dtype, types.outputs[0].shape}};
}

Types resize_grad_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  PANTOUM_TRY(check_resize(types.outputs[0], types.inputs[0], types.attrs));
  return std::vector<TensorType>{{dtype, types.outputs[0].shape}};
}

void resize_gradient(Backward& back) {
  const TensorType type = back.builder.type(back.op.inputs[0]);
  back.d_inputs[0] =
      back.builder.op(Kind::k_resize_grad, back.op.name + ".dx", {back.d_outputs[0]}, back.op.attrs, {type});
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> resize_ops() {
  const Signature one{.ints = PT_RESIZE_ATTRS, .reals = 2};
  return {{.kind = Kind::k_resize,
           .signature = one,
           .infer = resize_rule,
           .gradient = resize_gradient,
           .cost = flops_per_output<7>,
           .traits = rows_by(RowWise::kFirstInput)},
          {.kind = Kind::k_resize_grad,
           .signature = one,
           .infer = resize_grad_rule,
           .gradient = kNoGradient,
           .cost = flops_per_input<8>,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
