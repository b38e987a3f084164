// An operator and an optimizer that Pantoum does not have, trained, planned and checkpointed as its own.
#include <cmath>
#include <iostream>
#include <pantoum/pantoum.hpp>
#include <random>
#include <vector>

namespace {

// y = x tanh(softplus(x)), as one op: neither softplus nor tanh is kept for backward, x alone is.
pantoum::CustomOperator mish() {
  const auto gate = [](float x) { return std::tanh(std::log1p(std::exp(x))); };
  return {.name = "example::Mish",
          .shape = [](const pantoum::Operands& operands) -> pantoum::Result<std::vector<pantoum::TensorType>> {
            if (operands.inputs.size() != 1) return pantoum::fail("", "it takes one input");
            return std::vector{operands.inputs[0]};
          },
          .kernel = [gate](const pantoum::KernelCall& call) -> pantoum::Result<void> {
            const auto x = call.inputs()[0].as<float>(), y = call.outputs()[0].as<float>();
            call.parallel_for(x.size(), [&](size_t begin, size_t end) {
              for (size_t i = begin; i < end; ++i) y[i] = x[i] * gate(x[i]);
            });
            return {};
          },
          .gradients = {{.of = {0},
                         .reads_inputs = {0},
                         .kernel = [gate](const pantoum::KernelCall& call) -> pantoum::Result<void> {
                           const auto dy = call.inputs()[0].as<float>(), x = call.inputs()[1].as<float>();
                           const auto dx = call.outputs()[0].as<float>();
                           for (size_t i = 0; i < x.size(); ++i) {
                             const float t = gate(x[i]);
                             dx[i] = dy[i] * (t + x[i] * (1 - t * t) / (1 + std::exp(-x[i])));
                           }
                           return {};
                         }}}};
}

// Lion (Chen et al. 2023): the sign of an interpolated momentum.
pantoum::CustomOptimizer lion() {
  return {.name = "example::Lion",
          .states = {"momentum"},
          .kernel = [](const pantoum::KernelCall& call) -> pantoum::Result<void> {
            const auto w = call.inputs()[0].as<float>(), g = call.inputs()[1].as<float>(), m = call.inputs()[2].as<float>();
            const auto new_w = call.outputs()[0].as<float>(), new_m = call.outputs()[1].as<float>();
            const auto lr = static_cast<float>(call.lr());
            for (size_t i = 0; i < w.size(); ++i) {
              const float gradient = g[i], momentum = m[i], step = 0.9F * momentum + 0.1F * gradient;
              new_w[i] = w[i] - lr * static_cast<float>((step > 0) - (step < 0));
              new_m[i] = 0.99F * momentum + 0.01F * gradient;
            }
            return {};
          }};
}

}  // namespace

int main() try {
  pantoum::add_operator(mish()).value();
  pantoum::add_optimizer(lion()).value();

  pantoum::ModelBuilder net("rings");
  auto x = net.linear(net.input("x", {2}), {.features = 32, .name = "hidden"});
  x = net.node("Mish", {x}, {.domain = "example", .types = {{x.dtype(), x.shape()}}}).front();
  net.output("logits", net.linear(x, {.features = 2, .name = "head"}));
  const auto model =
      pantoum::Model::from_onnx(net.onnx().value(), {.batch = 64, .optimizer = pantoum::CustomUpdate{.name = "example::Lion", .lr = 0.003}})
          .value();
  const auto plan = pantoum::plan(model, {.ram = pantoum::KiB(64)}).value();
  auto trainer = pantoum::Trainer::create(plan).value();

  // Is a point inside the ring of radius 1?
  std::mt19937 random(1);
  const pantoum::Producer points = [&](uint64_t, std::span<const pantoum::TensorView> batch) -> pantoum::Result<void> {
    const auto at = batch[0].as<float>();
    const auto inside = batch[1].as<int64_t>();
    for (size_t i = 0; i < inside.size(); ++i) {
      at[2 * i] = static_cast<float>(random() % 4001) / 1000 - 2;
      at[2 * i + 1] = static_cast<float>(random() % 4001) / 1000 - 2;
      inside[i] = at[2 * i] * at[2 * i] + at[2 * i + 1] * at[2 * i + 1] < 1;
    }
    return {};
  };
  double first = 0;
  const auto run = trainer
                       .fit(points, {.steps_per_epoch = 500,
                                     .on_batch = [&](const pantoum::StepStats& step) { first = step.step == 1 ? step.loss : first; }})
                       .value();
  std::cout << "loss " << first << " -> " << run.loss << " in " << plan.facts().peak_bytes << " bytes\n";
  return run.loss < 0.5 * first ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::cerr << error.what();
  return EXIT_FAILURE;
}
