// Ten steps of SGD of recurrent networks against PyTorch in float64: the loss of every step, and the norm of every
// parameter after them. recurrent.py made the expected values.
#include "network.h"

namespace pantoum {
namespace {

class TrainingOf : public testing::TestWithParam<const char*> {};

TEST_P(TrainingOf, TenStepsOfSgdAreThoseOfPyTorchInDouble) {
  const Network network(GetParam());
  const Json& expected = network.expected();
  const Json& target = expected["target"];
  const uint32_t classes = target["classes"];
  const ir::Graph graph =
      training_of(network, {.losses = {{.loss = classes > 0 ? autodiff::Loss::kCrossEntropy : autodiff::Loss::kMse}},
                            .optimizer = autodiff::Sgd{.momentum = expected["momentum"]}});
  ir::Feeds feeds;
  for (size_t input = 0; input < expected["inputs"].size(); ++input)
    feeds[graph.inputs.at(input)] =
        Network::numbers(expected["inputs"][input]["stream"], expected["inputs"][input]["shape"]);
  feeds[graph.labels.at(0)] = classes > 0 ? Network::classes(target["stream"], target["shape"][0], classes)
                                          : Network::numbers(target["stream"], target["shape"]);
  const std::vector<float> losses = run_steps(graph, feeds, expected["losses"].size(), expected["lr"]);
  for (size_t step = 0; step < losses.size(); ++step) {
    const double loss = expected["losses"][step];
    EXPECT_NEAR(static_cast<double>(losses[step]), loss, 1e-3 * loss) << "step " << step + 1;
  }
  const auto parameters = parameters_of(graph, feeds);
  EXPECT_EQ(parameters.size(), expected["norms"].size());
  for (const auto& [name, values] : parameters) {
    const double norm = expected["norms"].at(name);
    EXPECT_NEAR(norm_of(values), norm, 1e-3 * norm) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, TrainingOf, testing::Values("lstm", "gru", "tacotron2"),
                         [](const auto& network) { return std::string(network.param); });

}  // namespace
}  // namespace pantoum
