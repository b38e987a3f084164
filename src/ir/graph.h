// The compiler's graph: operators on values in SSA form, with static shapes, in topological order.
//
// A forward graph (what import makes) and a training graph (what autodiff makes of it) are the same structure. Values
// that live from step to step (parameters, optimizer state, running statistics) are two values once they are updated:
// the one the step reads, and its `next`, which the step writes and the following step reads in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "base/tensor_type.h"
#include "ir/data.h"

namespace pantoum::ir {

using ValueId = int32_t;
using OpId = int32_t;
using base::Bytes;
using base::DType;
using base::is_float;
using base::name_of;
using base::Shape;
using base::size_of;
using base::TensorType;
using base::to_text;
inline constexpr int32_t kNone = -1;

enum class Kind : uint16_t {
#define PT_OPERATOR(name, id) k_##name = id,
  PT_OPERATORS(PT_OPERATOR)
#undef PT_OPERATOR
};

// Attributes are positional, as ops.h documents them for each operator.
struct Attrs {
  std::vector<int64_t> ints;
  std::vector<double> reals;
  bool operator==(const Attrs&) const = default;
};

enum class Role : uint8_t {
  kActivation,  // made by an op of this graph
  kInput,       // a batch's data, fed before every step
  kLabel,       // a batch's target, fed before every step
  kParameter,   // from the model; trained unless frozen
  kBuffer,      // a running statistic: from the model, updated once a step, never by a gradient
  kState,       // optimizer state: zeros at first
  kConstant,    // never changes
};

struct Value {
  std::string name;
  TensorType type;
  Role role = Role::kActivation;
  bool trainable = false;  // kParameter alone
  bool of_model = false;   // kConstant: the model names it, so the model's state has it; false: the compiler made it
  Data data;               // constants, parameters and buffers: their initial values; null: zeros
  OpId producer = kNone;   // the op that writes it
  ValueId next = kNone;    // its successor after the step's update
};

// Another op that computes the same outputs from other inputs, bit for bit.
struct Alternative {
  Kind kind{};
  std::vector<ValueId> inputs;
  Attrs attrs;
};

struct Op {
  Kind kind{};
  std::string name;
  std::vector<ValueId> inputs, outputs;
  Attrs attrs;
  bool recompute = true;  // false: an effect that may happen once alone (updates, running statistics)
  bool optional = false;  // alternatives alone read its outputs: it need not run
  std::vector<Alternative> alternatives;
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Op> ops;                    // topological
  std::vector<ValueId> inputs;            // kInput, in the model's order
  std::vector<ValueId> labels;            // kLabel; empty in a forward graph
  std::vector<ValueId> outputs;           // the model's outputs
  std::vector<std::string> output_names;  // what the model calls them; empty where a graph was not imported
  std::vector<ValueId> results;    // what the caller reads after a run: the loss; in evaluation also count_correct
  std::vector<std::string> notes;  // what import or autodiff want the user to know

  [[nodiscard]] const Value& value(ValueId id) const { return values[static_cast<size_t>(id)]; }
  [[nodiscard]] Value& value(ValueId id) { return values[static_cast<size_t>(id)]; }
  [[nodiscard]] const Op& op(OpId id) const { return ops[static_cast<size_t>(id)]; }
};

// The ops that read each value, ascending. Indexed by ValueId.
[[nodiscard]] std::vector<std::vector<OpId>> users_of(const Graph& graph);

// A view behind which no gradient flows (detach)?
[[nodiscard]] inline bool stops_gradient(const Op& op) {
  return op.kind == Kind::k_alias && !op.attrs.ints.empty() && op.attrs.ints[0] == 1;
}

// The name of the output that is a loss which the model computes itself.
inline constexpr const char* kCapturedLoss = "captured loss";

// Follows alias ops upwards to the value whose bytes these are.
[[nodiscard]] ValueId root_of(const Graph& graph, ValueId value);

// Drops ops none of whose outputs is used by another op, an output, a result or a `next`; values keep their ids.
void drop_dead_ops(Graph& graph);

// E0299 unless ids exist, producers match, every value is defined before its use, and every shape obeys its op's rule.
[[nodiscard]] Result<void> validate(const Graph& graph);

// The same graph in double precision (every f32 value becomes f64, data converted): for reference runs.
[[nodiscard]] Graph to_double(const Graph& graph);

// One line per op, for --dump-after and golden tests.
[[nodiscard]] std::string to_text(const Graph& graph);

}  // namespace pantoum::ir
