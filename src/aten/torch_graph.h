// A torch graph: what the Python package captures of a module, as functional ATen in topological order. docs/torch-graph.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/tensor_type.h"

namespace pantoum::aten {

struct Arg;

struct ValueName {
  std::string name;
  bool operator==(const ValueName&) const = default;
};

// An argument of a call, as the operator's schema has it.
struct Arg {
  using List = std::vector<Arg>;
  std::variant<std::monostate, bool, int64_t, double, std::string, ValueName, base::DType, List> is;

  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&is);
  }
  [[nodiscard]] bool is_none() const { return std::holds_alternative<std::monostate>(is); }
};

struct TypedValue {
  std::string name;  // "": an output that nobody reads, or None
  base::TensorType type;
};

struct Call {
  std::string name, op;  // "aten.addmm.default"
  std::vector<Arg> args;
  std::vector<std::pair<std::string, Arg>> kwargs;
  std::vector<TypedValue> outputs;
  std::string where, module;  // of the user's code; may be empty
};

struct GraphInput {
  std::string name;  // as the user calls it
  TypedValue value;
  bool target = false;  // what a captured loss compares with
};

// A tensor with contents: a parameter, a buffer, a constant.
struct Stored {
  std::string name;  // in the file
  TypedValue value;
  bool trains = false;
  std::string becomes;               // of buffers: their value after the step; "": they stay
  std::vector<std::string> of = {};  // buffers that PyTorch computed this one of, when it captured the module
};

struct GraphOutput {
  std::string name, value;
};

struct TorchGraph {
  std::string name, torch_version;
  int64_t batch = 0;  // samples of a step
  std::vector<GraphInput> inputs;
  std::vector<Stored> parameters, buffers, constants;
  std::vector<Call> calls;
  std::vector<GraphOutput> outputs;
  std::string loss;  // "": none is captured
};

// E0202 no JSON; E0209 what is not as the format has it, all problems at once: keys, types, names that are defined twice or read
// before. Memory and time are linear in the text.
[[nodiscard]] Result<TorchGraph> parse_torch_graph(std::string_view json);

}  // namespace pantoum::aten
