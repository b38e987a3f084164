#include "base/contents.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string_view>

#include "testing/temporary_folder.h"

namespace pantoum::base {
namespace {

using enum Contents;
using std::string_view_literals::operator""sv;

Contents of(std::string_view bytes) {
  const TemporaryFolder scratch;
  const std::string path = scratch.file("anything.onnx");
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return contents_of(path);
}

TEST(Contents, AreKnownByTheirBytesAndNotByTheirName) {
  EXPECT_EQ(of(""), kEmpty);
  EXPECT_EQ(of("PK\3\4....net/data.pkl"), kTorchZip);
  EXPECT_EQ(of("PK\3\4....net/data.pkl....net/constants.pkl"), kTorchScript);
  EXPECT_EQ(of("PK\3\4....x_train.npy"), kNpz);
  EXPECT_EQ(of("PK\3\4....readme"), kZip);
  EXPECT_EQ(of("PK\3\4....model.weights.h5"), kKerasZip);
  EXPECT_EQ(of("\x80\2}q\0."sv), kPickle);
  EXPECT_EQ(of("\2\0\0\0\0\0\0\0{}"sv), kSafetensors);
  EXPECT_EQ(of("\x1c\0\0\0TFL3...."sv), kTflite);
  EXPECT_EQ(of("\x89HDF\r\n\x1a\n...."sv), kHdf5);
  EXPECT_EQ(of("GGUF\3\0\0\0"sv), kGguf);
  EXPECT_EQ(of(std::string(257, '\0') + "ustar"), kTar);
  EXPECT_EQ(of("\n [Model]\nType = NeuralNetwork\n"), kIni);
  EXPECT_EQ(of("ir_version: 8\n"), kOnnxText);
  EXPECT_EQ(of("<\n  ir_version: 8\n>\n"), kOnnxText);
  EXPECT_EQ(of("<!doctype html>"), kMarkup);
  EXPECT_EQ(of("{\"schema\": \"pantoum.plan/2\", \"graph\": {\"schema\": \"pantoum.costgraph/1\"}}"), kPlan);
  EXPECT_EQ(of("{\"schema\": \"pantoum.refusal/1\", \"plan\": {\"schema\": \"pantoum.plan/2\"}}"), kRefusal);
  EXPECT_EQ(of("{\"schema\": \"pantoum.costgraph/1\"}"), kCostGraph);
  EXPECT_EQ(of("{\"event\":\"plan\"}\n"), kRunLog);
  EXPECT_EQ(of("{\"a\":1}"), kJson);
  EXPECT_EQ(of("version https://git-lfs.github.com/spec/v1\n"), kLfsPointer);
}

TEST(Contents, OfModelsAndOfNoiseAreNotGuessed) {
  EXPECT_EQ(of("\x08\x08\x12\x07pytorch"sv), kUnknown);
  EXPECT_EQ(of("1,2,3\n"), kUnknown);
  EXPECT_EQ(of("\0\0\0\0\0\0\0\0\0\0"sv), kUnknown);
  EXPECT_EQ(of("P"), kUnknown);
  EXPECT_EQ(contents_of("/dev/null"), kStream);
  EXPECT_EQ(contents_of("/"), kFolder);
  EXPECT_EQ(contents_of("/no/such/file"), kStream);
}

TEST(Contents, HaveANameAndAnAdvice) {
  for (int each = static_cast<int>(kEmpty); each <= static_cast<int>(kLfsPointer); ++each) {
    const auto contents = static_cast<Contents>(each);
    EXPECT_NE(name_of(contents), "") << each;
    EXPECT_NE(advice_on_model(contents, "net.pt").help, "") << each;
  }
  EXPECT_NE(advice_on_model(kTorchZip, "a/net.pt").notes.back().find("'net.onnx'"), std::string::npos);
}

}  // namespace
}  // namespace pantoum::base
