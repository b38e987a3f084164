// Backbones of other formats: what they add to the network, and what is refused. Their numbers are compared in tests/e2e/test_ini_backbones.py.
#include "ini/backbone.h"

#include <gmock/gmock.h>

#include "testing/ini_model.h"
#include "tflite/made_file.h"

namespace pantoum::ini {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kStart = "[model]\nloss = mse\n[optimizer]\ntype = sgd\n";
const std::string kLast = "[fc]\ntype = fully_connected\nunit = 2\n";

class IniBackbone : public IniFolder {
 protected:
  void SetUp() override {
    put("net.onnx", classifier({1, 6, 6}));
    tflite::MadeFile file;
    const int x = file.input({1, 4, 4, 2});
    const int weight = file.reals("conv/weight", {3, 1, 1, 2}, {1, 2, 3, 4, 5, 6});
    const int bias = file.reals("conv/bias", {3}, {0, 1, 2});
    const auto options = tflite::schema::CreateConv2DOptions(file.out, tflite::schema::Padding::VALID, 1, 1);
    put("net.tflite",
        file.bytes({file.op(tflite::schema::Operators::CONV_2D, {x, weight, bias}, {1, 4, 4, 3}, options)}));
  }
  static std::string classifier(std::vector<int64_t> sample) {
    ModelBuilder net("net");
    Tensor x = net.relu(net.batch_norm(
        net.conv2d(net.input("x", std::move(sample)), {.channels = 3, .kernel = 3, .name = "conv"}), {.name = "bn"}));
    net.output("features", net.linear(net.flatten(net.dropout(x, 0.5)), {.features = 5, .name = "last"}));
    return net.onnx().value();
  }
  // Names of parameters, sorted.
  std::vector<std::string> trained(const std::string& text) const {
    std::vector<std::string> names;
    for (const ir::Value& value : graph(text).values)
      if (value.role == ir::Role::kParameter) names.push_back(value.name);
    std::ranges::sort(names);
    return names;
  }
  int count_of(const std::string& text, ir::Kind kind) const {
    int count = 0;
    for (const ir::Op& op : graph(text).ops) count += op.kind == kind ? 1 : 0;
    return count;
  }
};

TEST_F(IniBackbone, AnOnnxBackboneIsFrozenAndAsForInference) {
  const std::string text = kStart + "[back]\nbackbone = net.onnx\n" + kLast;
  EXPECT_THAT(outputs(text), ElementsAre("fc f32[4,2]"));
  EXPECT_THAT(trained(text), ElementsAre("fc.bias", "fc.weight"));
  EXPECT_THAT(stored(text), ElementsAre("fc.weight [5,2]", "fc.bias [2]"));
  EXPECT_EQ(count_of(text, ir::Kind::k_batch_norm), 0);
  EXPECT_EQ(count_of(text, ir::Kind::k_dropout), 0);
}

TEST_F(IniBackbone, AnOnnxBackboneTrainsAsItDoesAlone) {
  const std::string text = kStart + "[back]\nbackbone = net.onnx\ntrainable = true\n" + kLast;
  EXPECT_THAT(trained(text), ElementsAre("back.bn.bias", "back.bn.weight", "back.conv.bias", "back.conv.weight",
                                         "back.last.bias", "back.last.weight", "fc.bias", "fc.weight"));
  EXPECT_THAT(stored(text), Contains("back.bn.running_mean [3]*"));
  EXPECT_EQ(count_of(text, ir::Kind::k_batch_norm), 1);
}

TEST_F(IniBackbone, ATfliteBackboneKeepsTheFilesLayout) {
  const std::string frozen = kStart + "[back]\nbackbone = net.tflite\n";
  EXPECT_THAT(outputs(frozen), ElementsAre(HasSubstr("f32[4,4,4,3]")));
  EXPECT_THAT(trained(frozen), IsEmpty());
  EXPECT_THAT(trained(frozen + "trainable = true\n"), ElementsAre("back.conv/bias", "back.conv/weight"));
  EXPECT_THAT(outputs(kStart + "[x]\ntype = input\ninput_shape = 4:4:2\n[back]\nbackbone = net.tflite\n" + kLast),
              ElementsAre(HasSubstr("fc f32[4,4,4,2]")));
}

TEST_F(IniBackbone, InputsOfWholeNumbersAreReadAsNumbers) {
  put("table.onnx", [] {
    ModelBuilder net;
    const Tensor table = net.parameter("table", {10, 4});
    net.output("y", net.gather(table, net.input("x", {3}, DType::i64), 0));
    return net.onnx().value();
  }());
  EXPECT_THAT(outputs(kStart + "[back]\nbackbone = table.onnx\n" + kLast), ElementsAre("fc f32[4,1,3,2]"));
  for (const DType dtype : {DType::boolean, DType::u8}) {
    put("other.onnx", [&] {
      ModelBuilder net;
      net.output("y", net.cast(net.input("x", {3}, dtype), DType::f32));
      return net.onnx().value();
    }());
    const std::string told = refusal(kStart + "[back]\nbackbone = other.onnx\n" + kLast);
    EXPECT_TRUE(told.empty() || told.find("net.ini:") != std::string::npos) << told;
  }
}

TEST_F(IniBackbone, TwoOfOneFileHaveWeightsOfTheirOwn) {
  const std::string text = kStart +
                           "[x]\ntype = input\ninput_shape = 1:6:6\n[one]\nbackbone = net.onnx\ninput_layers = "
                           "x\n[two]\nbackbone = net.onnx\n"
                           "input_layers = x\ntrainable = true\n[sum]\ntype = addition\ninput_layers = one, two\n";
  EXPECT_THAT(outputs(text), ElementsAre("sum f32[4,5]"));
  EXPECT_THAT(trained(text), AllOf(Contains("two.conv.weight"), Not(Contains("one.conv.weight"))));
}

TEST_F(IniBackbone, ABackboneInABackboneOfOtherFolders) {
  std::filesystem::create_directories(path("inner"));
  put("inner/net.onnx", classifier({1, 6, 6}));
  put("inner/outer.ini", "[back]\nbackbone = net.onnx\n[mid]\ntype = fully_connected\nunit = 4\n");
  const std::string text = kStart + "[outer]\nbackbone = inner/outer.ini\ntrainable = false\n" + kLast;
  EXPECT_THAT(outputs(text), ElementsAre("fc f32[4,2]"));
  EXPECT_THAT(model(text)->training.freeze, ElementsAre("mid.weight", "mid.bias"));
}

TEST_F(IniBackbone, ShapesThatDoNotFit) {
  EXPECT_THAT(refusal("[back]\nbackbone = net.onnx\ninput_shape = 1:6:7\n" + kLast),
              AllOf(HasSubstr("E0214"),
                    HasSubstr("the samples have the shape 1:6:7, and the input 'x' of the backbone has 1:6:6"),
                    HasSubstr("net.ini:3")));
  EXPECT_THAT(refusal("[back]\nbackbone = net.tflite\ninput_shape = 2:4:4\n"),
              AllOf(HasSubstr("channels last"), HasSubstr("input_shape = 4:4:2"), HasSubstr("net.ini:3")));
  EXPECT_THAT(refusal("[back]\nbackbone = net.onnx\ninput_shape = 6:x\n"), HasSubstr("'6:x' is no shape"));
  EXPECT_THAT(refusal("[x]\ntype = input\ninput_shape = 3\n[back]\nbackbone = net.onnx\n"),
              AllOf(HasSubstr("have the shape 1:1:3"), HasSubstr("net.ini:4")));
  EXPECT_THAT(refusal("[x]\ntype = input\ninput_shape = 6:6\n[back]\nbackbone = net.onnx\ninput_layers = x, x\n"),
              HasSubstr("the backbone has 1 input, and 2 are given"));
  put("flat.onnx", [] {
    ModelBuilder net;
    net.output("y", net.relu(net.input("x", {2, 2, 2, 2})));
    return net.onnx().value();
  }());
  EXPECT_THAT(refusal("[back]\nbackbone = flat.onnx\n"), AllOf(HasSubstr("has 5 dimensions"), HasSubstr("net.ini:2")));
}

TEST_F(IniBackbone, FilesThatAreRefusedAreNamedWithTheLine) {
  put("two.onnx", [] {
    ModelBuilder net;
    const Tensor x = net.input("x", {3});
    net.output("a", net.relu(x)), net.output("b", net.exp(x));
    return net.onnx().value();
  }());
  put("sum.onnx", [] {
    ModelBuilder net;
    net.output("y", net.sum(net.input("x", {3}), {0, 1}));
    return net.onnx().value();
  }());
  put("bad.onnx", "no model");
  put("bad.tflite", "no model");
  put("unknown.onnx", [] {
    ModelBuilder net;
    net.output("y", net.node("Relu2", {net.input("x", {3})}, {.domain = "mine", .types = {{DType::f32, {-1, 3}}}})[0]);
    return net.onnx().value();
  }());
  const auto refused = [&](const std::string& name) { return refusal("[b]\nbackbone = " + name + "\n"); };
  EXPECT_THAT(refused("two.onnx"), AllOf(HasSubstr("has 2 outputs (a, b)"), HasSubstr("net.ini:2")));
  EXPECT_THAT(refused("sum.onnx"), AllOf(HasSubstr("the backbone's output 'y'"), HasSubstr("net.ini:2")));
  EXPECT_THAT(refused("absent.onnx"), AllOf(HasSubstr("E0201"), HasSubstr("absent.onnx"), HasSubstr("net.ini:2")));
  EXPECT_THAT(refused("absent.tflite"), AllOf(HasSubstr("E0201"), HasSubstr("net.ini:2")));
  EXPECT_THAT(refused("bad.onnx"), AllOf(HasSubstr("E0202"), HasSubstr("net.ini:2")));
  EXPECT_THAT(refused("bad.tflite"), AllOf(HasSubstr("E0215"), HasSubstr("net.ini:2")));
  EXPECT_THAT(refused("unknown.onnx"), AllOf(HasSubstr("E0401"), HasSubstr("net.ini:2")));
  EXPECT_THAT(refusal("[x]\ntype = input\ninput_shape = 1:6:6\n[b]\nbackbone = net.onnx\n[b.conv]\ntype = "
                      "fully_connected\nunit = 2\n"),
              HasSubstr("b.conv"));
}

}  // namespace
}  // namespace pantoum::ini
