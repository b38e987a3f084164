#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "autodiff/autodiff.h"
#include "autodiff/step.h"
#include "autodiff/weight_parts.h"
#include "base/globs.h"
#include "pantoum/pantoum.h"

namespace pantoum::autodiff {

namespace {

void note_untouched(Graph& graph, const std::vector<char>& trained) {
  for (size_t id = 0; id < trained.size(); ++id) {
    const Value& value = graph.values[id];
    if (value.role != ir::Role::kParameter || !value.trainable || trained[id]) continue;
    graph.notes.push_back(fmt::format("the loss does not depend on the parameter '{}': it stays as it is", value.name));
  }
}

Result<void> check_groups(const Graph& graph, const TrainingOptions& options) {
  const auto* custom = std::get_if<CustomUpdate>(&options.optimizer);
  if (!options.groups.empty() && custom != nullptr && !custom->name.empty())
    return fail("E0117", fmt::format("the optimizer {} has no groups", custom->name), "groups",
                "give its rate to all parameters, or take an optimizer of pantoum's own");
  std::vector<std::string> unmatched;
  for (const ParameterGroup& group : options.groups)
    if (std::ranges::none_of(graph.values, [&](const Value& value) {
          return value.role == ir::Role::kParameter && names(group, value.name);
        }))
      unmatched.push_back(fmt::format("'{}'", group.names));
  if (unmatched.empty()) return {};
  return fail("E0104", "a group names no parameter", graph.name, "see the names with: pantoum inspect",
              std::move(unmatched));
}

// The tables of SparseAdam: their gradients are never whole, so that nothing may read them but the update.
class SparseTables {
 public:
  explicit SparseTables(const TrainingOptions& options)
      : options_(options), watched_(std::holds_alternative<SparseAdam>(options.optimizer)) {}

  void see(const Graph& graph, ValueId parameter, ValueId gradient) {
    if (!watched_) return;
    const RowsOf rows = rows_of(graph, gradient);
    if (rows != RowsOf::none)
      (rows == RowsOf::all ? tables_ : mixed_).push_back(fmt::format("'{}'", graph.value(parameter).name));
  }

  // E0117: accumulation, clipping or two programs. Else what is not as one may expect stands in the graph's notes.
  [[nodiscard]] Result<void> finish(Graph& graph) const {
    if (!watched_) return {};
    const char* reader = options_.split_update             ? "two programs for gradients and update"
                         : options_.accumulate > 1         ? "accumulation"
                         : options_.clip_norm.has_value()  ? "clipping by the norm"
                         : options_.clip_value.has_value() ? "clipping"
                                                           : nullptr;
    if (reader != nullptr && !tables_.empty())
      return fail("E0117", fmt::format("sparse_adam never makes the gradient of a table, which {} reads", reader),
                  fmt::format("{}", fmt::join(tables_, ", ")), "leave it out, or take another optimizer, as adam");
    for (const std::string& table : mixed_)
      graph.notes.push_back(
          fmt::format("the table {} is read in another way too: all of its rows train, as with adam", table));
    if (tables_.empty() && mixed_.empty())
      graph.notes.push_back("no gradient is that of rows of a table: sparse_adam trains as adam");
    return {};
  }

 private:
  const TrainingOptions& options_;
  bool watched_;
  std::vector<std::string> tables_, mixed_;
};

// Makes the forward pass, the losses and the gradients; `step` decides what happens with each gradient, and with all.
template <class Step>
Result<Graph> make_step(const Graph& forward, const TrainingOptions& options) {
  PANTOUM_TRY(ir::validate(forward));
  Graph graph = forward;
  PANTOUM_TRY(freeze(graph, options.freeze));
  PANTOUM_TRY(check_groups(graph, options));
  Builder builder(graph);
  PANTOUM_ASSIGN(const Losses losses, add_losses(builder, options.loss.terms()));
  graph.outputs.clear();
  graph.output_names.clear();
  graph.results = {losses.sum};
  std::vector<WeightedLoss> minimized;
  for (const LossSite& site : losses.sites) minimized.push_back({site.loss, site.term.weight});
  std::vector<char> trained(graph.values.size(), 0);
  PANTOUM_ASSIGN(WeightParts parts, WeightParts::of(graph, options.train_channels));
  Step step(builder, options);
  SparseTables sparse(options);
  PANTOUM_TRY(append_backward(builder, minimized, [&](ValueId parameter, ValueId whole) {
    const ValueId gradient = parts.gradient_of(builder, parameter, whole);
    trained[position_of(parameter)] = 1;
    sparse.see(builder.graph(), parameter, gradient);
    step.take(parameter, gradient);
  }));
  step.finish();
  if (builder.error()) return Failure(*builder.error());
  PANTOUM_TRY(sparse.finish(graph));
  note_untouched(graph, trained);
  parts.cut_early(graph);
  ir::drop_dead_ops(graph);
  return graph;
}

// The step of one micro-batch: adds every gradient to its sum.
class Accumulation {
 public:
  Accumulation(Builder& builder, const TrainingOptions&) : builder_(builder) {}
  void take(ValueId parameter, ValueId gradient) {
    const std::string name = builder_.graph().value(parameter).name;
    const ValueId sum = accumulator_of(builder_, parameter, builder_.type(gradient));
    succeed(builder_, sum, builder_.op(ir::Kind::k_accumulate, name + ".accumulate", {sum, gradient}));
  }
  void finish() {}

 private:
  Builder& builder_;
};

}  // namespace

Result<void> freeze(Graph& graph, const std::vector<std::string>& globs) {
  std::vector<std::string> unmatched;
  for (const std::string& glob : globs) {
    bool matched = false;
    for (Value& value : graph.values) {
      if (value.role != ir::Role::kParameter || !base::matches(glob, value.name)) continue;
      matched = true;
      value.trainable = false;
    }
    if (!matched) unmatched.push_back(fmt::format("'{}'", glob));
  }
  if (unmatched.empty()) return {};
  return fail("E0104", "--freeze names no parameter", graph.name, "see the names with: pantoum inspect",
              std::move(unmatched));
}

Result<Graph> make_training(const Graph& forward, const TrainingOptions& options) {
  return make_step<GradientChain>(forward, options);
}

Result<Graph> make_accumulation(const Graph& forward, const TrainingOptions& options) {
  return make_step<Accumulation>(forward, options);
}

namespace {

constexpr size_t kMostNorms = PT_MAX_OPERANDS - 1;  // one operand is the result

}  // namespace

ValueId accumulator_of(Builder& builder, ValueId parameter, const TensorType& gradient) {
  return builder.state("accumulated." + builder.graph().value(parameter).name, gradient);
}

// The mean over all micro-batches. With split_update `gradient` is their sum already.
ValueId GradientChain::mean_of(const std::string& name, ValueId parameter, ValueId gradient) {
  if (options_.accumulate == 1) return gradient;
  const double part = 1 / static_cast<double>(options_.accumulate);
  if (options_.split_update) return builder_.op(Kind::k_scale, name + ".mean", {gradient}, {{}, {part, kNothing}});
  const ValueId sum = accumulator_of(builder_, parameter, builder_.type(gradient));
  const std::vector<ValueId> made = builder_.add(Kind::k_accumulated, name + ".mean", {sum, gradient}, {{}, {part}});
  if (builder_.error()) return gradient;
  succeed(builder_, sum, made[1]);
  return made[0];
}

void GradientChain::take(ValueId parameter, ValueId gradient) {
  const std::string name = builder_.graph().value(parameter).name;
  gradient = mean_of(name, parameter, gradient);
  if (builder_.error()) return;
  if (const auto limit = options_.clip_value)
    gradient = builder_.op(Kind::k_clip, name + ".clip_value", {gradient}, {{}, {-*limit, *limit}});
  if (options_.clip_norm)
    held_.push_back({parameter, gradient, builder_.op(Kind::k_norm, name + ".norm", {gradient})});
  else
    append_update(builder_, options_, parameter, gradient);
}

// The norm of the norms, in groups of as many as one op can read.
ValueId GradientChain::norm_of_all() {
  std::vector<ValueId> norms;
  for (const Held& held : held_) norms.push_back(held.norm);
  while (norms.size() > 1) {
    std::vector<ValueId> groups;
    for (size_t begin = 0; begin < norms.size(); begin += kMostNorms) {
      const size_t end = std::min(begin + kMostNorms, norms.size());
      groups.push_back(
          builder_.op(Kind::k_norm, "gradients.norm",
                      {norms.begin() + static_cast<ptrdiff_t>(begin), norms.begin() + static_cast<ptrdiff_t>(end)}));
    }
    norms = std::move(groups);
  }
  return norms.front();
}

void GradientChain::finish() {
  if (held_.empty()) return;
  const ValueId norm = norm_of_all();
  for (const Held& held : held_) {
    const std::string name = builder_.graph().value(held.parameter).name;
    const ValueId clipped =
        builder_.op(Kind::k_clip_norm, name + ".clip_norm", {held.gradient, norm}, {{}, {*options_.clip_norm}});
    append_update(builder_, options_, held.parameter, clipped);
  }
}

// The second half of a training step whose gradients are states between the two halves.

namespace {

constexpr const char* kSum = "accumulated.";

// Maps the value that a state has at the end of the step to the state.
std::map<ValueId, std::string> sums_of(const Graph& gradients) {
  std::map<ValueId, std::string> sums;
  for (const Value& value : gradients.values)
    if (value.role == ir::Role::kState && value.next != kNone && value.name.starts_with(kSum))
      sums.emplace(value.next, value.name);
  return sums;
}

// A value as it is in `from`.
ValueId same_parameter(Builder& builder, const Graph& from, const std::string& name) {
  for (const Value& value : from.values)
    if (value.role == ir::Role::kParameter && value.name == name)
      return builder.parameter(name, value.type, value.data, value.trainable);
  return kNone;
}

}  // namespace

Result<Graph> make_update(const Graph& gradients, const TrainingOptions& options) {
  Graph graph;
  graph.name = gradients.name;
  Builder builder(graph);
  GradientChain chain(builder, options);
  const std::map<ValueId, std::string> sums = sums_of(gradients);
  for (const Op& op : gradients.ops) {  // in the order in which they are complete
    const auto sum = sums.find(op.outputs.front());
    if (sum == sums.end()) continue;
    const ValueId parameter = same_parameter(builder, gradients, sum->second.substr(std::string(kSum).size()));
    if (parameter == kNone) return fail("E0001", "internal: a gradient of no parameter", sum->second);
    const ValueId gradient = accumulator_of(builder, parameter, gradients.value(op.outputs.front()).type);
    chain.take(parameter, gradient);
    if (builder.error()) return Failure(*builder.error());
  }
  chain.finish();
  if (builder.error()) return Failure(*builder.error());
  return graph;
}

}  // namespace pantoum::autodiff
