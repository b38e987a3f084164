// Ops whose operands lie in blocks of channels (kernels/portable/layout.h): each means an op on plain tensors.
#include "ir/op_families.h"
#include "kernels/portable/layout.h"

namespace pantoum::ir {
namespace {

// The types of the op that it means, inputs first; none where the operands do not lie as its layouts say.
std::vector<TensorType> plain_types(Kind kind, const OpTypes& types) {
  std::vector<pt_tensor> operands;
  for (const TensorType& type : types.inputs) operands.push_back(to_tensor(type));
  for (const TensorType& type : types.outputs) operands.push_back(to_tensor(type));
  std::vector<pt_arranged> arranged(operands.size());
  std::vector<TensorType> plain;
  if (pt_arrange(static_cast<uint16_t>(kind), operands.data(), static_cast<unsigned>(types.inputs.size()),
                 static_cast<unsigned>(types.outputs.size()), types.attrs.ints.data(), arranged.data()) != 0)
    for (const pt_arranged& operand : arranged) plain.push_back(to_type(operand.plain));
  return plain;
}

// The flops of the plain op, and the bytes of the operands as they lie.
template <Kind kKind>
OpCost blocked_cost(const OpTypes& types) {
  const std::vector<TensorType> all = plain_types(kKind, types);
  if (all.empty()) return operand_bytes(types, 0);
  const std::span<const TensorType> operands(all);
  Attrs attrs = types.attrs;  // without what layouts add behind the convolution's integers
  if (attrs.ints.size() >= PT_CONV_NCHWC_ATTRS)
    attrs.ints.erase(attrs.ints.begin() + PT_CONV_ATTRS, attrs.ints.begin() + PT_CONV_NCHWC_ATTRS);
  const auto plain = static_cast<Kind>(pt_plain_op(static_cast<uint16_t>(kKind)));
  const size_t inputs = types.inputs.size();
  return operand_bytes(types, op_def(plain).cost({operands.first(inputs), operands.subspan(inputs), attrs}).flops);
}

template <Kind kKind>
OpDef blocked(Pairs (*in_place)(const OpTypes&) = nullptr) {
  return backward_op(kKind, blocked_cost<kKind>, in_place);
}

}  // namespace

std::vector<OpDef> nchwc_ops() {
  OpDef max_pool_grad = blocked<k_max_pool_grad_nchwc>();
  max_pool_grad.compact = CompactForm{k_max_pool_taps, k_max_pool_grad_taps};
  return {
      backward_op(k_reorder, flops_per_output<0>),
      blocked<k_conv2d_nchwc>(),
      blocked<k_conv2d_dx_nchwc>(),
      blocked<k_conv2d_dw_nchwc>(),
      blocked<k_conv2d_act_nchwc>(over_residual),
      blocked<k_batch_norm_nchwc>(over_first),
      blocked<k_batch_norm_grad_nchwc>(over_first_two),
      blocked<k_batch_norm_eval_nchwc>(over_first),
      blocked<k_batch_norm_act_nchwc>(over_first),
      blocked<k_batch_norm_act_grad_nchwc>(over_first_two),
      blocked<k_batch_norm_act_eval_nchwc>(over_first),
      blocked<k_max_pool_nchwc>(),
      max_pool_grad,
      blocked<k_avg_pool_nchwc>(),
      blocked<k_avg_pool_grad_nchwc>(),
  };
}

}  // namespace pantoum::ir
