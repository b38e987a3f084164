// What the compiler knows of every operator: one OpDef each. Counts, types and shapes come from its record in C, which the runtime reads too
// (kernels/portable/operators.h, runtime/op_shapes.h); gradient, cost and traits stand in the file of its family (ops_conv.cc, ops_norm.cc, ...).
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

// How many operands and attributes an op has.
struct Signature {
  int min_inputs = 1, max_inputs = 1;
  int min_outputs = 1, max_outputs = 1;
  int ints = 0, reals = 0;
};
inline constexpr int kAny = -1;  // as many as there are

// A fact that every op states: a row that leaves it out does not compile.
template <class T>
class Stated {
 public:
  constexpr Stated(T value) : value_(value) {}
  constexpr operator T() const { return value_; }

 private:
  T value_;
};

// Which row (first dimension) of its operands does a row of the first output depend on? src/autodiff/feature_cut.cc
// asks it of forward ops; gradients and updates say kNever.
enum class RowWise : uint8_t {
  kNever,         // on others' rows
  kElements,      // element by element, of one input
  kBroadcast,     // element by element, of inputs that broadcast
  kConcatenated,  // side by side along an axis behind the first
  kProduct,       // matmul
  kFirstInput,    // on its own row of the first input, where the other inputs are the same for all
  kBehindAxis,    // the same, along an axis behind the first
  kReduced,       // on its own row, where the mask keeps the first dimension
  kTransposed,    // on its own row, where the first dimension stays the first
  kSliced,        // on its own row, where the first dimension is whole
  kGathered       // on its own row of indices, or of what it gathers from
};

// What passes over whole graphs ask of an op.
struct Traits {
  Stated<RowWise> row_wise;
  // Element e of every output depends on the elements e of the inputs (broadcast) alone, and the op may therefore stay
  // among images in blocks of channels (src/rewrite/channel_blocks.cc).
  Stated<bool> pointwise;
  // Are the outputs 0 where all inputs are? Asked of pointwise ops: zeros that pad a block of channels must stay zeros.
  Stated<bool (*)(const Attrs&)> keeps_zero;
  // dY R -> dX that conv2d_dz computes as it makes dY: one of PT_CONV_GRADIENTS.
  Stated<bool> through_convolution;
  // w g states.. -> w' states'.. that a product may follow itself (fuse_updates): one of PT_PRODUCT_UPDATES.
  Stated<bool> follows_product;
};

[[nodiscard]] inline bool never(const Attrs&) {
  return false;
}
[[nodiscard]] inline bool always(const Attrs&) {
  return true;
}

[[nodiscard]] constexpr Traits rows_by(RowWise row_wise) {
  return {.row_wise = row_wise,
          .pointwise = false,
          .keeps_zero = never,
          .through_convolution = false,
          .follows_product = false};
}
inline constexpr Traits kNoTraits = rows_by(RowWise::kNever);
inline constexpr Traits kUpdateTraits = {.row_wise = RowWise::kNever,
                                         .pointwise = false,
                                         .keeps_zero = never,
                                         .through_convolution = false,
                                         .follows_product = true};

// What may stand for the activation that a gradient reads as its second input, in less.
struct CompactForm {
  Kind made_by;   // of the activation; with the gradient's attributes, where it has any
  Kind gradient;  // reads it in place of the activation; the same bits
};

// How an op comes by its operands. A later kind says along which axes of which operands it can be computed in slices.
enum class Access : uint8_t {
  kWhole  // all of every operand is in RAM while it runs
};

struct OpDef {
  Kind kind{};
  const char* name = "";  // name and signature are filled in by the registry
  Signature signature = {};
  // kNoGradient: none exists (labels, integers, gradients of gradients).
  Stated<void (*)(Backward& backward)> gradient;
  Stated<OpCost (*)(const OpTypes& types)> cost;
  // Pairs (output position, input position): the output may be written over that input, element for element.
  std::vector<std::pair<int, int>> (*in_place)(const OpTypes& types) = nullptr;  // null: none
  bool recompute = true;  // has no effect that may happen once a step
  Access access = Access::kWhole;
  Traits traits;
  bool begins_chain = false;                // a loss: its gradient rule takes `Backward::weight` where nothing flows in
  std::optional<CompactForm> compact = {};  // of a gradient; none: it reads the whole activation
};
inline constexpr void (*kNoGradient)(Backward&) = nullptr;

// Rules and kernels are those of an operator from outside the project (base/custom_operators.h).
[[nodiscard]] constexpr bool is_custom(Kind kind) {
  return kind == Kind::k_custom || kind == Kind::k_custom_update;
}

// One of PT_NORM_ACTIVATIONS: a batch normalization may finish its result with it (batch_norm_act).
[[nodiscard]] bool is_norm_activation(Kind kind);

// One of PT_EPILOGUES: a convolution or product may finish its result with it (conv2d_act, matmul_act).
[[nodiscard]] bool is_epilogue(Kind kind);

// The definition; every Kind has one.
[[nodiscard]] const OpDef& op_def(Kind kind);
[[nodiscard]] std::span<const OpDef> all_op_defs();
[[nodiscard]] const char* name_of(Kind kind);

// The types of the outputs by the op's rule, for any input however hostile: counts, ranks (at most PT_MAX_RANK),
// extents (at least 1) and sizes are checked, too. Ops whose outputs the inputs do not determine (expand, conv2d_dx, slice, split, ...)
// get the outputs they were built with in `types.outputs`. E0211: one sentence with the op and the types it was given.
[[nodiscard]] Result<std::vector<TensorType>> infer_types(Kind kind, const OpTypes& types);

// Can a gradient flow through the op to this input? Of custom ops each operator says it of each input.
[[nodiscard]] bool has_gradient(const Op& op, size_t input);
// Do the same inputs give the same bits, and is there no effect that happens once?
[[nodiscard]] bool may_run_again(Kind kind, const Attrs& attrs);

// Types of an op's operands inside a graph.
[[nodiscard]] std::vector<TensorType> types_of(const Graph& graph, std::span<const ValueId> values);
[[nodiscard]] OpCost cost_of(const Graph& graph, const Op& op);
[[nodiscard]] std::vector<std::pair<int, int>> in_place_pairs(const Graph& graph, const Op& op);

}  // namespace pantoum::ir
