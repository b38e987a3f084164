// Large contents stay out of an ONNX file's message, and what is read has the same bits.
#include "import/message_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "import/onnx.h"
#include "import/onnx_messages.h"
#include "testing/onnx_model.h"
#include "testing/temporary_folder.h"

namespace pantoum::import {
namespace {

constexpr int64_t kRows = 512, kColumns = 8300;  // 16 MiB: a file that is mapped

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// x [N, kRows] times a large weight, plus a small one.
OnnxModel large_model() {
  OnnxModel model;
  model.input("x", {"N", std::to_string(kRows)});
  for (const auto& [name, rows] : {std::pair<std::string, int64_t>{"w", kRows}, {"b", 1}}) {
    onnx::TensorProto& tensor = *model.graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    if (rows > 1) tensor.add_dims(rows);
    tensor.add_dims(kColumns);
    std::vector<float> values(static_cast<size_t>(rows * kColumns));
    for (size_t at = 0; at < values.size(); ++at) values[at] = static_cast<float>(at % 1009) - 500;
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  }
  model.node("MatMul", {"x", "w"}, {"p"}).node("Add", {"p", "b"}, {"y"}).output("y");
  return model;
}

TEST(MessageParts, AreAMessageAndThePlacesOfLargeContents) {
  const std::string file = large_model().bytes();
  const std::optional<MessageParts> parts = part_message(bytes_of(file));
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->contents_of.size(), 1U);
  const auto& [position, place] = *parts->contents_of.begin();
  onnx::ModelProto whole, message;
  ASSERT_TRUE(whole.ParseFromString(file) && message.ParseFromString(parts->message));
  EXPECT_EQ(file.substr(place.at, place.size), whole.graph().initializer(position).raw_data());
  whole.mutable_graph()->mutable_initializer(position)->clear_raw_data();
  EXPECT_EQ(message.SerializeAsString(), whole.SerializeAsString());
}

TEST(MessageParts, OfASmallModelAreNone) {
  EXPECT_FALSE(part_message(bytes_of(OnnxModel().input("x", {"N", "4"}).output("x").bytes())));
  EXPECT_FALSE(part_message({}));
}

TEST(MessageParts, OfAFileThatIsCutShortAreNone) {
  const std::string file = large_model().bytes();
  for (const size_t size : {file.size() - 1, file.size() / 2, size_t{1} << 21, size_t{3}})
    EXPECT_FALSE(part_message(bytes_of(file).first(size))) << size;
}

TEST(MessageParts, HaveTheLastOfContentsThatAreThereTwice) {
  onnx::TensorProto first, second;
  first.set_raw_data(std::string(kLargeContents, 'a'));
  for (const size_t size : {kLargeContents + 1, size_t{2}}) {
    second.set_raw_data(std::string(size, 'b'));
    const std::string tensor = first.SerializeAsString() + second.SerializeAsString();
    onnx::GraphProto graph;
    graph.add_initializer()->set_name("t");
    std::string bytes = graph.SerializeAsString();
    graph.Clear();
    graph.add_initializer()->ParseFromString(tensor);  // protobuf keeps the last
    ASSERT_EQ(graph.initializer(0).raw_data().size(), size);
    const auto framed = [](char key, const std::string& text) {
      std::string made(1, key);
      for (size_t rest = text.size();; rest >>= 7) {
        made.push_back(static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0)));
        if (rest <= 0x7f) break;
      }
      return made + text;
    };
    const std::string file = framed(7 << 3 | 2, framed(5 << 3 | 2, tensor));
    const std::optional<MessageParts> parts = part_message(bytes_of(file));
    if (size < kLargeContents) {
      EXPECT_FALSE(parts);  // what counts is small
    } else {
      ASSERT_TRUE(parts);
      EXPECT_EQ(file.substr(parts->contents_of.at(0).at, parts->contents_of.at(0).size), second.raw_data());
    }
  }
}

TEST(MessageParts, OfAMappedFileGiveTheSameModel) {
  const TemporaryFolder folder;
  const std::string bytes = large_model().bytes(), path = folder.file("large.onnx");
  ASSERT_GE(bytes.size(), size_t{16} << 20);
  std::ofstream(path, std::ios::binary) << bytes;
  const Result<Imported> mapped = load_onnx(path, {.batch = 1}),
                         read = parse_onnx(bytes.data(), bytes.size(), "", {.batch = 1});
  ASSERT_TRUE(mapped && read);
  size_t compared = 0;
  for (size_t at = 0; at < read->graph.values.size(); ++at) {
    const ir::Data &a = mapped->graph.values[at].data, &b = read->graph.values[at].data;
    ASSERT_EQ(a == nullptr, b == nullptr);
    if (!a) continue;
    EXPECT_TRUE(ir::same_bytes(*a, *b));
    std::vector<std::byte> part(64);
    ASSERT_TRUE(a.read(a->size() - part.size(), part));
    EXPECT_TRUE(ir::same_bytes(part, (*b).last(part.size())));
    ++compared;
  }
  EXPECT_EQ(compared, 2U);
}

TEST(MessageParts, OfAWrongSizeAreRefused) {
  OnnxModel model = large_model();
  model.graph().mutable_initializer(0)->set_dims(0, kRows - 1);
  const std::string bytes = model.bytes();
  EXPECT_EQ(parse_onnx(bytes.data(), bytes.size(), "", {.batch = 1}).error().code, "E0205");
}

}  // namespace
}  // namespace pantoum::import
