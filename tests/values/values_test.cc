// Loss, gradients and optimizer steps against PyTorch in float64, on five networks. README.md tells how the expected
// values were made.
#include "network.h"

namespace pantoum {
namespace {

ir::Graph training_of(const Network& network, autodiff::Optimizer optimizer) {
  return training_of(network, autodiff::TrainingOptions{.optimizer = optimizer});
}

ir::Feeds feeds_of(const Network& network, const ir::Graph& graph) {
  const Json& expected = network.expected();
  return {{graph.inputs.at(0), Network::numbers(expected["x_stream"], expected["shape"])},
          {graph.labels.at(0), Network::classes(expected["label_stream"], expected["shape"][0], expected["classes"])}};
}

// The kept entries within 1e-4 of max(largest magnitude of the tensor, 1e-3 of `largest` over the model); and the norm
// likewise.
void compare(const std::string& name, const std::vector<float>& ours, const Json& expected, double largest) {
  const double bound = 1e-4 * std::max(expected["max"].get<double>(), 1e-3 * largest);
  const std::vector<double> entries = expected["entries"];
  for (size_t pick = 0; pick < entries.size(); ++pick) {
    const size_t at = ours.size() > entries.size() ? pick * ours.size() / entries.size() : pick;
    EXPECT_NEAR(static_cast<double>(ours.at(at)), entries[pick], bound) << name << "[" << at << "]";
  }
  EXPECT_NEAR(norm_of(ours), expected["norm"].get<double>(), bound * std::sqrt(static_cast<double>(ours.size())))
      << name;
}

double largest_of(const Json& tensors) {
  double largest = 0;
  for (const Json& tensor : tensors) largest = std::max(largest, tensor["max"].get<double>());
  return largest;
}

class ValuesOf : public testing::TestWithParam<const char*> {};

TEST_P(ValuesOf, LossAndGradientsAreThoseOfPyTorchInDouble) {
  const Network network(GetParam());
  const ir::Graph graph = training_of(network, autodiff::NoOptimizer{});
  const auto values = ir::evaluate(graph, *pt_portable_kernels(), feeds_of(network, graph), blocked(graph, 1, 0));
  ASSERT_TRUE(values) << to_text(values.error());
  const double loss = network.expected()["loss"];
  EXPECT_NEAR(static_cast<double>(values->as<float>(graph.results.at(0)).at(0)), loss, 1e-4 * std::abs(loss));
  const Json& gradients = network.expected()["gradients"];
  size_t compared = 0;
  for (ir::ValueId output : graph.outputs) {
    const std::string name = graph.value(output).name.substr(std::string("grad.").size());
    ASSERT_TRUE(gradients.contains(name)) << name;
    compare(name, values->as<float>(output), gradients[name], largest_of(gradients));
    ++compared;
  }
  EXPECT_EQ(compared, gradients.size());
}

// Five steps; returns the parameters by name.
std::map<std::string, std::vector<float>> train(const Network& network, autodiff::Optimizer optimizer, double lr) {
  const ir::Graph graph = training_of(network, optimizer);
  ir::Feeds feeds = feeds_of(network, graph);
  run_steps(graph, feeds, 5, lr);
  return parameters_of(graph, feeds);
}

TEST_P(ValuesOf, FiveStepsOfSgdAreThoseOfPyTorchInDouble) {
  const Network network(GetParam());
  const Json& expected = network.expected()["sgd"];
  const auto parameters = train(network, autodiff::Sgd{.momentum = 0.9, .weight_decay = 1e-4}, 0.01);
  EXPECT_EQ(parameters.size(), expected.size());
  for (const auto& [name, values] : parameters) compare(name, values, expected.at(name), largest_of(expected));
}

TEST_P(ValuesOf, FiveStepsOfAdamKeepPyTorchsNorms) {
  const Network network(GetParam());
  const Json& expected = network.expected()["adam"];
  const auto parameters = train(network, autodiff::Adam{}, 1e-3);
  EXPECT_EQ(parameters.size(), expected.size());
  for (const auto& [name, values] : parameters) {
    const double norm = expected.at(name)["norm"];
    EXPECT_NEAR(norm_of(values), norm, 1e-2 * norm) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, ValuesOf, testing::Values("cnn", "mlp", "resnet18", "vgg16", "transformer"),
                         [](const auto& network) { return std::string(network.param); });

}  // namespace
}  // namespace pantoum
