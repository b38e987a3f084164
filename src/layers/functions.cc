// ModelBuilder's layers and functions of tensors, and the operators between tensors.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "layers/apply.h"

namespace pantoum {

using layers::Site;
using layers::State;

namespace {

// Adds one ONNX node with the function's own name.
Tensor call_node(State& state, const char* name, const char* op_type, const std::vector<Tensor>& operands,
                 const Place& place, Attributes attributes = {}) {
  Site site(state, name, "", place);
  if (!site.takes(operands)) return site.none();
  return site.node(op_type, operands, std::move(attributes));
}

// Without axes it reduces all dimensions but the batch.
Tensor reduce(State& state, const char* name, const char* op_type, const Tensor& x, std::vector<int64_t> axes,
              bool keep, const Place& place) {
  Site site(state, name, "", place);
  if (!site.takes(x, 1, "[N, ..]", true)) return site.none();
  const size_t rank = site.shape(x).size();
  if (axes.empty() && rank == 1)
    return site.fail(fmt::format("its input {} has no dimension but the batch", site.type(x)));
  if (axes.empty()) {
    axes.resize(rank - 1);
    std::iota(axes.begin(), axes.end(), int64_t{1});
  }
  return site.node(op_type, {x, site.integers(axes)}, {{"keepdims", keep ? 1 : 0}});
}

Tensor change_axes(State& state, const char* name, const char* op_type, const Tensor& x,
                   const std::vector<int64_t>& axes, const Place& place) {
  Site site(state, name, "", place);
  if (!site.takes(x)) return site.none();
  if (axes.empty()) return site.fail("it names no axes");
  return site.node(op_type, {x, site.integers(axes)});
}

template <class Element>
std::vector<std::byte> bytes_of_one(double number) {
  const auto element = static_cast<Element>(number);
  std::vector<std::byte> bytes(sizeof element);
  std::memcpy(bytes.data(), &element, sizeof element);
  return bytes;
}

// A constant of the type of the tensor that it is combined with.
Tensor number_like(Site& site, double number, DType dtype) {
  if (std::isnan(number)) return site.fail("a number is NaN");
  if (dtype == DType::f32) return site.number(static_cast<float>(number));
  const double most = dtype == DType::u8 ? 255 : (dtype == DType::i32 ? INT32_MAX : 0x1p53);
  const bool fits = std::abs(number) <= most && std::trunc(number) == number && (dtype != DType::u8 || number >= 0);
  if (!fits || dtype == DType::boolean) return site.fail(fmt::format("{} is no {}", number, name_of(dtype)));
  if (dtype == DType::i64) return site.constant(dtype, {}, bytes_of_one<int64_t>(number));
  if (dtype == DType::i32) return site.constant(dtype, {}, bytes_of_one<int32_t>(number));
  return site.constant(dtype, {}, bytes_of_one<uint8_t>(number));
}

// The model of an operand, or null.
State* model_of(const Operand& a, const Operand& b) {
  const std::shared_ptr<State>& first = State::of(a.tensor());
  return first != nullptr ? first.get() : State::of(b.tensor()).get();
}

Tensor combine(const char* name, const char* op_type, const Operand& a, const Operand& b) {
  State* const state = model_of(a, b);
  if (state == nullptr) return {};
  Site site(*state, name, "", a.place());
  for (const Operand* each : {&a, &b})
    if (!each->is_number() && !site.takes(each->tensor())) return site.none();
  const Tensor first = a.is_number() ? number_like(site, a.number(), b.tensor().dtype()) : a.tensor();
  const Tensor second = b.is_number() ? number_like(site, b.number(), a.tensor().dtype()) : b.tensor();
  return site.node(op_type, {first, second});
}

// The axis counted from 0; reports an axis that does not exist.
std::optional<size_t> axis_of(Site& site, const Tensor& x, int64_t axis) {
  const auto rank = static_cast<int64_t>(site.shape(x).size());
  if (axis >= -rank && axis < rank) return static_cast<size_t>(axis < 0 ? axis + rank : axis);
  site.fail(fmt::format("its input {} has no axis {}", site.type(x), axis));
  return std::nullopt;
}

std::vector<Tensor> split_at(Site& site, const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis) {
  return site.nodes("Split", {x, site.integers(sizes)},
                    {.attributes = {{"axis", axis}}, .outputs = static_cast<int>(sizes.size())});
}

constexpr int64_t kMostParts = 4096;

}  // namespace

#define PANTOUM_OPERATOR(symbol, name, op_type)                \
  Tensor operator symbol(const Operand& a, const Operand& b) { \
    return combine(name, op_type, a, b);                       \
  }
PANTOUM_OPERATOR(+, "add", "Add")
PANTOUM_OPERATOR(-, "sub", "Sub")
PANTOUM_OPERATOR(*, "mul", "Mul")
PANTOUM_OPERATOR(/, "div", "Div")
#undef PANTOUM_OPERATOR
Tensor operator-(const Operand& a) {
  State* const state = model_of(a, a);
  return state == nullptr ? Tensor() : call_node(*state, "neg", "Neg", {a.tensor()}, a.place());
}

#define PANTOUM_LAYER(Type, function, kind)                                   \
  Tensor ModelBuilder::function(const Tensor& x, Type options, Place place) { \
    return layers::call(*state_, options, x, place);                          \
  }
PANTOUM_OPTION_LAYERS(PANTOUM_LAYER)
#undef PANTOUM_LAYER
#define PANTOUM_LAYER(Type, function, kind, Setting, ...)                        \
  Tensor ModelBuilder::function(const Tensor& x, Setting setting, Place place) { \
    return layers::call(*state_, Type{std::move(setting)}, x, place);            \
  }
PANTOUM_SETTING_LAYERS(PANTOUM_LAYER)
#undef PANTOUM_LAYER
#define PANTOUM_LAYER(Type, function, ...)                      \
  Tensor ModelBuilder::function(const Tensor& x, Place place) { \
    return layers::call(*state_, Type{}, x, place);             \
  }
PANTOUM_ELEMENT_LAYERS(PANTOUM_LAYER)
PANTOUM_PLAIN_LAYERS(PANTOUM_LAYER)
#undef PANTOUM_LAYER

#define PANTOUM_FUNCTION(function, op_type)                     \
  Tensor ModelBuilder::function(const Tensor& x, Place place) { \
    return call_node(*state_, #function, op_type, {x}, place);  \
  }
PANTOUM_UNARY_FUNCTIONS(PANTOUM_FUNCTION)
#undef PANTOUM_FUNCTION
#define PANTOUM_FUNCTION(function, op_type)                                      \
  Tensor ModelBuilder::function(const Tensor& a, const Tensor& b, Place place) { \
    return call_node(*state_, #function, op_type, {a, b}, place);                \
  }
PANTOUM_BINARY_FUNCTIONS(PANTOUM_FUNCTION)
#undef PANTOUM_FUNCTION
#define PANTOUM_FUNCTION(function, op_type)                                                           \
  Tensor ModelBuilder::function(const Tensor& x, std::vector<int64_t> axes, bool keep, Place place) { \
    return reduce(*state_, #function, op_type, x, std::move(axes), keep, place);                      \
  }
PANTOUM_FUNCTION(sum, "ReduceSum")
PANTOUM_FUNCTION(mean, "ReduceMean")
PANTOUM_FUNCTION(max, "ReduceMax")
PANTOUM_FUNCTION(min, "ReduceMin")
#undef PANTOUM_FUNCTION

Tensor ModelBuilder::clip(const Tensor& x, double least, double most, Place place) {
  Site site(*state_, "clip", "", place);
  if (!site.takes(x)) return site.none();
  if (!(least <= most)) return site.fail(fmt::format("it clips from {} to {}", least, most));
  return site.node("Clip", {x, number_like(site, least, x.dtype()), number_like(site, most, x.dtype())});
}
Tensor ModelBuilder::cast(const Tensor& x, DType dtype, Place place) {
  return call_node(*state_, "cast", "Cast", {x}, place, {{"to", int64_t{layers::onnx_type(dtype)}}});
}

Tensor ModelBuilder::where(const Tensor& condition, const Tensor& yes, const Tensor& no, Place place) {
  return call_node(*state_, "where", "Where", {condition, yes, no}, place);
}

Tensor ModelBuilder::einsum(const std::string& equation, const std::vector<Tensor>& operands, Place place) {
  return call_node(*state_, "einsum", "Einsum", operands, place, {{"equation", equation}});
}
Tensor ModelBuilder::argmax(const Tensor& x, int64_t axis, bool keep, Place place) {
  return call_node(*state_, "argmax", "ArgMax", {x}, place, {{"axis", axis}, {"keepdims", keep ? 1 : 0}});
}
Tensor ModelBuilder::pixel_shuffle(const Tensor& x, int64_t factor, Place place) {
  Site site(*state_, "pixel_shuffle", "", place);
  if (!site.takes(x, 4, "[N, C, H, W]") || !site.within("factor", factor, 1, 1 << 15)) return site.none();
  return site.node("DepthToSpace", {x}, {{"blocksize", factor}, {"mode", "CRD"}});
}

Tensor ModelBuilder::transpose(const Tensor& x, int64_t a, int64_t b, Place place) {
  Site site(*state_, "transpose", "", place);
  if (!site.takes(x)) return site.none();
  const auto first = axis_of(site, x, a), second = axis_of(site, x, b);
  if (!first || !second) return site.none();
  std::vector<int64_t> order(site.shape(x).size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::swap(order[*first], order[*second]);
  return site.node("Transpose", {x}, {{"perm", order}});
}
Tensor ModelBuilder::squeeze(const Tensor& x, std::vector<int64_t> axes, Place place) {
  return change_axes(*state_, "squeeze", "Squeeze", x, axes, place);
}
Tensor ModelBuilder::unsqueeze(const Tensor& x, std::vector<int64_t> axes, Place place) {
  return change_axes(*state_, "unsqueeze", "Unsqueeze", x, axes, place);
}
Tensor ModelBuilder::expand(const Tensor& x, std::vector<int64_t> shape, Place place) {
  Site site(*state_, "expand", "", place);
  if (!site.takes(x)) return site.none();
  if (shape.empty()) return site.fail("its new shape has no dimensions");
  for (int64_t& extent : shape) {
    if (!site.within("an extent", extent, -1)) return site.none();
    if (extent == -1) extent = 1;
  }
  return site.node("Expand", {x, site.integers(shape)});
}

Tensor ModelBuilder::concat(const std::vector<Tensor>& parts, int64_t axis, Place place) {
  Site site(*state_, "concat", "", place);
  if (parts.empty()) return site.fail("it has nothing to join");
  if (!site.takes(parts)) return site.none();
  return site.node("Concat", parts, {{"axis", axis}});
}
std::vector<Tensor> ModelBuilder::split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis, Place place) {
  Site site(*state_, "split", "", place);
  const std::vector<Tensor> none(std::max<size_t>(1, sizes.size()), site.none());
  if (!site.takes(x)) return none;
  if (sizes.empty() || sizes.size() > kMostParts)
    return site.fail(fmt::format("it has {} parts, and must have from 1 to {}", sizes.size(), kMostParts)), none;
  if (!site.all_within("a part", sizes, 1)) return none;
  return split_at(site, x, sizes, axis);
}
std::vector<Tensor> ModelBuilder::chunk(const Tensor& x, int64_t parts, int64_t axis, Place place) {
  Site site(*state_, "chunk", "", place);
  const bool sane = site.within("parts", parts, 1, kMostParts);
  const std::vector<Tensor> none(sane ? static_cast<size_t>(parts) : 1, site.none());
  if (!sane || !site.takes(x)) return none;
  const auto which = axis_of(site, x, axis);
  const auto extent = which ? site.extent(x, *which) : std::nullopt;
  if (!extent) return none;
  if (*extent % parts != 0)
    return site.fail(fmt::format("axis {} of its input {} cannot be parted evenly into {}", axis, site.type(x), parts)),
           none;
  return split_at(site, x, std::vector<int64_t>(static_cast<size_t>(parts), *extent / parts), axis);
}

Tensor ModelBuilder::slice(const Tensor& x, int64_t axis, int64_t begin, int64_t end, int64_t step, Place place) {
  Site site(*state_, "slice", "", place);
  if (!site.takes(x) || !axis_of(site, x, axis)) return site.none();
  if (step == 0) return site.fail("its step is 0");
  return site.node("Slice",
                   {x, site.integers({begin}), site.integers({end}), site.integers({axis}), site.integers({step})});
}
Tensor ModelBuilder::select(const Tensor& x, int64_t axis, int64_t position, Place place) {
  Site site(*state_, "select", "", place);
  if (!site.takes(x) || !axis_of(site, x, axis)) return site.none();
  return site.node("Gather", {x, site.integer(position)}, {{"axis", axis}});
}
Tensor ModelBuilder::gather(const Tensor& x, const Tensor& indices, int64_t axis, Place place) {
  Site site(*state_, "gather", "", place);
  if (!site.takes({x, indices})) return site.none();
  return site.node("Gather", {x, indices}, {{"axis", axis}});
}

}  // namespace pantoum
