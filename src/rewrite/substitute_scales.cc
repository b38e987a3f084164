// a2 (a1 x + b1) + b2 = (a2 a1) x + (a2 b1 + b2), the coefficients in double; -x is scale by -1 and 0; expand scales too.
//   tolerance  of two roundings one is saved: 3 roundings of the largest term
//   where      scale or neg of scale or neg, scale or expand of scale without b; the inner one may have other readers
//   not        -(-x), which keeps every bit (drop-repeats); coefficients that leave float32's range when multiplied
#include <cmath>

#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

struct Affine {
  double a = 1, b = 0;
};
std::optional<Affine> affine_of(const ir::Op& op) {
  if (op.kind == Kind::k_scale) return Affine{op.attrs.reals[0], op.attrs.reals[1]};
  if (op.kind == Kind::k_neg) return Affine{-1, 0};
  if (op.kind == Kind::k_expand) return Affine{op.attrs.reals[0], 0};
  return std::nullopt;
}

bool in_range(double value) {
  return value == 0 || (std::abs(value) < 1e30 && std::abs(value) > 1e-30);
}

std::optional<ir::Graph> merge_scales(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const auto outer = affine_of(op);
  if (!outer || !is_ordinary(op)) return std::nullopt;
  const ir::Op* made = maker_of(graph, op.inputs[0]);
  if (made == nullptr || !is_ordinary(*made) || (made->kind == Kind::k_neg && op.kind == Kind::k_neg))
    return std::nullopt;
  const bool spreads = op.kind == Kind::k_expand, spread_before = made->kind == Kind::k_expand;
  const auto inner = affine_of(*made);
  if (!inner || !ir::is_float(graph.value(op.outputs[0]).type.dtype)) return std::nullopt;
  const Affine both{outer->a * inner->a, outer->a * inner->b + outer->b};
  if (((spreads || spread_before) && both.b != 0) || !in_range(both.a) || !in_range(both.b)) return std::nullopt;
  if (spreads && spread_before && outer->a == 1 && inner->a == 1) return std::nullopt;
  Edit edit(graph, at);
  const ir::TensorType type = edit.type(op.outputs[0]);
  const ir::ValueId x = made->inputs[0];
  edit.replace(op.outputs[0], spreads || spread_before ? edit.op(Kind::k_expand, op.name, {x}, {{}, {both.a}}, {type})
                                                       : edit.op(Kind::k_scale, op.name, {x}, {{}, {both.a, both.b}}));
  return edit.done();
}

}  // namespace

const Rule kMergeScales{"merge-scales", "two scalings in a row are one", Preserves::kValues, 1e-6, false, merge_scales};

}  // namespace pantoum::rewrite
