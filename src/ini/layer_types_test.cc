// Each type of layer: its shapes, its weights in the order of a .bin, its options, and what it computes where NNTrainer's rules differ from ONNX's.
#include "ini/layer_types.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "testing/ini_model.h"

namespace pantoum::ini {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

class IniLayers : public IniFolder {
 protected:
  // A network of an input and the layer `y`.
  static std::string of(const std::string& shape, const std::string& keys) {
    return "[model]\nbatch_size = 4\n[x]\ntype = input\ninput_shape = " + shape + "\n[y]\n" + keys;
  }
  std::string shape(const std::string& in, const std::string& keys) const {
    const std::vector<std::string> all = outputs(of(in, keys));
    return all.size() == 1 ? all[0].substr(all[0].find(' ') + 1) : fmt::format("{} outputs", all.size());
  }
  std::string refused(const std::string& in, const std::string& keys) const { return refusal(of(in, keys)); }

  // The first output of a network for inputs 0, 1, 2, ..; parameters are given by name, others are zero.
  std::vector<float> computed(const std::string& text,
                              const std::map<std::string, std::vector<float>>& given = {}) const {
    const ir::Graph made = graph(text);
    ir::Feeds feeds;
    const auto put = [&](ir::ValueId id, const std::vector<float>& values) {
      std::vector<std::byte>& bytes = feeds[id];
      bytes.resize(values.size() * sizeof(float));
      std::memcpy(bytes.data(), values.data(), bytes.size());
    };
    for (const ir::ValueId id : made.inputs) {
      std::vector<float> counted(static_cast<size_t>(made.value(id).type.elements()));
      std::iota(counted.begin(), counted.end(), 0.0F);
      put(id, counted);
    }
    for (size_t id = 0; id < made.values.size(); ++id)
      if (const auto found = given.find(made.values[id].name); found != given.end())
        put(static_cast<ir::ValueId>(id), found->second);
    const Result<ir::Evaluated> run = ir::evaluate(made, *pt_portable_kernels(), feeds);
    EXPECT_TRUE(run) << to_text(run.error());
    return run ? run->as<float>(made.outputs.at(0)) : std::vector<float>();
  }
  static std::vector<float> head(std::vector<float> values, size_t count) {
    values.resize(count);
    return values;
  }
};

TEST_F(IniLayers, FullyConnectedActsOnTheLastDimension) {
  EXPECT_EQ(shape("3:4:5", "type = fully_connected\nunit = 7"), "f32[4,3,4,7]");
  EXPECT_EQ(shape("5", "type = Fully_Connected\nunit = 7"), "f32[4,7]");
  EXPECT_THAT(stored(of("3:4:5", "type = fully_connected\nunit = 7")), ElementsAre("y.weight [5,7]", "y.bias [7]"));
  EXPECT_THAT(stored(of("5", "type = fully_connected\nunit = 7\ndisable_bias = true")), ElementsAre("y.weight [5,7]"));
  EXPECT_THAT(head(computed(of("1:2:2", "type = fully_connected\nunit = 2"),
                            {{"y.weight", {1, 10, 100, 1000}}, {"y.bias", {0.5, 0.25}}}),
                   4),
              ElementsAre(100.5, 1000.25, 302.5, 3020.25));
  EXPECT_THAT(refused("5", "type = fully_connected"), HasSubstr("the key 'unit' is missing"));
  EXPECT_THAT(refused("5", "type = fully_connected\nunit = 0"), HasSubstr("net.ini:8"));
}

TEST_F(IniLayers, ConvolutionsAndTheirPadding) {
  const auto conv = [&](const std::string& keys) {
    return shape("2:9:7", "type = conv2d\nfilters = 5\nkernel_size = " + keys);
  };
  EXPECT_EQ(conv("3,2"), "f32[4,5,7,6]");
  EXPECT_EQ(conv("3"), "f32[4,5,7,5]");
  EXPECT_EQ(conv("3,3\npadding = valid"), "f32[4,5,7,5]");
  EXPECT_EQ(conv("3,3\npadding = SAME"), "f32[4,5,9,7]");
  EXPECT_EQ(conv("3,3\npadding = \"same\"\nstride = 2,3"), "f32[4,5,5,3]");
  EXPECT_EQ(conv("2,2\npadding = same\nstride = 2"), "f32[4,5,5,4]");
  EXPECT_EQ(conv("3,3\npadding = 1"), "f32[4,5,9,7]");
  EXPECT_EQ(conv("3,3\npadding = 1,0"), "f32[4,5,9,5]");
  EXPECT_EQ(conv("3,3\npadding = 1,0,0,2"), "f32[4,5,8,7]");
  EXPECT_EQ(conv("3,3\ndilation = 2,1"), "f32[4,5,5,5]");
  EXPECT_THAT(stored(of("2:9:7", "type = conv2d\nfilters = 5\nkernel_size = 3,2")),
              ElementsAre("y.weight [5,2,3,2]", "y.bias [5]"));
  const auto refused_conv = [&](const std::string& keys) { return refused("2:9:7", "type = conv2d\n" + keys); };
  EXPECT_THAT(refused_conv("filters = 5"), HasSubstr("the key 'kernel_size' is missing"));
  EXPECT_THAT(refused_conv("filters = 5\nkernel_size = 3,3,3"), HasSubstr("more than 2"));
  EXPECT_THAT(refused_conv("filters = 5\nkernel_size = 3\npadding = 1,1,1"), HasSubstr("three numbers"));
  EXPECT_THAT(refused_conv("filters = 5\nkernel_size = 3\npadding = smae"), HasSubstr("'smae'"));
  EXPECT_THAT(refused_conv("filters = 5\nkernel_size = 10,10"),
              AllOf(HasSubstr("a window of 10 does not fit into 9 rows"), HasSubstr("net.ini:9")));
  EXPECT_THAT(refused_conv("filters = 5\nkernel_size = 3,3\ndilation = 1,4"),
              HasSubstr("a window of 9 does not fit into 7 columns"));
  EXPECT_THAT(refused_conv("filters = 5\nkernel_size = 2147483647,3\npadding = same"),
              HasSubstr("does not fit into 9 rows"));
}

TEST_F(IniLayers, TheOddRowOfSamePaddingIsBelow) {
  // 3 columns, kernel 2, stride 2: two windows, one column of padding, behind.
  EXPECT_THAT(head(computed(of("1:1:3", "type = conv2d\nfilters = 1\nkernel_size = 1,2\nstride = 1,2\npadding = same"),
                            {{"y.weight", {1, 10}}}),
                   2),
              ElementsAre(10, 2));
}

TEST_F(IniLayers, Poolings) {
  const auto pooling = [&](const std::string& keys) { return shape("2:9:7", "type = pooling2d\npooling = " + keys); };
  EXPECT_EQ(pooling("max\npool_size = 2,2\nstride = 2,2"), "f32[4,2,4,3]");
  EXPECT_EQ(pooling("Average\npool_size = 3,2"), "f32[4,2,7,6]");
  EXPECT_EQ(pooling("max\npool_size = 2,2\nstride = 2,2\npadding = same"), "f32[4,2,5,4]");
  EXPECT_EQ(pooling("average\npool_size = 3\npadding = 1,1"), "f32[4,2,9,7]");
  for (const char* global : {"global_max", "global_average", "max", "average"})
    EXPECT_EQ(pooling(global), "f32[4,2,1,1]") << global;
  // A padded window's average is over what lies inside.
  EXPECT_THAT(
      head(computed(of("1:1:3", "type = pooling2d\npooling = average\npool_size = 1,2\nstride = 1,2\npadding = same")),
           2),
      ElementsAre(0.5, 2));
  EXPECT_THAT(head(computed(of("2:1:3", "type = pooling2d\npooling = global_average")), 2), ElementsAre(1, 4));
  EXPECT_THAT(refused("2:9:7", "type = pooling2d\npool_size = 2"), HasSubstr("the key 'pooling' is missing"));
  EXPECT_THAT(refused("2:9:7", "type = pooling2d\npooling = mean"), HasSubstr("use max, average"));
}

TEST_F(IniLayers, BatchNormalization) {
  EXPECT_EQ(shape("3:4:5", "type = batch_normalization"), "f32[4,3,4,5]");
  EXPECT_THAT(stored(of("3:4:5", "type = batch_normalization")),
              ElementsAre("y.running_mean [3]*", "y.running_var [3]*", "y.weight [3]", "y.bias [3]"));
  EXPECT_THAT(stored(of("1:4:5", "type = batch_normalization")),
              ElementsAre("y.running_mean [5]*", "y.running_var [5]*", "y.weight [5]", "y.bias [5]"));
  const std::string keys =
      "moving_mean_initializer = zeros\nmoving_variance_initializer = ones\nbeta_initializer = ones\n"
      "gamma_initializer = zeros\nepsilon = 1e-6\nmomentum = 0.9";
  EXPECT_EQ(shape("3:4:5", "type = batch_normalization\n" + keys), "f32[4,3,4,5]");
  EXPECT_THAT(refused("3:4:5", "type = batch_normalization\nmoving_mean_initializer = ones"), HasSubstr("use zeros"));
}

TEST_F(IniLayers, BatchNormalizationOfOneChannelIsOverColumns) {
  // Two columns of four samples: 0 2 4 6, and 1 3 5 7. The deviation is the square root of 5.
  const std::vector<float> made =
      computed(of("1:1:2", "type = batch_normalization\nepsilon = 0"),
               {{"y.weight", {1, 2}}, {"y.bias", {0, 10}}, {"y.running_mean", {0, 0}}, {"y.running_var", {1, 1}}});
  const auto at = [](double x) { return static_cast<float>(x / std::sqrt(5.0)); };
  EXPECT_THAT(made, Pointwise(FloatNear(1e-5F), {at(-3), 10 + 2 * at(-3), at(-1), 10 + 2 * at(-1), at(1),
                                                 10 + 2 * at(1), at(3), 10 + 2 * at(3)}));
}

TEST_F(IniLayers, ConcatAndSplitTakeTheirAxes) {
  const auto joined = [&](const std::string& in, const std::string& keys) {
    return shape(in, "type = identity\n[z]\ntype = concat\ninput_layers = x, y\n" + keys);
  };
  EXPECT_EQ(joined("2:3:4", ""), "f32[4,2,3,8]");
  EXPECT_EQ(joined("1:3:4", ""), "f32[4,2,3,4]");
  EXPECT_EQ(joined("1:3:4", "axis = 2"), "f32[4,1,6,4]");
  EXPECT_EQ(joined("2:3:4", "axis = 1"), "f32[4,4,3,4]");
  EXPECT_EQ(shape("2:3:4", "type = split\n[z]\ntype = identity\ninput_layers = y(1)"), "f32[4,1,3,4]");
  EXPECT_EQ(shape("2:3:4", "type = split\naxis = 3\nsplit_number = 2\n[z]\ntype = identity\ninput_layers = y(1)"),
            "f32[4,2,3,2]");
  EXPECT_THAT(outputs(of("1:1:4", "type = split\naxis = 3\nsplit_number = 2")),
              ElementsAre("y(0) f32[4,2]", "y(1) f32[4,2]"));
  EXPECT_THAT(head(computed(of("1:1:4", "type = split\naxis = 3\n[z]\ntype = identity\ninput_layers = y(2)")), 2),
              ElementsAre(2, 6));
  EXPECT_THAT(refused("2:3:4", "type = split\naxis = 3\nsplit_number = 3"),
              HasSubstr("3 parts do not divide the extent 4"));
  EXPECT_THAT(refused("2:3:4", "type = split\naxis = 4"), HasSubstr("none of 1 (C), 2 (H) and 3 (W)"));
  EXPECT_THAT(refused("2:3:4", "type = split\n[z]\ntype = identity\ninput_layers = y(2)"),
              HasSubstr("the layer 'y' has no output 2"));
  EXPECT_THAT(refused("1:1:150528", "type = split\naxis = 3"),
              HasSubstr("parts is 150528, and must be from 1 to 4096"));
}

TEST_F(IniLayers, SumsAndCopies) {
  const std::string copies =
      "type = multiout\n[b]\ntype = fully_connected\nunit = 4\ninput_layers = y(0)\n[c]\ntype = addition\n"
      "input_layers = b, y(1), y(2)";
  EXPECT_EQ(shape("4", copies), "f32[4,4]");
  EXPECT_EQ(shape("4", "type = output\n[c]\ntype = addition\ninput_layers = y(0), y(7)"), "f32[4,4]");
  EXPECT_THAT(head(computed(of("2", "type = multiout\n[c]\ntype = addition\ninput_layers = y(0), y(1), x")), 2),
              ElementsAre(0, 3));
  EXPECT_THAT(refused("4", "type = fully_connected\nunit = 3\n[c]\ntype = addition\ninput_layers = x, y"),
              HasSubstr("do not fit"));
  EXPECT_THAT(refused("4", "type = flatten\n[c]\ntype = flatten\ninput_layers = x, y"),
              HasSubstr("reads one layer, not 2"));
}

TEST_F(IniLayers, EmbeddingsReadNumbers) {
  EXPECT_EQ(shape("1:1:3", "type = embedding\nin_dim = 20\nout_dim = 2"), "f32[4,1,3,2]");
  EXPECT_THAT(stored(of("1:1:3", "type = embedding\nin_dim = 20\nout_dim = 2")), ElementsAre("y.weight [20,2]"));
  EXPECT_THAT(head(computed(of("1:1:2", "type = embedding\nin_dim = 8\nout_dim = 2"),
                            {{"y.weight", {0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51, 60, 61, 70, 71}}}),
                   8),
              ElementsAre(0, 1, 10, 11, 20, 21, 30, 31));
  EXPECT_THAT(refused("1:1:3", "type = embedding\nin_dim = 20"), HasSubstr("the key 'out_dim' is missing"));
}

TEST_F(IniLayers, RecurrentLayers) {
  const auto made = [&](const std::string& type, const std::string& keys) {
    const std::string text = of("1:3:5", "type = " + type + "\nunit = 2\n" + keys);
    std::vector<std::string> told = stored(text);
    const std::vector<std::string> last = outputs(text);
    told.push_back(last.empty() ? "" : last[0]);
    return told;
  };
  EXPECT_THAT(made("lstm", ""),
              ElementsAre("y.weight_ih [5,8]", "y.weight_hh [2,8]", "y.bias_ih [8]", "y.bias_hh [8]", "y f32[4,2]"));
  EXPECT_THAT(made("lstm", "return_sequences = true\nintegrate_bias = true"),
              ElementsAre("y.weight_ih [5,8]", "y.weight_hh [2,8]", "y.bias [8]", "y f32[4,1,3,2]"));
  EXPECT_THAT(made("gru", "disable_bias = true"), ElementsAre("y.weight_ih [5,6]", "y.weight_hh [2,6]", "y f32[4,2]"));
  EXPECT_THAT(made("gru", "reset_after = false\nintegrate_bias = true\nmax_timestep = 3"),
              ElementsAre("y.weight_ih [5,6]", "y.weight_hh [2,6]", "y.bias [6]", "y f32[4,2]"));
  EXPECT_THAT(made("rnn", "hidden_state_activation = relu"),
              ElementsAre("y.weight_ih [5,2]", "y.weight_hh [2,2]", "y.bias_ih [2]", "y.bias_hh [2]", "y f32[4,2]"));
  EXPECT_THAT(refused("2:3:5", "type = lstm\nunit = 2"), HasSubstr("its input has 2 channels"));
  EXPECT_THAT(refused("1:3:5", "type = lstm\nunit = 2\ndropout_rate = 0.5"), HasSubstr("dropout inside"));
  EXPECT_THAT(refused("1:3:5", "type = gru\nunit = 2\nbidirectional = true"), HasSubstr("both directions"));
  EXPECT_THAT(refused("1:3:5", "type = lstm\nunit = 2\nhidden_state_activation = relu"), HasSubstr("use tanh"));
  EXPECT_THAT(refused("1:3:5", "type = gru\nunit = 2\nrecurrent_activation = tanh"), HasSubstr("use sigmoid"));
  EXPECT_THAT(refused("1:3:5", "type = rnn\nunit = 2\nreset_after = true"), HasSubstr("'reset_after' is not known"));
}

// One step from a state of zero: an LSTM's cell is sigmoid(i) tanh(g), its output sigmoid(o) tanh(cell). The gates stand in the order i, f, g, o.
TEST_F(IniLayers, GatesStandInTheOrderOfNNTrainer) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const std::vector<float> lstm =
      computed(of("1:1:1", "type = lstm\nunit = 1"), {{"y.bias_ih", {0.1F, 0.2F, 0.3F, 0.4F}}});
  EXPECT_NEAR(lstm.at(0), sigmoid(0.4) * std::tanh(sigmoid(0.1) * std::tanh(0.3)), 1e-6);
  const std::vector<float> gru = computed(of("1:1:1", "type = gru\nunit = 1"), {{"y.bias_ih", {0.1F, 0.2F, 0.3F}}});
  EXPECT_NEAR(gru.at(0), (1 - sigmoid(0.1)) * std::tanh(0.3), 1e-6);
}

TEST_F(IniLayers, AnyLayerHasActivationAndFlatten) {
  EXPECT_EQ(shape("2:3:4", "type = flatten"), "f32[4,24]");
  for (const std::string target : {"24", "1:24", "1:1:24", "1:1:1:24"})
    EXPECT_EQ(shape("2:3:4", "type = flatten\ntarget_shape = " + target), "f32[4,24]") << target;
  for (const std::string target : {"4", "2:12", "1:1:1:1:24", "24:1", ":24"})
    EXPECT_THAT(refused("2:3:4", "type = flatten\ntarget_shape = " + target),
                HasSubstr("'" + target + "' is not the flattened shape, 1:1:24"));
  EXPECT_EQ(shape("2:3:4", "type = conv2d\nfilters = 2\nkernel_size = 1\nflatten = true\nactivation = relu"),
            "f32[4,24]");
  EXPECT_EQ(shape("2:3:4", "type = activation\nactivation = sigmoid\nflatten = true"), "f32[4,24]");
  for (const std::string& name : activation_names())
    EXPECT_EQ(shape("3", "type = activation\nactivation = " + name), "f32[4,3]") << name;
  EXPECT_THAT(head(computed(of("2", "type = activation\nactivation = softmax")), 2),
              Pointwise(FloatNear(1e-6F), {1 / (1 + std::exp(1.0F)), 1 / (1 + std::exp(-1.0F))}));
  EXPECT_THAT(refused("3", "type = activation"), HasSubstr("the key 'activation' is missing"));
  EXPECT_THAT(refused("3", "type = activation\nactivation = rleu"), HasSubstr("did you mean relu?"));
}

TEST_F(IniLayers, InputsMayBeScaled) {
  EXPECT_THAT(computed("[x]\ntype = input\ninput_shape = 2\nnormalization = true\n[y]\ntype = identity"),
              Pointwise(FloatNear(1e-6F), {0.0F, 1 / 7.0F, 2 / 7.0F, 3 / 7.0F, 4 / 7.0F, 5 / 7.0F, 6 / 7.0F, 1.0F}));
  EXPECT_THAT(refusal("[x]\ntype = input\ninput_shape = 2\nstandardization = true"), HasSubstr("standardized inputs"));
}

TEST_F(IniLayers, Dropout) {
  EXPECT_EQ(shape("2:3:4", "type = dropout\ndropout_rate = 0.5"), "f32[4,2,3,4]");
  EXPECT_EQ(shape("2:3:4", "type = dropout"), "f32[4,2,3,4]");
  EXPECT_THAT(refused("3", "type = dropout\ndropout_rate = 2"), HasSubstr("no number from 0 to 1"));
}

TEST_F(IniLayers, ShapesAreFilledFromTheLeft) {
  const std::string identity = "type = identity";
  EXPECT_EQ(shape("2:3:4", identity), "f32[4,2,3,4]");
  EXPECT_EQ(shape("3:4", identity), "f32[4,1,3,4]");
  EXPECT_EQ(shape("9:2:3:4", identity), "f32[4,2,3,4]");
  EXPECT_EQ(shape("4", identity), "f32[4,4]");
  for (const char* shape : {"0", "1:2:3:4:5", "2:x", "2::3", "-1", "1:1:99999999999"})
    EXPECT_THAT(refused(shape, identity), HasSubstr("is no shape")) << shape;
}

TEST_F(IniLayers, UnknownTypesAreAllNamedAtOnce) {
  const std::string told =
      refused("3", "type = custom_pow\nexponent = 3\n[z]\ntype = fully_conected\nunit = 3\n[loss]\ntype = mae_loss");
  for (const char* part : {"'custom_pow'", "'mae_loss'", "'fully_conected'", "net.ini:7", "net.ini:10", "net.ini:13"})
    EXPECT_THAT(told, HasSubstr(part));
  EXPECT_THAT(refused("3", "type = FullyConnectedLayer\nHiddenSize = 3"), HasSubstr("fully_connected"));
}

TEST_F(IniLayers, UnknownKeysAreRefusedWithAHint) {
  EXPECT_THAT(refused("3", "type = fully_connected\nunits = 3"),
              AllOf(HasSubstr("did you mean unit?"), HasSubstr("net.ini:8")));
  EXPECT_THAT(refused("2:3:4", "type = conv2d\nfilters = 2\nkernel = 3,3\nkernel_size = 1"),
              HasSubstr("[y]: the key 'kernel' is not known here"));
  EXPECT_THAT(refused("3", "type = flatten\nunit = 3"), HasSubstr("'unit' is not known"));
  EXPECT_THAT(refused("3", "type = flatten\nweight_initializer = zeros"),
              HasSubstr("'weight_initializer' is not known"));
}

TEST_F(IniLayers, KeysThatAreNotRead) {
  const auto refused_key = [&](const std::string& key) {
    return refused("3", "type = fully_connected\nunit = 3\n" + key);
  };
  EXPECT_THAT(refused_key("distribute = true"), HasSubstr("each time step"));
  EXPECT_THAT(refused_key("weight_dtype = fp16"), HasSubstr("only FP32"));
  EXPECT_THAT(refused_key("loss_scale = 2"), HasSubstr("scaled loss"));
  EXPECT_EQ(refused_key(
                "engine = cpu\nprint = true\npacked = false\nweight_dtype = FP32\nloss_scale = 1\ndistribute = false"),
            "");
}

TEST_F(IniLayers, HugeExtentsAreRefused) {
  EXPECT_NE(refused("1:1:2147483647", "type = fully_connected\nunit = 2147483647"), "");
  EXPECT_NE(refused("2147483647:2147483647:2147483647", "type = flatten"), "");
  EXPECT_NE(refused("2147483647:3:3",
                    "type = conv2d\nfilters = 2147483647\nkernel_size = 2147483647,2147483647\npadding = 2147483647"),
            "");
  EXPECT_NE(refused("1:2147483647:3", "type = lstm\nunit = 2147483647"), "");
}

}  // namespace
}  // namespace pantoum::ini
