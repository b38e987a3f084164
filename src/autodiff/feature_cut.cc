#include "autodiff/feature_cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "autodiff/batch_independent.h"
#include "base/index.h"
#include "ir/op_registry.h"

namespace pantoum::autodiff {
namespace {

using base::position_of;
using ir::Graph;
using ir::Kind;
using ir::kNone;
using ir::Op;
using ir::Value;
using ir::ValueId;

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
      return std::all_of(op.inputs.begin(), op.inputs.end(),
                         [&](ValueId input) { return property[position_of(input)] != 0; });
    };
    const bool changes = std::any_of(op.inputs.begin(), op.inputs.end(),
                                     [&](ValueId input) { return values.changes[position_of(input)] != 0; });
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
  std::vector<ir::OpId> moved(forward.ops.size(), kNone);
  for (size_t id = 0; id < forward.ops.size(); ++id) {
    const Op& op = forward.ops[id];
    if (is_ahead(values, op.outputs[0]) && op.kind != Kind::k_alias) continue;
    moved[id] = static_cast<ir::OpId>(kept.size());
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
  const bool any = std::any_of(features.begin(), features.end(),
                               [&](ValueId feature) { return forward.value(feature).producer != kNone; });
  if (!any)
    return fail("E0123", "no feature can be computed ahead: training begins at the model's inputs", "--feature-cache",
                "freeze the backbone with --freeze, and its batch norms with --freeze-stats", values.hindrances);
  FeatureCut cut{backbone_of(forward, features), head_of(forward, values, features)};
  for (const std::string& hindrance : values.hindrances) cut.head.notes.push_back("features end where " + hindrance);
  return cut;
}

}  // namespace pantoum::autodiff
