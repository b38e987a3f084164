// Sums and means over dimensions, and their opposite, expand.
#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

bool is_summed(int64_t mask, size_t dimension) {
  return (mask >> dimension & 1) != 0;
}

Types reduce_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  const Shape& from = types.inputs[0].shape;
  const int64_t mask = types.attrs.ints[0];
  if (mask < 0 || mask >> from.size() != 0) {
    return refuse(fmt::format("the mask {} names dimensions that it does not have", mask));
  }
  Shape kept;
  for (size_t d = 0; d < from.size(); ++d) {
    if (!is_summed(mask, d)) kept.push_back(from[d]);
  }
  return std::vector<TensorType>{{dtype, kept}};
}

Types expand_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  const Shape& to = types.outputs[0].shape;
  if (!broadcasts_to(types.inputs[0].shape, to)) return refuse(fmt::format("it does not broadcast to {}", to_text(to)));
  return std::vector<TensorType>{{dtype, to}};
}

// Puts the summed dimensions back as 1s and spreads a * dY over them.
void spread(Backward& back, bool mean) {
  const TensorType x = back.builder.type(back.op.inputs[0]);
  Shape kept = x.shape;
  double count = 1;
  for (size_t d = 0; d < kept.size(); ++d) {
    if (!is_summed(back.op.attrs.ints[0], d)) continue;
    count *= static_cast<double>(kept[d]);
    kept[d] = 1;
  }
  const double a = mean ? 1 / count : 1;
  const ValueId dy = back.builder.reshape(back.d_outputs[0], kept);
  back.d_inputs[0] = kept == x.shape ? back.builder.scale(dy, a)
                                     : back.builder.op(Kind::k_expand, back.op.name + ".dx", {dy}, {{}, {a}}, {x});
}

void reduce_sum_gradient(Backward& back) {
  spread(back, false);
}
void reduce_mean_gradient(Backward& back) {
  spread(back, true);
}

void expand_gradient(Backward& back) {
  const Shape shape = back.builder.type(back.op.inputs[0]).shape;
  back.d_inputs[0] = back.builder.scale(back.builder.sum_to(back.d_outputs[0], shape), back.op.attrs.reals[0]);
}

}  // namespace

std::vector<OpDef> reduce_ops() {
  return {{.kind = Kind::k_reduce_sum,
           .signature = {.ints = 1},
           .infer = reduce_rule,
           .gradient = reduce_sum_gradient,
           .cost = flops_per_input<1>},
          {.kind = Kind::k_reduce_mean,
           .signature = {.ints = 1},
           .infer = reduce_rule,
           .gradient = reduce_mean_gradient,
           .cost = flops_per_input<1>},
          {.kind = Kind::k_expand,
           .signature = {.reals = 1},
           .infer = expand_rule,
           .gradient = expand_gradient,
           .cost = flops_per_output<1>}};
}

}  // namespace pantoum::ir
