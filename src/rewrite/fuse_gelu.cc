#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "rewrite/fusions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;
using ir::Op;
using ir::ValueId;

constexpr double kNear = 1e-5;  // constants were rounded to float32 by the exporter, perhaps twice

bool near(double a, double b) {
  return std::abs(a - b) <= kNear;
}

class Matcher {
 public:
  explicit Matcher(const ir::Graph& graph) : graph_(graph), users_(ir::users_of(graph)) {}

  struct Match {
    ir::OpId last;  // makes the result
    ValueId x;
  };

  // From the erf on: a (1 + erf(x / sqrt 2)) times x, with halves before, between or behind.
  [[nodiscard]] std::optional<Match> from(const Op& erf) const {
    const std::optional<Scaled> argument = scaled(erf.inputs[0]);
    if (!argument || argument->b != 0 || !near(argument->a, std::numbers::sqrt2 / 2)) return std::nullopt;
    const ir::OpId plus = only_user(erf.outputs[0]);
    if (plus == ir::kNone || graph_.op(plus).kind != Kind::k_scale) return std::nullopt;
    const Op& sum = graph_.op(plus);
    double factor = sum.attrs.reals[0];
    if (!near(sum.attrs.reals[1], factor)) return std::nullopt;
    const ir::OpId times = only_user(sum.outputs[0]);
    if (times == ir::kNone || graph_.op(times).kind != Kind::k_mul) return std::nullopt;
    const Op& product = graph_.op(times);
    const ValueId other = product.inputs[product.inputs[0] == sum.outputs[0] ? 1 : 0];
    if (other != argument->x) {
      const std::optional<Scaled> half = scaled(other);
      if (!half || half->x != argument->x || half->b != 0) return std::nullopt;
      factor *= half->a;
    }
    if (near(factor, 0.5)) return Match{times, argument->x};
    const ir::OpId last = only_user(product.outputs[0]);
    if (last == ir::kNone || graph_.op(last).kind != Kind::k_scale) return std::nullopt;
    const Op& halved = graph_.op(last);
    if (halved.attrs.reals[1] != 0 || !near(factor * halved.attrs.reals[0], 0.5)) return std::nullopt;
    return Match{last, argument->x};
  }

 private:
  struct Scaled {
    ValueId x;
    double a, b;
  };

  [[nodiscard]] std::optional<Scaled> scaled(ValueId value) const {
    const ir::OpId producer = graph_.value(value).producer;
    if (producer == ir::kNone || graph_.op(producer).kind != Kind::k_scale) return std::nullopt;
    const Op& op = graph_.op(producer);
    return Scaled{op.inputs[0], op.attrs.reals[0], op.attrs.reals[1]};
  }

  // kNone where there are none or several, or the value leaves the graph.
  [[nodiscard]] ir::OpId only_user(ValueId value) const {
    for (const ValueId output : graph_.outputs)
      if (output == value) return ir::kNone;
    const std::vector<ir::OpId>& users = users_[static_cast<size_t>(value)];
    return users.size() == 1 ? users[0] : ir::kNone;
  }

  const ir::Graph& graph_;
  std::vector<std::vector<ir::OpId>> users_;
};

}  // namespace

ir::Graph fuse_gelu(ir::Graph graph) {
  std::vector<Matcher::Match> matches;
  const Matcher matcher(graph);
  for (const Op& op : graph.ops)
    if (op.kind == Kind::k_erf)
      if (const auto match = matcher.from(op)) matches.push_back(*match);
  for (const Matcher::Match& match : matches) {
    Op& last = graph.ops[static_cast<size_t>(match.last)];
    last.kind = Kind::k_gelu;
    last.inputs = {match.x};
    last.attrs = {{0}, {}};
  }
  ir::drop_dead_ops(graph);
  return graph;
}

}  // namespace pantoum::rewrite
