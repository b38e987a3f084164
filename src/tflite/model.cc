#include "tflite/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <optional>

#include "base/foreign_text.h"
#include "tflite/operators.h"

namespace pantoum::tflite {
namespace {

using schema::TensorType;

// Numbers of activations, whatever a device computes them with; indices.
std::optional<DType> type_of_input(TensorType type) {
  switch (type) {
    case TensorType::FLOAT32:
    case TensorType::INT8:
    case TensorType::UINT8:
    case TensorType::INT16:
      return DType::f32;
    case TensorType::INT32:
      return DType::i32;
    case TensorType::INT64:
      return DType::i64;
    default:
      return std::nullopt;
  }
}

std::string name_of(const File& file) {
  const std::string stem = std::filesystem::path(file.where()).stem().string();
  return base::is_utf8(stem) && !stem.empty() ? stem : "model";
}

class Reader {
 public:
  explicit Reader(const File& file) : file_(file), network_(file, name_of(file)) {}

  Result<Model> read() {
    PANTOUM_TRY(check_operators());
    PANTOUM_TRY(add_inputs());
    size_t position = 0;
    if (file_.graph().operators() != nullptr)
      for (const schema::Operator* op : *file_.graph().operators()) {
        Site site{network_, *op, position++, file_.name_of(*op)};
        PANTOUM_TRY(build_operator(site));
      }
    PANTOUM_TRY(add_outputs());
    Model made;
    Result<std::string> onnx = network_.net.onnx();
    if (!onnx)
      return fail("E0215", "the operators do not fit together", file_.where(), "convert or download the model again",
                  onnx.error().notes);
    made.onnx = *std::move(onnx);
    made.notes = notes();
    return made;
  }

 private:
  const File& file_;
  Network network_;

  // All operators that have no rule, by name.
  Result<void> check_operators() const {
    std::map<std::string, int> unknown;
    if (file_.graph().operators() != nullptr)
      for (const schema::Operator* op : *file_.graph().operators())
        if (!is_known(file_.code_of(*op))) ++unknown[file_.name_of(*op)];
    if (unknown.empty()) return {};
    std::vector<std::string> all;
    all.reserve(unknown.size());
    for (const auto& [name, count] : unknown)
      all.push_back(fmt::format("{}, {} time{}", name, count, count == 1 ? "" : "s"));
    const bool sparse = unknown.contains("DENSIFY");
    return fail("E0401", fmt::format("the model has operators that are not read: {}", unknown.begin()->first),
                file_.where(),
                sparse ? "DENSIFY unpacks sparse weights: take the file that has its weights dense"
                       : "export the model as ONNX from its source, or convert it without these operators",
                std::move(all));
  }

  Result<void> add_inputs() {
    bool first = true;
    for (const int32_t tensor : *file_.graph().inputs()) {
      const std::optional<DType> dtype = type_of_input(file_.tensor(tensor).type());
      Shape shape = file_.shape_of(tensor);
      if (!dtype)
        return fail("E0401",
                    fmt::format("the input '{}' is of type {}", file_.name_of(tensor),
                                schema::EnumNameTensorType(file_.tensor(tensor).type())),
                    file_.where(), "convert the model with inputs of type FLOAT32, INT8, UINT8, INT16, INT32 or INT64");
      if (shape.empty() || shape[0] < 1 || (!first && shape[0] != network_.batch) || network_.is_computed(tensor) ||
          network_.is_constant(tensor))
        return fail("E0215",
                    fmt::format("the input '{}' has the shape [{}]; dimension 0 has to be the batch, the same of all "
                                "inputs",
                                file_.name_of(tensor), fmt::join(shape, ",")),
                    file_.where(), "convert the model with fixed shapes");
      network_.batch = shape[0], first = false;
      shape.erase(shape.begin());
      const Tensor input = network_.net.input(network_.name_of_end(tensor), shape, *dtype);
      if (!input.valid())
        return fail("E0215", fmt::format("the input '{}' has a shape that no input can have", file_.name_of(tensor)),
                    file_.where(), "convert the model with fixed shapes", network_.net.problems());
      network_.put(tensor, input, Layout::kOfFile);
    }
    return {};
  }

  Result<void> add_outputs() {
    for (const int32_t tensor : *file_.graph().outputs()) {
      if (!network_.is_computed(tensor))
        return fail("E0215", fmt::format("the output '{}' is not computed", file_.name_of(tensor)), file_.where(),
                    "convert or download the model again");
      network_.net.output(network_.name_of_end(tensor), network_.value(tensor, Layout::kOfFile));
    }
    return {};
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> all;
    if (network_.constants.halves() > 0)
      all.push_back(fmt::format("{} tensors of type FLOAT16 are read as f32", network_.constants.halves()));
    if (network_.constants.scaled() > 0)
      all.push_back(
          fmt::format("{} tensors of integers are read as f32, by their scales", network_.constants.scaled()));
    for (const int32_t tensor : *file_.graph().inputs()) {
      const TensorType type = file_.tensor(tensor).type();
      if (type == TensorType::INT8 || type == TensorType::UINT8 || type == TensorType::INT16)
        all.push_back(
            fmt::format("the input '{}' is of type {} in the file; here it is the numbers that these stand for",
                        file_.name_of(tensor), schema::EnumNameTensorType(type)));
    }
    if (file_.graphs() > 1) all.push_back(fmt::format("the first of {} graphs is read", file_.graphs()));
    all.insert(all.end(), network_.notes.begin(), network_.notes.end());
    return all;
  }
};

Result<Model> read(const Result<File>& file) {
  if (!file) return Failure(file.error());
  return Reader(*file).read();
}

}  // namespace

Result<Model> read_model(const std::string& path) {
  return read(File::open(path));
}

Result<Model> parse_model(std::string bytes, const std::string& where) {
  return read(File::parse(std::move(bytes), where));
}

}  // namespace pantoum::tflite
