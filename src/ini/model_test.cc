// The model as a whole: inputs, outputs and losses, what trains, penalties and limits of gradients.
#include "ini/model.h"

#include <gmock/gmock.h>

#include <sstream>

#include "testing/ini_model.h"

namespace pantoum::ini {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kHead = "[model]\nloss = mse\nbatch_size = 4\n[optimizer]\ntype = sgd\n";
const std::string kInput = "[x]\ntype = input\ninput_shape = 3\n";

class IniModel : public IniFolder {
 protected:
  Training training(const std::string& text) const {
    const Result<Model> read = model(text);
    EXPECT_TRUE(read) << to_text(read.error());
    return read ? read->training : Training();
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream all(text);
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    return lines;
  }
  // "mse(y)" for each output that has a loss.
  std::vector<std::string> losses(const std::string& text) const {
    const Training made = training(text);
    std::vector<std::string> told;
    if (made.loss)
      for (const Loss& loss : made.loss->terms())
        told.push_back(fmt::format("{}({}){}", loss.name, loss.output.value_or(""), loss.classes_last ? " last" : ""));
    return told;
  }
};

TEST_F(IniModel, TheSameFileGivesTheSameBytes) {
  const std::string text = kHead + kInput + "[fc]\ntype = fully_connected\nunit = 2\nactivation = sigmoid\n";
  const Result<Model> one = model(text), two = model(text);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->onnx, two->onnx);
  ASSERT_EQ(one->stored.size(), 2U);
}

TEST_F(IniModel, LossesByName) {
  const auto with = [&](const std::string& loss, const std::string& layers) {
    return losses("[model]\nloss = " + loss + "\n" + kInput + layers);
  };
  const std::string fc = "[y]\ntype = fully_connected\nunit = 2\n";
  EXPECT_THAT(with("mse", fc), ElementsAre("mse(y)"));
  EXPECT_THAT(with("MSE", fc + "activation = softmax\n"), ElementsAre("mse(y)"));
  EXPECT_THAT(with("cross", fc + "activation = softmax\n"), ElementsAre("soft_cross_entropy(y)"));
  EXPECT_THAT(with("cross", fc + "[a]\ntype = activation\nactivation = sigmoid\n"), ElementsAre("bce_with_logits(a)"));
  EXPECT_THAT(with("none", fc + "[l]\ntype = mse\n"), ElementsAre("mse(l)"));
  EXPECT_THAT(with("none", fc + "[l]\ntype = cross_softmax\n"), ElementsAre("soft_cross_entropy(l)"));
  EXPECT_THAT(with("none", fc + "[l]\ntype = cross_sigmoid\n"), ElementsAre("bce_with_logits(l)"));
  EXPECT_THAT(with("none", fc), IsEmpty());
  EXPECT_THAT(
      refusal("[model]\nloss = cross\n" + kInput + fc),
      AllOf(HasSubstr("[y]: the loss 'cross' needs a last activation of softmax or sigmoid"), HasSubstr("net.ini:6")));
  EXPECT_THAT(refusal("[model]\nloss = crss\n" + kInput + fc), AllOf(HasSubstr("'crss'"), HasSubstr("net.ini:2")));
}

TEST_F(IniModel, ASoftmaxOverColumnsHasItsClassesLast) {
  EXPECT_THAT(losses("[model]\nloss = cross\n[x]\ntype = input\ninput_shape = 2:3:4\n[y]\ntype = "
                     "activation\nactivation = softmax\n"),
              ElementsAre("soft_cross_entropy(y) last"));
}

TEST_F(IniModel, EveryOutputHasALoss) {
  const std::string ends =
      kInput + "[a]\ntype = fully_connected\nunit = 2\n[b]\ntype = fully_connected\nunit = 5\ninput_layers = x\n";
  EXPECT_THAT(losses("[model]\nloss = mse\n" + ends), ElementsAre("mse(a)", "mse(b)"));
  EXPECT_THAT(losses("[model]\nloss = mse\nlabel_layers = B, a\n" + ends), ElementsAre("mse(b)", "mse(a)"));
  EXPECT_THAT(outputs("[model]\nloss = mse\nlabel_layers = b, a\n" + ends), ElementsAre("b f32[4,5]", "a f32[4,2]"));
  EXPECT_THAT(refusal("[model]\nloss = mse\nlabel_layers = c\n" + ends),
              AllOf(HasSubstr("'c'"), HasSubstr("net.ini:3")));
  EXPECT_THAT(refusal("[model]\nloss = mse\nlabel_layers = x\n" + ends), HasSubstr("'x'"));
}

TEST_F(IniModel, InputsStandInTheOrderOfTheFileOrOfInputLayers) {
  const std::string two =
      "[p]\ntype = input\ninput_shape = 2\n[q]\ntype = input\ninput_shape = 3\n[y]\ntype = concat\naxis = "
      "3\ninput_layers = q, p\n";
  const auto inputs = [&](const std::string& text) {
    const ir::Graph made = graph(text);
    std::vector<std::string> names;
    for (const ir::ValueId id : made.inputs) names.push_back(made.value(id).name);
    return names;
  };
  EXPECT_THAT(inputs("[model]\nloss = mse\n" + two), ElementsAre("p", "q"));
  EXPECT_THAT(inputs("[model]\nloss = mse\ninput_layers = Q, p\n" + two), ElementsAre("q", "p"));
  EXPECT_THAT(refusal("[model]\nloss = mse\ninput_layers = p, y\n" + two),
              AllOf(HasSubstr("'y'"), HasSubstr("net.ini:3")));
}

TEST_F(IniModel, AnInputAlone) {
  EXPECT_THAT(outputs("[x]\ntype = input\ninput_shape = 3\nactivation = relu\n"), ElementsAre("x(0) f32[4,3]"));
}

TEST_F(IniModel, FrozenLayersAreNamedExactly) {
  const std::string layers =
      kInput +
      "[a]\ntype = fully_connected\nunit = 3\ntrainable = false\n[a.b]\ntype = fully_connected\nunit = 3\n"
      "[a.weight]\ntype = fully_connected\nunit = 3\n[f]\ntype = flatten\ntrainable = false\n";
  EXPECT_THAT(training(kHead + layers).freeze, ElementsAre("a.weight", "a.bias"));
  EXPECT_THAT(training(kHead + kInput + "[n]\ntype = batch_normalization\ntrainable = false\n").freeze,
              ElementsAre("n.weight", "n.bias"));
}

TEST_F(IniModel, ABackboneMayBeFrozen) {
  put("back.ini", kInput + "[a]\ntype = fully_connected\nunit = 3\n");
  const auto freeze = [&](const std::string& keys) {
    return training(kHead + "[back]\nbackbone = back.ini\n" + keys + "[y]\ntype = fully_connected\nunit = 3\n").freeze;
  };
  EXPECT_THAT(freeze(""), IsEmpty());
  EXPECT_THAT(freeze("trainable = true\n"), IsEmpty());
  EXPECT_THAT(freeze("trainable = false\n"), ElementsAre("a.weight", "a.bias"));
}

TEST_F(IniModel, PenaltiesAreWeightDecayOfTheirTensors) {
  const auto groups = [&](const std::string& keys) {
    std::vector<std::string> told;
    for (const ParameterGroup& group :
         training(kHead + kInput + "[y]\ntype = fully_connected\nunit = 3\n" + keys).groups)
      told.push_back(fmt::format("{}={}", group.names, group.weight_decay.value_or(-1)));
    return told;
  };
  EXPECT_THAT(groups(""), IsEmpty());
  EXPECT_THAT(groups("weight_regularizer = l2norm\nweight_regularizer_constant = 0.005\n"),
              ElementsAre("y.weight=0.005"));
  EXPECT_THAT(groups("weight_regularizer = L2Norm\n"), ElementsAre("y.weight=1"));
  EXPECT_THAT(groups("weight_regularizer_constant = 0.5\n"), IsEmpty());
  EXPECT_THAT(groups("weight_decay = 0.1\nbias_decay = 0.2\n"), ElementsAre("y.weight=0.1", "y.bias=0.2"));
  EXPECT_THAT(refusal(kHead + kInput + "[y]\ntype = fully_connected\nunit = 3\nweight_regularizer = l1\n"),
              HasSubstr("'l1'"));
}

TEST_F(IniModel, GradientsAreClippedByOneNorm) {
  const auto layers = [](const std::string& first, const std::string& second) {
    return kInput + "[a]\ntype = fully_connected\nunit = 3\n" + first + "[b]\ntype = fully_connected\nunit = 3\n" +
           second;
  };
  EXPECT_EQ(training(kHead + layers("", "")).clip_norm, std::nullopt);
  EXPECT_EQ(training(kHead + layers("clip_grad_by_norm = 2\n", "clip_grad_by_norm = 2\n")).clip_norm, 2);
  EXPECT_EQ(training("[model]\nclip_grad_by_norm = 3\n" + layers("", "")).clip_norm, 3);
  EXPECT_EQ(training("[model]\nclip_grad_by_norm = 3\n" + layers("clip_grad_by_norm = 3\n", "")).clip_norm, 3);
  EXPECT_THAT(refusal(kHead + layers("clip_grad_by_norm = 2\n", "")),
              HasSubstr("the gradients of some layers are clipped"));
  EXPECT_THAT(refusal(kHead + layers("clip_grad_by_norm = 2\n", "clip_grad_by_norm = 3\n")), HasSubstr("other norms"));
  EXPECT_EQ(training(kHead + layers("clip_grad_by_norm = 2\n", "trainable = false\n")).clip_norm, 2);
  for (const std::string none : {"0", "0.0", "1e-6"}) {
    const std::string line = "clip_grad_by_norm = " + none + "\n";
    EXPECT_EQ(training(kHead + layers(line, line)).clip_norm, std::nullopt) << none;
    EXPECT_EQ(training(kHead + layers(line, "")).clip_norm, std::nullopt) << none;
    EXPECT_EQ(training("[model]\n" + line + layers("", "")).clip_norm, std::nullopt) << none;
    EXPECT_THAT(refusal(kHead + layers("clip_grad_by_norm = 2\n", line)), HasSubstr("of some layers are clipped"));
    EXPECT_THAT(refusal("[model]\nclip_grad_by_norm = 2\n" + layers(line, "")),
                HasSubstr("of some layers are clipped"));
  }
}

TEST_F(IniModel, LayersThatDoNotFitAreRefusedWithTheirLines) {
  EXPECT_THAT(
      refusal(kHead + kInput + "[y]\ntype = fully_connected\nunit = 2\n[z]\ntype = addition\ninput_layers = x, y\n"),
      AllOf(HasSubstr("E0214"), HasSubstr("net.ini:12")));
  EXPECT_THAT(refusal(kHead + "[y]\ntype = fully_connected\nunit = 2\n"),
              HasSubstr("reads no other and has no input_shape"));
  EXPECT_THAT(refusal(kHead + kInput + "[x(0)]\ntype = flatten\n"), HasSubstr("no name of a layer"));
}

TEST_F(IniModel, AFileThatNnTrainerWrote) {
  const std::string plain =
      "[x]\ntype = input\ninput_shape = 1:2:2:3\n[c]\ntype = conv2d\nfilters = 2\nkernel_size = 1,1\n"
      "[c/activation]\ntype = activation\nactivation = relu\n[f]\ntype = flatten\n";
  std::string written = kHead;
  for (const std::string& line : lines_of(plain)) {
    written += line + "\n";
    if (line.starts_with("[")) written += "name = " + line.substr(1, line.size() - 2) + "\ntrainable = true\n";
  }
  const Result<Model> one = model(kHead + plain), two = model(written + "target_shape = 1:1:1:12\n");
  ASSERT_TRUE(one && two) << to_text(one ? two.error() : one.error());
  EXPECT_EQ(one->stored.size(), two->stored.size());
  EXPECT_EQ(outputs(kHead + plain), outputs(written));
  EXPECT_THAT(stored(written), ElementsAre("c.weight [2,2,1,1]", "c.bias [2]"));
  EXPECT_THAT(stored(kHead + kInput + "[y]\nname = z\ntype = fully_connected\nunit = 1\n"),
              ElementsAre("y.weight [3,1]", "y.bias [1]"));  // the section names the layer, as in NNTrainer
}

TEST_F(IniModel, AFileThatIsNotThere) {
  const Result<Model> read = read_model(path("absent.ini"));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, "E0201");
}

}  // namespace
}  // namespace pantoum::ini
