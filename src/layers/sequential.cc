// Layers as values: their contents, and how they are applied one after another, shared, and nested.
#include <variant>

#include "layers/apply.h"

namespace pantoum {
namespace layers {

#define PANTOUM_LAYER(Type, ...) Type,
struct AnyLayer {
  std::variant<PANTOUM_ELEMENT_LAYERS(PANTOUM_LAYER) PANTOUM_OPTION_LAYERS(PANTOUM_LAYER)
                   PANTOUM_PLAIN_LAYERS(PANTOUM_LAYER) PANTOUM_SETTING_LAYERS(PANTOUM_LAYER) Lstm,
               Gru, Rnn, MultiHeadAttention, Sequential, Residual, Function>
      kind;
};
#undef PANTOUM_LAYER

namespace {

const std::string& own_name(const Sequential& layer) {
  return layer.name();
}
template <class L>
const std::string& own_name(const L& layer) {
  return layer.name;
}

// Layers below the site's name, which are called by their positions where they have no names.
Tensor apply_all(Site& site, const std::vector<Layer>& list, const std::string& below, Tensor x) {
  const Below scope(site.state(), below);
  for (size_t at = 0; at < list.size(); ++at) {
    const std::string& name = name_of(list[at]);
    Site inner(site.state(), kind_of(list[at]), name.empty() ? std::to_string(at) : name, site.place());
    x = apply(inner, list[at], x);
  }
  return x;
}

}  // namespace

std::string_view kind_of(const Layer& layer) {
  return std::visit([](const auto& each) { return kind(each); }, layer.any().kind);
}

const std::string& name_of(const Layer& layer) {
  return std::visit([](const auto& each) -> const std::string& { return own_name(each); }, layer.any().kind);
}

Tensor apply(Site& site, const Layer& layer, const Tensor& x) {
  return std::visit([&](const auto& each) { return apply(site, each, x); }, layer.any().kind);
}

Tensor apply(Site& site, const Sequential& layer, const Tensor& x) {
  if (!site.takes(x)) return x;
  return apply_all(site, layer.layers(), site.name(), x);
}

Tensor apply(Site& site, const Residual& layer, const Tensor& x) {
  if (!site.takes(x)) return x;
  if (layer.body.layers().empty()) return site.fail("its body has no layers");
  const Tensor body = apply_all(site, layer.body.layers(), site.name() + ".body", x);
  const Tensor past = apply_all(site, layer.shortcut.layers(), site.name() + ".shortcut", x);
  return site.node("Add", {body, past});
}

Tensor apply(Site& site, const Function& layer, const Tensor& x) {
  if (!site.takes(x)) return x;
  if (!layer.call) return site.fail("it has no function to call");
  const Below scope(site.state(), site.name());
  ModelBuilder builder = site.state().builder();
  const Tensor made = layer.call(builder, x);
  return site.takes(made) ? made : site.none();
}

}  // namespace layers

template <layers::Kind L>
Layer::Layer(L layer) : any_(std::make_shared<const layers::AnyLayer>(layers::AnyLayer{std::move(layer)})) {}

#define PANTOUM_LAYER(Type, ...) template PANTOUM_API Layer::Layer(Type);
PANTOUM_ELEMENT_LAYERS(PANTOUM_LAYER)
PANTOUM_OPTION_LAYERS(PANTOUM_LAYER)
PANTOUM_PLAIN_LAYERS(PANTOUM_LAYER)
PANTOUM_SETTING_LAYERS(PANTOUM_LAYER)
PANTOUM_OTHER_LAYERS(PANTOUM_LAYER)
#undef PANTOUM_LAYER

Sequential::Sequential() = default;
Sequential::Sequential(const Sequential&) = default;
Sequential::Sequential(Sequential&&) noexcept = default;
Sequential& Sequential::operator=(const Sequential&) = default;
Sequential& Sequential::operator=(Sequential&&) noexcept = default;
Sequential::~Sequential() = default;

Sequential::Sequential(std::initializer_list<Layer> layers) : layers_(layers) {}

Sequential::Sequential(std::string name, std::initializer_list<Layer> layers)
    : name_(std::move(name)), layers_(layers) {}

Sequential& Sequential::add(Layer layer) {
  layers_.push_back(std::move(layer));
  return *this;
}

Result<std::string> Sequential::onnx(std::vector<int64_t> sample_shape, DType dtype, BuilderOptions options,
                                     Place place) const {
  ModelBuilder builder(name_.empty() ? "model" : name_, options);
  const Tensor x = builder.input("input", std::move(sample_shape), dtype, place);
  layers::State& state = *layers::State::of(x);
  layers::Site site = layers::Site::of_name(state, "sequential", name_, place);
  if (layers_.empty()) site.fail("it has no layers");
  builder.output("output", layers::apply_all(site, layers_, "", x), place);
  return builder.onnx();
}

Tensor SharedLayer::operator()(const Tensor& x, Place place) {
  layers::State& state = *state_;
  layers::Site site = layers::Site::of_name(state, layers::kind_of(layer_), name_, place);
  if (!state.note_call(name_)) return layers::apply(site, layer_, x);
  const layers::Again again(state, name_);
  return layers::apply(site, layer_, x);
}

}  // namespace pantoum
