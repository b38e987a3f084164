// Ten steps of SGD of recurrent networks against PyTorch in float64: the loss of every step, and the norm of every
// parameter after them. recurrent.py made the expected values.
#include "network.h"

namespace pantoum {
namespace {

// A network, and whether many time steps are one op.
class TrainingOf : public testing::TestWithParam<std::tuple<const char*, bool>> {};

// The training step of a network, and what it is fed with.
struct Step {
  ir::Graph graph;
  ir::Feeds feeds;
};

Step step_of(const Network& network, bool series) {
  const Json& expected = network.expected();
  const Json& target = expected["target"];
  const uint32_t classes = target["classes"];
  Step step{training_of(network,
                        {.loss = {{.name = classes > 0 ? "cross_entropy" : "mse"}},
                         .optimizer = autodiff::Sgd{.momentum = expected["momentum"]}},
                        {.recurrent_series = series}),
            {}};
  for (size_t input = 0; input < expected["inputs"].size(); ++input)
    step.feeds[step.graph.inputs.at(input)] =
        Network::numbers(expected["inputs"][input]["stream"], expected["inputs"][input]["shape"]);
  step.feeds[step.graph.labels.at(0)] = classes > 0 ? Network::classes(target["stream"], target["shape"][0], classes)
                                                    : Network::numbers(target["stream"], target["shape"]);
  return step;
}

bool has_series(const ir::Graph& graph) {
  return std::any_of(graph.ops.begin(), graph.ops.end(), [](const ir::Op& op) {
    return op.kind == ir::Kind::k_lstm_sequence || op.kind == ir::Kind::k_gru_sequence;
  });
}

TEST_P(TrainingOf, TenStepsOfSgdAreThoseOfPyTorchInDouble) {
  const auto [name, series] = GetParam();
  const Network network(name);
  const Json& expected = network.expected();
  auto [graph, feeds] = step_of(network, series);
  EXPECT_EQ(has_series(graph), series && std::string(name) != "tacotron2");
  const std::vector<float> losses = run_steps(graph, feeds, expected["losses"].size(), expected["lr"]);
  for (size_t step = 0; step < losses.size(); ++step) {
    const double loss = expected["losses"][step];
    EXPECT_NEAR(static_cast<double>(losses[step]), loss, 1e-3 * loss) << "step " << step + 1;
  }
  const auto parameters = parameters_of(graph, feeds);
  EXPECT_EQ(parameters.size(), expected["norms"].size());
  for (const auto& [parameter, values] : parameters) {
    const double norm = expected["norms"].at(parameter);
    EXPECT_NEAR(norm_of(values), norm, 1e-3 * norm) << parameter;
  }
}

// Forward the bits are those of unrolled steps; the sums over time of the weights' gradients are cut elsewhere.
TEST(TrainingInSeries, GivesTheBitsOfUnrolledStepsForward) {
  for (const char* name : {"lstm", "gru"}) {
    const Network network(name);
    const double rate = network.expected()["lr"];
    Step unrolled = step_of(network, false), series = step_of(network, true);
    ASSERT_TRUE(has_series(series.graph));
    EXPECT_EQ(run_steps(series.graph, series.feeds, 1, rate), run_steps(unrolled.graph, unrolled.feeds, 1, rate));
    const auto expected = parameters_of(unrolled.graph, unrolled.feeds);
    for (const auto& [parameter, values] : parameters_of(series.graph, series.feeds))
      for (size_t at = 0; at < values.size(); ++at)
        EXPECT_NEAR(values[at], expected.at(parameter)[at], 1e-6F) << name << " " << parameter;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, TrainingOf,
                         testing::Combine(testing::Values("lstm", "gru", "tacotron2"), testing::Bool()),
                         [](const auto& network) {
                           return std::string(std::get<0>(network.param)) +
                                  (std::get<1>(network.param) ? "_in_series" : "");
                         });

}  // namespace
}  // namespace pantoum
