// alias: the same bytes under another shape; with the attribute 1, what is behind it gets no gradient (detach). It costs nothing and has no bytes of its own.
#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

Types alias_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  const std::vector<int64_t>& ints = types.attrs.ints;
  if (ints.size() > 1 || (ints.size() == 1 && ints[0] != 0 && ints[0] != 1)) return refuse("its attribute is 0 or 1");
  const TensorType& to = types.outputs[0];
  if (to.elements() != types.inputs[0].elements()) {
    return refuse(fmt::format("the shape {} has another number of elements", to_text(to.shape)));
  }
  return std::vector<TensorType>{{types.inputs[0].dtype, to.shape}};
}

OpCost no_cost(const OpTypes&) {
  return {};
}

void alias_gradient(Backward& back) {
  if (stops_gradient(back.op)) return;
  const Shape shape = back.builder.type(back.op.inputs[0]).shape;
  back.d_inputs[0] = back.builder.reshape(back.d_outputs[0], shape);
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> alias_ops() {
  return {{.kind = Kind::k_alias,
           .signature = {.ints = kAny},
           .infer = alias_rule,
           .gradient = alias_gradient,
           .cost = no_cost,
           .in_place = over_first,
           .traits = rows_by(RowWise::kElements)}};
}

}  // namespace pantoum::ir
