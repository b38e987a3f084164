#include "tflite/file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"

namespace pantoum::tflite {
namespace {

constexpr uint32_t kVersion = 3;

template <class Vector>
size_t count_of(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// May every entry be followed? Operands that are left out are -1.
bool are_tensors(const flatbuffers::Vector<int32_t>* indices, size_t tensors, bool may_lack) {
  if (indices == nullptr) return true;
  return std::all_of(indices->begin(), indices->end(), [&](int32_t index) {
    return index >= 0 ? static_cast<size_t>(index) < tensors : may_lack && index == kNoTensor;
  });
}

}  // namespace

Result<File> File::open(const std::string& path) {
  PANTOUM_ASSIGN(std::string bytes, base::read_file(path));
  return parse(std::move(bytes), path);
}

Result<File> File::parse(std::string bytes, const std::string& where) {
  File file;
  file.where_ = where;
  file.bytes_ = std::move(bytes);
  const std::string problem = file.problem();
  if (problem.empty()) return file;
  return fail("E0215", "this is no whole model of TensorFlow Lite: " + problem, where,
              "convert or download the model again");
}

std::string File::problem() const {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size());
  if (!schema::VerifyModelBuffer(verifier)) return "an offset in it leads nowhere";
  if (model()->version() != kVersion)
    return fmt::format("its version is {}, and only {} is read", model()->version(), kVersion);
  if (count_of(model()->subgraphs()) == 0) return "it has no graph";
  const std::string tensors = problem_of_tensors();
  return tensors.empty() ? problem_of_operators() : tensors;
}

std::string File::problem_of_tensors() const {
  const size_t buffers = count_of(model()->buffers()), tensors = count_of(graph().tensors());
  if (tensors == 0) return "it has no tensors";
  for (const schema::Tensor* each : *graph().tensors())
    if (each->buffer() >= std::max<size_t>(buffers, 1)) return "a tensor names a buffer that is not there";
  for (size_t at = 0; at < buffers; ++at)
    if (model()->buffers()->Get(static_cast<flatbuffers::uoffset_t>(at))->offset() > 1)
      return "its buffers stand behind the model, as in files above 2 GiB";
  if (count_of(graph().inputs()) == 0 || count_of(graph().outputs()) == 0) return "it has no input or no output";
  if (!are_tensors(graph().inputs(), tensors, false) || !are_tensors(graph().outputs(), tensors, false))
    return "an input or output is a tensor that is not there";
  return {};
}

std::string File::problem_of_operators() const {
  if (graph().operators() == nullptr) return {};
  const size_t codes = count_of(model()->operator_codes()), tensors = graph().tensors()->size();
  for (const schema::Operator* each : *graph().operators()) {
    if (each->code() >= codes) return "an operator has a code that is not there";
    if (!are_tensors(each->inputs(), tensors, true) || !are_tensors(each->outputs(), tensors, false))
      return "an operator has an operand that is not there";
  }
  return {};
}

std::string File::name_of(int tensor) const {
  const flatbuffers::String* name = this->tensor(tensor).name();
  return name == nullptr ? "" : name->str();
}

std::vector<int64_t> File::shape_of(int tensor) const {
  const auto* shape = this->tensor(tensor).shape();
  return shape == nullptr ? std::vector<int64_t>() : std::vector<int64_t>(shape->begin(), shape->end());
}

std::string_view File::contents_of(int tensor) const {
  const uint32_t buffer = this->tensor(tensor).buffer();
  if (buffer == 0 || model()->buffers() == nullptr) return {};  // the first one is empty by definition
  const auto* data = model()->buffers()->Get(buffer)->data();
  if (data == nullptr) return {};
  return {reinterpret_cast<const char*>(data->data()), data->size()};
}

schema::Operators File::code_of(const schema::Operator& op) const {
  const schema::OperatorCode& code = operator_code(op);
  return std::max(code.code(), static_cast<schema::Operators>(code.old_code()));
}

std::string File::name_of(const schema::Operator& op) const {
  const schema::Operators code = code_of(op);
  const flatbuffers::String* custom = operator_code(op).custom_code();
  if (code == schema::Operators::CUSTOM && custom != nullptr) return "CUSTOM " + custom->str();
  const std::string name = schema::EnumNameOperators(code);
  return name.empty() ? fmt::format("the operator with code {}", static_cast<int>(code)) : name;
}

}  // namespace pantoum::tflite
