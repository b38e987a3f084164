// A TensorFlow Lite file whose structure is checked: every offset and every index in it can be followed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "tflite/schema_generated.h"

namespace pantoum::tflite {

inline constexpr int kNoTensor = -1;  // an operand that is left out

class File {
 public:
  // E0201 the file cannot be read; E0215 it is damaged, of another version, or has no graph.
  static Result<File> open(const std::string& path);
  static Result<File> parse(std::string bytes, const std::string& where);

  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_.size(); }
  [[nodiscard]] const schema::SubGraph& graph() const { return *model()->subgraphs()->Get(0); }
  [[nodiscard]] size_t graphs() const { return model()->subgraphs()->size(); }
  [[nodiscard]] const schema::Tensor& tensor(int index) const {
    return *graph().tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
  }
  [[nodiscard]] std::string name_of(int tensor) const;
  [[nodiscard]] std::vector<int64_t> shape_of(int tensor) const;
  // What stands in the tensor's buffer; none where the tensor is computed, or an input.
  [[nodiscard]] std::string_view contents_of(int tensor) const;
  [[nodiscard]] schema::Operators code_of(const schema::Operator& op) const;
  // "CONV_2D"; of an operator from outside "CUSTOM MyOperator".
  [[nodiscard]] std::string name_of(const schema::Operator& op) const;

 private:
  std::string where_;
  std::string bytes_;

  [[nodiscard]] const schema::Model* model() const { return schema::GetModel(bytes_.data()); }
  [[nodiscard]] const schema::OperatorCode& operator_code(const schema::Operator& op) const {
    return *model()->operator_codes()->Get(op.code());
  }
  [[nodiscard]] std::string problem() const;
  [[nodiscard]] std::string problem_of_tensors() const;
  [[nodiscard]] std::string problem_of_operators() const;
};

}  // namespace pantoum::tflite
