// What is known of every operator: one OpDef each, defined in the file of its family (ops_conv.cc, ops_norm.cc, ...).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace pantoum::ir {

class Builder;

// What an op costs: floating-point operations, and the bytes of its operands that it reads and writes.
struct OpCost {
  double flops = 0;
  Bytes bytes_read = 0, bytes_written = 0;
};

struct OpTypes {
  std::span<const TensorType> inputs;
  std::span<const TensorType>
      outputs;  // empty while they are inferred, unless the op's outputs are given by the caller
  const Attrs& attrs;
};

// What a gradient rule gets, and where it puts what it makes.
struct Backward {
  Builder& builder;                    // appends to the training graph
  const Op& op;                        // a copy of the forward op; its inputs and outputs are values of the same graph
  std::span<const ValueId> d_outputs;  // gradient of every output; kNone where none flows (of a loss: `weight`)
  std::span<const char> wanted;        // per input: is its gradient needed?
  std::vector<ValueId> d_inputs;       // out: gradient per input; kNone where none; presized
  double weight = 1;                   // of a loss that is minimized: its part in the sum
};

// How many operands and attributes an op has; checked before its rule runs.
struct Signature {
  int min_inputs = 1, max_inputs = 1;
  int min_outputs = 1, max_outputs = 1;
  int ints = 0, reals = 0;  // kAny: the rule checks them
};
inline constexpr int kAny = -1;

struct OpDef {
  Kind kind{};
  const char* name = "";
  Signature signature = {};
  // Shapes and dtypes of the outputs. Ops whose outputs the inputs do not determine (expand, conv2d_dx, slice, split,
  // ...) get the outputs they were built with in `types.outputs` and check them. Errors: E0211 with what does not fit.
  // Called through infer_types alone, which has checked counts and sizes.
  Result<std::vector<TensorType>> (*infer)(const OpTypes& types) = nullptr;
  // Null: no gradient exists (labels, integers, gradients of gradients).
  void (*gradient)(Backward& backward) = nullptr;
  OpCost (*cost)(const OpTypes& types) = nullptr;
  // Pairs (output position, input position): the output may be written over that input, element for element.
  std::vector<std::pair<int, int>> (*in_place)(const OpTypes& types) = nullptr;  // null: none
  bool recompute = true;
  // Element e of every output depends on the elements e of the inputs (broadcast) alone: any order of elements will do.
  bool pointwise = false;
};

// The definition; every Kind has one.
[[nodiscard]] const OpDef& op_def(Kind kind);
[[nodiscard]] std::span<const OpDef> all_op_defs();
[[nodiscard]] const char* name_of(Kind kind);

// The types of the outputs by the op's rule, for any input however hostile: counts, ranks (at most PT_MAX_RANK),
// extents (at least 1) and sizes are checked before the rule runs. E0211: one sentence with the op and the types it was
// given.
[[nodiscard]] Result<std::vector<TensorType>> infer_types(Kind kind, const OpTypes& types);

// Types of an op's operands inside a graph.
[[nodiscard]] std::vector<TensorType> types_of(const Graph& graph, std::span<const ValueId> values);
[[nodiscard]] OpCost cost_of(const Graph& graph, const Op& op);
[[nodiscard]] std::vector<std::pair<int, int>> in_place_pairs(const Graph& graph, const Op& op);

}  // namespace pantoum::ir
