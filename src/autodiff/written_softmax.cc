#include "autodiff/written_softmax.h"

#include <bit>
#include <cstring>

#include "ir/op_registry.h"

namespace pantoum::autodiff {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Op;
using ir::ValueId;
using Kind = ir::Kind;

// A reduction along one axis of a value, as other values of its shape read it.
struct Reduced {
  ValueId of = kNone;
  int64_t axis = 0;
};

class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph) {}

  std::optional<FoundSoftmax> find(ValueId value) const {
    if (const auto plain = softmax(value)) return plain;
    const Op* op = maker_of(graph_, value);
    if (op == nullptr) return std::nullopt;
    if (op->kind == Kind::k_log_softmax) return FoundSoftmax{op->inputs[0], op->attrs.ints[0], true};
    if (op->kind == Kind::k_log) {
      auto of = softmax(op->inputs[0]);
      if (of) of->logarithm = true;
      return of;
    }
    return op->kind == Kind::k_sub ? log_softmax(*op) : std::nullopt;
  }

 private:
  const Graph& graph_;

  // The value behind aliases of the same shape.
  ValueId same(ValueId value) const {
    while (const Op* op = made(value)) {
      if (op->kind != Kind::k_alias || graph_.value(op->inputs[0]).type != graph_.value(value).type) return value;
      value = op->inputs[0];
    }
    return value;
  }
  const Op* made(ValueId value) const {
    const ir::OpId producer = graph_.value(value).producer;
    return producer == kNone ? nullptr : &graph_.op(producer);
  }
  const Op* made_by(ValueId value, Kind kind) const {
    const Op* op = maker_of(graph_, value);
    return op != nullptr && op->kind == kind ? op : nullptr;
  }

  // The value behind reshapes, and behind expansions that change no number.
  ValueId unmoved(ValueId value) const {
    for (;;) {
      const Op* op = made(value);
      if (op == nullptr) return value;
      const bool expands = op->kind == Kind::k_expand && !op->attrs.reals.empty() && op->attrs.reals[0] == 1;
      if (op->kind != Kind::k_alias && !expands) return value;
      value = op->inputs[0];
    }
  }

  // Does `value`, perhaps expanded, hold one number for each row of `x` along the axis, in the row's place?
  bool is_per_row(ValueId value, ValueId x, int64_t axis) const {
    const ir::Shape& wide = graph_.value(x).type.shape;
    const Op* op = made(value);
    while (op != nullptr && graph_.value(value).type.shape == wide &&
           (op->kind == Kind::k_expand || same(value) != value)) {
      value = op->inputs[0];
      op = made(value);
    }
    ir::Shape kept = wide;
    kept[static_cast<size_t>(axis)] = 1;
    return graph_.value(value).type.shape == kept;
  }

  std::optional<Reduced> reduction(ValueId value, Kind kind) const {
    const Op* op = made_by(unmoved(value), kind);
    if (op == nullptr) return std::nullopt;
    const auto mask = static_cast<uint64_t>(op->attrs.ints[0]);
    if (!std::has_single_bit(mask)) return std::nullopt;
    return Reduced{same(op->inputs[0]), static_cast<int64_t>(std::countr_zero(mask))};
  }

  // x of x - max(x), else the value itself.
  ValueId without_maximum(ValueId value, int64_t axis) const {
    const Op* op = made_by(value, Kind::k_sub);
    return op != nullptr && is_maximum(op->inputs[1], op->inputs[0], axis) ? same(op->inputs[0]) : same(value);
  }
  bool is_maximum(ValueId value, ValueId of, int64_t axis) const {
    const auto most = reduction(value, Kind::k_reduce_max);
    return most && most->of == same(of) && most->axis == axis && is_per_row(value, of, axis);
  }

  // 1 / value
  std::optional<ValueId> reciprocal_of(ValueId value) const {
    const Op* op = made_by(value, Kind::k_div);
    return op != nullptr && is_one(op->inputs[0]) ? std::optional(op->inputs[1]) : std::nullopt;
  }
  bool is_one(ValueId value) const {
    const ir::Value& found = graph_.value(unmoved(value));
    float number = 0;
    if (!found.data || found.role != ir::Role::kConstant || found.data->size() != sizeof number) return false;
    std::memcpy(&number, found.data->data(), sizeof number);
    return number == 1 && found.type.dtype == ir::DType::kF32;
  }

  std::optional<FoundSoftmax> softmax(ValueId value) const {
    const Op* op = maker_of(graph_, value);
    if (op == nullptr) return std::nullopt;
    if (op->kind == Kind::k_softmax) return FoundSoftmax{op->inputs[0], op->attrs.ints[0]};
    if (op->kind == Kind::k_div) return ratio(op->inputs[0], op->inputs[1]);
    if (op->kind != Kind::k_mul) return std::nullopt;
    for (size_t at = 0; at < 2; ++at)
      if (const auto sum = reciprocal_of(op->inputs[at]))
        if (auto found = ratio(op->inputs[1 - at], *sum)) return found;
    return std::nullopt;
  }

  // e / sum(e)
  std::optional<FoundSoftmax> ratio(ValueId part, ValueId total) const {
    const Op* exp = made_by(part, Kind::k_exp);
    const auto sum = exp == nullptr ? std::nullopt : reduction(total, Kind::k_reduce_sum);
    if (!sum || sum->of != same(part) || !is_per_row(total, part, sum->axis)) return std::nullopt;
    return FoundSoftmax{without_maximum(exp->inputs[0], sum->axis), sum->axis};
  }

  // z - log(sum(exp(z))), and x - (log(sum(exp(x - m))) + m)
  std::optional<FoundSoftmax> log_softmax(const Op& sub) const {
    const ValueId from = sub.inputs[0], taken = sub.inputs[1];
    const Op* log = made_by(unmoved(taken), Kind::k_log);
    ValueId most = kNone;
    if (const Op* add = made_by(unmoved(taken), Kind::k_add); add != nullptr && log == nullptr) {
      for (size_t at = 0; at < 2 && log == nullptr; ++at) {
        log = made_by(unmoved(add->inputs[at]), Kind::k_log);
        most = add->inputs[1 - at];
      }
    }
    const auto sum = log == nullptr ? std::nullopt : reduction(log->inputs[0], Kind::k_reduce_sum);
    const Op* exp = sum ? made_by(sum->of, Kind::k_exp) : nullptr;
    if (exp == nullptr) return std::nullopt;
    const bool wide =
        is_per_row(log->inputs[0], from, sum->axis) && (most == kNone || is_per_row(most, from, sum->axis));
    if (!wide && !is_per_row(taken, from, sum->axis)) return std::nullopt;
    const ValueId power = same(exp->inputs[0]), x = without_maximum(power, sum->axis);
    if (most == kNone) return power == same(from) ? std::optional(FoundSoftmax{x, sum->axis, true}) : std::nullopt;
    const auto added = reduction(most, Kind::k_reduce_max);
    const bool whole = added && added->of == x && added->axis == sum->axis && x == same(from) && x != power;
    return whole ? std::optional(FoundSoftmax{x, sum->axis, true}) : std::nullopt;
  }
};

}  // namespace

const ir::Op* maker_of(const ir::Graph& graph, ir::ValueId value) {
  while (graph.value(value).producer != kNone) {
    const Op& op = graph.op(graph.value(value).producer);
    if (op.kind != Kind::k_alias || graph.value(op.inputs[0]).type != graph.value(value).type) return &op;
    value = op.inputs[0];
  }
  return nullptr;
}

std::optional<FoundSoftmax> find_softmax(const ir::Graph& graph, ir::ValueId value) {
  return Matcher(graph).find(value);
}

}  // namespace pantoum::autodiff
