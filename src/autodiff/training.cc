#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "autodiff/autodiff.h"
#include "autodiff/backward.h"
#include "autodiff/gradient_chain.h"
#include "autodiff/loss.h"
#include "autodiff/update.h"

namespace pantoum::autodiff {
namespace {

using ir::Graph;
using ir::ValueId;

void note_untouched(Graph& graph, const std::vector<char>& trained) {
  for (size_t id = 0; id < trained.size(); ++id) {
    const ir::Value& value = graph.values[id];
    if (value.role != ir::Role::kParameter || !value.trainable || trained[id]) continue;
    graph.notes.push_back(fmt::format("the loss does not depend on the parameter '{}': it stays as it is", value.name));
  }
}

Result<void> check_decays(const Graph& graph, const std::vector<DecayOf>& decays) {
  std::vector<std::string> unmatched;
  for (const DecayOf& decay : decays)
    if (std::none_of(graph.values.begin(), graph.values.end(), [&](const ir::Value& value) {
          return value.role == ir::Role::kParameter && fnmatch(decay.names.c_str(), value.name.c_str(), 0) == 0;
        }))
      unmatched.push_back(fmt::format("'{}'", decay.names));
  if (unmatched.empty()) return {};
  return fail("E0104", "a weight decay names no parameter", graph.name, "see the names with: pantoum inspect",
              std::move(unmatched));
}

// Makes the forward pass, the losses and the gradients; `step` decides what happens with each gradient, and with all.
template <class Step>
Result<Graph> make_step(const Graph& forward, const TrainingOptions& options) {
  PANTOUM_TRY(ir::validate(forward));
  Graph graph = forward;
  PANTOUM_TRY(freeze(graph, options.freeze));
  PANTOUM_TRY(check_decays(graph, options.decays));
  ir::Builder builder(graph);
  PANTOUM_ASSIGN(const Losses losses, add_losses(builder, options.loss.terms()));
  graph.outputs.clear();
  graph.output_names.clear();
  graph.results = {losses.sum};
  std::vector<WeightedLoss> minimized;
  for (const LossSite& site : losses.sites) minimized.push_back({site.loss, site.term.weight});
  std::vector<char> trained(graph.values.size(), 0);
  Step step(builder, options);
  PANTOUM_TRY(append_backward(builder, minimized, [&](ValueId parameter, ValueId gradient) {
    trained[static_cast<size_t>(parameter)] = 1;
    step.take(parameter, gradient);
  }));
  step.finish();
  if (builder.error()) return Failure(*builder.error());
  note_untouched(graph, trained);
  ir::drop_dead_ops(graph);
  return graph;
}

// The step of one micro-batch: adds every gradient to its sum.
class Accumulation {
 public:
  Accumulation(ir::Builder& builder, const TrainingOptions&) : builder_(builder) {}
  void take(ValueId parameter, ValueId gradient) {
    const std::string name = builder_.graph().value(parameter).name;
    const ValueId sum = accumulator_of(builder_, parameter);
    succeed(builder_, sum, builder_.op(ir::Kind::k_accumulate, name + ".accumulate", {sum, gradient}));
  }
  void finish() {}

 private:
  ir::Builder& builder_;
};

}  // namespace

Result<void> freeze(Graph& graph, const std::vector<std::string>& globs) {
  std::vector<std::string> unmatched;
  for (const std::string& glob : globs) {
    bool matched = false;
    for (ir::Value& value : graph.values) {
      if (value.role != ir::Role::kParameter || fnmatch(glob.c_str(), value.name.c_str(), 0) != 0) continue;
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

}  // namespace pantoum::autodiff
