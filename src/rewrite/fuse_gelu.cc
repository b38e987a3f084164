#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>

#include "rewrite/edit.h"
#include "rewrite/passes.h"

namespace pantoum::rewrite {
namespace {

// The spellings are many, and what they compute is one function: an expression of one value is evaluated at some
// points and compared. The constants of exporters are rounded (to float32, to 4 digits, to float16).
constexpr double kNear = 5e-5;
constexpr std::array kPoints = {-5.0, -2.7, -1.3, -0.8, -0.25, 0.1, 0.6, 1.1, 1.9, 3.3, 6.0};
constexpr int kMostOps = 12;  // of one spelling

double exact_gelu(double x) {
  return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
}
double tanh_gelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

class Expressions {
 public:
  explicit Expressions(const Graph& graph) : graph_(graph), readers_(graph) {}

  struct Match {
    OpId last;  // makes the result
    ValueId x;
    int64_t approximate;
  };

  // Starts at an op that every spelling contains (erf, tanh or sigmoid) and follows the only reader of each result.
  std::optional<Match> from(OpId root) const {
    const int64_t approximate = graph_.op(root).kind == Kind::k_erf ? 0 : 1;
    const std::vector<ValueId> candidates = arguments_of(graph_.op(root).inputs[0]);
    OpId last = root;
    for (int step = 0; step < kMostOps; ++step) {
      last = readers_.only(graph_.op(last).outputs[0]);  // exporters write x Phi(x) with Phi read once
      if (last == kNone || !is_step(graph_.op(last))) return std::nullopt;
      for (const ValueId x : candidates)
        if (is_gelu(last, x, approximate)) return Match{last, x, approximate};
    }
    return std::nullopt;
  }

 private:
  struct Walk {
    ValueId x;
    double at;
    std::map<ValueId, double> known = {};
    int ops = 0;
  };

  static bool is_step(const Op& op) { return apply(op, 1, 1).has_value(); }

  // Values that the argument may be an expression of, the nearest first.
  std::vector<ValueId> arguments_of(ValueId argument) const {
    std::vector<ValueId> found = {argument};
    for (size_t at = 0; at < found.size() && at < kMostOps; ++at) {
      const OpId producer = graph_.value(found[at]).producer;
      if (producer == kNone || !is_step(graph_.op(producer))) continue;
      for (const ValueId input : graph_.op(producer).inputs)
        if (std::ranges::find(found, input) == found.end() && !number(input)) found.push_back(input);
    }
    return found;
  }

  std::optional<double> number(ValueId id) const {
    const Value& value = graph_.value(id);
    if (value.role != ir::Role::kConstant || value.type.elements() != 1 || value.data == nullptr) return std::nullopt;
    if (value.type.dtype != DType::kF32) return std::nullopt;
    float held = 0;
    std::memcpy(&held, value.data->data(), sizeof held);
    return static_cast<double>(held);
  }

  std::optional<double> evaluate(ValueId id, Walk& walk) const {
    if (id == walk.x) return walk.at;
    if (const auto known = walk.known.find(id); known != walk.known.end()) return known->second;
    if (const auto constant = number(id)) return constant;
    const OpId producer = graph_.value(id).producer;
    if (producer == kNone || !is_step(graph_.op(producer)) || ++walk.ops > kMostOps) return std::nullopt;
    const Op& op = graph_.op(producer);
    std::array<double, 2> operands{};
    for (size_t input = 0; input < op.inputs.size(); ++input) {
      const std::optional<double> operand = evaluate(op.inputs[input], walk);
      if (!operand) return std::nullopt;
      operands[input] = *operand;
    }
    return walk.known[id] = *apply(op, operands[0], operands[1]);
  }

  // What one step of a spelling computes; none: the op is no step.
  static std::optional<double> apply(const Op& op, double a, double b) {
    switch (op.kind) {
      case Kind::k_scale:
        return op.attrs.reals[0] * a + op.attrs.reals[1];
      case Kind::k_neg:
        return -a;
      case Kind::k_add:
        return a + b;
      case Kind::k_sub:
        return a - b;
      case Kind::k_mul:
        return a * b;
      case Kind::k_div:
        return a / b;
      case Kind::k_pow:
        return std::pow(a, b);
      case Kind::k_erf:
        return std::erf(a);
      case Kind::k_tanh:
        return std::tanh(a);
      case Kind::k_sigmoid:
        return 1 / (1 + std::exp(-a));
      default:
        return std::nullopt;
    }
  }

  bool is_gelu(OpId last, ValueId x, int64_t approximate) const {
    const ValueId result = graph_.op(last).outputs[0];
    if (graph_.value(result).type != graph_.value(x).type) return false;
    Walk walk{x, 0};
    for (const double at : kPoints) {
      walk = Walk{x, at};
      const std::optional<double> found = evaluate(result, walk);
      const double expected = approximate != 0 ? tanh_gelu(at) : exact_gelu(at);
      if (!found || !(std::abs(*found - expected) <= kNear * std::max(1.0, std::abs(at)))) return false;
    }
    return stays_inside(walk, result);
  }

  // Does nobody else read what the spelling makes on its way?
  bool stays_inside(const Walk& walk, ValueId result) const {
    return std::ranges::all_of(walk.known, [&](const auto& made) {
      if (made.first == result) return true;
      return !readers_.is_kept(made.first) && std::ranges::all_of(readers_.of(made.first), [&](OpId user) {
        return walk.known.contains(graph_.op(user).outputs[0]);
      });
    });
  }

  const Graph& graph_;
  Readers readers_;
};

bool begins(Kind kind) {
  return kind == Kind::k_erf || kind == Kind::k_tanh || kind == Kind::k_sigmoid;
}

}  // namespace

Graph fuse_gelu(Graph graph) {
  std::vector<Expressions::Match> matches;
  const Expressions expressions(graph);
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (begins(graph.ops[op].kind))
      if (const auto match = expressions.from(static_cast<OpId>(op))) matches.push_back(*match);
  for (const Expressions::Match& match : matches) {
    Op& last = graph.ops[position_of(match.last)];
    last.kind = Kind::k_gelu;
    last.inputs = {match.x};
    last.attrs = {{match.approximate}, {}};
  }
  ir::drop_dead_ops(graph);
  return graph;
}

}  // namespace pantoum::rewrite
