#include "autodiff/batch_independent.h"

#include <algorithm>

#include "ir/op_registry.h"

namespace pantoum::autodiff {
namespace {

using ir::Graph;
using ir::Kind;
using ir::Op;
using ir::RowWise;
using ir::Shape;
using ir::ValueId;

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
    switch (ir::op_def(op_.kind).traits.row_wise) {
      case RowWise::kNever:
        return false;
      case RowWise::kElements:
        return true;
      case RowWise::kBroadcast:
        return operands_in_step();
      case RowWise::kConcatenated:
        return attribute(0) > 0 && operands_in_step();
      case RowWise::kProduct:
        return product();
      case RowWise::kFirstInput:
        return only_first();
      case RowWise::kBehindAxis:
        return only_first() && attribute(0) > 0;
      case RowWise::kReduced:
        return (attribute(0) & 1) == 0;
      case RowWise::kTransposed:
        return attribute(0) == 0;
      case RowWise::kSliced:
        return attribute(0) == 0 && attribute(1) == 1;
      case RowWise::kGathered:
        return gather();
    }
    return false;
  }
};

}  // namespace

bool is_batch_independent(const Graph& graph, const Op& op, const std::vector<char>& changes, int64_t batch) {
  return BatchIndependence(graph, op, changes, batch).holds();
}

}  // namespace pantoum::autodiff
