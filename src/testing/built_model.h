// Models of a ModelBuilder, read, trained and asked. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "autodiff/autodiff.h"
#include "import/onnx.h"
#include "pantoum/layers.hpp"
#include "testing/evaluate.h"

namespace pantoum::layers {

using Shape = std::vector<int64_t>;

inline Result<import::Imported> read(const Result<std::string>& model, int64_t batch = 4) {
  if (!model) return fail(model.error().code, to_text(model.error()));
  return import::parse_onnx(model->data(), model->size(), "", {.batch = batch});
}

// "fc.weight f32[10,84]", in the model's order.
inline std::vector<std::string> parameters_of(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Value& value : graph.values)
    if (value.role == ir::Role::kParameter) names.push_back(value.name + " " + ir::to_text(value.type));
  return names;
}

// Parameters without a gradient.
inline std::vector<std::string> untrained(const ir::Graph& forward, autodiff::TrainingOptions options) {
  options.optimizer = autodiff::NoOptimizer{};
  const Result<ir::Graph> training = autodiff::make_training(forward, options);
  if (!training) return {to_text(training.error())};
  std::set<std::string> made;
  for (const ir::Value& value : training->values) made.insert(value.name);
  std::vector<std::string> missing;
  for (const ir::Value& value : forward.values)
    if (value.role == ir::Role::kParameter && !made.contains("grad." + value.name)) missing.push_back(value.name);
  return missing;
}

// Waves, each input's its own; integers below `classes`.
inline std::vector<std::byte> fed(const ir::TensorType& type, int64_t classes, int32_t phase) {
  std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
  for (int64_t at = 0; at < type.elements(); ++at) {
    const auto wave = static_cast<float>(std::sin(0.9 * static_cast<double>(at + 1) + phase));
    const int64_t integer = at % classes;
    if (type.dtype == ir::DType::kF32)
      std::memcpy(bytes.data() + at * 4, &wave, 4);
    else
      std::memcpy(bytes.data() + at * ir::size_of(type.dtype), &integer, static_cast<size_t>(ir::size_of(type.dtype)));
  }
  return bytes;
}

// The losses of so many steps on one batch. Integers that are fed are below `classes`.
inline std::vector<float> losses_of(const ir::Graph& forward, const autodiff::TrainingOptions& options, int steps,
                                    int64_t classes, double lr) {
  const Result<ir::Graph> graph = autodiff::make_training(forward, options);
  EXPECT_TRUE(graph) << to_text(graph.error());
  if (!graph) return {};
  ir::Feeds feeds;
  for (const std::vector<ir::ValueId>* ids : {&graph->inputs, &graph->labels})
    for (const ir::ValueId id : *ids) feeds[id] = fed(graph->value(id).type, classes, id);
  std::vector<float> losses;
  for (int step = 1; step <= steps; ++step) {
    const Result<ir::Evaluated> run =
        ir::evaluate(*graph, *pt_portable_kernels(), feeds, {.scalars = {static_cast<uint64_t>(step), 5, lr}});
    EXPECT_TRUE(run) << to_text(run.error());
    if (!run) return losses;
    losses.push_back(run->as<float>(graph->results[0])[0]);
    for (size_t id = 0; id < graph->values.size(); ++id)
      if (const ir::ValueId next = graph->values[id].next; next != ir::kNone)
        feeds[static_cast<ir::ValueId>(id)] = run->bytes[static_cast<size_t>(next)];
  }
  return losses;
}

inline void expect_learns(const Result<std::string>& model, int64_t classes, int steps = 12,
                          autodiff::TrainingOptions options = {}) {
  options.optimizer = autodiff::Adam{};
  const Result<import::Imported> imported = read(model);
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(imported->info.warnings, std::vector<std::string>());
  EXPECT_EQ(untrained(imported->graph, options), std::vector<std::string>());
  const std::vector<float> losses = losses_of(imported->graph, options, steps, classes, 0.02);
  ASSERT_EQ(losses.size(), static_cast<size_t>(steps));
  EXPECT_LT(losses.back(), 0.9F * losses.front());
}

}  // namespace pantoum::layers
