// The registry: the families of op_families.h in one table by kind, and the checks that hold for every op whatever its
// family (operand counts, ranks, extents, sizes).
#include "ir/op_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "ir/op_families.h"
#include "ir/shape_rules.h"
#include "pantoum/pantoum.h"

namespace pantoum::ir {
namespace {

constexpr size_t kKinds = 256;
constexpr int64_t kMostExtent = INT32_MAX;
constexpr int64_t kMostElements = int64_t{1} << 40;

std::vector<OpDef> collect() {
  std::vector<OpDef> all;
  for (const auto family :
       {product_ops, conv_ops,           binary_ops, select_ops,   unary_ops,     unary_grad_ops, rows_ops,
        norm_ops,    pool_ops,           resize_ops, reduce_ops,   scan_ops,      move_ops,       index_ops,
        scatter_ops, random_ops,         loss_ops,   gradient_ops, recurrent_ops, sequence_ops,   compact_ops,
        update_ops,  product_update_ops, nchwc_ops,  alias_ops,    custom_ops,    attention_ops,  epilogue_ops}) {
    const std::vector<OpDef> some = family();
    all.insert(all.end(), some.begin(), some.end());
  }
  for (OpDef& def : all) def.name = name_of(def.kind);
  return all;
}

const std::vector<OpDef>& definitions() {
  static const std::vector<OpDef> all = collect();
  return all;
}

std::array<const OpDef*, kKinds> index_definitions() {
  std::array<const OpDef*, kKinds> index{};
  for (const OpDef& def : definitions()) index[static_cast<size_t>(def.kind)] = &def;
  return index;
}

bool between(size_t count, int least, int most) {
  return count >= static_cast<size_t>(least) && (most == kAny || count <= static_cast<size_t>(most));
}

Result<void> check_counts(const Signature& signature, const OpTypes& types) {
  if (!between(types.inputs.size(), signature.min_inputs, signature.max_inputs)) {
    return refuse(fmt::format("it does not take {} inputs", types.inputs.size()));
  }
  if (!types.outputs.empty() && !between(types.outputs.size(), signature.min_outputs, signature.max_outputs)) {
    return refuse(fmt::format("it does not make {} outputs", types.outputs.size()));
  }
  if (types.inputs.size() + types.outputs.size() > PT_MAX_OPERANDS) {
    return refuse(fmt::format("more than {} operands are not supported", int{PT_MAX_OPERANDS}));
  }
  const Attrs& attrs = types.attrs;
  const bool as_many = (signature.ints == kAny || between(attrs.ints.size(), signature.ints, signature.ints)) &&
                       (signature.reals == kAny || between(attrs.reals.size(), signature.reals, signature.reals));
  if (!as_many || attrs.ints.size() + attrs.reals.size() > PT_MAX_ATTRS) {
    return refuse(
        fmt::format("it does not have {} integer and {} real attributes", attrs.ints.size(), attrs.reals.size()));
  }
  return {};
}

Result<void> check_type(const TensorType& type) {
  if (size_of(type.dtype) == 0) return refuse("an element type is unknown");
  if (type.shape.size() > PT_MAX_RANK) {
    return refuse(fmt::format("{} has more than {} dimensions", to_text(type.shape), int{PT_MAX_RANK}));
  }
  for (const int64_t extent : type.shape) {
    if (extent < 1 || extent > kMostExtent) return refuse(fmt::format("the extent {} is out of range", extent));
  }
  if (type.elements() > kMostElements) return refuse(fmt::format("{} is too large", to_text(type.shape)));
  return {};
}

Types checked_rule(const OpDef& def, const OpTypes& types) {
  PANTOUM_TRY(check_counts(def.signature, types));
  for (const TensorType& input : types.inputs) PANTOUM_TRY(check_type(input));
  for (const TensorType& output : types.outputs) PANTOUM_TRY(check_type(output));
  Types inferred = def.infer(types);
  if (!inferred) return inferred;
  if (inferred->size() + types.inputs.size() > PT_MAX_OPERANDS) {
    return refuse(fmt::format("more than {} operands are not supported", int{PT_MAX_OPERANDS}));
  }
  for (const TensorType& output : *inferred) PANTOUM_TRY(check_type(output));
  return inferred;
}

}  // namespace

const OpDef& op_def(Kind kind) {
  static const std::array<const OpDef*, kKinds> index = index_definitions();
  const auto id = static_cast<size_t>(kind);
  PANTOUM_CHECK(id < kKinds && index[id] != nullptr);
  return *index[id];
}

std::span<const OpDef> all_op_defs() {
  return definitions();
}

bool is_norm_activation(Kind kind) {
  switch (kind) {
#define PT_ACTIVATION(name) case Kind::k_##name:
    PT_NORM_ACTIVATIONS(PT_ACTIVATION)
#undef PT_ACTIVATION
    return true;
    default:
      return false;
  }
}

bool is_epilogue(Kind kind) {
  switch (kind) {
#define PT_ACTIVATION(name) case Kind::k_##name:
    PT_EPILOGUES(PT_ACTIVATION)
#undef PT_ACTIVATION
    return true;
    default:
      return false;
  }
}

const char* name_of(Kind kind) {
  switch (kind) {
#define PT_OPERATOR(name, id) \
  case Kind::k_##name:        \
    return #name;
    PT_OPERATORS(PT_OPERATOR)
#undef PT_OPERATOR
  }
  return "?";
}

Types infer_types(Kind kind, const OpTypes& types) {
  const OpDef& def = op_def(kind);
  Types inferred = checked_rule(def, types);
  if (inferred) return inferred;
  std::vector<std::string> given;
  for (const TensorType& input : types.inputs) given.push_back(to_text(input));
  Error error = std::move(inferred.error());
  error.message = fmt::format("{} cannot take {}: {}", def.name,
                              given.empty() ? "no inputs" : fmt::format("{}", fmt::join(given, ", ")), error.message);
  return Failure(std::move(error));
}

std::vector<TensorType> types_of(const Graph& graph, std::span<const ValueId> values) {
  std::vector<TensorType> types;
  types.reserve(values.size());
  for (const ValueId value : values) types.push_back(graph.value(value).type);
  return types;
}

OpCost cost_of(const Graph& graph, const Op& op) {
  const std::vector<TensorType> inputs = types_of(graph, op.inputs), outputs = types_of(graph, op.outputs);
  return op_def(op.kind).cost({inputs, outputs, op.attrs});
}

std::vector<std::pair<int, int>> in_place_pairs(const Graph& graph, const Op& op) {
  const OpDef& def = op_def(op.kind);
  if (def.in_place == nullptr) return {};
  const std::vector<TensorType> inputs = types_of(graph, op.inputs), outputs = types_of(graph, op.outputs);
  std::vector<std::pair<int, int>> pairs = def.in_place({inputs, outputs, op.attrs});
  // One tensor at two positions: where the output is written, the other position may still be read. Pointwise ops are done
  // with an element by then, and so are updates, which go over their parameter and have no other place.
  if (!def.traits.pointwise && def.recompute)
    std::erase_if(pairs, [&](const auto& pair) {
      const ValueId over = root_of(graph, op.inputs[static_cast<size_t>(pair.second)]);  // views are the same bytes
      return std::count_if(op.inputs.begin(), op.inputs.end(),
                           [&](ValueId input) { return root_of(graph, input) == over; }) > 1;
    });
  return pairs;
}

}  // namespace pantoum::ir
