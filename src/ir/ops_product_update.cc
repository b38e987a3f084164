// A weight's update by a gradient that is a product and never a tensor.
#include <algorithm>

#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

constexpr size_t kWeight = 2;  // behind the product's two factors

// What the op stands for: a product that makes the gradient, and the update that follows it.
struct Parts {
  Kind product{}, update{};
  Attrs product_attrs, update_attrs;
  std::vector<TensorType> factors, weight, updated;  // updated: w g states..
};

bool follows_product(int64_t op) {
  return std::ranges::any_of(all_op_defs(), [op](const OpDef& def) {
    return static_cast<int64_t>(def.kind) == op && def.traits.follows_product;
  });
}

Result<Parts> parts_of(const OpTypes& types, Kind product, size_t product_ints) {
  const int64_t op = types.attrs.ints[product_ints + PT_UPDATE_OP];
  if (!follows_product(op)) return refuse("it knows no such update");
  Parts parts{.product = product, .update = static_cast<Kind>(op)};
  const auto& ints = types.attrs.ints;
  parts.product_attrs.ints.assign(ints.begin(), ints.begin() + static_cast<std::ptrdiff_t>(product_ints));
  const Signature& signature = op_def(parts.update).signature;
  parts.update_attrs = {{ints[product_ints + PT_UPDATE_FLAG]}, types.attrs.reals};
  parts.update_attrs.ints.resize(static_cast<size_t>(signature.ints));
  parts.update_attrs.reals.resize(static_cast<size_t>(signature.reals));
  parts.factors.assign(types.inputs.begin(), types.inputs.begin() + kWeight);
  parts.weight = {types.inputs[kWeight]};
  parts.updated.assign(types.inputs.begin() + kWeight, types.inputs.end());
  parts.updated.insert(parts.updated.begin() + 1, parts.weight[0]);
  return parts;
}

Types rule_of(const Parts& parts) {
  PANTOUM_ASSIGN(const std::vector<TensorType> gradient,
                 infer_types(parts.product, {parts.factors, parts.weight, parts.product_attrs}));
  if (parts.product == Kind::k_matmul && (parts.factors[0].shape.size() != 2 || parts.factors[1].shape.size() != 2))
    return refuse("its factors must be matrices");
  if (gradient[0] != parts.weight[0]) return refuse("the product is not a gradient of what is updated");
  return infer_types(parts.update, {parts.updated, {}, parts.update_attrs});
}

OpCost cost_of_parts(const OpTypes& types, const Parts& parts) {
  const OpCost product = op_def(parts.product).cost({parts.factors, parts.weight, parts.product_attrs});
  const OpCost update = op_def(parts.update).cost({parts.updated, types.outputs, parts.update_attrs});
  return operand_bytes(types, product.flops + update.flops);
}

template <Kind kProduct, size_t kProductInts>
Types update_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const Parts parts, parts_of(types, kProduct, kProductInts));
  return rule_of(parts);
}
template <Kind kProduct, size_t kProductInts>
OpCost update_cost(const OpTypes& types) {
  return cost_of_parts(types, *parts_of(types, kProduct, kProductInts));
}

Pairs over_all_but_factors(const OpTypes& types) {
  Pairs pairs;
  for (int updated = kWeight; updated < static_cast<int>(types.inputs.size()); ++updated)
    pairs.emplace_back(updated - static_cast<int>(kWeight), updated);
  return pairs;
}

template <Kind kProduct, size_t kProductInts>
OpDef definition(Kind kind) {
  return {.kind = kind,
          .signature = {.min_inputs = 3,
                        .max_inputs = 6,
                        .max_outputs = 4,
                        .ints = kProductInts + PT_UPDATE_ATTRS,
                        .reals = PT_UPDATE_REALS},
          .infer = update_rule<kProduct, kProductInts>,
          .gradient = kNoGradient,
          .cost = update_cost<kProduct, kProductInts>,
          .in_place = over_all_but_factors,
          .recompute = false,
          .traits = kNoTraits};
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> product_update_ops() {
  return {definition<Kind::k_matmul, PT_MATMUL_ATTRS>(Kind::k_matmul_update),
          definition<Kind::k_conv2d_dw, PT_CONV_ATTRS>(Kind::k_conv2d_dw_update)};
}

}  // namespace pantoum::ir
