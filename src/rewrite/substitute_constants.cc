// An op on constants makes a constant: it is computed now.
//   where    ops that move elements, and those whose every result is one correctly rounded operation of IEEE 754 (add, sub,
//            mul, div, neg, abs, relu, maximum, minimum, compare, where, casts, whole numbers): any kernel on any device
//            gives those bits
//   not      functions that a device may compute otherwise (exp, products, scale with its fused multiply-add): of inference
//            fold-parameters has them; outputs of the graph; what trains; draws at random
//   note     a constant takes RAM or ROM for the whole step: the search weighs that
#include "rewrite/edit.h"
#include "rewrite/fold.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

bool has_one_result(Kind kind) {
  switch (kind) {
    case Kind::k_add:
    case Kind::k_sub:
    case Kind::k_mul:
    case Kind::k_div:
    case Kind::k_neg:
    case Kind::k_abs:
    case Kind::k_relu:
    case Kind::k_maximum:
    case Kind::k_minimum:
    case Kind::k_compare:
    case Kind::k_where:
    case Kind::k_mod:
    case Kind::k_bitwise:
    case Kind::k_cast:
    case Kind::k_alias:
    case Kind::k_transpose:
    case Kind::k_concat:
    case Kind::k_split:
    case Kind::k_slice:
    case Kind::k_slice_grad:
    case Kind::k_gather:
    case Kind::k_gather_elements:
      return true;
    default:
      return false;
  }
}

std::optional<ir::Graph> fold_constants(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (!has_one_result(op.kind) || op.inputs.empty()) return std::nullopt;
  for (const ir::ValueId input : op.inputs)
    if (!is_constant(graph, input, false)) return std::nullopt;
  ir::Graph folded = graph;
  if (!fold_op(folded, at, false)) return std::nullopt;
  ir::drop_dead_ops(folded);
  return folded;
}

}  // namespace

const Rule kFoldConstants{"fold-constants", "ops on constants are computed now", Preserves::kBits, 0, false,
                          fold_constants};

}  // namespace pantoum::rewrite
