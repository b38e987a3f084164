// Model files of NNTrainer in a folder of their own. Tests only.
#pragma once

#include <fmt/ranges.h>

#include <fstream>
#include <string>
#include <vector>

#include "ini/model.h"
#include "testing/built_model.h"
#include "testing/temporary_folder.h"

namespace pantoum::ini {

class IniFolder : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  [[nodiscard]] Result<Model> model(const std::string& text) const { return read_model(put("net.ini", text)); }
  // Code, place, message, notes and help; "" where the file is read. Places are named without the folder.
  [[nodiscard]] std::string refusal(const std::string& text) const {
    const Result<Model> read = model(text);
    if (read) return "";
    std::string told = to_text(read.error());
    for (size_t at = told.find(path("")); at != std::string::npos; at = told.find(path("")))
      told.erase(at, path("").size());
    return told;
  }
  // At a batch of 4. Fails the test where there is none.
  [[nodiscard]] Result<import::Imported> imported(const std::string& text) const {
    const Result<Model> read = model(text);
    EXPECT_TRUE(read) << to_text(read.error()) << text;
    if (!read) return Failure(read.error());
    Result<import::Imported> made = import::parse_onnx(read->onnx.data(), read->onnx.size(), "", {.batch = 4});
    EXPECT_TRUE(made) << to_text(made.error()) << text;
    return made;
  }
  [[nodiscard]] ir::Graph graph(const std::string& text) const {
    Result<import::Imported> made = imported(text);
    return made ? std::move(made->graph) : ir::Graph();
  }
  // "y f32[4,10]" for each output.
  [[nodiscard]] std::vector<std::string> outputs(const std::string& text) const {
    const Result<import::Imported> made = imported(text);
    std::vector<std::string> names = made ? made->info.outputs : std::vector<std::string>();
    for (std::string& name : names)
      if (const size_t batch = name.find("[N"); batch != std::string::npos) name.replace(batch, 2, "[4");
    return names;
  }
  // "fc.weight [3,10]" for each tensor of a .bin, in its order; "*" behind statistics.
  [[nodiscard]] std::vector<std::string> stored(const std::string& text) const {
    const Result<Model> read = model(text);
    EXPECT_TRUE(read) << to_text(read.error());
    std::vector<std::string> names;
    if (!read) return names;
    for (const StoredTensor& tensor : read->stored)
      names.push_back(
          fmt::format("{} [{}]{}", tensor.name, fmt::join(tensor.shape, ","), tensor.is_statistic ? "*" : ""));
    return names;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace pantoum::ini
