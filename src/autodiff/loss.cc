#include "autodiff/step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "autodiff/written_softmax.h"
#include "ir/op_registry.h"

namespace pantoum::autodiff {
namespace {

void note_left_out(Graph& graph, const Op& last) {
  graph.notes.push_back(
      fmt::format("the final {} '{}' is left out: the loss includes it", ir::name_of(last.kind), last.name));
}

// The input of a final softmax over the classes (`term` then knows where they are): cross-entropy applies its own.
ValueId logits_of(Builder& builder, ValueId output, LossTerm& term) {
  const std::optional<FoundSoftmax> softmax = find_softmax(builder.graph(), output);
  if (!softmax) return output;
  const auto rank = static_cast<int64_t>(builder.type(output).shape.size());
  const int64_t axis = softmax->axis < term.batch_axis ? softmax->axis + 1 : softmax->axis;  // with the batch in front
  if (softmax->axis == term.batch_axis) return output;
  const bool at_end = axis == rank - 1, fits = at_end || (axis == 1 && !term.classes_last);
  if (rank < 2 || !fits) return output;
  term.classes_last = at_end;
  const Op& last = *maker_of(builder.graph(), output);
  const bool is_op = last.kind == Kind::k_softmax || last.kind == Kind::k_log_softmax;
  if (is_op)
    note_left_out(builder.graph(), last);
  else
    builder.graph().notes.push_back(fmt::format("the final {} that ends in '{}' is left out: the loss includes it",
                                                softmax->logarithm ? "log-softmax" : "softmax", last.name));
  return softmax->logits;
}

// The input of a final sigmoid: the binary cross-entropy applies its own.
ValueId binary_logits_of(Builder& builder, ValueId output) {
  const Op* last = maker_of(builder.graph(), output);
  if (last == nullptr || last->kind != Kind::k_sigmoid) return output;
  const ValueId logits = last->inputs[0];
  note_left_out(builder.graph(), *last);
  return logits;
}

ValueId prediction_of(Builder& builder, ValueId output, LossTerm& term) {
  const Loss kind = kind_of(term);
  if (kind == Loss::kCrossEntropy || kind == Loss::kSoftCrossEntropy) return logits_of(builder, output, term);
  return kind == Loss::kBceWithLogits ? binary_logits_of(builder, output) : output;
}

bool has_classes(const LossTerm& term) {
  return has_labels(term) || kind_of(term) == Loss::kSoftCrossEntropy;
}

Result<TensorType> label_type(const Builder& builder, ValueId prediction, const LossTerm& term) {
  const TensorType type = builder.type(prediction);
  const std::string& name = builder.graph().value(prediction).name;
  if (!ir::is_float(type.dtype)) return fail("E0403", "the model's output is not floating point", name);
  if (!has_classes(term)) return type;
  const size_t rank = type.shape.size(), axis = term.classes_last ? rank - 1 : 1;
  if (rank < 2 || type.shape[axis] < 2) {
    return fail("E0403",
                fmt::format("a loss over classes wants an output {}, and the model's is {}",
                            term.classes_last ? "[N, .., classes]" : "[N, classes, ..]", ir::to_text(type)),
                name, "give the model one output per class, or use a loss of numbers as --loss mse");
  }
  if (!has_labels(term)) return type;
  Shape shape = type.shape;
  shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis));
  return TensorType{DType::kI64, shape};
}

// Reads the classes from the last dimension: all other dimensions are positions.
void read_as_positions(Builder& builder, LossSite& site) {
  const TensorType type = builder.type(site.prediction);
  const int64_t classes = type.shape.back(), positions = type.elements() / classes;
  site.prediction = builder.reshape(site.prediction, {positions, classes});
  site.target = builder.reshape(site.target, has_labels(site.term) ? Shape{positions} : Shape{positions, classes});
}

struct LossOp {
  Kind kind;
  Attrs attrs;
};

LossOp op_of(const LossTerm& term, const TensorType& prediction) {
  switch (kind_of(term)) {
    case Loss::kCrossEntropy:
      return {Kind::k_cross_entropy, {{term.ignore_index}, {term.smoothing}}};
    case Loss::kSoftCrossEntropy:
      return {Kind::k_soft_cross_entropy, {{}, {term.smoothing}}};
    case Loss::kNll:
      return {Kind::k_nll, {{term.ignore_index}, {}}};
    case Loss::kMse:
      return {Kind::k_mse, {}};
    case Loss::kL1:
      return {Kind::k_l1, {}};
    case Loss::kSmoothL1:
      return {Kind::k_smooth_l1, {{}, {term.beta}}};
    case Loss::kBceWithLogits:
      return {Kind::k_bce_with_logits, {}};
    case Loss::kKlDiv:
    case Loss::kCaptured:
      break;
  }
  const bool by_sample = term.mean_of_batch && !prediction.shape.empty();
  return {Kind::k_kl_div, {{}, {by_sample ? static_cast<double>(prediction.shape[0]) : 0}}};
}

Result<ValueId> output_of(const Graph& graph, const std::optional<std::string>& name) {
  if (graph.outputs.empty()) return fail("E0403", "the model has no output to compute a loss of", graph.name);
  if (!name) return graph.outputs[0];
  const auto found = std::ranges::find(graph.output_names, *name);
  if (found == graph.output_names.end())
    return fail("E0403", fmt::format("the model has no output '{}'", *name), graph.name,
                fmt::format("its outputs are: {}", fmt::join(graph.output_names, ", ")));
  return graph.outputs[static_cast<size_t>(found - graph.output_names.begin())];
}

// The last tensor of a batch is its target to whoever feeds it: the order stays. A model of one input alone gets a target
// that nothing reads.
void take_last_as_target(Builder& builder) {
  Graph& graph = builder.graph();
  if (graph.inputs.size() < 2) {
    const Shape samples = {graph.inputs.empty() ? 1 : graph.value(graph.inputs[0]).type.shape[0]};
    graph.labels = {builder.input("label", {DType::kI64, samples}, ir::Role::kLabel)};
    return;
  }
  const ValueId last = graph.inputs.back();
  graph.inputs.pop_back();
  graph.value(last).role = ir::Role::kLabel;
  builder.rename(last, "label");
  graph.labels = {last};
}

// Takes the model's output that is the loss.
Result<LossSite> captured_loss(Builder& builder, const LossTerm& term) {
  const std::vector<std::string>& names = builder.graph().output_names;
  if (std::ranges::find(names, ir::kCapturedLoss) == names.end())
    return fail("E0403", "the model computes no loss itself", builder.graph().name, "name a loss, as cross_entropy");
  PANTOUM_ASSIGN(const ValueId output, output_of(builder.graph(), ir::kCapturedLoss));
  if (term.weight != 1)
    return fail("E0403", "the model's own loss has a weight", builder.graph().name, "scale it in the module");
  take_last_as_target(builder);
  return LossSite{.term = term, .suffix = {}, .loss = output, .weighted = output};
}

// E0403 the class weights are not one a class, all 0, or of a loss without classes.
Result<void> check_class_weights(const Builder& builder, const LossSite& site) {
  const std::vector<double>& weights = site.term.class_weights;
  if (weights.empty()) return {};
  const Value& prediction = builder.graph().value(site.prediction);
  if (!has_classes(site.term))
    return fail("E0403", fmt::format("a loss {} has no classes to weigh", site.term.name), prediction.name,
                "class_weights is for cross_entropy, soft_cross_entropy and nll");
  const Shape& shape = prediction.type.shape;
  const int64_t classes = shape[site.term.classes_last ? shape.size() - 1 : 1];
  if (static_cast<int64_t>(weights.size()) != classes)
    return fail("E0403", fmt::format("{} class weights for {} classes", weights.size(), classes), prediction.name,
                "give one weight for each class, in the order of the output's scores");
  const auto is_weight = [](double weight) { return std::isfinite(static_cast<float>(weight)) && weight >= 0; };
  if (!std::ranges::all_of(weights, is_weight))
    return fail("E0403", "a class weight is negative or not finite", prediction.name, "give weights of 0 or more");
  if (std::ranges::all_of(weights, [](double weight) { return static_cast<float>(weight) == 0; }))
    return fail("E0403", "all class weights are 0", prediction.name, "give one class a weight above 0");
  return {};
}

// E0403 the output has no such dimension.
Result<void> check_batch_axis(const Builder& builder, ValueId output, const LossTerm& term) {
  const Value& value = builder.graph().value(output);
  if (term.batch_axis == 0 || term.batch_axis < static_cast<int64_t>(value.type.shape.size())) return {};
  return fail("E0403", fmt::format("the batch is dimension {}, and the output is {}", term.batch_axis, ir::to_text(value.type)),
              value.name, "dimensions count from 0: batch_axis=1 reads [T,N,..]");
}

Result<LossSite> add_loss(Builder& builder, const LossTerm& term, bool alone) {
  if (kind_of(term) == Loss::kCaptured) return captured_loss(builder, term);
  PANTOUM_ASSIGN(const ValueId output, output_of(builder.graph(), term.output));
  PANTOUM_TRY(check_batch_axis(builder, output, term));
  LossSite site{.term = term, .suffix = alone ? "" : "." + *term.output};
  const std::string batch_first_name = builder.graph().value(output).name + ".batch_first";
  site.prediction = batch_first(builder, prediction_of(builder, output, site.term), term, batch_first_name);
  PANTOUM_ASSIGN(TensorType type, label_type(builder, site.prediction, site.term));
  PANTOUM_TRY(check_class_weights(builder, site));
  site.label = site.target = builder.input("label" + site.suffix, std::move(type), ir::Role::kLabel);
  if (site.term.classes_last && has_classes(term)) read_as_positions(builder, site);
  const LossOp op = op_of(term, builder.type(site.prediction));
  const std::string name = "loss" + site.suffix;
  const bool whole = term.weight == 1;
  const std::string own = whole ? name : name + ".plain";
  if (term.class_weights.empty())
    site.loss = builder.op(op.kind, own, {site.prediction, site.target}, op.attrs);
  else
    add_weighted_loss(builder, site, own);
  site.weighted = whole ? site.loss : builder.op(Kind::k_scale, name, {site.loss}, {{}, {term.weight, 0}});
  return site;
}

Result<void> check_terms(const Graph& graph, const std::vector<LossTerm>& terms) {
  if (terms.empty()) return fail("E0403", "there is no loss", graph.name);
  const auto captured = [](const LossTerm& term) { return kind_of(term) == Loss::kCaptured; };
  if (terms.size() > 1 && std::ranges::any_of(terms, captured))
    return fail("E0403", "the model's own loss stands beside others", graph.name, "add the others in the module");
  std::vector<std::optional<std::string>> outputs;
  for (const LossTerm& term : terms) {
    if (terms.size() > 1 && !term.output)
      return fail("E0403", "one of several losses names no output", graph.name, "write --loss OUTPUT=LOSS for each");
    if (std::ranges::find(outputs, term.output) != outputs.end())
      return fail("E0403", fmt::format("two losses on the output '{}'", *term.output), graph.name);
    outputs.push_back(term.output);
  }
  return {};
}

}  // namespace

Loss kind_of(const LossTerm& term) {
  const auto* const found = std::ranges::find(kLossNames, term.name);
  PANTOUM_CHECK(found != kLossNames.end());
  return static_cast<Loss>(found - kLossNames.begin());
}
static_assert(kLossNames.size() == static_cast<size_t>(Loss::kCaptured) + 1);

ValueId batch_first(Builder& builder, ValueId output, const LossTerm& term, const std::string& name) {
  if (term.batch_axis == 0) return output;
  std::vector<int64_t> order{term.batch_axis};
  for (int64_t d = 0; d < static_cast<int64_t>(builder.type(output).shape.size()); ++d)
    if (d != term.batch_axis) order.push_back(d);
  return builder.transpose(name, output, order);
}

bool has_labels(const LossTerm& term) {
  const Loss kind = kind_of(term);
  return kind == Loss::kCrossEntropy || kind == Loss::kNll;
}

Result<Losses> add_losses(Builder& builder, const std::vector<LossTerm>& terms) {
  Graph& graph = builder.graph();
  PANTOUM_TRY(check_terms(graph, terms));
  if (graph.outputs.size() > 1 && terms.size() == 1 && !terms[0].output && kind_of(terms[0]) != Loss::kCaptured) {
    graph.notes.push_back(fmt::format("the loss is taken on the first of {} outputs, '{}'", graph.outputs.size(),
                                      graph.value(graph.outputs[0]).name));
  }
  Losses losses;
  for (const LossTerm& term : terms) {
    PANTOUM_ASSIGN(LossSite site, add_loss(builder, term, terms.size() == 1));
    losses.sites.push_back(std::move(site));
  }
  // Only the last sum is named "loss": names are unique.
  for (const LossSite& site : losses.sites) {
    const bool last = &site == &losses.sites.back();
    losses.sum = losses.sum == kNone ? site.weighted
                                     : builder.op(Kind::k_add, last ? "loss" : "loss.sum", {losses.sum, site.weighted});
  }
  builder.rename(losses.sum, "loss");
  if (builder.error()) return Failure(*builder.error());
  return losses;
}

}  // namespace pantoum::autodiff
