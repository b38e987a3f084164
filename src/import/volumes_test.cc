// Nodes on volumes [N,C,D,H,W] against their definitions, and what of them is refused.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <random>

#include "testing/evaluate.h"
#include "testing/onnx_model.h"

namespace pantoum::import {
namespace {

using testing::HasSubstr;

using Three = std::array<int64_t, 3>;

OnnxModel& with(OnnxModel& model, const char* name, const std::vector<int64_t>& values) {
  auto& entry = *model.graph().mutable_node(model.graph().node_size() - 1)->add_attribute();
  entry.set_name(name);
  entry.set_type(onnx::AttributeProto::INTS);
  for (const int64_t value : values) entry.add_ints(value);
  return model;
}

OnnxModel& with(OnnxModel& model, const char* name, const char* text) {
  auto& entry = *model.graph().mutable_node(model.graph().node_size() - 1)->add_attribute();
  entry.set_name(name);
  entry.set_type(onnx::AttributeProto::STRING);
  entry.set_s(text);
  return model;
}

OnnxModel of_shape(const std::vector<int64_t>& shape, int64_t opset = 19) {
  std::vector<std::string> dims;
  for (const int64_t extent : shape) dims.push_back(std::to_string(extent));
  OnnxModel model(opset);
  model.input("x", dims);
  return model;
}

struct Result3 {
  ir::Shape shape;
  std::vector<float> data;
};

Result3 computed(OnnxModel& model, const std::vector<float>& x) {
  const auto loaded = model.output("y").load();
  EXPECT_TRUE(loaded) << (loaded ? "" : to_text(loaded.error()));
  if (!loaded) return {};
  ir::Feeds feeds;
  std::vector<std::byte>& bytes = feeds[loaded->graph.inputs[0]];
  bytes.resize(x.size() * sizeof(float));
  std::memcpy(bytes.data(), x.data(), bytes.size());
  const auto found = ir::evaluate(loaded->graph, *pt_portable_kernels(), feeds);
  EXPECT_TRUE(found) << (found ? "" : to_text(found.error()));
  if (!found) return {};
  const ir::ValueId y = loaded->graph.outputs[0];
  return {loaded->graph.value(y).type.shape, found->as<float>(ir::root_of(loaded->graph, y))};
}

std::vector<float> noise(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

struct PoolCase {
  Three from, kernel, stride, before, after, dilation{1, 1, 1};
  bool ceil = false, count_padding = false;
};

int64_t pooled_extent(const PoolCase& c, size_t d) {
  const int64_t slack = c.from[d] + c.before[d] + c.after[d] - c.dilation[d] * (c.kernel[d] - 1) - 1;
  int64_t last = slack / c.stride[d];
  if (c.ceil && slack % c.stride[d] != 0 && (last + 1) * c.stride[d] < c.from[d] + c.before[d]) ++last;
  return last + 1;
}

// The maximum or the mean of one window; elements of the padding count in the mean where it is asked for.
double pooled(const PoolCase& c, const float* x, const Three& at, bool maximum) {
  double most = -HUGE_VAL, sum = 0;
  int64_t count = 0;
  for (int64_t tap = 0; tap < c.kernel[0] * c.kernel[1] * c.kernel[2]; ++tap) {
    const Three taps{tap / c.kernel[2] / c.kernel[1], tap / c.kernel[2] % c.kernel[1], tap % c.kernel[2]};
    bool inside = true, padded = true;
    int64_t offset = 0;
    for (size_t d = 0; d < 3; ++d) {
      const int64_t read = at[d] * c.stride[d] - c.before[d] + taps[d] * c.dilation[d];
      inside = inside && read >= 0 && read < c.from[d];
      padded = padded && read < c.from[d] + c.after[d];
      offset = offset * c.from[d] + read;
    }
    if (inside) {
      most = std::max(most, static_cast<double>(x[offset]));
      sum += static_cast<double>(x[offset]);
    }
    count += inside || (padded && c.count_padding) ? 1 : 0;
  }
  return maximum ? most : sum / static_cast<double>(count);
}

void expect_pooled(const PoolCase& c, bool maximum) {
  OnnxModel model = of_shape({2, 3, c.from[0], c.from[1], c.from[2]});
  model.node(maximum ? "MaxPool" : "AveragePool", {"x"}, {"y"}).attribute("ceil_mode", c.ceil ? 1 : 0);
  if (!maximum) model.attribute("count_include_pad", c.count_padding ? 1 : 0);
  with(model, "kernel_shape", {c.kernel.begin(), c.kernel.end()});
  with(model, "strides", {c.stride.begin(), c.stride.end()});
  with(model, "dilations", {c.dilation.begin(), c.dilation.end()});
  with(model, "pads", {c.before[0], c.before[1], c.before[2], c.after[0], c.after[1], c.after[2]});
  const int64_t volume = c.from[0] * c.from[1] * c.from[2];
  const std::vector<float> x = noise(6 * volume, 1);
  const Result3 found = computed(model, x);
  const Three to{pooled_extent(c, 0), pooled_extent(c, 1), pooled_extent(c, 2)};
  ASSERT_EQ(found.shape, (ir::Shape{2, 3, to[0], to[1], to[2]}));
  for (size_t at = 0; at < found.data.size(); ++at) {
    const auto position = static_cast<int64_t>(at);
    const Three place{position / to[2] / to[1] % to[0], position / to[2] % to[1], position % to[2]};
    const float* plane = x.data() + position / (to[0] * to[1] * to[2]) * volume;
    EXPECT_NEAR(found.data[at], pooled(c, plane, place, maximum), 1e-6) << at;
  }
}

TEST(Volumes, PoolAsTheDefinitionSays) {
  for (const bool ceil : {false, true})
    for (const bool count : {false, true})
      for (const PoolCase& c : {PoolCase{{6, 7, 8}, {2, 3, 2}, {2, 2, 3}, {0, 0, 0}, {0, 0, 0}},
                                PoolCase{{6, 7, 8}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}},
                                PoolCase{{5, 6, 9}, {3, 2, 4}, {1, 3, 2}, {1, 0, 2}, {0, 1, 1}},
                                PoolCase{{6, 7, 8}, {2, 2, 3}, {2, 1, 2}, {1, 1, 1}, {0, 1, 1}, {3, 2, 1}},
                                PoolCase{{4, 6, 6}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}, {0, 0, 0}},
                                PoolCase{{4, 6, 6}, {4, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}}}) {
        PoolCase asked = c;
        asked.ceil = ceil, asked.count_padding = count;
        expect_pooled(asked, true);
        expect_pooled(asked, false);
      }
}

// An output_padding of a stride or more: what no window reaches holds the bias alone.
TEST(Volumes, ATransposedConvolutionReachesAsFarAsItsOutputPadding) {
  OnnxModel model = of_shape({1, 1, 2, 1, 1});
  model.weight("w", {1, 1, 2, 1, 1}, 2).weight("b", {1}, 0.5F).node("ConvTranspose", {"x", "w", "b"}, {"y"});
  with(model, "dilations", {3, 1, 1});
  with(model, "output_padding", {2, 0, 0});
  const Result3 found = computed(model, {1, 10});
  EXPECT_EQ(found.shape, (ir::Shape{1, 1, 7, 1, 1}));
  EXPECT_THAT(found.data, testing::ElementsAre(2.5F, 20.5F, 0.5F, 2.5F, 20.5F, 0.5F, 0.5F));
}

// Linear along all three dimensions is exact on a linear function, away from the border.
TEST(Volumes, AreResizedAlongEveryDimension) {
  OnnxModel model = of_shape({1, 1, 3, 4, 5});
  model.integers("sizes", {1, 1, 5, 7, 9}).node("Resize", {"x", "", "", "sizes"}, {"y"});
  with(model, "mode", "linear");
  with(model, "coordinate_transformation_mode", "align_corners");
  std::vector<float> x;
  for (int at = 0; at < 3 * 4 * 5; ++at)
    x.push_back(static_cast<float>(at / 20) + 10 * static_cast<float>(at / 5 % 4) + 100 * static_cast<float>(at % 5));
  const Result3 found = computed(model, x);
  ASSERT_EQ(found.shape, (ir::Shape{1, 1, 5, 7, 9}));
  for (size_t at = 0; at < found.data.size(); ++at) {
    const double depth = static_cast<double>(at / 63) * 2 / 4, row = static_cast<double>(at / 9 % 7) * 3 / 6,
                 column = static_cast<double>(at % 9) * 4 / 8;
    EXPECT_NEAR(found.data[at], depth + 10 * row + 100 * column, 1e-3) << at;
  }
}

std::string refusal(const OnnxModel& model) {
  const auto loaded = model.load();
  if (loaded) return "imported";
  std::string told = loaded.error().code + " " + loaded.error().message;
  for (const std::string& note : loaded.error().notes) told += " " + note;
  return told;
}

TEST(Volumes, FourDimensionsOfSpaceAreRefused) {
  for (const char* op : {"Conv", "ConvTranspose"}) {
    OnnxModel model = of_shape({1, 1, 3, 3, 3, 3});
    model.weight("w", {1, 1, 2, 2, 2, 2}).node(op, {"x", "w"}, {"y"}).output("y");
    EXPECT_THAT(refusal(model), HasSubstr("one to three are supported")) << op;
  }
  for (const char* op : {"MaxPool", "AveragePool", "GlobalMaxPool"}) {
    OnnxModel model = of_shape({1, 1, 3, 3, 3, 3});
    model.node(op, {"x"}, {"y"}).output("y");
    if (op != std::string("GlobalMaxPool")) with(model, "kernel_shape", {2, 2, 2, 2});
    EXPECT_THAT(refusal(model), HasSubstr("one to three are supported")) << op;
  }
}

TEST(Volumes, AWindowThatDoesNotFitIsRefused) {
  OnnxModel model = of_shape({1, 1, 2, 8, 8});
  model.weight("w", {1, 1, 3, 3, 3}).node("Conv", {"x", "w"}, {"y"}).output("y");
  EXPECT_THAT(refusal(model), HasSubstr("a window of 3 does not fit into 2"));
  with(model, "pads", {1, 0, 0, 0, 0, 0});
  EXPECT_EQ(refusal(model), "imported");
}

OnnxModel resized(const std::vector<int64_t>& from, const std::vector<int64_t>& sizes, const char* mode) {
  OnnxModel model = of_shape(from);
  model.integers("sizes", sizes).node("Resize", {"x", "", "", "sizes"}, {"y"}).output("y");
  with(model, "mode", mode);
  return model;
}

TEST(Volumes, ResizeRefusesWhatItsAttributesDoNotMean) {
  EXPECT_THAT(refusal(resized({1, 1, 4}, {1, 1, 8}, "quintic")), HasSubstr("its mode is 'quintic'"));
  EXPECT_THAT(refusal(resized({1, 1, 4}, {1, 1, 0}, "cubic")), HasSubstr("out of range"));
  EXPECT_THAT(refusal(resized({1, 1, 4}, {1, 8}, "cubic")), HasSubstr("do not name every dimension"));
  EXPECT_THAT(refusal(resized({1, 1, 8000}, {1, 1, 4000}, "cubic")), HasSubstr("too large"));
  OnnxModel smooth = resized({1, 1, 4}, {1, 1, 8}, "nearest");
  EXPECT_THAT(refusal(smooth.attribute("antialias", 1)), HasSubstr("antialias"));
  OnnxModel twice = resized({1, 1, 4}, {8, 8}, "linear");
  EXPECT_THAT(refusal(with(twice, "axes", std::vector<int64_t>{2, -1})), HasSubstr("name one twice"));
  OnnxModel beyond = resized({1, 1, 4}, {8}, "linear");
  EXPECT_THAT(refusal(with(beyond, "axes", std::vector<int64_t>{3})), HasSubstr("E0211"));
  OnnxModel policy = resized({1, 1, 4}, {1, 1, 8}, "linear");
  EXPECT_THAT(refusal(with(policy, "keep_aspect_ratio_policy", "squeeze")), HasSubstr("'squeeze'"));
  OnnxModel crop = resized({1, 1, 4}, {1, 1, 8}, "linear");
  EXPECT_THAT(refusal(with(crop, "coordinate_transformation_mode", "tf_crop_and_resize")), HasSubstr("roi"));
}

}  // namespace
}  // namespace pantoum::import
