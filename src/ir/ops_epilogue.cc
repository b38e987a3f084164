// A product with what follows it: what is added to its result, element for element, and an activation.
#include <fmt/format.h>

#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

// The product's own operands and integers come first; the integers of what follows are the last, and R is the last input.
struct Parts {
  int64_t activation, residual;
  std::span<const TensorType> own;
  Attrs product;
};

Parts parts_of(const OpTypes& types) {
  const auto& ints = types.attrs.ints;
  const size_t product = ints.size() - PT_EPILOGUE_ATTRS;
  const int64_t residual = ints[product + PT_EPILOGUE_RESIDUAL];
  const size_t own = types.inputs.size() - (residual != PT_RESIDUAL_NONE ? 1 : 0);
  return {ints[product + PT_EPILOGUE_ACTIVATION],
          residual,
          types.inputs.first(own),
          {{ints.begin(), ints.begin() + static_cast<std::ptrdiff_t>(product)}, {}}};
}

template <Kind kProduct>
Types act_rule(const OpTypes& types) {
  const Parts parts = parts_of(types);
  const int64_t activation = parts.activation;
  if (activation != 0 && !is_epilogue(static_cast<Kind>(activation))) return refuse("it knows no such activation");
  if (parts.residual < 0 || parts.residual >= PT_RESIDUAL_COUNT)
    return refuse(fmt::format("it knows no residual {}", parts.residual));
  const size_t own = parts.own.size();
  if (own < 2 || own > 3) return refuse("it has two factors, perhaps a bias, and what its attributes add");
  PANTOUM_ASSIGN(std::vector<TensorType> made, infer_types(kProduct, {parts.own, types.outputs, parts.product}));
  if (own < types.inputs.size()) {
    PANTOUM_TRY(float_dtype(types.inputs));
    PANTOUM_TRY(want_shape(types.inputs[own], made[0].shape, "what is added to the result"));
  }
  return made;
}

template <Kind kProduct>
OpCost act_cost(const OpTypes& types) {
  const Parts parts = parts_of(types);
  double flops = op_def(kProduct).cost({parts.own, types.outputs, parts.product}).flops;
  if (parts.residual != PT_RESIDUAL_NONE) flops += static_cast<double>(types.outputs[0].elements());
  if (parts.activation != 0) {
    const Attrs own{{0}, types.attrs.reals};
    flops += op_def(static_cast<Kind>(parts.activation)).cost({types.outputs, types.outputs, own}).flops;
  }
  return operand_bytes(types, flops);
}

template <Kind kProduct, int kProductInts>
OpDef definition(Kind kind) {
  return {.kind = kind,
          .signature = {.min_inputs = 2,
                        .max_inputs = 4,
                        .ints = kProductInts + int{PT_EPILOGUE_ATTRS},
                        .reals = PT_EPILOGUE_REALS},
          .infer = act_rule<kProduct>,
          .gradient = kNoGradient,
          .cost = act_cost<kProduct>,
          .in_place = over_residual,
          .traits = kNoTraits};
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> epilogue_ops() {
  return {definition<Kind::k_matmul, PT_MATMUL_ATTRS>(Kind::k_matmul_act),
          definition<Kind::k_conv2d, PT_CONV_ATTRS>(Kind::k_conv2d_act)};
}

}  // namespace pantoum::ir
