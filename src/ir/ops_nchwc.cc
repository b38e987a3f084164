// Ops whose operands lie in blocks of channels (kernels/portable/layout.h): each means an op on plain tensors.
#include "ir/op_families.h"
#include "ir/shape_rules.h"
#include "kernels/portable/layout.h"

namespace pantoum::ir {
namespace {

pt_tensor tensor_of(const TensorType& type) {
  pt_tensor tensor{};
  tensor.rank = static_cast<uint8_t>(type.shape.size());
  tensor.dtype = static_cast<uint8_t>(type.dtype);
  for (size_t dim = 0; dim < type.shape.size(); ++dim) tensor.dims[dim] = static_cast<uint32_t>(type.shape[dim]);
  return tensor;
}

TensorType type_of(const pt_tensor& tensor) {
  return {static_cast<DType>(tensor.dtype), Shape(tensor.dims, tensor.dims + tensor.rank)};
}

// The types of the op that it means, inputs first.
Result<std::vector<TensorType>> plain_types(Kind kind, const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  std::vector<pt_tensor> operands;
  for (const TensorType& type : types.inputs) operands.push_back(tensor_of(type));
  for (const TensorType& type : types.outputs) operands.push_back(tensor_of(type));
  std::vector<pt_arranged> arranged(operands.size());
  if (pt_arrange(static_cast<uint16_t>(kind), operands.data(), static_cast<unsigned>(types.inputs.size()),
                 static_cast<unsigned>(types.outputs.size()), types.attrs.ints.data(), arranged.data()) == 0)
    return refuse("its operands do not lie as its layouts say");
  std::vector<TensorType> plain;
  plain.reserve(arranged.size());
  for (const pt_arranged& operand : arranged) plain.push_back(type_of(operand.plain));
  return plain;
}

template <Kind kKind>
struct Meaning {
  static constexpr size_t kConvAttrs = PT_CONV_ATTRS;
  static Kind plain() { return static_cast<Kind>(pt_plain_op(static_cast<uint16_t>(kKind))); }
  static Attrs plain_attrs(const Attrs& attrs) {
    Attrs plain = attrs;
    if (plain.ints.size() == PT_CONV_NCHWC_ATTRS) plain.ints.resize(kConvAttrs);
    if (kKind == Kind::k_conv2d_act_nchwc)
      plain.ints.erase(plain.ints.begin() + kConvAttrs, plain.ints.begin() + PT_CONV_NCHWC_ATTRS);
    return plain;
  }

  static Types infer(const OpTypes& types) {
    PANTOUM_ASSIGN(const std::vector<TensorType> all, plain_types(kKind, types));
    const std::span<const TensorType> operands(all);
    const Attrs attrs = plain_attrs(types.attrs);
    const auto outputs = operands.subspan(types.inputs.size());
    PANTOUM_ASSIGN(const std::vector<TensorType> inferred,
                   infer_types(plain(), {operands.first(types.inputs.size()), outputs, attrs}));
    if (!std::equal(inferred.begin(), inferred.end(), outputs.begin(), outputs.end()))
      return refuse("its outputs are not what the op gives");
    return std::vector<TensorType>(types.outputs.begin(), types.outputs.end());
  }

  // The flops of the plain op, and the bytes of the operands as they lie.
  static OpCost cost(const OpTypes& types) {
    const Result<std::vector<TensorType>> all = plain_types(kKind, types);
    if (!all) return operand_bytes(types, 0);
    const std::span<const TensorType> operands(*all);
    const Attrs attrs = plain_attrs(types.attrs);
    const size_t inputs = types.inputs.size();
    return operand_bytes(types, op_def(plain()).cost({operands.first(inputs), operands.subspan(inputs), attrs}).flops);
  }
};

template <Kind kKind>
OpDef blocked(Signature signature, Pairs (*in_place)(const OpTypes&) = nullptr,
              std::optional<CompactForm> compact = {}) {
  return {.kind = kKind,
          .signature = signature,
          .infer = Meaning<kKind>::infer,
          .gradient = kNoGradient,
          .cost = Meaning<kKind>::cost,
          .in_place = in_place,
          .traits = kNoTraits,
          .compact = compact};
}

Types reorder_rule(const OpTypes& types) {
  PANTOUM_TRY(float_dtype(types.inputs));
  PANTOUM_TRY(plain_types(Kind::k_reorder, types));
  return std::vector<TensorType>(types.outputs.begin(), types.outputs.end());
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> nchwc_ops() {
  const Signature conv{.min_inputs = 2, .max_inputs = 2, .ints = PT_CONV_NCHWC_ATTRS};
  Signature conv_with_bias = conv;
  conv_with_bias.max_inputs = 3;
  const Signature pool{.ints = PT_POOL_ATTRS};
  Signature pool_grad = pool;
  pool_grad.min_inputs = pool_grad.max_inputs = 2;
  return {{.kind = Kind::k_reorder,
           .signature = {.ints = 2},
           .infer = reorder_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<0>,
           .traits = kNoTraits},
          blocked<Kind::k_conv2d_nchwc>(conv_with_bias),
          blocked<Kind::k_conv2d_dx_nchwc>(conv),
          blocked<Kind::k_conv2d_dw_nchwc>(conv),
          blocked<Kind::k_conv2d_act_nchwc>({.min_inputs = 2,
                                             .max_inputs = 4,
                                             .ints = int{PT_CONV_NCHWC_ATTRS} + int{PT_EPILOGUE_ATTRS},
                                             .reals = PT_EPILOGUE_REALS},
                                            over_residual),
          blocked<Kind::k_batch_norm_nchwc>(
              {.min_inputs = 3, .max_inputs = 3, .min_outputs = 3, .max_outputs = 3, .reals = 1}, over_first),
          blocked<Kind::k_batch_norm_grad_nchwc>(
              {.min_inputs = 5, .max_inputs = 5, .min_outputs = 3, .max_outputs = 3, .reals = 1}, over_first_two),
          blocked<Kind::k_batch_norm_eval_nchwc>({.min_inputs = 5, .max_inputs = 5, .reals = 1}, over_first),
          blocked<Kind::k_batch_norm_act_nchwc>({.min_inputs = 3,
                                                 .max_inputs = 3,
                                                 .min_outputs = 3,
                                                 .max_outputs = 3,
                                                 .ints = PT_NORM_ACT_ATTRS,
                                                 .reals = PT_NORM_ACT_REALS},
                                                over_first),
          blocked<Kind::k_batch_norm_act_grad_nchwc>({.min_inputs = 6,
                                                      .max_inputs = 6,
                                                      .min_outputs = 3,
                                                      .max_outputs = 3,
                                                      .ints = PT_NORM_ACT_ATTRS,
                                                      .reals = PT_NORM_ACT_REALS},
                                                     over_first_two),
          blocked<Kind::k_batch_norm_act_eval_nchwc>(
              {.min_inputs = 5, .max_inputs = 5, .ints = PT_NORM_ACT_ATTRS, .reals = PT_NORM_ACT_REALS}, over_first),
          blocked<Kind::k_max_pool_nchwc>(pool),
          blocked<Kind::k_max_pool_grad_nchwc>(pool_grad, nullptr,
                                               CompactForm{Kind::k_max_pool_taps, Kind::k_max_pool_grad_taps}),
          blocked<Kind::k_avg_pool_nchwc>(pool),
          blocked<Kind::k_avg_pool_grad_nchwc>(pool)};
}

}  // namespace pantoum::ir
