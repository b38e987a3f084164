// What draws at random: dropout's mask and random's numbers are functions of (seed, op key, step, element), so that
// recomputing, and a gradient, see the same ones.
#include <fmt/format.h>

#include <cmath>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

Result<void> check_op_key(int64_t key) {
  if (key < 0 || key > UINT32_MAX) return refuse("the op key must fit 32 bits");
  return {};
}

Types dropout_rule(const OpTypes& types) {
  const double p = types.attrs.reals[0];
  if (!(p >= 0 && p < 1)) return refuse(fmt::format("the share to drop must be 0 or more and below 1, not {}", p));
  PANTOUM_TRY(check_op_key(types.attrs.ints[0]));
  return same_as_first(types);
}

void dropout_gradient(Backward& back) {
  back.d_inputs[0] = back.builder.op(Kind::k_dropout, back.op.name + ".dx", {back.d_outputs[0]}, back.op.attrs);
}

Types random_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_TRY(float_dtype(types.outputs));
  PANTOUM_TRY(check_op_key(types.attrs.ints[0]));
  const int64_t distribution = types.attrs.ints[1];
  if (distribution < 0 || distribution >= PT_RANDOM_COUNT) {
    return refuse(fmt::format("there is no distribution {}", distribution));
  }
  const double a = types.attrs.reals[0], b = types.attrs.reals[1];
  if (!std::isfinite(a) || !std::isfinite(b)) return refuse("its parameters must be finite");
  if (distribution == PT_RANDOM_UNIFORM && b < a) return refuse(fmt::format("nothing lies between {} and {}", a, b));
  if (distribution == PT_RANDOM_NORMAL && b < 0) return refuse(fmt::format("{} is no deviation", b));
  return std::vector<TensorType>{types.outputs[0]};
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
           .traits = kNoTraits},
          {.kind = Kind::k_random,
           .signature = {.min_inputs = 0, .max_inputs = 0, .ints = 2, .reals = 2},
           .infer = random_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<50>,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
