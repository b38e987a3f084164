// ModelBuilder's functions of tensors, and the operators between tensors.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "layers/apply.h"
#include "layers/kinds.h"

namespace pantoum {

using layers::kNoValue;
using layers::Site;
using layers::State;

namespace {

// A layer without parameters, as a function.
template <class L>
Tensor call(State& state, const L& layer, const Tensor& x, const Place& place) {
  Site site(state, layers::kind(layer), layer.name, place);
  return layers::apply(site, layer, x);
}

// One node of ONNX under the function's own name.
Tensor call_node(State& state, const char* name, const char* op_type, const std::vector<Tensor>& operands,
                 const Place& place, Attributes attributes = {}) {
  Site site(state, name, "", place);
  if (!site.takes(operands)) return state.handle(kNoValue);
  return site.node(op_type, operands, std::move(attributes));
}

// No axes: all but the batch.
Tensor reduce(State& state, const char* name, const char* op_type, const Tensor& x, std::vector<int64_t> axes,
              bool keep, const Place& place) {
  Site site(state, name, "", place);
  if (!site.takes(x, 1, "[N, ..]", true)) return state.handle(kNoValue);
  const size_t rank = site.shape(x).size();
  if (axes.empty() && rank == 1)
    return site.fail(fmt::format("its input {} has no dimension but the batch", site.type(x)));
  if (axes.empty()) {
    axes.resize(rank - 1);
    std::iota(axes.begin(), axes.end(), int64_t{1});
  }
  return site.node(op_type, {x, site.integers(axes)}, {{"keepdims", keep ? 1 : 0}});
}

template <class Element>
std::vector<std::byte> bytes_of_one(double number) {
  const auto element = static_cast<Element>(number);
  std::vector<std::byte> bytes(sizeof element);
  std::memcpy(bytes.data(), &element, sizeof element);
  return bytes;
}

// A number of the type that it is combined with.
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
    if (!each->is_number() && !site.takes(each->tensor())) return state->handle(kNoValue);
  const Tensor first = a.is_number() ? number_like(site, a.number(), b.tensor().dtype()) : a.tensor();
  const Tensor second = b.is_number() ? number_like(site, b.number(), a.tensor().dtype()) : b.tensor();
  return site.node(op_type, {first, second});
}

}  // namespace

Tensor operator+(const Operand& a, const Operand& b) {
  return combine("add", "Add", a, b);
}
Tensor operator-(const Operand& a, const Operand& b) {
  return combine("sub", "Sub", a, b);
}
Tensor operator*(const Operand& a, const Operand& b) {
  return combine("mul", "Mul", a, b);
}
Tensor operator/(const Operand& a, const Operand& b) {
  return combine("div", "Div", a, b);
}
Tensor operator-(const Operand& a) {
  State* const state = model_of(a, a);
  return state == nullptr ? Tensor() : call_node(*state, "neg", "Neg", {a.tensor()}, a.place());
}

Tensor ModelBuilder::relu(const Tensor& x, Place place) {
  return call(*state_, Relu{}, x, place);
}
Tensor ModelBuilder::leaky_relu(const Tensor& x, double slope, Place place) {
  return call(*state_, LeakyRelu{slope}, x, place);
}
Tensor ModelBuilder::elu(const Tensor& x, double alpha, Place place) {
  return call(*state_, Elu{alpha}, x, place);
}
Tensor ModelBuilder::selu(const Tensor& x, Place place) {
  return call(*state_, Selu{}, x, place);
}
Tensor ModelBuilder::gelu(const Tensor& x, bool tanh, Place place) {
  return call(*state_, Gelu{tanh}, x, place);
}
Tensor ModelBuilder::silu(const Tensor& x, Place place) {
  return call(*state_, Silu{}, x, place);
}
Tensor ModelBuilder::sigmoid(const Tensor& x, Place place) {
  return call(*state_, Sigmoid{}, x, place);
}
Tensor ModelBuilder::tanh(const Tensor& x, Place place) {
  return call(*state_, Tanh{}, x, place);
}
Tensor ModelBuilder::hard_sigmoid(const Tensor& x, Place place) {
  return call(*state_, HardSigmoid{}, x, place);
}
Tensor ModelBuilder::hard_swish(const Tensor& x, Place place) {
  return call(*state_, HardSwish{}, x, place);
}
Tensor ModelBuilder::softplus(const Tensor& x, Place place) {
  return call(*state_, Softplus{}, x, place);
}
Tensor ModelBuilder::mish(const Tensor& x, Place place) {
  return call(*state_, Mish{}, x, place);
}
Tensor ModelBuilder::exp(const Tensor& x, Place place) {
  return call_node(*state_, "exp", "Exp", {x}, place);
}
Tensor ModelBuilder::log(const Tensor& x, Place place) {
  return call_node(*state_, "log", "Log", {x}, place);
}
Tensor ModelBuilder::sqrt(const Tensor& x, Place place) {
  return call_node(*state_, "sqrt", "Sqrt", {x}, place);
}
Tensor ModelBuilder::abs(const Tensor& x, Place place) {
  return call_node(*state_, "abs", "Abs", {x}, place);
}
Tensor ModelBuilder::neg(const Tensor& x, Place place) {
  return call_node(*state_, "neg", "Neg", {x}, place);
}
Tensor ModelBuilder::erf(const Tensor& x, Place place) {
  return call_node(*state_, "erf", "Erf", {x}, place);
}
Tensor ModelBuilder::sin(const Tensor& x, Place place) {
  return call_node(*state_, "sin", "Sin", {x}, place);
}
Tensor ModelBuilder::cos(const Tensor& x, Place place) {
  return call_node(*state_, "cos", "Cos", {x}, place);
}

Tensor ModelBuilder::clip(const Tensor& x, double least, double most, Place place) {
  Site site(*state_, "clip", "", place);
  if (!site.takes(x)) return state_->handle(kNoValue);
  if (!(least <= most)) return site.fail(fmt::format("it clips from {} to {}", least, most));
  return site.node("Clip", {x, number_like(site, least, x.dtype()), number_like(site, most, x.dtype())});
}
Tensor ModelBuilder::cast(const Tensor& x, DType dtype, Place place) {
  return call_node(*state_, "cast", "Cast", {x}, place, {{"to", int64_t{layers::onnx_type(dtype)}}});
}

Tensor ModelBuilder::add(const Tensor& a, const Tensor& b, Place place) {
  return call_node(*state_, "add", "Add", {a, b}, place);
}
Tensor ModelBuilder::sub(const Tensor& a, const Tensor& b, Place place) {
  return call_node(*state_, "sub", "Sub", {a, b}, place);
}
Tensor ModelBuilder::mul(const Tensor& a, const Tensor& b, Place place) {
  return call_node(*state_, "mul", "Mul", {a, b}, place);
}
Tensor ModelBuilder::div(const Tensor& a, const Tensor& b, Place place) {
  return call_node(*state_, "div", "Div", {a, b}, place);
}
Tensor ModelBuilder::pow(const Tensor& a, const Tensor& b, Place place) {
  return call_node(*state_, "pow", "Pow", {a, b}, place);
}
Tensor ModelBuilder::minimum(const Tensor& a, const Tensor& b, Place place) {
  return call_node(*state_, "minimum", "Min", {a, b}, place);
}
Tensor ModelBuilder::maximum(const Tensor& a, const Tensor& b, Place place) {
  return call_node(*state_, "maximum", "Max", {a, b}, place);
}
Tensor ModelBuilder::equal(const Tensor& a, const Tensor& b, Place place) {
  return call_node(*state_, "equal", "Equal", {a, b}, place);
}
Tensor ModelBuilder::less(const Tensor& a, const Tensor& b, Place place) {
  return call_node(*state_, "less", "Less", {a, b}, place);
}
Tensor ModelBuilder::greater(const Tensor& a, const Tensor& b, Place place) {
  return call_node(*state_, "greater", "Greater", {a, b}, place);
}
Tensor ModelBuilder::where(const Tensor& condition, const Tensor& yes, const Tensor& no, Place place) {
  return call_node(*state_, "where", "Where", {condition, yes, no}, place);
}

Tensor ModelBuilder::matmul(const Tensor& a, const Tensor& b, Place place) {
  return call_node(*state_, "matmul", "MatMul", {a, b}, place);
}
Tensor ModelBuilder::einsum(const std::string& equation, const std::vector<Tensor>& operands, Place place) {
  return call_node(*state_, "einsum", "Einsum", operands, place, {{"equation", equation}});
}
Tensor ModelBuilder::softmax(const Tensor& x, int64_t axis, Place place) {
  return call(*state_, Softmax{axis}, x, place);
}
Tensor ModelBuilder::log_softmax(const Tensor& x, int64_t axis, Place place) {
  return call(*state_, LogSoftmax{axis}, x, place);
}
Tensor ModelBuilder::sum(const Tensor& x, std::vector<int64_t> axes, bool keep, Place place) {
  return reduce(*state_, "sum", "ReduceSum", x, std::move(axes), keep, place);
}
Tensor ModelBuilder::mean(const Tensor& x, std::vector<int64_t> axes, bool keep, Place place) {
  return reduce(*state_, "mean", "ReduceMean", x, std::move(axes), keep, place);
}
Tensor ModelBuilder::max(const Tensor& x, std::vector<int64_t> axes, bool keep, Place place) {
  return reduce(*state_, "max", "ReduceMax", x, std::move(axes), keep, place);
}
Tensor ModelBuilder::min(const Tensor& x, std::vector<int64_t> axes, bool keep, Place place) {
  return reduce(*state_, "min", "ReduceMin", x, std::move(axes), keep, place);
}
Tensor ModelBuilder::argmax(const Tensor& x, int64_t axis, bool keep, Place place) {
  return call_node(*state_, "argmax", "ArgMax", {x}, place, {{"axis", axis}, {"keepdims", keep ? 1 : 0}});
}

}  // namespace pantoum
