// One call of a torch graph while it is lowered: its arguments, its results, and the graph it appends to.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aten/torch_graph.h"
#include "import/compose.h"

namespace pantoum::aten {

using ir::DType;
using ir::Graph;
using ir::Kind;
using ir::kNone;
using ir::OpId;
using ir::Shape;
using ir::TensorType;
using ir::ValueId;

using import::Composer;
using import::concat;
using import::Integers;
using import::misfit;
using import::unsupported;
using import::Value;
using import::Values;

// An argument of an operator's schema. A call passes the argument by position or by name.
struct Slot {
  size_t position;
  const char* name;
};

// The state that all calls of one lowering share.
struct Build : import::Scope {
  using Scope::Scope;

  std::map<std::string, ValueId> values;        // by the value's name in the torch graph
  std::map<std::string, std::string> problems;  // by name: why a value could not be lowered
};

// Operators read their call only through this class. An error in an argument becomes the call's refusal: E0401: the argument is not supported (with
// advice); E0211: the argument does not fit; E0212: the argument is a value that an earlier call could not make.
class Node : public Composer {
 public:
  Node(Build& build, const Call& call, int position)
      : Composer(build, call.name), build_(build), call_(call), position_(position) {}

  [[nodiscard]] const Call& call() const { return call_; }
  [[nodiscard]] bool is(const char* prefix) const { return call_.op.starts_with(prefix); }
  [[nodiscard]] int position() const { return position_; }

  // Returns an argument; null if the call does not pass it, or passes None.
  [[nodiscard]] const Arg* arg(Slot slot) const;
  [[nodiscard]] bool has(Slot slot) const { return arg(slot) != nullptr; }
  [[nodiscard]] bool is_tensor(Slot slot) const;
  [[nodiscard]] Value tensor(Slot slot);
  [[nodiscard]] Value real(Slot slot);               // a tensor of float32
  [[nodiscard]] Value optional(Slot slot);           // the same, but the call may omit the argument
  [[nodiscard]] Values tensors(Slot slot);           // a list
  [[nodiscard]] Values optional_tensors(Slot slot);  // a list in which tensors may be None
  // A tensor or a number, as a tensor of `dtype`; numbers have no dimensions.
  [[nodiscard]] Value as(Slot slot, DType dtype);
  [[nodiscard]] Value as_output(Slot slot) { return as(slot, output().dtype); }
  [[nodiscard]] std::optional<double> told_number(Slot slot);  // nullopt: the argument is omitted or is a tensor
  using Composer::number;
  [[nodiscard]] double number(Slot slot, double otherwise);
  [[nodiscard]] int64_t integer(Slot slot, int64_t otherwise);
  [[nodiscard]] int64_t integer(Slot slot);
  [[nodiscard]] bool boolean(Slot slot, bool otherwise) { return integer(slot, otherwise ? 1 : 0) != 0; }
  [[nodiscard]] std::string text(Slot slot, const char* otherwise);
  [[nodiscard]] Integers integers(Slot slot);  // a list or one integer; empty if the argument is omitted
  // Returns a dimension, counted from 0. A tensor without dimensions counts as one with a single dimension.
  [[nodiscard]] size_t dimension(Slot slot, size_t rank, int64_t otherwise);
  [[nodiscard]] Integers dimensions(Slot slot, size_t rank);  // sorted; empty if the call passes none
  // Returns a dimension of `x`, counted from 0. E0211: `x` has no dimensions.
  [[nodiscard]] Result<size_t> axis(Slot slot, const Value& x, int64_t otherwise);

  // Results, with the types that the torch graph has captured.
  [[nodiscard]] size_t output_count() const { return call_.outputs.size(); }
  [[nodiscard]] bool wants(size_t output) const {
    return output < output_count() && !call_.outputs[output].name.empty();
  }
  [[nodiscard]] const TensorType& output(size_t output = 0) const { return call_.outputs[output].type; }
  // Returns the shape of the first result that is read. A result that nobody reads is captured without a type.
  [[nodiscard]] const Shape& wanted_shape() const;
  // Sets a result. Returns the call's refusal, if there is one. E0211: the value's type is not the captured type.
  Result<void> set(size_t output, const Value& value);
  Result<void> set(const Value& value) { return set(0, value); }
  // Sets the first output, reshaped to the captured shape.
  Result<void> set_reshaped(const Value& value) { return set(value ? reshape(value, output().shape) : value); }
  Result<void> set_both(const Value& first, const Value& second);

 private:
  Build& build_;
  const Call& call_;
  int position_;

  [[nodiscard]] Value find(const std::string& name);
  Value wrong(Slot slot, const char* wanted);
};

}  // namespace pantoum::aten
