#include "autodiff/batch_independent.h"

#include <algorithm>

namespace pantoum::autodiff {
namespace {

using ir::Graph;
using ir::Kind;
using ir::Op;
using ir::Shape;
using ir::ValueId;

// Element by element, of one input. why: two lists of kinds, which share no entry.
bool is_unary(Kind kind) {
  switch (kind) {
    case Kind::k_relu:
    case Kind::k_leaky_relu:
    case Kind::k_sigmoid:
    case Kind::k_tanh:
    case Kind::k_gelu:
    case Kind::k_erf:
    case Kind::k_sqrt:
    case Kind::k_exp:
    case Kind::k_log:
    case Kind::k_neg:
    case Kind::k_scale:
    case Kind::k_cast:
    case Kind::k_alias:
    case Kind::k_abs:
    case Kind::k_sign:
    case Kind::k_round:
    case Kind::k_sin:
    case Kind::k_cos:
    case Kind::k_elu:
    case Kind::k_softplus:
    case Kind::k_clip:
      return true;
    default:
      return false;
  }
}

// Element by element, of inputs that broadcast. why: as is_unary.
bool is_broadcast(Kind kind) {
  switch (kind) {
    case Kind::k_add:
    case Kind::k_sub:
    case Kind::k_mul:
    case Kind::k_div:
    case Kind::k_pow:
    case Kind::k_expand:
    case Kind::k_maximum:
    case Kind::k_minimum:
    case Kind::k_compare:
    case Kind::k_where:
      return true;
    default:
      return false;
  }
}

class BatchIndependence {
 public:
  BatchIndependence(const Graph& graph, const Op& op, const std::vector<char>& changes, int64_t batch)
      : graph_(graph), op_(op), changes_(changes), batch_(batch) {}

  bool holds() const {
    for (const ValueId input : op_.inputs)
      if (changed(input) && !has_rows(shape(input))) return false;
    return has_rows(shape(op_.outputs[0])) && by_kind();
  }

 private:
  const Graph& graph_;
  const Op& op_;
  const std::vector<char>& changes_;
  int64_t batch_;

  [[nodiscard]] const Shape& shape(ValueId value) const { return graph_.value(value).type.shape; }
  [[nodiscard]] bool changed(ValueId value) const { return changes_[static_cast<size_t>(value)] != 0; }
  [[nodiscard]] bool has_rows(const Shape& of) const { return !of.empty() && of[0] == batch_; }
  [[nodiscard]] int64_t attribute(size_t at) const { return op_.attrs.ints.at(at); }

  // Only the first `count` inputs change.
  [[nodiscard]] bool only_first(size_t count = 1) const {
    return std::none_of(op_.inputs.begin() + static_cast<ptrdiff_t>(std::min(count, op_.inputs.size())),
                        op_.inputs.end(), [&](ValueId input) { return changed(input); });
  }

  // Broadcast against an output of `rank`, the operand gives every row the same.
  [[nodiscard]] bool same_for_rows(ValueId value, size_t rank) const {
    const Shape& of = shape(value);
    if (of.size() < rank || of[0] == 1) return true;
    const ir::OpId producer = graph_.value(value).producer;
    if (producer == ir::kNone || graph_.op(producer).kind != Kind::k_expand) return false;
    const Shape& from = shape(graph_.op(producer).inputs[0]);
    return from.size() < of.size() || from[0] == 1;
  }

  // Every operand has rows of its own in the output's first dimension, or is the same for all of them.
  [[nodiscard]] bool operands_in_step() const {
    const size_t rank = shape(op_.outputs[0]).size();
    return std::all_of(op_.inputs.begin(), op_.inputs.end(), [&](ValueId input) {
      return changed(input) ? shape(input).size() == rank : same_for_rows(input, rank);
    });
  }

  [[nodiscard]] bool product() const {
    const size_t rank = shape(op_.outputs[0]).size();
    if (op_.inputs.size() > 2 && changed(op_.inputs[2])) return false;
    if (rank == 2) return attribute(0) == 0 && only_first();
    const std::vector<ValueId> factors(op_.inputs.begin(), op_.inputs.begin() + 2);
    return std::all_of(factors.begin(), factors.end(), [&](ValueId factor) {
      return changed(factor) ? shape(factor).size() == rank : same_for_rows(factor, rank);
    });
  }

  [[nodiscard]] bool gather() const {
    const bool from_table = !changed(op_.inputs[0]);
    return from_table ? attribute(0) == 0 : only_first() && attribute(0) > 0;
  }

  [[nodiscard]] bool by_kind() const {
    if (is_unary(op_.kind)) return true;
    if (is_broadcast(op_.kind)) return operands_in_step();
    switch (op_.kind) {
      case Kind::k_concat:
        return attribute(0) > 0 && operands_in_step();
      case Kind::k_matmul:
        return product();
      case Kind::k_conv2d:
      case Kind::k_batch_norm_eval:
      case Kind::k_max_pool:
      case Kind::k_avg_pool:
      case Kind::k_conv2d_dx:
      case Kind::k_resize:
        return only_first();
      case Kind::k_softmax:
      case Kind::k_log_softmax:
      case Kind::k_layer_norm:
      case Kind::k_split:
      case Kind::k_cumsum:
      case Kind::k_arg_max:
        return only_first() && attribute(0) > 0;
      case Kind::k_reduce_sum:
      case Kind::k_reduce_mean:
      case Kind::k_reduce_max:
        return (attribute(0) & 1) == 0;
      case Kind::k_transpose:
        return attribute(0) == 0;
      case Kind::k_slice:
      case Kind::k_slice_grad:
        return attribute(0) == 0 && attribute(1) == 1;
      case Kind::k_gather:
        return gather();
      default:
        return false;
    }
  }
};

}  // namespace

bool is_batch_independent(const Graph& graph, const Op& op, const std::vector<char>& changes, int64_t batch) {
  return BatchIndependence(graph, op, changes, batch).holds();
}

}  // namespace pantoum::autodiff
