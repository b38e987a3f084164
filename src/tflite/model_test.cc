// Whole files: names, what trains, what is refused and by which name; files that lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "import/onnx.h"
#include "tflite/made_file.h"
#include "tflite/model.h"

namespace pantoum::tflite {
namespace {

using schema::Operators;
using schema::TensorType;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// A convolution with f16 weights, a pool over the picture and a layer with int8 weights.
std::string small_file() {
  MadeFile file;
  const int x = file.input({1, 6, 6, 2}, TensorType::INT8);
  const int half = file.constant("conv/kernel", {4, 3, 3, 2}, TensorType::FLOAT16, std::vector<uint16_t>(72, 0x3800));
  const int kernel = file.op(Operators::DEQUANTIZE, {half}, {4, 3, 3, 2});
  const int bias = file.reals("conv/bias", {4}, {0, 1, 2, 3});
  int y = file.op(Operators::CONV_2D, {x, kernel, bias}, {1, 3, 3, 4},
                  schema::CreateConv2DOptions(file.out, schema::Padding::SAME, 2, 2, schema::Activation::RELU6));
  y = file.op(Operators::MEAN, {y, file.list({1, 2})}, {1, 4}, schema::CreateReducerOptions(file.out, false));
  const int weight = file.constant("fc/kernel", {3, 4}, TensorType::INT8, std::vector<int8_t>(12, 5), {{0.5F}, {0}, 0});
  y = file.op(Operators::FULLY_CONNECTED, {y, weight, -1}, {1, 3}, schema::CreateFullyConnectedOptions(file.out));
  return file.bytes({y});
}

Error refusal_of(const std::string& bytes) {
  const Result<Model> model = parse_model(bytes, "net.tflite");
  EXPECT_FALSE(model);
  return model ? Error{} : model.error();
}

TEST(TfliteModel, NothingTrainsUnlessItIsNamed) {
  const Result<Model> model = parse_model(small_file(), "folder/net.tflite");
  ASSERT_TRUE(model) << to_text(model.error());
  const auto trained = [&](const std::vector<std::string>& train) {
    const auto imported = import::parse_onnx(model->onnx.data(), model->onnx.size(), "", {.train = train});
    EXPECT_TRUE(imported) << to_text(imported.error());
    std::vector<std::string> names;
    if (imported)
      for (const import::TensorInfo& tensor : imported->info.tensors)
        if (tensor.trains == "yes") names.push_back(tensor.name + " " + tensor.type);
    return names;
  };
  EXPECT_THAT(trained({}), ElementsAre());
  EXPECT_THAT(trained({"fc*"}), ElementsAre("fc/kernel f32[3,4]"));
  EXPECT_THAT(trained({"*"}),
              testing::UnorderedElementsAre("conv/kernel f32[4,2,3,3]", "conv/bias f32[4]", "fc/kernel f32[3,4]"));
}

TEST(TfliteModel, EndsHaveTheFilesNamesAndShapes) {
  const Result<Model> model = parse_model(small_file(), "net.tflite");
  ASSERT_TRUE(model) << to_text(model.error());
  const auto imported = import::parse_onnx(model->onnx.data(), model->onnx.size(), "");
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_THAT(imported->info.inputs, ElementsAre("x f32[N,6,6,2]"));
  EXPECT_THAT(imported->info.outputs, ElementsAre("y3 f32[N,3]"));
}

TEST(TfliteModel, NotesTellWhatIsReadOtherwise) {
  const Result<Model> model = parse_model(small_file(), "net.tflite");
  ASSERT_TRUE(model);
  EXPECT_THAT(model->notes, Contains("1 tensors of type FLOAT16 are read as f32"));
  EXPECT_THAT(model->notes, Contains("1 tensors of integers are read as f32, by their scales"));
  EXPECT_THAT(model->notes, Contains(HasSubstr("the input 'x' is of type INT8")));
}

TEST(TfliteModel, TheSameFileGivesTheSameBytes) {
  EXPECT_EQ(parse_model(small_file(), "net.tflite")->onnx, parse_model(small_file(), "net.tflite")->onnx);
}

TEST(TfliteModel, AllUnknownOperatorsAreNamed) {
  MadeFile file;
  int y = file.op(Operators::DENSIFY, {file.input({1, 4})}, {1, 4});
  y = file.op(Operators::LSTM, {y}, {1, 4});
  const Error error = refusal_of(file.bytes({file.op(Operators::LSTM, {y}, {1, 4})}));
  EXPECT_EQ(error.code, "E0401");
  EXPECT_THAT(error.notes, ElementsAre("DENSIFY, 1 time", "LSTM, 2 times"));
  EXPECT_THAT(error.help, HasSubstr("sparse"));
}

// TensorFlow Lite's interpreter leaves it out, against its schema.
TEST(TfliteModel, AFusedTanhIsRefused) {
  MadeFile file;
  const int x = file.input({1, 4});
  const Error error = refusal_of(file.bytes(
      {file.op(Operators::ADD, {x, x}, {1, 4}, schema::CreateFusedOptions(file.out, schema::Activation::TANH))}));
  EXPECT_EQ(error.code, "E0401");
  EXPECT_THAT(error.where, HasSubstr("operator 0 (ADD)"));
}

TEST(TfliteModel, AVersionThatIsNotReadIsNamed) {
  MadeFile file;
  const int x = file.input({1, 4});
  const Error error = refusal_of(file.bytes({file.op(Operators::RELU, {x}, {1, 4})}, 4));
  EXPECT_EQ(error.code, "E0215");
  EXPECT_THAT(error.message, HasSubstr("version is 4"));
}

TEST(TfliteModel, AShapeThatTheOperatorDoesNotGiveIsRefused) {
  MadeFile file;
  const int x = file.input({1, 6, 6, 2});
  const int y = file.op(Operators::MAX_POOL_2D, {x}, {1, 4, 3, 2},
                        schema::CreatePool2DOptions(file.out, schema::Padding::SAME, 2, 2, 2, 2));
  const Error error = refusal_of(file.bytes({y}));
  EXPECT_EQ(error.code, "E0215");
  EXPECT_THAT(error.message, HasSubstr("[-1,3,3,2], and in the file [1,4,3,2]"));
}

TEST(TfliteModel, ContentsHaveToFitTheirShape) {
  MadeFile file;
  const int x = file.input({1, 4});
  const int y = file.op(Operators::FULLY_CONNECTED, {x, file.reals("w", {3, 4}, std::vector<float>(11))}, {1, 3},
                        schema::CreateFullyConnectedOptions(file.out));
  EXPECT_THAT(refusal_of(file.bytes({y})).message, HasSubstr("'w': its shape [3,4] and its 44 bytes do not fit"));
}

// A hundred tensors that share one buffer would take a hundred times the memory of the file.
TEST(TfliteModel, MemoryIsBoundedByTheFile) {
  MadeFile file;
  int y = file.input({1, 100000});
  const int table = file.constant("table", {100000}, TensorType::INT8, std::vector<int8_t>(100000, 1), {{1}, {0}, 0});
  for (int at = 0; at < 100; ++at) {
    const int shared = file.alias("shared" + std::to_string(at), {100000}, table, {{1}, {0}, 0});
    y = file.op(Operators::ADD, {y, shared}, {1, 100000}, schema::CreateFusedOptions(file.out));
  }
  const Error error = refusal_of(file.bytes({y}));
  EXPECT_EQ(error.code, "E0215");
  EXPECT_THAT(error.message, HasSubstr("for many tensors"));
}

// Neither a crash nor an error without a code; the sanitizers see the rest.
void expect_survived(const std::string& bytes) {
  const Result<Model> model = parse_model(bytes, "net.tflite");
  if (model) {
    (void)import::parse_onnx(model->onnx.data(), model->onnx.size(), "");
  } else {
    EXPECT_THAT(model.error().code, testing::AnyOf("E0215", "E0401"));
    EXPECT_NE(model.error().message, "");
  }
}

TEST(TfliteHostile, OperandsThatAreLeftOut) {
  const auto add = [](MadeFile& file, Operators code, std::vector<int32_t> operands) {
    flatbuffers::FlatBufferBuilder& out = file.out;
    const auto with = [&](auto options) { return file.op(code, operands, {1, 6, 6, 2}, options); };
    switch (code) {
      case Operators::MEAN:
        return with(schema::CreateReducerOptions(out));
      case Operators::STRIDED_SLICE:
        return with(schema::CreateStridedSliceOptions(out));
      case Operators::RESIZE_BILINEAR:
        return with(schema::CreateResizeBilinearOptions(out));
      case Operators::GATHER:
        return with(schema::CreateGatherOptions(out));
      case Operators::CONV_2D:
        return with(schema::CreateConv2DOptions(out, schema::Padding::SAME, 1, 1));
      case Operators::ADD:
        return with(schema::CreateFusedOptions(out));
      default:
        return file.op(code, operands, {1, 6, 6, 2});
    }
  };
  for (const Operators code : {Operators::MEAN, Operators::STRIDED_SLICE, Operators::RESIZE_BILINEAR, Operators::GATHER,
                               Operators::CONV_2D, Operators::ADD, Operators::TRANSPOSE, Operators::PAD,
                               Operators::PRELU, Operators::RELU, Operators::RESHAPE, Operators::EMBEDDING_LOOKUP})
    for (const size_t left : {size_t{0}, size_t{1}, size_t{2}, size_t{3}})
      for (const bool is_short : {false, true}) {
        MadeFile file;
        const int x = file.input({1, 6, 6, 2}), list = file.list({0, 1, 1, 0});
        std::vector<int32_t> operands = {x, list, list, list};
        operands[left] = -1;
        if (is_short) operands.resize(left);
        const Result<Model> model = parse_model(file.bytes({add(file, code, operands)}), "net.tflite");
        EXPECT_TRUE(model || !model.error().message.empty());
      }
}

TEST(TfliteHostile, EveryBeginningOfAFile) {
  const std::string whole = small_file();
  for (size_t size = 0; size < whole.size(); ++size) {
    const Result<Model> model = parse_model(whole.substr(0, size), "net.tflite");
    EXPECT_TRUE(model || model.error().code == "E0215" || model.error().code == "E0401") << size;
  }
}

TEST(TfliteHostile, ChangedBytesAndNumbers) {
  const std::string whole = small_file();
  std::mt19937 draw(7);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = whole;
    for (unsigned change = 0; change <= draw() % 3; ++change) {
      const size_t at = draw() % bytes.size();
      bytes[at] = static_cast<char>(draw() % 3 == 0 ? 0xFF : draw());
      if (draw() % 2 == 0 && at + 4 <= bytes.size())
        bytes.replace(at, 4, std::string(draw() % 2 == 0 ? "\xFF\xFF\xFF\x7F" : "\0\0\0\x80", 4));
    }
    expect_survived(bytes);
  }
}

}  // namespace
}  // namespace pantoum::tflite
