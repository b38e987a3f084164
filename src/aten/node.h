// One call of a torch graph while it is lowered: its arguments, its results, and the graph it appends to.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aten/torch_graph.h"
#include "import/node.h"

namespace pantoum::aten {

// An argument of an operator's schema: by its place, or by its name.
struct Slot {
  size_t position;
  const char* name;
};

// An attribute of an operator of ONNX.
struct OnnxAttribute {
  std::string name;
  std::variant<int64_t, double, std::string, std::vector<int64_t>> value;
};

// What all calls of one lowering share.
struct Build {
  explicit Build(ir::Graph& graph) : lowering(model, graph) {}

  import::Model model = {};  // of operators that are lowered as ONNX's: no file stands behind it
  import::Lowering lowering;
  std::map<std::string, ir::ValueId> values;    // of the torch graph, by name
  std::map<std::string, std::string> problems;  // values that could not be made, and why
  std::vector<std::string> notes;
  int64_t parts = 0;  // names given to operands of ONNX's operators
};

// Operators read their call through this and nothing else. Refusals are Results: E0401 not supported (with what to do), E0211 arguments
// that do not fit.
class Node {
 public:
  Node(Build& build, const Call& call, int position) : build_(build), call_(call), position_(position) {}

  [[nodiscard]] const Call& call() const { return call_; }
  [[nodiscard]] const std::string& label() const { return call_.name; }
  [[nodiscard]] int position() const { return position_; }

  // Arguments. Null: not given, or None.
  [[nodiscard]] const Arg* arg(Slot slot) const;
  [[nodiscard]] bool has(Slot slot) const { return arg(slot) != nullptr; }
  [[nodiscard]] bool is_tensor(Slot slot) const;
  [[nodiscard]] Result<ir::ValueId> tensor(Slot slot) const;
  [[nodiscard]] Result<ir::ValueId> real(Slot slot) const;  // a tensor of float32
  [[nodiscard]] Result<ir::TensorType> type(Slot slot) const;
  [[nodiscard]] Result<std::vector<ir::ValueId>> tensors(Slot slot) const;  // a list
  // A list of which some are None: kNone there.
  [[nodiscard]] Result<std::vector<ir::ValueId>> optional_tensors(Slot slot) const;
  // A tensor or a number, as a tensor of `dtype`; numbers have no dimensions.
  [[nodiscard]] Result<ir::ValueId> as(Slot slot, ir::DType dtype);
  [[nodiscard]] Result<std::optional<double>> number(Slot slot) const;  // none: not given, or a tensor
  [[nodiscard]] Result<double> number(Slot slot, double otherwise) const;
  [[nodiscard]] Result<int64_t> integer(Slot slot, int64_t otherwise) const;
  [[nodiscard]] Result<int64_t> integer(Slot slot) const;
  [[nodiscard]] Result<bool> boolean(Slot slot, bool otherwise) const;
  [[nodiscard]] Result<std::string> text(Slot slot, const char* otherwise) const;
  [[nodiscard]] Result<std::vector<int64_t>> integers(Slot slot) const;  // a list, or one; not given: empty
  [[nodiscard]] Result<int64_t> dimension(Slot slot, size_t rank, int64_t otherwise) const;  // from 0
  [[nodiscard]] Result<size_t> axis(Slot slot, ir::ValueId x,
                                    int64_t otherwise) const;  // of a tensor that has dimensions
  [[nodiscard]] Result<std::vector<int64_t>> dimensions(Slot slot,
                                                        size_t rank) const;  // from 0, sorted; empty: none given

  // Results, as they were captured.
  [[nodiscard]] size_t output_count() const { return call_.outputs.size(); }
  [[nodiscard]] bool wants(size_t output) const {
    return output < output_count() && !call_.outputs[output].name.empty();
  }
  [[nodiscard]] const ir::TensorType& output(size_t output = 0) const { return call_.outputs[output].type; }
  // Of the first result that is read: those that nobody reads are captured without a type.
  [[nodiscard]] const ir::Shape& wanted_shape() const;
  [[nodiscard]] Result<void> set(size_t output, ir::ValueId id);  // E0211 of another type than was captured
  [[nodiscard]] Result<void> set(Result<ir::ValueId> id);

  // Appends an op after asking its rule. E0211.
  [[nodiscard]] Result<std::vector<ir::ValueId>> add(ir::Kind kind, std::vector<ir::ValueId> inputs,
                                                     ir::Attrs attrs = {}, std::vector<ir::TensorType> given = {});
  [[nodiscard]] Result<ir::ValueId> op(ir::Kind kind, std::vector<ir::ValueId> inputs, ir::Attrs attrs = {},
                                       std::vector<ir::TensorType> given = {});
  [[nodiscard]] Result<ir::ValueId> reshape(ir::ValueId x, ir::Shape shape);
  [[nodiscard]] Result<ir::ValueId> transpose(ir::ValueId x, std::vector<int64_t> perm);
  [[nodiscard]] Result<ir::ValueId> expand(ir::ValueId x, ir::Shape shape);  // x itself where it has the shape
  [[nodiscard]] Result<ir::ValueId> scale(ir::ValueId x, double a, double b = 0);
  [[nodiscard]] Result<ir::ValueId> cast(ir::ValueId x, ir::DType dtype);  // x itself where it has the type
  // Reduces the dimensions (all where there are none); `keep` leaves them as 1.
  [[nodiscard]] Result<ir::ValueId> reduce(ir::Kind kind, ir::ValueId x, const std::vector<int64_t>& dimensions,
                                           bool keep);
  [[nodiscard]] ir::ValueId constant(ir::DType dtype, ir::Shape shape, const std::vector<double>& values);
  [[nodiscard]] ir::ValueId whole_constant(ir::DType dtype, ir::Shape shape, const std::vector<int64_t>& values);
  // What an operator of ONNX becomes: `inputs` in its order, kNone where one is left out. E0401, E0211.
  [[nodiscard]] Result<std::vector<ir::ValueId>> onnx(const char* op_type, const std::vector<ir::ValueId>& inputs,
                                                      const std::vector<OnnxAttribute>& attributes, size_t outputs = 1);
  [[nodiscard]] ir::TensorType type_of(ir::ValueId id) const { return build_.lowering.builder.type(id); }
  [[nodiscard]] ir::Shape shape_of(ir::ValueId id) const { return build_.lowering.builder.type(id).shape; }
  [[nodiscard]] ir::Builder& builder() { return build_.lowering.builder; }
  [[nodiscard]] Build& build() { return build_; }

 private:
  Build& build_;
  const Call& call_;
  int position_;

  [[nodiscard]] Result<ir::ValueId> find(const std::string& name) const;
  [[nodiscard]] Failure wrong(Slot slot, const char* wanted) const;
};

// E0401 with what to do.
[[nodiscard]] Failure unsupported(std::string why, std::string help = {});

}  // namespace pantoum::aten
