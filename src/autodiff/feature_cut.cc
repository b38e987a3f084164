#include "autodiff/feature_cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/op_registry.h"

namespace pantoum::autodiff {

namespace {

using ir::RowWise;

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

  const Shape& shape(ValueId value) const { return graph_.value(value).type.shape; }
  bool changed(ValueId value) const { return changes_[position_of(value)] != 0; }
  bool has_rows(const Shape& of) const { return !of.empty() && of[0] == batch_; }
  int64_t attribute(size_t at) const { return op_.attrs.ints.at(at); }

  // Only the first `count` inputs change.
  bool only_first(size_t count = 1) const {
    return std::none_of(op_.inputs.begin() + static_cast<ptrdiff_t>(std::min(count, op_.inputs.size())),
                        op_.inputs.end(), [&](ValueId input) { return changed(input); });
  }

  // Broadcast against an output of `rank`, the operand gives every row the same.
  bool same_for_rows(ValueId value, size_t rank) const {
    const Shape& of = shape(value);
    if (of.size() < rank || of[0] == 1) return true;
    const OpId producer = graph_.value(value).producer;
    if (producer == kNone || graph_.op(producer).kind != Kind::k_expand) return false;
    const Shape& from = shape(graph_.op(producer).inputs[0]);
    return from.size() < of.size() || from[0] == 1;
  }

  // Every operand has rows of its own in the output's first dimension, or is the same for all of them.
  bool operands_in_step() const {
    const size_t rank = shape(op_.outputs[0]).size();
    return std::ranges::all_of(op_.inputs, [&](ValueId input) {
      return changed(input) ? shape(input).size() == rank : same_for_rows(input, rank);
    });
  }

  bool product() const {
    const size_t rank = shape(op_.outputs[0]).size();
    if (op_.inputs.size() > 2 && changed(op_.inputs[2])) return false;
    if (rank == 2) return attribute(0) == 0 && only_first();
    const std::vector<ValueId> factors(op_.inputs.begin(), op_.inputs.begin() + 2);
    return std::ranges::all_of(factors, [&](ValueId factor) {
      return changed(factor) ? shape(factor).size() == rank : same_for_rows(factor, rank);
    });
  }

  bool gather() const {
    const bool from_table = !changed(op_.inputs[0]);
    return from_table ? attribute(0) == 0 : only_first() && attribute(0) > 0;
  }

  bool by_kind() const {
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

namespace {

// Facts about each value.
struct FixedValues {
  std::vector<char> changes;  // changes with the batch
  std::vector<char> fixed;    // can be computed before training, row by row where it changes with the batch
  std::vector<std::string> hindrances;
};

std::string why_not(const Op& op) {
  if (op.kind == Kind::k_batch_norm)
    return fmt::format("'{}' uses the statistics of the batch; --freeze-stats lets it use the running ones", op.name);
  if (op.kind == Kind::k_dropout || op.kind == Kind::k_random) return fmt::format("'{}' draws at random", op.name);
  return fmt::format("'{}' ({}) does not work on each sample by itself", op.name, ir::name_of(op.kind));
}

FixedValues fixed_values(const Graph& graph, int64_t batch) {
  FixedValues values{std::vector<char>(graph.values.size(), 0), std::vector<char>(graph.values.size(), 0), {}};
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    if (value.producer != kNone) continue;
    values.changes[id] = value.role == ir::Role::kInput;
    const bool has_rows = !value.type.shape.empty() && value.type.shape[0] == batch;
    values.fixed[id] = !value.trainable && value.next == kNone && (has_rows || !values.changes[id]);
  }
  for (const Op& op : graph.ops) {
    const auto all = [&](const std::vector<char>& property) {
      return std::ranges::all_of(op.inputs, [&](ValueId input) { return property[position_of(input)] != 0; });
    };
    const bool changes =
        std::ranges::any_of(op.inputs, [&](ValueId input) { return values.changes[position_of(input)] != 0; });
    const bool from_fixed = all(values.fixed);
    const bool fixed = from_fixed && (changes ? is_batch_independent(graph, op, values.changes, batch)
                                              : op.recompute && op.kind != Kind::k_random);
    if (from_fixed && !fixed && op.kind != Kind::k_batch_norm_stats) values.hindrances.push_back(why_not(op));
    for (size_t output = 0; output < op.outputs.size(); ++output) {
      const bool has_rows =
          op.kind != Kind::k_layer_norm ||
          output == 0;  // the statistics of a layer_norm have an element for each of its rows, not for each sample
      values.changes[position_of(op.outputs[output])] = changes;
      values.fixed[position_of(op.outputs[output])] = fixed && has_rows;
    }
  }
  return values;
}

bool is_ahead(const FixedValues& values, ValueId value) {
  return values.fixed[position_of(value)] != 0 && values.changes[position_of(value)] != 0;
}

// The values of the backbone that the head reads, followed upwards through aliases, which cost nothing.
std::set<ValueId> features_of(const Graph& graph, const FixedValues& values) {
  std::set<ValueId> features;
  const auto read = [&](ValueId value) {
    if (is_ahead(values, value)) features.insert(ir::root_of(graph, value));
  };
  for (const Op& op : graph.ops)
    if (!is_ahead(values, op.outputs[0]))
      for (const ValueId input : op.inputs) read(input);
  for (const ValueId output : graph.outputs) read(output);
  return features;
}

Graph backbone_of(const Graph& forward, const std::set<ValueId>& features) {
  Graph graph = forward;
  graph.name += ".features";
  graph.outputs.clear();
  graph.output_names.clear();
  graph.notes.clear();
  for (const ValueId feature : features)
    if (graph.value(feature).producer != kNone) graph.results.push_back(feature);
  for (Value& value : graph.values) value.next = kNone;
  ir::drop_dead_ops(graph);
  return graph;
}

Graph head_of(const Graph& forward, const FixedValues& values, const std::set<ValueId>& features) {
  Graph graph = forward;
  graph.inputs.assign(features.begin(), features.end());
  std::vector<Op> kept;
  std::vector<OpId> moved(forward.ops.size(), kNone);
  for (size_t id = 0; id < forward.ops.size(); ++id) {
    const Op& op = forward.ops[id];
    if (is_ahead(values, op.outputs[0]) && op.kind != Kind::k_alias) continue;
    moved[id] = static_cast<OpId>(kept.size());
    kept.push_back(op);
  }
  graph.ops = std::move(kept);
  for (Value& value : graph.values)
    if (value.producer != kNone) value.producer = moved[position_of(value.producer)];
  for (const ValueId feature : features) graph.value(feature).role = ir::Role::kInput;
  for (size_t id = 0; id < graph.values.size(); ++id)  // inputs that only the backbone reads
    if (graph.values[id].role == ir::Role::kInput && !features.contains(static_cast<ValueId>(id)))
      graph.values[id].role = ir::Role::kActivation;
  ir::drop_dead_ops(graph);
  return graph;
}

}  // namespace

Result<FeatureCut> cut_features(const Graph& forward) {
  PANTOUM_TRY(ir::validate(forward));
  const int64_t batch = forward.value(forward.inputs.front()).type.shape.empty()
                            ? 0
                            : forward.value(forward.inputs.front()).type.shape.front();
  const FixedValues values = fixed_values(forward, batch);
  const std::set<ValueId> features = features_of(forward, values);
  const bool any =
      std::ranges::any_of(features, [&](ValueId feature) { return forward.value(feature).producer != kNone; });
  if (!any)
    return fail("E0123", "no feature can be computed ahead: training begins at the model's inputs", "--feature-cache",
                "freeze the backbone with --freeze, and its batch norms with --freeze-stats", values.hindrances);
  FeatureCut cut{backbone_of(forward, features), head_of(forward, values, features)};
  for (const std::string& hindrance : values.hindrances) cut.head.notes.push_back("features end where " + hindrance);
  return cut;
}

}  // namespace pantoum::autodiff
