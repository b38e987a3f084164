// Operators that change a tensor's shape and nothing else, which become aliases; what is known from the model alone; casts.

#include "import/onnx_messages.h"
#include "import/operators.h"
#include "import/parameter_marks.h"

namespace pantoum::import {
namespace {

// Reads the operand before what may refuse its new shape.
Result<void> alias(Node& node, Result<Shape> shape) {
  const Value x = node.value(0);
  PANTOUM_TRY(node.refusal());
  PANTOUM_TRY(shape);
  return node.set(reshape(x, *std::move(shape)));
}

Result<void> lower_reshape(Node& node) {
  const Integers wanted = node.integers(1, "new shape");
  const bool allow_zero = node.attributes().integer("allowzero", 0) != 0;
  return alias(node, resolve_reshape(node.shape(0), wanted, allow_zero));
}

Result<void> lower_flatten(Node& node) {
  const Shape from = node.shape(0);
  const auto rank = static_cast<int64_t>(from.size());
  const int64_t axis = node.attributes().integer("axis", 1);
  if (axis < -rank || axis > rank) return alias(node, misfit("its axis is out of range"));
  return alias(node, as_matrix(from, static_cast<size_t>(axis < 0 ? axis + rank : axis)));
}

Result<void> lower_squeeze(Node& node) {
  const auto axes = node.integers_or_attribute(1, "axes");
  return alias(node, squeezed(node.shape(0), axes));
}

Result<void> lower_unsqueeze(Node& node) {
  const auto axes = node.integers_or_attribute(1, "axes");
  return alias(node, axes ? unsqueezed(node.shape(0), *axes) : misfit("it names no axes"));
}

Result<void> lower_identity(Node& node) {
  if (read_fx_call(node.message()).target.starts_with("detach") && ir::is_float(node.type(0).dtype) &&
      !node.lowering().folds)
    return node.set(detached(node.value(0)));
  return node.set(0, node.operand(0));
}

Result<void> lower_constant(Node& node) {
  if (const onnx::TensorProto* value = node.attributes().tensor("value")) {
    PANTOUM_ASSIGN(Tensor tensor, read_constant(*value, {}));
    return node.set_known(0, std::move(tensor));
  }
  for (const auto& attribute : node.message().attribute()) {
    const auto reals = [&](Shape shape, const std::vector<double>& values) {
      return node.set_known(0, make_tensor(DType::kF32, std::move(shape), values));
    };
    const auto whole = [&](Shape shape, const Integers& values) {
      return node.set_known(0, make_tensor(DType::kI64, std::move(shape), values));
    };
    if (attribute.name() == "value_float") return reals({}, {static_cast<double>(attribute.f())});
    if (attribute.name() == "value_int") return whole({}, {attribute.i()});
    if (attribute.name() == "value_floats")
      return reals({attribute.floats_size()}, {attribute.floats().begin(), attribute.floats().end()});
    if (attribute.name() == "value_ints")
      return whole({attribute.ints_size()}, {attribute.ints().begin(), attribute.ints().end()});
  }
  return unsupported("its value is neither a tensor nor numbers");
}

Result<void> lower_shape_of(Node& node) {
  const Shape shape = node.shape(0);
  const auto rank = static_cast<int64_t>(shape.size());
  const auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? std::max(at, -rank) + rank : at, 0, rank);
  };
  const int64_t start = clamped(node.attributes().integer("start", 0));
  const int64_t end = std::max(clamped(node.attributes().integer("end", rank)), start);
  const Integers extents(shape.begin() + start, shape.begin() + end);
  return node.set_known(0, make_tensor(DType::kI64, {end - start}, extents));
}

Result<void> lower_size(Node& node) {
  return node.set_known(0, make_tensor(DType::kI64, {}, Integers{node.type(0).elements()}));
}

// The graph stores float16 and bfloat16 numbers as float32, rounded to the values that their own type can hold.
Result<void> lower_cast(Node& node) {
  const Value x = node.value(0);
  const int64_t to = node.attributes().integer("to", 0);
  const std::optional<DType> dtype = named_type(to);
  if (!dtype) {
    const std::string name = to > 0 && to < 64 ? onnx_type_name(static_cast<int32_t>(to)) : "an unknown type";
    return unsupported("it casts to " + name, "export the model in float32");
  }
  const bool half = to == onnx::TensorProto::FLOAT16, brain = to == onnx::TensorProto::BFLOAT16;
  if (node.lowering().folds) {
    const Tensor made = converted(*node.setting(0), *dtype);
    return node.set_known(0, half || brain ? rounded_as(to, made) : made);
  }
  const Value y = cast(x, runtime_dtype(*dtype));
  if (!half && !brain) return node.set(y);
  return node.set(apply(ir::Kind::k_round_to, y, {{half ? PT_ROUND_TO_FLOAT16 : PT_ROUND_TO_BFLOAT16}, {}}));
}

// The type of the second input alone counts: it may be a weight.
Result<void> lower_cast_like(Node& node) {
  const DType to = node.type(1).dtype;
  if (const Tensor* known = node.setting(0)) return node.set_known(0, converted(*known, to));
  return node.set(cast(node.value(0), runtime_dtype(to)));
}

Result<void> lower_eye_like(Node& node) {
  const TensorType like = node.type(0);
  if (like.shape.size() != 2) return misfit("its input is no matrix");
  const int64_t asked = node.attributes().integer("dtype", 0), above = node.attributes().integer("k", 0);
  const std::optional<DType> dtype = asked > 0 && asked < 64 ? named_type(asked) : std::optional(like.dtype);
  if (!dtype) return unsupported("its dtype is " + onnx_type_name(static_cast<int32_t>(asked)));
  if (!node.spend(like.elements())) return node.refusal();
  Integers ones(static_cast<size_t>(like.elements()));
  for (int64_t row = 0; row < like.shape[0]; ++row)
    if (above >= -row && above < like.shape[1] - row) ones[static_cast<size_t>(row * like.shape[1] + row + above)] = 1;
  return node.set_known(0, converted(make_tensor(DType::kI64, like.shape, ones), *dtype));
}

constexpr OperatorEntry kShapeOperators[] = {
    {"Reshape", lower_reshape, "", "the new shape must be known while importing"},
    {"Flatten", lower_flatten},
    {"Squeeze", lower_squeeze},
    {"Unsqueeze", lower_unsqueeze},
    {"Identity", lower_identity, "", "folded"},
    {"Constant", lower_constant},
    {"Shape", lower_shape_of, "", "folded"},
    {"Size", lower_size, "", "folded"},
    {"EyeLike", lower_eye_like, "", "folded"},
    {"Cast", lower_cast, "cast round_to",
     "no gradient passes to or from integers; float16 and bfloat16 are rounded to, and held in float32"},
    {"CastLike", lower_cast_like, "cast", "no gradient passes to or from integers"}};

}  // namespace

constinit const Family shape_operators = kShapeOperators;

}  // namespace pantoum::import
