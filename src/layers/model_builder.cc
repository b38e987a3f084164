// ModelBuilder: inputs, outputs, tables, and the layers that have parameters.
#include "pantoum/model_builder.hpp"

#include <fmt/format.h>

#include <cstring>

#include "layers/apply.h"
#include "pantoum/pantoum.h"

namespace pantoum {

using layers::kNoValue;
using layers::Role;
using layers::Site;
using layers::State;

namespace {

template <class L>
Recurrent put_recurrent(State& state, const L& layer, const Tensor& x, const Place& place) {
  Site site(state, layers::kind(layer), layer.name, place);
  return layers::recur(site, layer, x);
}

template <class Element>
std::vector<std::byte> copy_bytes(std::span<const Element> elements) {
  std::vector<std::byte> bytes(elements.size_bytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

bool has_nan(const std::vector<float>& elements) {
  return std::ranges::any_of(elements, [](float x) { return std::isnan(x); });
}

}  // namespace

bool Tensor::valid() const {
  return state_ != nullptr && value_ != kNoValue;
}

std::vector<int64_t> Tensor::shape() const {
  return valid() ? layers::shown(state_->value(value_).type) : std::vector<int64_t>();
}

DType Tensor::dtype() const {
  return valid() ? state_->value(value_).type.dtype : DType::f32;
}

ModelBuilder::ModelBuilder(std::string name, BuilderOptions options)
    : state_(std::make_shared<State>(std::move(name), options.seed)) {
  const std::string problem = State::problem_of_name(state_->name());
  if (!problem.empty() && !state_->name().empty()) state_->report("the model", Place::current(), problem);
}

Tensor ModelBuilder::input(const std::string& name, std::vector<int64_t> sample_shape, DType dtype, Place place) {
  Site site = Site::of_name(*state_, "input", name, place);
  if (!site.names_value()) return site.none();
  if (sample_shape.size() >= PT_MAX_RANK)
    return site.fail(fmt::format("a sample has {} dimensions, more than {}", sample_shape.size(), PT_MAX_RANK - 1));
  if (!layers::count_of(sample_shape, layers::kMostExtent))
    return site.fail(
        fmt::format("the shape {} of a sample has an extent below 1, or 2^31 elements or more; the batch is not part "
                    "of it",
                    layers::to_text(sample_shape)));
  sample_shape.insert(sample_shape.begin(), layers::kBatch);
  return state_->handle(state_->add_value({site.name(), Role::kInput, layers::batch_type(dtype, sample_shape)}));
}

void ModelBuilder::output(const std::string& name, const Tensor& value, Place place) {
  Site site = Site::of_name(*state_, "output", name, place);
  if (site.names_value() && site.takes(value)) state_->add_output({site.name(), State::id_of(value)});
}

Tensor ModelBuilder::parameter(const std::string& name, std::vector<int64_t> shape, Initial initial, Place place) {
  const std::string problem = State::problem_of_name(name);
  Site site = Site::of_name(*state_, "parameter", state_->prefix() + name, place);
  if (!problem.empty()) return site.fail(problem);
  return site.parameter("", shape, initial, Initial::zeros());
}

Tensor ModelBuilder::constant(std::vector<int64_t> shape, const std::vector<float>& elements, Place place) {
  Site site(*state_, "constant", "", place);
  if (has_nan(elements)) return site.fail("an element is NaN");
  return site.table(DType::f32, shape, copy_bytes(std::span(elements)));
}

Tensor ModelBuilder::constant(double number, Place place) {
  return constant(std::vector<int64_t>(), {static_cast<float>(number)}, place);
}

Tensor ModelBuilder::constant_i64(std::vector<int64_t> shape, const std::vector<int64_t>& elements, Place place) {
  Site site(*state_, "constant", "", place);
  return site.table(DType::i64, shape, copy_bytes(std::span(elements)));
}

Tensor ModelBuilder::constant(const TensorView& tensor, Place place) {
  Site site(*state_, "constant", std::string(tensor.name), place);
  const std::span<const float> floats = tensor.as<const float>();
  if (has_nan({floats.begin(), floats.end()})) return site.fail("an element is NaN");
  return site.table(tensor.dtype, {tensor.shape.begin(), tensor.shape.end()},
                    copy_bytes(std::span<const std::byte>(tensor.data)));
}

Tensor ModelBuilder::linear(const Tensor& x, int64_t features, Place place) {
  return layers::call(*state_, Linear{.features = features}, x, place);
}
Recurrent ModelBuilder::lstm(const Tensor& x, Lstm options, Place place) {
  return put_recurrent(*state_, options, x, place);
}
Recurrent ModelBuilder::gru(const Tensor& x, Gru options, Place place) {
  return put_recurrent(*state_, options, x, place);
}
Recurrent ModelBuilder::rnn(const Tensor& x, Rnn options, Place place) {
  return put_recurrent(*state_, options, x, place);
}
Tensor ModelBuilder::multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                          MultiHeadAttention options, const Tensor& mask, Place place) {
  Site site(*state_, layers::kind(options), options.name, place);
  return layers::attend(site, options, query, key, value, mask);
}

Tensor ModelBuilder::apply(const Layer& layer, const Tensor& x, Place place) {
  Site site(*state_, layers::kind_of(layer), layers::name_of(layer), place);
  return layers::apply(site, layer, x);
}

SharedLayer ModelBuilder::make(const Layer& layer, Place place) {
  return {state_, layer, state_->claim(layers::kind_of(layer), layers::name_of(layer), place)};
}

std::vector<Tensor> ModelBuilder::node(const std::string& op_type, const std::vector<Tensor>& operands,
                                       NodeOptions options, Place place) {
  Site site(*state_, op_type.empty() ? "node" : op_type, options.name, place);
  for (const std::string& text : {op_type, options.domain.empty() ? op_type : options.domain})
    if (const std::string problem = State::problem_of_name(text); !problem.empty())
      return {site.fail("of the operator or its domain, " + problem)};
  if (options.outputs < 1) return {site.fail(fmt::format("it has {} outputs", options.outputs))};
  return site.nodes(op_type, operands, options);
}

ModelBuilder::Scope::Scope(std::shared_ptr<State> state, std::string before)
    : state_(std::move(state)), before_(std::move(before)) {}

ModelBuilder::Scope::~Scope() {
  if (state_ != nullptr) state_->set_prefix(before_);
}

ModelBuilder::Scope ModelBuilder::scope(const std::string& name, Place place) {
  const std::string problem = State::problem_of_name(name);
  if (!problem.empty()) state_->report("scope", place, problem);
  Scope scope(state_, state_->prefix());
  state_->set_prefix(state_->prefix() + name + ".");
  return scope;
}

const std::vector<std::string>& ModelBuilder::problems() const {
  return state_->problems();
}

std::vector<TensorView> ModelBuilder::parameters() const {
  std::vector<TensorView> views;
  for (size_t id = 0; id < state_->values().size(); ++id) {
    const layers::Value& value = state_->values()[id];
    if (value.role != Role::kParameter && value.role != Role::kStatistic) continue;
    views.push_back({value.name, value.type.dtype, value.type.shapes[0], state_->elements(static_cast<int32_t>(id))});
  }
  return views;
}

Result<std::string> ModelBuilder::onnx() const {
  return layers::serialize(*state_);
}

}  // namespace pantoum
