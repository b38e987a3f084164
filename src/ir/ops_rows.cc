// softmax and log_softmax along one axis. Their gradients read the output alone.
// why: one row per operator, and nothing that two tables could share.
#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

Types rows_rule(const OpTypes& types) {
  PANTOUM_TRY(want_axis(types.attrs.ints[0], types.inputs[0].shape.size()));
  return same_as_first(types);
}

void rows_gradient(Backward& back, Kind kind) {
  back.d_inputs[0] =
      back.builder.op(kind, back.op.name + ".dx", {back.d_outputs[0], back.op.outputs[0]}, back.op.attrs);
}
void softmax_gradient(Backward& back) {
  rows_gradient(back, Kind::k_softmax_grad);
}
void log_softmax_gradient(Backward& back) {
  rows_gradient(back, Kind::k_log_softmax_grad);
}

}  // namespace

std::vector<OpDef> rows_ops() {
  const Signature forward{.ints = 1}, backward{.min_inputs = 2, .max_inputs = 2, .ints = 1};
  return {{.kind = Kind::k_softmax,
           .signature = forward,
           .infer = rows_rule,
           .gradient = softmax_gradient,
           .cost = flops_per_output<20>,
           .in_place = over_first,
           .traits = rows_by(RowWise::kBehindAxis)},
          {.kind = Kind::k_softmax_grad,
           .signature = backward,
           .infer = rows_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<4>,
           .in_place = over_first_two,
           .traits = kNoTraits},
          {.kind = Kind::k_log_softmax,
           .signature = forward,
           .infer = rows_rule,
           .gradient = log_softmax_gradient,
           .cost = flops_per_output<20>,
           .in_place = over_first,
           .traits = rows_by(RowWise::kBehindAxis)},
          {.kind = Kind::k_log_softmax_grad,
           .signature = backward,
           .infer = rows_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<20>,
           .in_place = over_first_two,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
