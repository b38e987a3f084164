// dropout: its mask is a function of (seed, op key, step, element), so that recomputing it and its gradient see the
// same mask.
#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

Types dropout_rule(const OpTypes& types) {
  const double p = types.attrs.reals[0];
  if (!(p >= 0 && p < 1)) return refuse(fmt::format("the share to drop must be 0 or more and below 1, not {}", p));
  if (types.attrs.ints[0] < 0 || types.attrs.ints[0] > UINT32_MAX) return refuse("the op key must fit 32 bits");
  return same_as_first(types);
}

void dropout_gradient(Backward& back) {
  back.d_inputs[0] = back.builder.op(Kind::k_dropout, back.op.name + ".dx", {back.d_outputs[0]}, back.op.attrs);
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> random_ops() {
  return {{.kind = Kind::k_dropout,
           .signature = {.ints = 1, .reals = 1},
           .infer = dropout_rule,
           .gradient = dropout_gradient,
           .cost = flops_per_output<30>,
           .in_place = over_first,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
