#include <algorithm>
#include <utility>

#include "rewrite/edit.h"
#include "rewrite/passes.h"

namespace pantoum::rewrite {
namespace {

// The ops that one attention op replaces, from the product that makes the scores to the product that reads their softmax.
struct Attention {
  const Op *scores = nullptr, *values = nullptr;
  std::vector<int64_t> steps;  // PT_STEP_..., in the order in which they change the scores
  std::vector<double> reals;
  std::vector<ValueId> masks;
  Shape batch;  // the batch dimensions of the scores at the steps with masks
};

class AttentionFinder {
 public:
  explicit AttentionFinder(const Graph& graph) : graph_(graph), readers_(graph), trains_(graph.values.size(), 0) {
    for (size_t id = 0; id < graph.values.size(); ++id)
      trains_[id] = graph.values[id].role == ir::Role::kParameter && graph.values[id].trainable;
    for (const Op& op : graph.ops) {
      const bool reads = std::ranges::any_of(op.inputs, [&](ValueId input) { return trains(input); });
      for (const ValueId output : op.outputs) trains_[position_of(output)] = reads;
    }
  }

  std::optional<Attention> at(const Op& softmax) const {
    const Shape& shape = shape_of(softmax.outputs[0]);
    if (softmax.kind != Kind::k_softmax || shape.size() < 2) return std::nullopt;
    if (softmax.attrs.ints[0] != static_cast<int64_t>(shape.size()) - 1) return std::nullopt;
    Attention found;
    if (!find_values(softmax.outputs[0], found) || !find_scores(softmax.inputs[0], found)) return std::nullopt;
    std::ranges::reverse(found.steps);
    std::ranges::reverse(found.reals);
    std::ranges::reverse(found.masks);
    if (found.batch.empty()) found.batch = batch_of_matrices(found.scores->outputs[0]);
    if (found.batch.empty()) found.batch = {1};
    return found;
  }

 private:
  const Shape& shape_of(ValueId value) const { return graph_.value(value).type.shape; }
  bool trains(ValueId value) const { return trains_[position_of(value)] != 0; }
  Shape batch_of_matrices(ValueId value) const {
    const Shape& shape = shape_of(value);
    return {shape.begin(), shape.end() - 2};
  }

  // Returns the only op that reads `value`, if it is ordinary and reads the value at one position; else null.
  const Op* only_reader(ValueId value) const {
    const OpId reader = readers_.only(value);
    if (reader == kNone) return nullptr;
    const Op& op = graph_.op(reader);
    return std::ranges::count(op.inputs, value) == 1 && is_ordinary(op) ? &op : nullptr;
  }

  // Returns whether the op is a view that keeps the last two dimensions, and so every matrix of scores.
  bool keeps_matrices(const Op& op) const {
    const Shape &from = shape_of(op.inputs[0]), &to = shape_of(op.outputs[0]);
    return op.kind == Kind::k_alias && from.size() >= 2 && to.size() >= 2 &&
           std::equal(from.end() - 2, from.end(), to.end() - 2);
  }

  // Returns whether the op is an ordinary product without bias whose factors both have the result's batch dimensions.
  bool is_product(const Op& op) const {
    if (op.kind != Kind::k_matmul || op.inputs.size() != 2 || !is_ordinary(op)) return false;
    const Shape batch = batch_of_matrices(op.outputs[0]);
    return batch_of_matrices(op.inputs[0]) == batch && batch_of_matrices(op.inputs[1]) == batch;
  }

  bool find_values(ValueId weights, Attention& found) const {
    const Op* reader = only_reader(weights);
    while (reader != nullptr && keeps_matrices(*reader)) weights = reader->outputs[0], reader = only_reader(weights);
    if (reader == nullptr || !is_product(*reader) || reader->inputs[0] != weights || reader->attrs.ints[0] != 0)
      return false;
    found.values = reader;
    return true;
  }

  // Follows `scores` back to the product that makes them, and adds the steps on the way to `found`. Returns false if an op on the way is no step.
  bool find_scores(ValueId scores, Attention& found) const {
    while (true) {
      const Op* op = maker_of(graph_, scores);
      if (op == nullptr || only_reader(scores) == nullptr || !is_ordinary(*op)) return false;
      if (is_product(*op)) {
        found.scores = op;
        return true;
      }
      const std::optional<ValueId> before = keeps_matrices(*op) ? op->inputs[0] : through(*op, found);
      if (!before) return false;
      scores = *before;
    }
  }

  // Adds the op to `found` as a step, and returns the scores that it reads; nullopt if the op is no step of attention.
  std::optional<ValueId> through(const Op& op, Attention& found) const {
    if (found.steps.size() == PT_ATTENTION_STEPS) return std::nullopt;
    switch (op.kind) {
      case Kind::k_scale:
        if (op.attrs.reals[1] != 0) return std::nullopt;
        return take(found, PT_STEP_SCALE, op.attrs.reals[0], op.inputs[0]);
      case Kind::k_add:
        for (const size_t scores : {size_t{0}, size_t{1}})
          if (leads_to_product(op, scores)) return take_mask(found, PT_STEP_ADD, 0, op, scores, 1 - scores);
        return std::nullopt;
      case Kind::k_where:
        for (const size_t scores : {size_t{1}, size_t{2}}) {
          const std::optional<double> filled = uniform_constant(graph_, op.inputs[3 - scores]);
          if (filled && leads_to_product(op, scores))
            return take_mask(found, scores == 1 ? PT_STEP_KEEP : PT_STEP_FILL, *filled, op, scores, 0);
        }
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  // Returns whether this input of the op is the scores: it comes, through steps, from a product. The other input is then the mask.
  bool leads_to_product(const Op& op, size_t input) const {
    Attention ignored;
    const ValueId scores = op.inputs[input];
    return graph_.value(scores).type == graph_.value(op.outputs[0]).type && find_scores(scores, ignored);
  }

  static std::optional<ValueId> take(Attention& found, int64_t step, double real, ValueId scores) {
    found.steps.push_back(step);
    found.reals.push_back(real);
    return scores;
  }

  // Adds a step with a mask. Returns nullopt if the mask depends on a trained parameter, because attention passes no gradient to a mask, or if the
  // scores have other batch dimensions here than at an earlier mask.
  std::optional<ValueId> take_mask(Attention& found, int64_t step, double real, const Op& op, size_t scores,
                                   size_t mask) const {
    const Shape batch = batch_of_matrices(op.outputs[0]);
    if (trains(op.inputs[mask]) || (!found.masks.empty() && found.batch != batch)) return std::nullopt;
    found.batch = batch;
    found.masks.push_back(op.inputs[mask]);
    return take(found, step, real, op.inputs[scores]);
  }

  const Graph& graph_;
  Readers readers_;
  std::vector<char> trains_;  // by value: does the value depend on a trained parameter?
};

ValueId seen_as(Edit& edit, ValueId matrices, const Shape& batch) {
  const Shape own = edit.type(matrices).shape;
  Shape shape = batch;
  shape.insert(shape.end(), own.end() - 2, own.end());
  return edit.reshape("attention.view", matrices, std::move(shape));
}

std::optional<Graph> with_attention(const Graph& graph, const Attention& found) {
  Shape batch = found.batch;
  if (batch.empty()) batch = {1};
  const Op &scores = *found.scores, &values = *found.values;
  Edit edit(graph, graph.value(values.outputs[0]).producer);
  std::vector<ValueId> inputs = {seen_as(edit, scores.inputs[0], batch), seen_as(edit, scores.inputs[1], batch),
                                 seen_as(edit, values.inputs[1], batch)};
  inputs.insert(inputs.end(), found.masks.begin(), found.masks.end());
  Attrs attrs{{scores.attrs.ints[0], 1 - scores.attrs.ints[1], values.attrs.ints[1]}, found.reals};
  attrs.ints.insert(attrs.ints.end(), found.steps.begin(), found.steps.end());
  attrs.ints.resize(PT_ATTENTION_ATTRS, PT_STEP_NONE);
  attrs.reals.resize(PT_ATTENTION_REALS, 0);
  const ValueId made = edit.op(Kind::k_attention, values.name + ".attention", std::move(inputs), std::move(attrs));
  const ValueId y = values.outputs[0];
  edit.replace(y, edit.reshape(values.name + ".attention.view", made, edit.type(y).shape));
  return edit.done();
}

}  // namespace

Graph fuse_attention(Graph graph) {
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (graph.ops[op].kind != Kind::k_softmax) continue;
    const std::optional<Attention> found = AttentionFinder(graph).at(graph.ops[op]);
    if (!found) continue;
    if (std::optional<Graph> fused = with_attention(graph, *found)) graph = *std::move(fused), op = 0;
  }
  return graph;
}

}  // namespace pantoum::rewrite
