// Torch graphs for tests: calls by their words, tensors by their shapes.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <string>
#include <vector>

#include "aten/import_torch.h"
#include "ir/graph.h"

namespace pantoum::aten {

struct GraphText {
  std::vector<std::string> inputs, parameters, buffers, nodes, outputs;
  std::string loss = "null";
  int batch = 2;

  static std::string value(const std::string& name, const std::vector<int>& shape, const char* dtype = "f32") {
    return fmt::format(R"("value":"{}","dtype":"{}","shape":[{}])", name, dtype, fmt::join(shape, ","));
  }
  GraphText& input(const std::string& name, const std::vector<int>& shape, const char* dtype = "f32") {
    inputs.push_back(fmt::format(R"({{{},"name":"{}"}})", value(name, shape, dtype), name));
    return *this;
  }
  GraphText& parameter(const std::string& name, const std::vector<int>& shape, bool trains = true) {
    parameters.push_back(fmt::format(R"({{{},"name":"{}","trains":{}}})", value(name, shape), name, trains));
    return *this;
  }
  GraphText& buffer(const std::string& name, const std::vector<int>& shape, const std::string& becomes,
                    const char* dtype = "f32") {
    buffers.push_back(fmt::format(R"({{{},"name":"{}","becomes":{}}})", value(name, shape, dtype), name,
                                  becomes.empty() ? "null" : "\"" + becomes + "\""));
    return *this;
  }
  // `args` as JSON.
  GraphText& call(const std::string& op, const std::string& args, const std::string& name,
                  const std::vector<int>& shape, const char* dtype = "f32") {
    nodes.push_back(fmt::format(
        R"({{"name":"{0}_node","op":"aten.{1}","args":[{2}],"outputs":[{{{3}}}],"where":"net.py:{4}, in forward"}})",
        name, op, args, value(name, shape, dtype), nodes.size() + 1));
    return *this;
  }
  GraphText& output(const std::string& name) {
    outputs.push_back(fmt::format(R"({{"value":"{0}","name":"{0}"}})", name));
    return *this;
  }
  GraphText& minimize(const std::string& name) {
    loss = "\"" + name + "\"";
    return *this;
  }
  [[nodiscard]] std::string json() const {
    return fmt::format(
        R"({{"name":"net","batch":{},"inputs":[{}],"parameters":[{}],"buffers":[{}],"constants":[],"nodes":[{}],"outputs":[{}],"loss":{}}})",
        batch, fmt::join(inputs, ","), fmt::join(parameters, ","), fmt::join(buffers, ","), fmt::join(nodes, ","),
        fmt::join(outputs, ","), loss);
  }
};

// Contents: floating-point numbers around 0.5, ones for integers.
inline Result<std::vector<std::byte>> contents_of(const std::string&, const base::TensorType& type) {
  std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
  for (int64_t each = 0; each < type.elements(); ++each) {
    const float real = 0.3F + 0.1F * static_cast<float>(each % 5);
    const int64_t one = 1;
    const auto size = static_cast<size_t>(base::size_of(type.dtype));
    std::memcpy(bytes.data() + static_cast<size_t>(each) * size,
                base::is_float(type.dtype) ? static_cast<const void*>(&real) : &one, size);
  }
  return bytes;
}

inline Result<import::Imported> load(const GraphText& text, const import::OnnxOptions& options = {}) {
  const std::string json = text.json();
  return load_torch({.where = "net", .graph = json, .read = contents_of}, options);
}

}  // namespace pantoum::aten
