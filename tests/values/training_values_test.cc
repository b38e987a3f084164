// Losses, optimizers, schedules and clipping against PyTorch, in the words of the command line. README.md tells how the
// expected values were made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "autodiff/step.h"
#include "settings/fields.h"
#include "testing/evaluate.h"
#include "train/schedule.h"

namespace pantoum {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;

const Json& reference() {
  static const Json json = Json::parse(std::ifstream(std::string(PANTOUM_SOURCE_DIR) + "/tests/values/training.json"));
  return json;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> as_type(const Numbers& values, ir::DType dtype) {
  if (dtype == ir::DType::kI64) return bytes_of(std::vector<int64_t>(values.begin(), values.end()));
  if (dtype == ir::DType::kF32) return bytes_of(std::vector<float>(values.begin(), values.end()));
  return bytes_of(values);
}

// A graph in one precision, its contents told by name.
class Precision {
 public:
  Precision(const ir::Graph& graph, bool in_double)
      : graph_(in_double ? ir::to_double(graph) : graph), double_(in_double) {}

  void feed(ir::ValueId id, const Numbers& values) { feeds_[id] = as_type(values, graph_.value(id).type.dtype); }
  void run(const pt_scalars& scalars) {
    const pt_kernel_table& kernels = double_ ? *pt_portable_kernels_f64() : *pt_portable_kernels();
    Result<ir::Evaluated> ran = ir::evaluate(graph_, kernels, feeds_, {.scalars = scalars});
    ASSERT_TRUE(ran) << to_text(ran.error());
    ran_ = std::move(*ran);
    for (size_t id = 0; id < graph_.values.size(); ++id)
      if (const ir::ValueId next = graph_.values[id].next; next != ir::kNone)
        feeds_[static_cast<ir::ValueId>(id)] = ran_.bytes[static_cast<size_t>(next)];
  }
  [[nodiscard]] Numbers value(ir::ValueId id) const {
    if (double_) return ran_.as<double>(id);
    const std::vector<float> values = ran_.as<float>(id);
    return {values.begin(), values.end()};
  }

 private:
  ir::Graph graph_;
  bool double_;
  ir::Feeds feeds_;
  ir::Evaluated ran_;
};

void expect_near(const Numbers& found, const Numbers& expected, bool in_double, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t at = 0; at < found.size(); ++at)
    EXPECT_NEAR(found[at], expected[at], (in_double ? 1e-12 : 2e-6) * std::max(1.0, std::abs(expected[at])))
        << what << " [" << at << "]";
}

ir::TensorType f32(const ir::Shape& shape) {
  return {ir::DType::kF32, shape};
}

void set(ModelOptions& options, const std::string& setting, const std::string& words) {
  for (const settings::Field& field : settings::fields_of(options)) {
    if (field.setting.name != setting) continue;
    field.clear();
    const Result<void> done = field.set(words, setting);
    ASSERT_TRUE(done) << to_text(done.error());
  }
}

TEST(AgainstPyTorch, Losses) {
  for (const Json& expected : reference()["losses"]) {
    const std::string name = expected["name"];
    ModelOptions options{.optimizer = autodiff::NoOptimizer{}};
    set(options, "loss", expected["loss"]);
    ir::Graph forward;
    ir::Builder builder(forward);
    const ir::ValueId x = builder.parameter("x", f32(expected["shape"].get<ir::Shape>()), nullptr);
    forward.outputs = {x};
    const Result<ir::Graph> graph =
        autodiff::make_training(forward, options);
    ASSERT_TRUE(graph) << to_text(graph.error());
    for (const bool in_double : {false, true}) {
      Precision run(*graph, in_double);
      run.feed(x, expected["x"]);
      run.feed(graph->labels[0], expected["target"]);
      run.run({1, 0, 0});
      expect_near(run.value(graph->results[0]), {expected["value"]}, in_double, name);
      expect_near(run.value(graph->outputs[0]), expected["gradient"], in_double, name + ", gradient");
    }
  }
}

// "sgd,momentum=0.9,nesterov", of {"optimizer": "sgd", "momentum": 0.9, "nesterov": true}.
std::string words_of(const Json& options) {
  std::string words = options["optimizer"];
  for (const auto& [name, value] : options.items()) {
    if (name == "optimizer") continue;
    std::string key = name;
    std::replace(key.begin(), key.end(), '-', '_');
    words += "," + key + (value.is_boolean() ? "" : "=" + value.dump());
  }
  return words;
}

TEST(AgainstPyTorch, Optimizers) {
  for (const Json& expected : reference()["optimizers"]) {
    const std::string name = expected["options"].dump();
    ModelOptions options;
    set(options, "optimizer", words_of(expected["options"]));
    const ir::Shape shape{static_cast<int64_t>(expected["w"].size())};
    ir::Graph graph;
    ir::Builder builder(graph);
    const ir::ValueId w = builder.parameter("w", f32(shape), nullptr), g = builder.input("g", f32(shape));
    autodiff::append_update(builder, options, w, g);
    ASSERT_FALSE(builder.error());
    for (const bool in_double : {false, true}) {
      Precision run(graph, in_double);
      run.feed(w, expected["w"]);
      for (size_t step = 0; step < expected["after"].size(); ++step) {
        run.feed(g, expected["gradients"][step]);
        run.run({step + 1, 0, expected["lr"]});
        expect_near(run.value(graph.value(w).next), expected["after"][step], in_double,
                    name + " step " + std::to_string(step + 1));
      }
    }
  }
}

TEST(AgainstPyTorch, Schedules) {
  for (const Json& expected : reference()["schedules"]) {
    const auto schedule = train::parse_schedule(expected["schedule"], "--schedule");
    ASSERT_TRUE(schedule) << to_text(schedule.error());
    const Numbers rates = expected["rates"];
    for (size_t step = 0; step < rates.size(); ++step)
      EXPECT_NEAR(train::rate_at(*schedule, expected["lr"], step, rates.size()), rates[step], 1e-13)
          << expected["schedule"] << " step " << step;
  }
}

TEST(AgainstPyTorch, Clipping) {
  for (const Json& expected : reference()["clipping"]) {
    autodiff::TrainingOptions options{.optimizer = autodiff::NoOptimizer{}};
    (expected["how"] == "value" ? options.clip_value : options.clip_norm) = expected["limit"].get<double>();
    ir::Graph graph;
    ir::Builder builder(graph);
    autodiff::GradientChain chain(builder, options);
    std::vector<ir::ValueId> gradients;
    for (const Json& gradient : expected["gradients"]) {
      const ir::TensorType type = f32({static_cast<int64_t>(gradient.size())});
      gradients.push_back(builder.input("g", type));
      chain.take(builder.parameter("p", type, nullptr), gradients.back());
    }
    chain.finish();
    ASSERT_FALSE(builder.error());
    ASSERT_EQ(graph.outputs.size(), gradients.size());
    for (const bool in_double : {false, true}) {
      Precision run(graph, in_double);
      for (size_t at = 0; at < gradients.size(); ++at) run.feed(gradients[at], expected["gradients"][at]);
      run.run({1, 0, 0});
      for (size_t at = 0; at < gradients.size(); ++at)
        expect_near(run.value(graph.outputs[at]), expected["clipped"][at], in_double, expected["how"]);
    }
  }
}

}  // namespace
}  // namespace pantoum
