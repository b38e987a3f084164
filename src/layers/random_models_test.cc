// Random layers on random tensors: they are built and read, or refused with a message; and what is built has the shapes that were told.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "testing/built_model.h"

namespace pantoum::layers {
namespace {

#ifdef PANTOUM_SANITIZER
constexpr uint64_t kModels = 20;
#else
constexpr uint64_t kModels = 150;
#endif
constexpr uint64_t kCalls = 10;

// A model of random inputs and of one random call for each of the seeds of `steps`.
class RandomModel {
 public:
  RandomModel(uint64_t seed, const std::vector<uint64_t>& steps) : random_(seed), net_("random", {.seed = seed}) {
    for (int input = random_.below(2); input >= 0; --input) {
      Shape sample;
      for (int rank = random_.below(5); rank > 0; --rank) sample.push_back(1 + random_.below(9));
      tensors_.push_back(net_.input(fmt::format("x{}", input), sample, random_.one_in(5) ? DType::i64 : DType::f32));
    }
    for (const uint64_t step : steps) {
      random_ = base::Random(step);
      tensors_.push_back(call(random_.one_in(3) ? random_.any(tensors_) : tensors_.back()));
    }
    net_.output("out", tensors_.back());
  }
  ModelBuilder& net() { return net_; }
  [[nodiscard]] Shape shape() const { return tensors_.back().shape(); }
  [[nodiscard]] DType dtype() const { return tensors_.back().dtype(); }

 private:
  base::Random random_;
  ModelBuilder net_;
  std::vector<Tensor> tensors_;

  // Mostly small and sound; at times 0, negative or huge.
  int64_t number() {
    if (random_.one_in(40))
      return random_.any(std::vector<int64_t>{0, -1, -7, INT64_MAX, INT64_MIN, int64_t{1} << 31, 1 << 20});
    return 1 + random_.below(4);
  }
  int64_t small() { return random_.below(3); }
  double real() { return random_.one_in(30) ? random_.any(std::vector<double>{-1, 2, HUGE_VAL, std::nan("")}) : 0.25; }
  bool flag() { return random_.one_in(2); }
  int64_t axis() { return random_.below(7) - 3; }
  std::vector<int64_t> list() {
    std::vector<int64_t> numbers(static_cast<size_t>(random_.below(5)));
    for (int64_t& each : numbers) each = random_.one_in(4) ? -1 : random_.below(5);
    return numbers;
  }

  Layer convolution() {
    switch (random_.below(6)) {
      case 0:
        return Conv1d{.channels = number(),
                      .kernel = number(),
                      .padding = small(),
                      .groups = random_.one_in(3) ? number() : 1,
                      .bias = flag()};
      case 1:
        return Conv2d{.channels = number(), .kernel = {number(), number()}, .stride = number(), .dilation = number()};
      case 2:
        return Conv3d{.channels = number(), .kernel = number(), .same_padding = true};
      case 3:
        return ConvTranspose1d{.channels = number(), .kernel = number(), .stride = number(), .output_padding = small()};
      case 4:
        return ConvTranspose2d{.channels = number(), .kernel = number(), .stride = number(), .padding = small()};
      default:
        return ConvTranspose3d{.channels = number(), .kernel = number(), .groups = number()};
    }
  }
  Layer window() {
    switch (random_.below(8)) {
      case 0:
        return MaxPool1d{.kernel = number(), .stride = small(), .ceil = flag()};
      case 1:
        return MaxPool2d{.kernel = number(), .padding = small(), .dilation = number()};
      case 2:
        return AvgPool2d{.kernel = {number(), number()}, .padding = small(), .ceil = flag(), .count_padding = flag()};
      case 3:
        return AdaptiveAvgPool2d{{number(), 1}};
      case 4:
        return AdaptiveMaxPool1d{number()};
      case 5:
        return Upsample{
            .scale = flag() ? 2 : real() * 2,
            .mode = random_.any(std::vector{Upsample::Mode::nearest, Upsample::Mode::linear, Upsample::Mode::cubic}),
            .align_corners = random_.one_in(4)};
      case 6:
        return Pad{.before = {small() - 1},
                   .after = {number()},
                   .mode = random_.any(std::vector{PadMode::constant, PadMode::reflect, PadMode::edge, PadMode::wrap}),
                   .value = real()};
      default:
        return GlobalAvgPool{};
    }
  }
  Layer other() {
    switch (random_.below(16)) {
      case 0:
        return Linear{number(), flag()};
      case 1:
        return BatchNorm{.momentum = real(), .affine = flag()};
      case 2:
        return LayerNorm{.dimensions = number(), .bias = flag()};
      case 3:
        return GroupNorm{number()};
      case 4:
        return Embedding{number() + 8, number()};
      case 5:
        return Lstm{.hidden = number(),
                    .layers = 1 + small(),
                    .bidirectional = flag(),
                    .dropout = real(),
                    .final_state = flag()};
      case 6:
        return Gru{.hidden = number(), .bias = flag()};
      case 7:
        return MultiHeadAttention{.heads = number(), .causal = flag(), .dropout = real()};
      case 8:
        return TransformerLayer{.heads = number(), .feedforward = number(), .norm_first = flag()};
      case 9:
        return Prelu{number()};
      case 10:
        return Dropout{real()};
      case 11:
        return Flatten{axis()};
      case 12:
        return Reshape{list()};
      case 13:
        return Permute{list()};
      case 14:
        return Residual{{Relu{}, Linear{number()}}, {}, ""};
      default:
        return Sequential{Gelu{}, RmsNorm{}, Softmax{axis()}};
    }
  }

  Tensor function(const Tensor& x) {
    switch (random_.below(12)) {
      case 0:
        return x + random_.any(tensors_);
      case 1:
        return net_.concat({x, random_.any(tensors_), x}, axis());
      case 2:
        return net_.matmul(x, random_.any(tensors_));
      case 3:
        return net_.slice(x, axis(), axis(), number() * 2, random_.one_in(3) ? -1 : 1);
      case 4:
        return net_.split(x, list(), axis()).back();
      case 5:
        return net_.mean(x, flag() ? std::vector<int64_t>{} : list(), flag());
      case 6:
        return net_.transpose(x, axis(), axis());
      case 7:
        return net_.unsqueeze(x, list());
      case 8:
        return net_.squeeze(x, {axis()});
      case 9:
        return net_.expand(x, list());
      case 10:
        return net_.select(x, axis(), axis());
      default:
        return net_.where(net_.less(x, x * 2.0F), x, 1.0F - x);
    }
  }

  Tensor call(const Tensor& x) {
    switch (random_.below(4)) {
      case 0:
        return net_.apply(convolution(), x);
      case 1:
        return net_.apply(window(), x);
      case 2:
        return net_.apply(other(), x);
      default:
        return function(x);
    }
  }
};

void expect_refused(RandomModel& model, uint64_t seed) {
  const std::vector<std::string>& problems = model.net().problems();
  for (const std::string& problem : problems)
    EXPECT_THAT(problem, testing::ContainsRegex("random_models_test.cc:[0-9]+: [a-z_]+ '.*': .")) << seed;
  const Result<std::string> bytes = model.net().onnx();
  ASSERT_FALSE(bytes) << seed;
  EXPECT_EQ(bytes.error().code, "E0213");
  EXPECT_EQ(bytes.error().notes, problems);
}

void expect_read(RandomModel& model, uint64_t seed) {
  const Result<std::string> bytes = model.net().onnx();
  ASSERT_TRUE(bytes) << seed << to_text(bytes.error());
  for (const int64_t batch : {40, 64}) {  // some take a sample of the batch by its number
    const auto imported = read(bytes, batch);
    ASSERT_TRUE(imported) << seed << " " << to_text(imported.error());
    Shape made = imported->graph.value(imported->graph.outputs[0]).type.shape;
    const Shape told = model.shape();
    for (size_t d = 0; d < std::min(made.size(), told.size()); ++d)
      if (told[d] == -1) made[d] = -1;
    EXPECT_EQ(made, told) << seed;
    if (model.dtype() != DType::f32) continue;
    const auto training = autodiff::make_training(imported->graph, {.loss = {{.name = "mse"}}});
    if (!training) {
      const bool has_reason = training.error().code == "E0405" || training.error().code == "E0402";
      EXPECT_TRUE(has_reason) << seed << to_text(training.error());
    }
  }
}

// A call that is refused is left out, and the next is tried: a model grows of those that are not.
TEST(RandomModels, AreReadAsTheyWereBuiltOrRefused) {
  size_t built = 0, refused = 0;
  for (uint64_t seed = 1; seed <= kModels; ++seed) {
    std::vector<uint64_t> steps;
    for (uint64_t call = 1; call <= kCalls; ++call) {
      steps.push_back(seed * 1000 + call);
      RandomModel model(seed, steps);
      if (model.net().problems().empty()) continue;
      expect_refused(model, seed);
      steps.pop_back();
      ++refused;
    }
    RandomModel model(seed, steps);
    expect_read(model, seed);
    built += steps.size();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(built, kModels * 2);
  EXPECT_GT(refused, kModels * 2);
}

}  // namespace
}  // namespace pantoum::layers
