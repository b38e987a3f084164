// LeNet-5 on Fashion-MNIST inside a RAM budget: lenet DATA [MiB]
#include <cstdlib>
#include <iostream>
#include <pantoum/pantoum.hpp>

int main(int argc, char** argv) try {
  pantoum::ModelBuilder net("lenet");
  auto x = net.input("x", {1, 28, 28});
  x = net.max_pool2d(net.relu(net.conv2d(x, {.channels = 6, .kernel = 5, .padding = 2, .name = "conv1"})), {.kernel = 2});
  x = net.max_pool2d(net.relu(net.conv2d(x, {.channels = 16, .kernel = 5, .name = "conv2"})), {.kernel = 2});
  x = net.relu(net.linear(net.flatten(x), {.features = 120, .name = "fc1"}));
  x = net.relu(net.linear(x, {.features = 84, .name = "fc2"}));
  net.output("logits", net.linear(x, {.features = 10, .name = "fc3"}));

  const auto model = pantoum::Model::from_onnx(net.onnx().value(), {.batch = 32, .optimizer = pantoum::Sgd{.lr = 0.1}}).value();
  const auto plan = pantoum::plan(model, {.ram = pantoum::MiB(argc > 2 ? std::atof(argv[2]) : 2)}).value();
  const auto data = pantoum::Dataset::open(argc > 1 ? argv[1] : "data", plan).value();
  auto trainer = pantoum::Trainer::create(plan).value();
  const auto run = trainer.fit(data.train, {.epochs = 1}, data.test).value();
  trainer.save("lenet.safetensors").value();

  std::cout << "peak " << plan.facts().peak_bytes << " of " << plan.facts().budget_bytes << " bytes, accuracy "
            << run.evaluation->accuracy.value() << " after " << run.steps << " steps\n";
} catch (const std::exception& error) {
  std::cerr << error.what();
  return EXIT_FAILURE;
}
