// A small classifier and its data, for the tests of the library.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "pantoum/pantoum.hpp"

namespace pantoum::api {

inline constexpr int64_t kFeatures = 12, kClasses = 3, kBatch = 8;

// Points around a centre for each class; the same for the same seed.
struct Points {
  std::vector<float> x;
  std::vector<int64_t> y;
};

inline Points points(int64_t count, uint32_t seed) {
  Points made;
  uint32_t state = seed * 2654435761U + 1;
  for (int64_t sample = 0; sample < count; ++sample) {
    const int64_t label = sample % kClasses;
    made.y.push_back(label);
    for (int64_t feature = 0; feature < kFeatures; ++feature) {
      state = state * 1664525U + 1013904223U;
      const float noise = static_cast<float>(state >> 8) / 16777216.0F - 0.5F;
      made.x.push_back((feature % kClasses == label ? 1.0F : -0.5F) + noise);
    }
  }
  return made;
}

// `activation` applies what is tested.
template <class Activation>
Result<Model> classifier(const ModelOptions& options, const Activation& activation) {
  ModelBuilder net("classifier", {.seed = 7});
  Tensor x = net.input("x", {kFeatures});
  x = activation(net, net.linear(x, {.features = 32, .name = "fc1"}));
  x = activation(net, net.linear(x, {.features = 32, .name = "fc2"}));
  net.output("logits", net.linear(x, {.features = kClasses, .name = "fc3"}));
  PANTOUM_ASSIGN(std::string bytes, net.onnx());
  return Model::from_onnx(std::move(bytes), options);
}

inline Result<Model> classifier(const ModelOptions& options = {.batch = kBatch}) {
  return classifier(options, [](ModelBuilder& net, const Tensor& x) { return net.silu(x); });
}

// Portable kernels and no measuring: the same plan everywhere, in little time.
inline PlanOptions quick() {
  PlanOptions options;
  options.kernels = Kernels::portable;
  options.measure = Measure::off;
  options.effort = 1;
  options.threads = 1;
  return options;
}

// The losses of `steps` steps.
inline Result<std::vector<double>> losses_of(const Plan& plan, int steps, const TrainerOptions& options = {}) {
  PANTOUM_ASSIGN(Trainer trainer, Trainer::create(plan, options));
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    const Points batch = points(trainer.samples_per_step(), static_cast<uint32_t>(step));
    PANTOUM_ASSIGN(const StepStats stats, trainer.step({batch.x, batch.y}));
    losses.push_back(stats.loss);
  }
  return losses;
}

}  // namespace pantoum::api
