// Parts that repeat in time: which step reads what, the order of a .bin file, and what is refused. Numbers: tests/e2e/test_ini_unrolled.py.
#include "ini/unroll.h"

#include <gmock/gmock.h>

#include "testing/ini_model.h"

namespace pantoum::ini {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kStart =
    "[model]\nloss = mse\n[optimizer]\ntype = sgd\n[x]\ntype = input\ninput_shape = 2\n[state]\ntype = input\n"
    "input_shape = 3\n";
const std::string kCell =
    "[in]\ntype = fully_connected\nunit = 4\n[cell]\ntype = rnncell\nunit = 3\ninput_layers = in, state\n[out]\ntype = "
    "fully_connected\nunit = 2\n";
const std::string kKeys = "recurrent_input = in, cell(1)\nrecurrent_output = out, cell\n";

class IniUnrolled : public IniFolder {
 protected:
  void SetUp() override { put("part.ini", kCell); }
  // The section stands in line 11, its first key in 12.
  static std::string part(const std::string& keys) {
    return kStart + "[part]\nbackbone = part.ini\ninput_layers = x, state\n" + keys;
  }
  // "name < what it reads" for each layer, in the order of the network.
  std::vector<std::string> layers(const std::string& text) const {
    const Result<Network> network = read_network(parse_ini(text, path("net.ini")).value());
    EXPECT_TRUE(network) << to_text(network.error());
    std::vector<std::string> told;
    if (!network) return told;
    for (const NetworkLayer& layer : network->layers) {
      std::string line = layer.name;
      const char* before = " < ";
      for (const Source& source : layer.sources) {
        line += before + network->layers[source.layer].name;
        if (source.output != 0) line += fmt::format("({})", source.output);
        before = ", ";
      }
      told.push_back(line);
    }
    return told;
  }
};

TEST_F(IniUnrolled, AStepReadsTheOneBefore) {
  EXPECT_THAT(layers(part(kKeys + "unroll_for = 3\n")),
              ElementsAre("x", "state", "part/in/0 < x", "part/cell/0 < part/in/0, state", "part/out/0 < part/cell/0",
                          "part/in/1 < part/out/0", "part/cell/1 < part/in/1, part/cell/0", "part/out/1 < part/cell/1",
                          "part/in/2 < part/out/1", "part/cell/2 < part/in/2, part/cell/1", "part/out/2 < part/cell/2",
                          "part/out < part/out/2"));
}

TEST_F(IniUnrolled, ResultsOfAllStepsStandInOneLayer) {
  const std::string text = part(kKeys + "unroll_for = 2\noutput_layers = cell, out\nas_sequence = out\n");
  EXPECT_THAT(layers(text), Contains("part/out/concat_0 < part/out/0, part/out/1"));
  EXPECT_THAT(layers(text), Contains("part/out < part/out/concat_0"));
  EXPECT_THAT(layers(text), Contains("part/cell < part/cell/1"));
  EXPECT_THAT(outputs(text), ElementsAre("part/cell f32[4,3]", "part/out f32[4,2,1,2]"));
}

TEST_F(IniUnrolled, WeightsAreThereOnce) {
  EXPECT_THAT(
      stored(part(kKeys + "unroll_for = 5\n")),
      ElementsAre("part/in.weight [2,4]", "part/in.bias [4]", "part/cell.weight_ih [4,3]", "part/cell.weight_hh [3,3]",
                  "part/cell.bias_ih [3]", "part/cell.bias_hh [3]", "part/out.weight [3,2]", "part/out.bias [2]"));
}

TEST_F(IniUnrolled, AStateThatNoLayerGivesBeginsWithZeros) {
  put("part.ini", "[cell]\ntype = lstmcell\nunit = 2\n");
  const std::string text =
      kStart +
      "[y]\ntype = addition\ninput_layers = x\n[part]\nbackbone = part.ini\ninput_layers = x\nunroll_for = 2\n";
  EXPECT_THAT(layers(text + "recurrent_input = cell(1), cell(2)\nrecurrent_output = cell, cell(1)\n"),
              AllOf(Contains("part/cell/0 < x"), Contains("part/cell/1 < x, part/cell/0, part/cell/0(1)")));
  EXPECT_THAT(refusal(text + "recurrent_input = cell(2)\nrecurrent_output = cell(1)\n"),
              AllOf(HasSubstr("'cell' has no input 2 at the first step"), HasSubstr("net.ini:18")));
}

TEST_F(IniUnrolled, PartsOfASeriesGoToTheirSteps) {
  put("part.ini", "[sum]\ntype = addition\ninput_layers = start, x\n");
  const std::string end =
      "[start]\ntype = input\ninput_shape = 2\n[part]\nbackbone = part.ini\ninput_layers = start, x\nunroll_for = 2\n"
      "recurrent_input = sum\nrecurrent_output = sum\ninput_is_sequence = x\n";
  EXPECT_THAT(layers("[all]\ntype = input\ninput_shape = 1:2:2\n[x]\ntype = split\naxis = 2\n" + end),
              AllOf(Contains("part/sum/0 < start, x"), Contains("part/sum/1 < part/sum/0, x(1)")));
  EXPECT_THAT(layers("[x/0]\ntype = input\ninput_shape = 2\n[x/1]\ntype = input\ninput_shape = 2\n" + end),
              AllOf(Contains("part/sum/0 < start, x/0"), Contains("part/sum/1 < part/sum/0, x/1")));
  EXPECT_THAT(refusal("[x]\ntype = input\ninput_shape = 2\n" + end), HasSubstr("the layer 'x' has no output 1"));
}

TEST_F(IniUnrolled, ATargetStandsInForTheResultOfTheStepBefore) {
  const std::string text = kStart +
                           "[y]\ntype = input\ninput_shape = 1:2:2\n[each]\ntype = split\naxis = 2\n[part]\n"
                           "backbone = part.ini\ninput_layers = x, state\nunroll_for = 3\n" +
                           kKeys + "teacher_input = in\nteacher_layers = each\nteacher_forcing = ";
  EXPECT_THAT(
      layers(text + "0.5\n"),
      AllOf(Contains("part/in/1/teacher_0 < part/out/0, each"), Contains("part/in/1 < part/in/1/teacher_0"),
            Contains("part/in/2/teacher_0 < part/out/1, each(1)"), Contains("part/cell/2 < part/in/2, part/cell/1")));
  const auto draws = [&](const char* forcing) {
    int count = 0;
    for (const ir::Op& op : graph(text + forcing).ops) count += op.kind == ir::Kind::k_dropout ? 1 : 0;
    return count;
  };
  EXPECT_EQ(draws("0.5\n"), 2);
  EXPECT_EQ(draws("1\n"), 2);
  EXPECT_EQ(draws("0\n"), 0);
  EXPECT_THAT(refusal(text + "1.5\n"), AllOf(HasSubstr("no number from 0 to 1"), HasSubstr("net.ini:25")));
}

TEST_F(IniUnrolled, MistakesOfTeachers) {
  const auto refused = [&](const std::string& keys) { return refusal(part(kKeys + "unroll_for = 2\n" + keys)); };
  EXPECT_THAT(refused("teacher_input = in\n"), HasSubstr("1 teacher inputs and 0 teacher layers"));
  EXPECT_THAT(refused("teacher_layers = x\n"), HasSubstr("0 teacher inputs and 1 teacher layers"));
  EXPECT_THAT(refused("teacher_forcing = 0.5\n"), HasSubstr("0 teacher inputs and 0 teacher layers"));
  EXPECT_THAT(refused("teacher_input = out\nteacher_layers = x\n"), HasSubstr("'out' is none of recurrent_input"));
  EXPECT_THAT(refused("teacher_input = in\nteacher_layers = z\n"),
              AllOf(HasSubstr("there is no layer 'z'"), HasSubstr("net.ini:18")));
  EXPECT_THAT(refused("teacher_input = in\nteacher_layers = state\n"),
              HasSubstr("the step's result has the shape 1:1:2, and its target 1:1:3"));
}

TEST_F(IniUnrolled, MistakesOfKeys) {
  const auto refused = [&](const std::string& keys) { return refusal(part(keys)); };
  EXPECT_THAT(refused(kKeys + "unroll_for = 0\n"), AllOf(HasSubstr("'0' of 'unroll_for'"), HasSubstr("net.ini:16")));
  EXPECT_THAT(refused(kKeys), HasSubstr("the key 'unroll_for' is missing"));
  EXPECT_THAT(refused(kKeys + "unroll_for = 5001\n"),
              AllOf(HasSubstr("5001 steps of 3 layers are more layers than a network may have, 20000"),
                    HasSubstr("net.ini:16")));
  EXPECT_THAT(refused(kKeys + "unroll_for = 2000000000\n"), HasSubstr("more layers than a network may have"));
  EXPECT_THAT(refused("unroll_for = 2\n"), HasSubstr("nothing in it is read by its next step"));
  EXPECT_THAT(refused("unroll_for = 2\nrecurrent_input = in, cell(1)\nrecurrent_output = out\n"),
              AllOf(HasSubstr("2 recurrent inputs and 1 recurrent outputs"), HasSubstr("net.ini:16")));
  EXPECT_THAT(refused("unroll_for = 2\nrecurrent_input = inn\nrecurrent_output = out\n"),
              AllOf(HasSubstr("'inn' of 'recurrent_input' is no layer of"), HasSubstr("did you mean in?"),
                    HasSubstr("net.ini:15")));
  EXPECT_THAT(refused("unroll_for = 2\nrecurrent_input = in\nrecurrent_output = outt\n"), HasSubstr("'outt'"));
  EXPECT_THAT(refused("unroll_for = 2\nrecurrent_input = in, in\nrecurrent_output = out, out\n"),
              HasSubstr("input 0 of 'in' stands there twice"));
  EXPECT_THAT(refused(kKeys + "unroll_for = 2\nas_sequence = cell\noutput_layers = out\n"),
              HasSubstr("'cell' is none of output_layers"));
  EXPECT_THAT(refused(kKeys + "unroll_for = 2\ninput_is_sequence = y\n"), HasSubstr("'y' is none of input_layers"));
  EXPECT_THAT(refused(kKeys + "unroll_for = 2\nreturn_sequences = true\n"),
              AllOf(HasSubstr("the key 'return_sequences' is not known here"), HasSubstr("net.ini:17")));
  EXPECT_THAT(refused(kKeys + "unroll_for = 2\ninput_shape = 2\n"), HasSubstr("has no key 'input_shape'"));
  EXPECT_THAT(refusal(kStart + "[part]\nbackbone = part.onnx\nunroll_for = 2\n" + kKeys), HasSubstr("is no .ini file"));
  EXPECT_THAT(refused("unroll_for = 2\nrecurrent_input = cell(1)\nrecurrent_output = out\n"),
              HasSubstr("'part/cell/1' has at input 1 the shape 1:1:2, and at another step 1:1:3"));
}

TEST_F(IniUnrolled, MistakesOfTheFile) {
  const auto refused = [&](const std::string& file, const std::string& keys = kKeys + "unroll_for = 2\n") {
    put("part.ini", file);
    return refusal(part(keys));
  };
  EXPECT_THAT(refused("[model]\nloss = mse\n"), HasSubstr("the backbone has no layers"));
  EXPECT_THAT(refused(kCell + "[z]\nbackbone = z.ini\nunroll_for = 2\n"),
              AllOf(HasSubstr("a backbone stands inside of a part that is unrolled"), HasSubstr("part.ini:12")));
  EXPECT_THAT(refused(kCell + "[z]\ntype = lstm\nunit = 2\n"),
              AllOf(HasSubstr("a layer of type 'lstm' is a loop itself"), HasSubstr("take lstmcell")));
  for (const char* type : {"input", "batch_normalization", "mse"})
    EXPECT_THAT(refused(kCell + "[z]\ntype = " + type + "\n"),
                AllOf(HasSubstr("is not unrolled"), HasSubstr("part.ini:12")));
  EXPECT_THAT(refused(kCell + "[z]\ntype = flatten\ninput_layers = cel\n"),
              AllOf(HasSubstr("there is no layer 'cel'"), HasSubstr("did you mean cell?"), HasSubstr("part.ini:13")));
  EXPECT_THAT(
      refused(kCell + "[z]\ntype = flatten\ninput_layers = in\n", kKeys + "unroll_for = 2\noutput_layers = out\n"),
      AllOf(HasSubstr("[z]: what the unrolled part gives is not computed of this layer"), HasSubstr("part.ini:11")));
  EXPECT_THAT(refused(kCell + "[z]\ntype = nothing\n"), HasSubstr("layers of type 'nothing' are not read"));
  EXPECT_THAT(refused(kCell + "[z]\nunit = 3\n"), HasSubstr("the key 'type' is missing"));
  EXPECT_THAT(refused(kCell + "[z]\ntype = fully_connected\nunit = 2\nshared_from = in\n"),
              HasSubstr("the steps of a layer share its weights"));
}

TEST_F(IniUnrolled, LayersShareWeights) {
  const std::string text =
      kStart +
      "[a]\ntype = fully_connected\nunit = 2\ninput_layers = x\n[b]\ntype = fully_connected\nunit = 2\n"
      "shared_from = A\n";
  EXPECT_THAT(stored(text), ElementsAre("a.weight [2,2]", "a.bias [2]"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return refusal(changed);
  };
  EXPECT_THAT(with("shared_from = A", "shared_from = c"),
              AllOf(HasSubstr("there is no layer 'c'"), HasSubstr("net.ini:18")));
  EXPECT_THAT(with("shared_from = A", "shared_from = x"),
              HasSubstr("'x' has no weights of its own for a layer of type"));
  EXPECT_THAT(with("shared_from = A", "shared_from = b"), HasSubstr("'b' has no weights of its own"));
  EXPECT_THAT(with("unit = 2\nshared_from", "unit = 5\nshared_from"),
              HasSubstr("its weights have the shape [2,5], and those of 'a' that it shares have [2,2]"));
  EXPECT_THAT(with("shared_from = A", "shared_from = a\nweight_initializer = ones"), HasSubstr("write it there alone"));
  EXPECT_THAT(with("unit = 2\ninput_layers = x", "unit = 2\ndisable_bias = true\ninput_layers = x"),
              HasSubstr("lacks weights of this layer"));
}

}  // namespace
}  // namespace pantoum::ini
