// Which layer reads which, the order of a .bin file, and backbones.
#include "ini/network.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "testing/ini_model.h"

namespace pantoum::ini {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class IniNetwork : public IniFolder {
 protected:
  // "name < what it reads", in the order of a .bin; or the refusal.
  std::vector<std::string> order(const std::string& text) const {
    const Result<Network> network = read_network(parse_ini(text, path("net.ini")).value());
    if (!network) return {to_text(network.error())};
    std::vector<std::string> told;
    for (const size_t place : network->order) {
      const NetworkLayer& layer = network->layers[place];
      std::string line = layer.name;
      for (const Source& source : layer.sources)
        line +=
            fmt::format("{}{}{}", line.size() == layer.name.size() ? " < " : ", ", network->layers[source.layer].name,
                        source.output == 0 ? "" : fmt::format("({})", source.output));
      told.push_back(line);
    }
    return told;
  }
};

const std::string kThree = "[x]\ntype = input\ninput_shape = 3\n";

TEST_F(IniNetwork, ALayerFollowsTheSectionBefore) {
  EXPECT_THAT(
      order("[model]\nloss = mse\n" + kThree + "[a]\ntype = flatten\n[optimizer]\ntype = sgd\n[b]\ntype = flatten\n"),
      ElementsAre("x", "a < x", "b < a"));
  EXPECT_THAT(order(kThree + "[a]\ntype = flatten\n[y]\ntype = input\ninput_shape = 2\n[b]\ntype = flatten\n"),
              ElementsAre("y", "b < y", "x", "a < x"));
  EXPECT_THAT(order(kThree + "[a]\ntype = flatten\ninput_shape = 3\n"), ElementsAre("a", "x"));
}

TEST_F(IniNetwork, InputLayersNameOthersInAnyOrder) {
  EXPECT_THAT(order("[b]\ntype = addition\ninput_layers = A, x(1)\n" + kThree + "[a]\ntype = flatten\n"),
              ElementsAre("x", "a < x", "b < a, x(1)"));
}

// The order in which NNTrainer writes residual networks: the way that stands last in the file comes first.
TEST_F(IniNetwork, TheOrderIsThatOfBinFiles) {
  EXPECT_THAT(order(kThree + "[a1]\ntype = flatten\n[a2]\ntype = flatten\n[b1]\ntype = flatten\ninput_layers = x\n"
                             "[c]\ntype = addition\ninput_layers = a2, b1\n[d]\ntype = flatten\n"),
              ElementsAre("x", "b1 < x", "a1 < x", "a2 < a1", "c < a2, b1", "d < c"));
}

TEST_F(IniNetwork, MistakesOfReferences) {
  const auto refused = [&](const std::string& keys) {
    return order(kThree + "[fc]\ntype = flatten\n[y]\ntype = flatten\n" + keys)[0];
  };
  EXPECT_THAT(refused("input_layers = fcc"),
              AllOf(HasSubstr("[y]: there is no layer 'fcc'"), HasSubstr("net.ini:8"), HasSubstr("did you mean")));
  for (const char* reference : {"fc(", "fc(1", "fc(-1)", "fc(x)", "fc()", "fc(1)2", ",fc", "fc(99999999999)"})
    EXPECT_THAT(refused(std::string("input_layers = ") + reference), HasSubstr("there is no layer")) << reference;
  EXPECT_THAT(refused("input_layers = y"), HasSubstr("[y]: the layer reads what is made of its own result"));
  EXPECT_THAT(
      order("[a]\ntype = addition\ninput_layers = x, c\n[b]\ntype = flatten\n[c]\ntype = flatten\n" + kThree)[0],
      HasSubstr("reads what is made of its own result"));
}

TEST_F(IniNetwork, NamesOfLayers) {
  EXPECT_THAT(order("[1.a-b_c/d]\ntype = input\ninput_shape = 1\n"), ElementsAre("1.a-b_c/d"));
  for (const char* name : {"_a", "a b", "a,b", "a(1)", ".", "\xC3\xA4"})
    EXPECT_THAT(order(fmt::format("[{}]\ntype = input\ninput_shape = 1\n", name))[0], HasSubstr("no name of a layer"))
        << name;
  EXPECT_THAT(order("[]\ntype = input\n")[0], HasSubstr("no name of a layer"));
  EXPECT_THAT(order("[a]\nunit = 3\n")[0], AllOf(HasSubstr("the key 'type' is missing"), HasSubstr("net.ini:1")));
  EXPECT_THAT(order("[model]\nloss = mse\n")[0], HasSubstr("the file has no layers"));
}

TEST_F(IniNetwork, ADeepNetworkIsOrderedWithoutRecursion) {
  std::string text = kThree;
  for (int layer = 0; layer < 15'000; ++layer) text += fmt::format("[l{}]\ntype=flatten\n", layer);
  EXPECT_EQ(order(text).size(), 15'001U);
}

// ---- Backbones.

TEST_F(IniNetwork, ABackboneAddsItsLayers) {
  put("back.ini", "[model]\nloss = mse\n[optimizer]\ntype = sgd\n" + kThree + "[a]\ntype = flatten\n");
  EXPECT_THAT(order("[back]\nbackbone = back.ini\n[b]\ntype = flatten\n"), ElementsAre("x", "a < x", "b < a"));
  EXPECT_THAT(order("[]\nbackbone = 'back.ini'\n[b]\ntype = flatten\ninput_layers = x\n"),
              ElementsAre("x", "b < x", "a < x"));
  EXPECT_THAT(order("[b]\ntype = flatten\ninput_layers = back\n[back]\nbackbone = back.ini\n"),
              ElementsAre("x", "a < x", "b < a"));
}

TEST_F(IniNetwork, ABackboneFollowsOtherLayers) {
  put("back.ini", "[a]\ntype = flatten\n[b]\ntype = flatten\n");
  EXPECT_THAT(order(kThree + "[back]\nbackbone = back.ini\n[c]\ntype = flatten\n"),
              ElementsAre("x", "a < x", "b < a", "c < b"));
  EXPECT_THAT(order(kThree + "[y]\ntype = flatten\n[back]\nbackbone = back.ini\ninput_layers = x\n"),
              ElementsAre("x", "a < x", "b < a", "y < x"));
}

TEST_F(IniNetwork, BackbonesOfBackbonesAreRelativeToTheirFiles) {
  std::filesystem::create_directories(path("one/two"));
  put("one/outer.ini", "[i]\nbackbone = two/inner.ini\n[b]\ntype = flatten\n");
  put("one/two/inner.ini", kThree + "[a]\ntype = flatten\n");
  EXPECT_THAT(order("[o]\nbackbone = one/outer.ini\n[c]\ntype = flatten\n"),
              ElementsAre("x", "a < x", "b < a", "c < b"));
}

TEST_F(IniNetwork, ABackboneInABackboneIsFrozenWithItAndReadsWhatItReads) {
  put("inner.ini", "[a]\ntype = flatten\n");
  put("outer.ini", "[i]\nbackbone = inner.ini\n[b]\ntype = flatten\n");
  const std::string text =
      kThree + "[y]\ntype = flatten\n[o]\nbackbone = outer.ini\ntrainable = false\ninput_layers = x\n";
  EXPECT_THAT(order(text), ElementsAre("x", "a < x", "b < a", "y < x"));
  const Result<Network> network = read_network(parse_ini(text, path("net.ini")).value());
  for (const NetworkLayer& layer : network->layers)
    EXPECT_EQ(layer.frozen, layer.name == "a" || layer.name == "b") << layer.name;
}

TEST_F(IniNetwork, ABackboneOfAnotherFormatIsOneLayer) {
  put("outer.ini", "[i]\nbackbone = net.onnx\ntrainable = true\n");
  EXPECT_THAT(order("[back]\nbackbone = net.TFLite\n[b]\ntype = flatten\n"), ElementsAre("back", "b < back"));
  EXPECT_THAT(order(kThree + "[]\nbackbone = net.onnx\n[b]\ntype = flatten\n"),
              ElementsAre("x", "backbone < x", "b < backbone"));
  EXPECT_THAT(order(kThree + "[b]\ntype = flatten\n[o]\nbackbone = outer.ini\ninput_layers = x"),
              ElementsAre("x", "i < x", "b < x"));
  const auto frozen = [&](const std::string& keys) {
    return read_network(parse_ini("[o]\nbackbone = " + keys, path("net.ini")).value())->layers[0].frozen;
  };
  EXPECT_TRUE(frozen("net.onnx"));
  EXPECT_FALSE(frozen("net.onnx\ntrainable = true"));
  EXPECT_FALSE(frozen("outer.ini"));
  EXPECT_TRUE(frozen("outer.ini\ntrainable = false"));
}

TEST_F(IniNetwork, BackbonesThatAreRefused) {
  put("self.ini", "[x]\nbackbone = self.ini\n");
  put("empty.ini", "[model]\nloss = mse\n");
  put("bad.ini", "[a]\nnothing\n");
  put("back.ini", kThree);
  std::filesystem::create_directories(path("folder.ini"));
  const auto refused = [&](const std::string& keys) { return order("[b]\n" + keys)[0]; };
  put("one.ini", "[x]\nbackbone = two.ini\n");
  put("two.ini", "[y]\nbackbone = ./one.ini\n");
  for (int depth = 0; depth < 9; ++depth)
    put(fmt::format("deep{}.ini", depth), fmt::format("[d{}]\nbackbone = deep{}.ini\n", depth, depth + 1));
  EXPECT_THAT(refused("backbone = self.ini"),
              AllOf(HasSubstr("'self.ini' is a part of itself"), HasSubstr("self.ini:2")));
  EXPECT_THAT(refused("backbone = one.ini"),
              AllOf(HasSubstr("'./one.ini' is a part of itself"), HasSubstr("two.ini:2")));
  EXPECT_THAT(refused("backbone = net.ini"), HasSubstr("'net.ini' is a part of itself"));
  EXPECT_THAT(refused("backbone = deep0.ini"), HasSubstr("stand 8 deep"));
  EXPECT_THAT(refused("backbone = empty.ini"), AllOf(HasSubstr("the backbone has no layers"), HasSubstr("empty.ini")));
  EXPECT_THAT(refused("backbone = bad.ini"), HasSubstr("bad.ini:2"));
  EXPECT_THAT(refused("backbone = absent.ini"), AllOf(HasSubstr("E0201"), HasSubstr("absent.ini")));
  EXPECT_THAT(refused("backbone = folder.ini"), HasSubstr("E0201"));
  EXPECT_THAT(refused("backbone = net.pt"),
              AllOf(HasSubstr("E0214"), HasSubstr("net.ini:2"), HasSubstr("is no .ini, .tflite or .onnx file")));
  EXPECT_THAT(refused("backbone = back.ini\nunit = 3"), HasSubstr("'unit' is not known"));
  EXPECT_THAT(refused("backbone = back.ini\ntrainable = yes"), HasSubstr("neither true nor false"));
  EXPECT_THAT(refused("backbone = back.ini\n[c]\nbackbone = back.ini"),
              AllOf(HasSubstr("[x]: another layer has this name"), HasSubstr("back.ini:1")));
}

}  // namespace
}  // namespace pantoum::ini
