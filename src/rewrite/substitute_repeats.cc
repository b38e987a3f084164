// f(f(x)) = f(x) bit for bit of relu, abs, sign, clip between the same limits, round the same way, and rounding to the same
// narrower type: what f gives is a fixed point of f, NaN and -0 included. -(-x) = x: each flips the sign bit alone.
//   where    two in a row with the same attributes; the inner one may have other readers
//   not      clips between other limits, or whose lower limit is above the upper one: what is below it becomes the lower limit,
//            which the next clip takes for too large; rounding one way and then another
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

bool has_fixed_points(const ir::Op& op) {
  return op.kind != Kind::k_clip || op.attrs.reals[0] <= op.attrs.reals[1];
}

std::optional<ir::Graph> drop_repeats(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  switch (op.kind) {
    case Kind::k_relu:
    case Kind::k_abs:
    case Kind::k_sign:
    case Kind::k_clip:
    case Kind::k_round:
    case Kind::k_round_to:
    case Kind::k_neg:
      break;
    default:
      return std::nullopt;
  }
  const ir::Op* inner = maker_of(graph, op.inputs[0], op.kind);
  if (inner == nullptr || inner->attrs != op.attrs || !is_ordinary(op) || !has_fixed_points(op)) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], op.kind == Kind::k_neg ? inner->inputs[0] : inner->outputs[0]);
  return edit.done();
}

}  // namespace

const Rule kDropRepeats{"drop-repeats",
                        "relu of relu, clip of clip, minus of minus and their like become one or none",
                        Preserves::kBits,
                        0,
                        false,
                        drop_repeats};

}  // namespace pantoum::rewrite
