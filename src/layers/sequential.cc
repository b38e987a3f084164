// Layers as values: what they hold, and how they are applied, one after another, shared, and around one another.
#include <variant>

#include "layers/apply.h"
#include "layers/kinds.h"

namespace pantoum {
namespace layers {

struct AnyLayer {
  std::variant<Linear, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, BatchNorm, LayerNorm,
               GroupNorm, InstanceNorm, RmsNorm, Embedding, Lstm, Gru, Rnn, MultiHeadAttention, TransformerLayer, Prelu,
               Dropout, Relu, LeakyRelu, Elu, Selu, Gelu, Silu, Sigmoid, Tanh, HardSigmoid, HardSwish, Softplus, Mish,
               Softmax, LogSoftmax, MaxPool1d, MaxPool2d, MaxPool3d, AvgPool1d, AvgPool2d, AvgPool3d, AdaptiveAvgPool1d,
               AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d,
               GlobalAvgPool, GlobalMaxPool, Flatten, Reshape, Permute, Upsample, Pad, Sequential, Residual, Function>
      kind;
};

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
  return site.takes(made) ? made : site.state().handle(kNoValue);
}

}  // namespace layers

template <layers::Kind L>
Layer::Layer(L layer) : any_(std::make_shared<const layers::AnyLayer>(layers::AnyLayer{std::move(layer)})) {}

template PANTOUM_API Layer::Layer(Linear);
template PANTOUM_API Layer::Layer(Conv1d);
template PANTOUM_API Layer::Layer(Conv2d);
template PANTOUM_API Layer::Layer(Conv3d);
template PANTOUM_API Layer::Layer(ConvTranspose1d);
template PANTOUM_API Layer::Layer(ConvTranspose2d);
template PANTOUM_API Layer::Layer(ConvTranspose3d);
template PANTOUM_API Layer::Layer(BatchNorm);
template PANTOUM_API Layer::Layer(LayerNorm);
template PANTOUM_API Layer::Layer(GroupNorm);
template PANTOUM_API Layer::Layer(InstanceNorm);
template PANTOUM_API Layer::Layer(RmsNorm);
template PANTOUM_API Layer::Layer(Embedding);
template PANTOUM_API Layer::Layer(Lstm);
template PANTOUM_API Layer::Layer(Gru);
template PANTOUM_API Layer::Layer(Rnn);
template PANTOUM_API Layer::Layer(MultiHeadAttention);
template PANTOUM_API Layer::Layer(TransformerLayer);
template PANTOUM_API Layer::Layer(Prelu);
template PANTOUM_API Layer::Layer(Dropout);
template PANTOUM_API Layer::Layer(Relu);
template PANTOUM_API Layer::Layer(LeakyRelu);
template PANTOUM_API Layer::Layer(Elu);
template PANTOUM_API Layer::Layer(Selu);
template PANTOUM_API Layer::Layer(Gelu);
template PANTOUM_API Layer::Layer(Silu);
template PANTOUM_API Layer::Layer(Sigmoid);
template PANTOUM_API Layer::Layer(Tanh);
template PANTOUM_API Layer::Layer(HardSigmoid);
template PANTOUM_API Layer::Layer(HardSwish);
template PANTOUM_API Layer::Layer(Softplus);
template PANTOUM_API Layer::Layer(Mish);
template PANTOUM_API Layer::Layer(Softmax);
template PANTOUM_API Layer::Layer(LogSoftmax);
template PANTOUM_API Layer::Layer(MaxPool1d);
template PANTOUM_API Layer::Layer(MaxPool2d);
template PANTOUM_API Layer::Layer(MaxPool3d);
template PANTOUM_API Layer::Layer(AvgPool1d);
template PANTOUM_API Layer::Layer(AvgPool2d);
template PANTOUM_API Layer::Layer(AvgPool3d);
template PANTOUM_API Layer::Layer(AdaptiveAvgPool1d);
template PANTOUM_API Layer::Layer(AdaptiveAvgPool2d);
template PANTOUM_API Layer::Layer(AdaptiveAvgPool3d);
template PANTOUM_API Layer::Layer(AdaptiveMaxPool1d);
template PANTOUM_API Layer::Layer(AdaptiveMaxPool2d);
template PANTOUM_API Layer::Layer(AdaptiveMaxPool3d);
template PANTOUM_API Layer::Layer(GlobalAvgPool);
template PANTOUM_API Layer::Layer(GlobalMaxPool);
template PANTOUM_API Layer::Layer(Flatten);
template PANTOUM_API Layer::Layer(Reshape);
template PANTOUM_API Layer::Layer(Permute);
template PANTOUM_API Layer::Layer(Upsample);
template PANTOUM_API Layer::Layer(Pad);
template PANTOUM_API Layer::Layer(Sequential);
template PANTOUM_API Layer::Layer(Residual);
template PANTOUM_API Layer::Layer(Function);

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
