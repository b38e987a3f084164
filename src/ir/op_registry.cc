// The registry: the families of op_families.h in one table by kind, and the checks that hold for every op whatever its
// family (operand counts, ranks, extents, sizes).
#include "ir/op_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ir/op_families.h"
#include "kernels/portable/norm_activation.h"
#include "runtime/op_shapes.h"

namespace pantoum::ir {
namespace {

constexpr size_t kKinds = 256;
constexpr int64_t kMostExtent = INT32_MAX;
constexpr int64_t kMostElements = int64_t{1} << 40;

std::vector<OpDef> collect() {
  std::vector<OpDef> all;
  for (const auto family : {product_ops, conv_ops, attention_ops, binary_ops, unary_ops, norm_ops, image_ops,
                            reduce_ops, move_ops, loss_ops, recurrent_ops, update_ops, nchwc_ops, custom_ops}) {
    const std::vector<OpDef> some = family();
    all.insert(all.end(), some.begin(), some.end());
  }
  for (OpDef& def : all) {
    const pt_op_record* record = pt_find_record(static_cast<uint16_t>(def.kind));
    def.name = name_of(def.kind);
    if (record == nullptr) continue;  // a test says so (OpRegistry.KnowsEveryOperator)
    def.signature = {record->min_inputs,  record->max_inputs, record->min_outputs,
                     record->max_outputs, record->ints,       record->reals};
  }
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

Failure refuse(std::string sentence) {
  return fail("E0211", std::move(sentence));
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

std::string shape_text(const pt_tensor& tensor) {
  return to_text(to_type(tensor).shape);
}

// Writes the sentence of a refusal, with its placeholders filled in.
std::string text_of(const pt_problem& problem) {
  std::string text;
  const double* number = problem.numbers;
  for (const char* at = problem.text; *at != '\0';) {
    const char* const end = *at == '{' ? std::strchr(at, '}') : nullptr;
    if (end == nullptr) {
      text += *at++;
      continue;
    }
    const std::string_view name(at + 1, end);
    if (name.empty()) text += fmt::format("{}", *number++);
    if (name == "dtype") text += name_of(static_cast<DType>(static_cast<int>(*number++)));
    if (name == "what") text += problem.what;
    if (name == "a") text += shape_text(problem.a);
    if (name == "b") text += shape_text(problem.b);
    at = end + 1;
  }
  return text;
}

// Infers types by the rule of the op's record in C.
Result<std::vector<TensorType>> recorded_types(Kind kind, const OpTypes& types) {
  std::vector<pt_tensor> operands;
  operands.reserve(types.inputs.size() + types.outputs.size());
  for (const TensorType& input : types.inputs) operands.push_back(to_tensor(input));
  for (const TensorType& output : types.outputs) operands.push_back(to_tensor(output));
  pt_problem problem{};
  pt_op_use use{};
  use.op = static_cast<uint16_t>(kind);
  use.input_count = static_cast<uint8_t>(types.inputs.size());
  use.output_count = static_cast<uint8_t>(types.outputs.size());
  use.int_count = static_cast<uint8_t>(types.attrs.ints.size());
  use.real_count = static_cast<uint8_t>(types.attrs.reals.size());
  use.operands = operands.data();
  use.ints = types.attrs.ints.data();
  use.reals = types.attrs.reals.data();
  use.problem = &problem;
  if (pt_infer_op(&use) == 0) return refuse(text_of(problem));
  std::vector<TensorType> outputs;
  outputs.reserve(static_cast<size_t>(use.made_count));
  for (int made = 0; made < use.made_count; ++made) outputs.push_back(to_type(use.made[made]));
  if (use.made_count != 0) return outputs;
  outputs.assign(types.outputs.begin(), types.outputs.end());
  if (kind != k_cast)
    for (TensorType& output : outputs) output.dtype = static_cast<DType>(use.dtype);
  return outputs;
}

Result<std::vector<TensorType>> checked_types(Kind kind, const OpTypes& types) {
  if (types.inputs.size() + types.outputs.size() > PT_MAX_OPERANDS)
    return refuse(fmt::format("more than {} operands are not supported", int{PT_MAX_OPERANDS}));
  if (types.attrs.ints.size() + types.attrs.reals.size() > PT_MAX_ATTRS)
    return refuse(fmt::format("more than {} attributes are not supported", int{PT_MAX_ATTRS}));
  for (const TensorType& input : types.inputs) PANTOUM_TRY(check_type(input));
  for (const TensorType& output : types.outputs) PANTOUM_TRY(check_type(output));
  Result<std::vector<TensorType>> inferred = is_custom(kind) ? custom_types(kind, types) : recorded_types(kind, types);
  if (!inferred) return inferred;
  if (inferred->size() + types.inputs.size() > PT_MAX_OPERANDS)
    return refuse(fmt::format("more than {} operands are not supported", int{PT_MAX_OPERANDS}));
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
  return pt_is_norm_activation(static_cast<int64_t>(kind)) != 0;
}

bool is_epilogue(Kind kind) {
  return pt_is_epilogue(static_cast<int64_t>(kind)) != 0;
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

Result<std::vector<TensorType>> infer_types(Kind kind, const OpTypes& types) {
  Result<std::vector<TensorType>> inferred = checked_types(kind, types);
  if (inferred) return inferred;
  std::vector<std::string> given;
  for (const TensorType& input : types.inputs) given.push_back(to_text(input));
  Error error = std::move(inferred.error());
  error.message = fmt::format("{} cannot take {}: {}", name_of(kind),
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
  // Two inputs are the same tensor: where the output is written over one position, the other may still be read.
  // Pointwise ops have finished with an element by then, and so have updates, which are always written over their
  // parameter.
  if (!def.traits.pointwise && def.recompute)
    std::erase_if(pairs, [&](const auto& pair) {
      const ValueId over = root_of(graph, op.inputs[static_cast<size_t>(pair.second)]);  // views are the same bytes
      return std::ranges::count_if(op.inputs, [&](ValueId input) { return root_of(graph, input) == over; }) > 1;
    });
  return pairs;
}

}  // namespace pantoum::ir
