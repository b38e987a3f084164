#include "import/given_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

#include "base/foreign_text.h"
#include "import/lower_model.h"
#include "import/onnx_messages.h"

namespace pantoum::import {

namespace {

using OpenDimension = onnx::TensorShapeProto_Dimension;

struct GivenShape {
  std::string text, name;          // "x=N,3", "x"
  std::vector<std::string> items;  // "N", "3"
};

Result<void> refuse_shape(const GivenShape& given, const std::string& problem, const std::string& help) {
  return fail("E0210", problem, "--shape " + base::one_line(given.text), help);
}

// The last = ends the name: names of inputs may have others.
Result<GivenShape> read_shape(const std::string& text) {
  GivenShape given{.text = text};
  const size_t sign = text.rfind('=');
  const char* const help = "write --shape INPUT=N,3,224,224, or --shape NAME=16 for a dimension that has a name";
  if (sign == std::string::npos || sign == 0) return fail("E0210", "there is no = behind a name", "--shape " + base::one_line(text), help);
  given.name = text.substr(0, sign);
  for (size_t begin = sign + 1; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    given.items.push_back(text.substr(begin, end - begin));
    if (given.items.back().empty())
      return fail("E0210", "a dimension is missing", "--shape " + base::one_line(text), help);
    begin = end + 1;
  }
  return given;
}

// None for a word; 0 for a number that is no extent.
std::optional<int64_t> extent_in(const std::string& item) {
  const bool is_word = std::isalpha(static_cast<unsigned char>(item.front())) != 0 || item.front() == '_';
  if (is_word) return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), number);
  const bool fits = error == std::errc{} && end == item.data() + item.size() && number > 0 && number <= kMostExtent;
  return fits ? number : 0;
}

class ShapeBinding {
 public:
  ShapeBinding(Model& model, int64_t batch) : batch_(batch) {
    for (auto& input : *model.proto->mutable_graph()->mutable_input())
      if (!model.initializers.contains(input.name())) inputs_.push_back(&input);
  }

  Result<void> take(const GivenShape& given) {
    if (!taken_.emplace(given.name, 0).second) return refuse_shape(given, "this name has a shape already", "give it once");
    for (onnx::ValueInfoProto* input : inputs_)
      if (input->name() == given.name) return take_input(given, *input);
    return take_named(given);
  }

  // Dimensions of one name have one extent.
  void spread() {
    for (onnx::ValueInfoProto* input : inputs_) {
      if (declared_shape(*input) == nullptr) continue;
      for (OpenDimension& dim : *input->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
        if (const auto found = named_.find(dim.dim_param()); is_open(dim) && found != named_.end())
          dim.set_dim_value(found->second);
    }
  }

 private:
  int64_t batch_;
  std::vector<onnx::ValueInfoProto*> inputs_;
  std::map<std::string, int64_t> named_, taken_;

  Result<void> take_input(const GivenShape& given, onnx::ValueInfoProto& input) {
    const onnx::TensorShapeProto* declared = declared_shape(input);
    auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    if (declared == nullptr)
      for (size_t d = 0; d < given.items.size(); ++d) shape.add_dim();
    if (given.items.size() != static_cast<size_t>(shape.dim_size()))
      return refuse_shape(given,
                    fmt::format("input '{}' has {} dimensions, {}, and {} are given", input.name(), shape.dim_size(),
                                show_dims(shape), given.items.size()),
                    "give each dimension of the input");
    for (int d = 0; d < shape.dim_size(); ++d)
      PANTOUM_TRY(take_dimension(given, given.items[static_cast<size_t>(d)], d, *shape.mutable_dim(d)));
    return {};
  }

  Result<void> take_dimension(const GivenShape& given, const std::string& item, int d, OpenDimension& dim) {
    const std::optional<int64_t> number = extent_in(item);
    if (!number && d == 0) return {};  // the batch
    if (!number)
      return refuse_shape(given, fmt::format("'{}' is no number: only the first dimension can be left to the batch", item),
                    fmt::format("give dimension {} of input '{}' a number", d, given.name));
    if (*number == 0) return refuse_shape(given, fmt::format("'{}' is no extent of a dimension", item), "give a number from 1");
    if (!is_open(dim)) {
      if (dim.dim_value() == *number) return {};
      return refuse_shape(given,
                    fmt::format("the file fixes dimension {} of input '{}' at {}", d, given.name, dim.dim_value()),
                    d == 0 ? "leave the first dimension to --batch: write N" : "give the file's number, or export the model again");
    }
    if (d == 0 && batch_ != 0 && batch_ != *number)
      return refuse_shape(given, fmt::format("--batch is {}, and the first dimension of input '{}' {}", batch_, given.name, *number),
                    "write N for the batch, or leave --batch out");
    if (dim.dim_param().empty()) return dim.set_dim_value(*number), Result<void>();
    return name(given, dim.dim_param(), *number);
  }

  Result<void> take_named(const GivenShape& given) {
    const bool known = std::any_of(inputs_.begin(), inputs_.end(), [&](const onnx::ValueInfoProto* input) {
      const auto& dims = input->type().tensor_type().shape().dim();
      return std::any_of(dims.begin(), dims.end(), [&](const OpenDimension& dim) { return dim.dim_param() == given.name; });
    });
    if (!known) {
      std::vector<std::string> names;
      for (const onnx::ValueInfoProto* input : inputs_)
        names.push_back(fmt::format("'{}' {}", input->name(), show_dims(input->type().tensor_type().shape())));
      return refuse_shape(given, fmt::format("the model has no input and no dimension '{}'", given.name),
                    fmt::format("the inputs are {}", fmt::join(names, ", ")));
    }
    const std::optional<int64_t> number = given.items.size() == 1 ? extent_in(given.items[0]) : std::nullopt;
    if (number.value_or(0) == 0)
      return refuse_shape(given, fmt::format("'{}' is a dimension, which has one number", given.name),
                    fmt::format("write --shape {}=16", given.name));
    return name(given, given.name, *number);
  }

  Result<void> name(const GivenShape& given, const std::string& dimension, int64_t extent) {
    const auto [found, is_new] = named_.emplace(dimension, extent);
    if (is_new || found->second == extent) return {};
    return refuse_shape(given, fmt::format("dimension '{}' cannot be both {} and {}", dimension, found->second, extent),
                  "dimensions of one name are equal");
  }
};

}  // namespace

Result<void> bind_shapes(Model& model, const std::vector<std::string>& given, int64_t batch) {
  ShapeBinding binding(model, batch);
  for (const std::string& text : given) {
    PANTOUM_ASSIGN(const GivenShape one, read_shape(text));
    PANTOUM_TRY(binding.take(one));
  }
  binding.spread();
  return {};
}

std::string shapes_to_give(const Model& model) {
  std::vector<std::string> shapes, open;
  for (const auto& input : model.proto->graph().input()) {
    const onnx::TensorShapeProto* shape = declared_shape(input);
    if (model.initializers.contains(input.name())) continue;
    std::vector<std::string> items;
    bool needed = shape == nullptr;
    for (int d = 0; shape != nullptr && d < shape->dim_size(); ++d) {
      const OpenDimension& dim = shape->dim(d);
      if (!is_open(dim)) {
        items.push_back(std::to_string(dim.dim_value()));
      } else if (d == 0) {
        items.push_back("N");
      } else {
        items.push_back(dim.dim_param().empty() ? fmt::format("D{}", d) : dim.dim_param());
        if (std::find(open.begin(), open.end(), items.back()) == open.end()) open.push_back(items.back());
        needed = true;
      }
    }
    if (shape == nullptr) items = {"N", "..."};
    if (needed) shapes.push_back(fmt::format("--shape '{}={}'", input.name(), fmt::join(items, ",")));
  }
  if (shapes.empty()) return "--batch binds the first dimension";
  const std::string numbers = open.empty() ? "its numbers in place of ..." : fmt::format("numbers in place of {}", fmt::join(open, ", "));
  return fmt::format("give them: {}, with {}", fmt::join(shapes, " "), numbers);
}

}  // namespace pantoum::import
