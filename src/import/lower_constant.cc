// Operators whose result is known from the model alone: Constant, Shape, Size; and casts.
#include <algorithm>
#include <array>

#include "import/onnx_messages.h"
#include "import/operators.h"
#include "import/shapes.h"
#include "pantoum/ops.h"

namespace pantoum::import {
namespace {

using ir::DType;
using ir::Shape;
using ir::ValueId;

Result<void> lower_constant(Node& node) {
  Attributes& attributes = node.attributes();
  if (const onnx::TensorProto* value = attributes.tensor("value")) {
    PANTOUM_ASSIGN(Tensor tensor, read_constant(*value, {}));
    node.set_known(0, std::move(tensor));
    return {};
  }
  for (const auto& attribute : node.message().attribute()) {
    if (attribute.name() == "value_float") {
      node.set_known(0, make_tensor(DType::kF32, {}, std::vector<double>{static_cast<double>(attribute.f())}));
    } else if (attribute.name() == "value_int") {
      node.set_known(0, make_tensor(DType::kI64, {}, std::vector<int64_t>{attribute.i()}));
    } else if (attribute.name() == "value_floats") {
      const std::vector<double> values(attribute.floats().begin(), attribute.floats().end());
      node.set_known(0, make_tensor(DType::kF32, {static_cast<int64_t>(values.size())}, values));
    } else if (attribute.name() == "value_ints") {
      const std::vector<int64_t> values(attribute.ints().begin(), attribute.ints().end());
      node.set_known(0, make_tensor(DType::kI64, {static_cast<int64_t>(values.size())}, values));
    } else {
      continue;
    }
    return {};
  }
  return unsupported("its value is neither a tensor nor numbers");
}

Result<void> lower_shape(Node& node) {
  if (!node.has(0)) return fail("E0211", "its input 0 is missing");
  const Shape shape = node.shape(0);
  const auto rank = static_cast<int64_t>(shape.size());
  const auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? std::max(at, -rank) + rank : at, 0, rank);
  };
  const int64_t start = clamped(node.attributes().integer("start", 0));
  const int64_t end = std::max(clamped(node.attributes().integer("end", rank)), start);
  const std::vector<int64_t> extents(shape.begin() + start, shape.begin() + end);
  node.set_known(0, make_tensor(DType::kI64, {end - start}, extents));
  return {};
}

Result<void> lower_size(Node& node) {
  if (!node.has(0)) return fail("E0211", "its input 0 is missing");
  node.set_known(0, make_tensor(DType::kI64, {}, std::vector<int64_t>{node.type(0).elements()}));
  return {};
}

Result<void> lower_cast(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  const int64_t to = node.attributes().integer("to", 0);
  std::optional<DType> dtype = to > 0 && to < 64 ? dtype_of(static_cast<int32_t>(to)) : std::nullopt;
  if (!dtype) {
    const std::string name = to > 0 && to < 64 ? onnx_type_name(static_cast<int32_t>(to)) : "an unknown type";
    return unsupported("it casts to " + name, "export the model in float32");
  }
  dtype = runtime_dtype(*dtype);
  const ir::TensorType from = node.builder().type(x);
  ValueId y = x;
  if (from.dtype != *dtype) {
    PANTOUM_ASSIGN(y, node.op(ir::Kind::k_cast, {x}, {}, {{*dtype, from.shape}}));
  }
  // The graph holds them in float32, with the values that they have in their own type.
  if (to == onnx::TensorProto::FLOAT16 || to == onnx::TensorProto::BFLOAT16) {
    const int64_t held = to == onnx::TensorProto::FLOAT16 ? PT_ROUND_TO_FLOAT16 : PT_ROUND_TO_BFLOAT16;
    PANTOUM_ASSIGN(y, node.op(ir::Kind::k_round_to, {y}, {{held}, {}}));
  }
  node.set(0, y);
  return {};
}

// The type of the second input alone counts: it may be a weight.
Result<void> lower_cast_like(Node& node) {
  if (!node.has(0) || !node.has(1)) return fail("E0211", "it does not have two inputs");
  const DType to = node.type(1).dtype, from = node.type(0).dtype;
  if (const Tensor* known = node.setting(0)) {
    const ir::Shape& shape = known->type.shape;
    node.set_known(
        0, ir::is_float(from) ? make_tensor(to, shape, *to_reals(*known)) : make_tensor(to, shape, *to_ints(*known)));
    return {};
  }
  PANTOUM_ASSIGN(ValueId y, node.value(0));
  if (runtime_dtype(from) != runtime_dtype(to)) {
    PANTOUM_ASSIGN(y, node.op(ir::Kind::k_cast, {y}, {}, {{runtime_dtype(to), node.shape(0)}}));
  }
  node.set(0, y);
  return {};
}

constexpr std::array kConstantOperators = {
    OperatorEntry{"Constant", lower_constant}, OperatorEntry{"Shape", lower_shape, "", "folded"},
    OperatorEntry{"Size", lower_size, "", "folded"},
    OperatorEntry{"Cast", lower_cast, "cast round_to",
                  "no gradient passes to or from integers; float16 and bfloat16 are rounded to, and held in float32"},
    OperatorEntry{"CastLike", lower_cast_like, "cast", "no gradient passes to or from integers"}};

}  // namespace

std::span<const OperatorEntry> constant_operators() {
  return kConstantOperators;
}

}  // namespace pantoum::import
