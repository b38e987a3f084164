// Sequences of layers, which may be nested:
//
//   pantoum::Sequential net{
//       pantoum::Conv2d{.channels = 6, .kernel = 5, .padding = 2}, pantoum::Relu{}, pantoum::MaxPool2d{.kernel = 2},
//       pantoum::Flatten{}, pantoum::Linear{120}, pantoum::Relu{}, pantoum::Linear{10}};
//   pantoum::Result<std::string> model = net.onnx({1, 28, 28});   // or builder.apply(net, x) as a part of a larger model
//
// A function of a tensor can be a layer, too: [](pantoum::ModelBuilder& net, pantoum::Tensor x) { return x * net.sigmoid(x); }
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pantoum/model_builder.hpp"

namespace pantoum {

class Layer;

// A sequence of layers. The name of a layer is the given name or its position: "0.weight", "features.3.bias".
class PANTOUM_API Sequential {
 public:
  Sequential();
  Sequential(const Sequential&);
  Sequential(Sequential&&) noexcept;
  Sequential& operator=(const Sequential&);
  Sequential& operator=(Sequential&&) noexcept;
  ~Sequential();
  Sequential(std::initializer_list<Layer> layers);
  Sequential(std::string name, std::initializer_list<Layer> layers);

  Sequential& add(Layer layer);
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }

  // Returns a model that consists of these layers, from an input "input" of one sample's shape to an output "output". E0213.
  [[nodiscard]] Result<std::string> onnx(std::vector<int64_t> sample_shape, DType dtype = DType::f32,
                                         BuilderOptions options = {}, Place = Place::current()) const;

 private:
  std::string name_;
  std::vector<Layer> layers_;
};

// body(x) + x, or body(x) + shortcut(x).
struct Residual {
  Sequential body = {};
  Sequential shortcut = {};  // without layers: x itself
  std::string name = {};
};

// A custom layer. The names of the layers and parameters that it builds begin with its name.
struct Function {
  std::function<Tensor(ModelBuilder&, Tensor)> call = nullptr;
  std::string name = {};
};

namespace layers {
struct AnyLayer;

template <class L>
inline constexpr bool is_kind = false;
#define PANTOUM_LAYER(Type, ...) \
  template <>                    \
  inline constexpr bool is_kind<Type> = true;
PANTOUM_ELEMENT_LAYERS(PANTOUM_LAYER)
PANTOUM_OPTION_LAYERS(PANTOUM_LAYER)
PANTOUM_PLAIN_LAYERS(PANTOUM_LAYER)
PANTOUM_SETTING_LAYERS(PANTOUM_LAYER)
PANTOUM_OTHER_LAYERS(PANTOUM_LAYER)
#undef PANTOUM_LAYER

template <class L>
concept Kind = is_kind<L>;
}  // namespace layers

// A value that contains any kind of layer. Copies share the layer.
class PANTOUM_API Layer {
 public:
  template <layers::Kind L>
  Layer(L layer);
  template <class F>
  requires(!layers::Kind<F> && !std::same_as<F, Layer> && std::is_invocable_r_v<Tensor, F, ModelBuilder&, Tensor>)
      Layer(F function)
      : Layer(Function{.call = std::move(function)}) {}

  [[nodiscard]] const layers::AnyLayer& any() const { return *any_; }  // only for use by this library

 private:
  std::shared_ptr<const layers::AnyLayer> any_;
};

// A layer whose calls share parameters: shared(a), shared(b). The first call makes the parameters.
class PANTOUM_API SharedLayer {
 public:
  Tensor operator()(const Tensor& x, Place = Place::current());

 private:
  friend class ModelBuilder;
  SharedLayer(std::shared_ptr<layers::State> state, Layer layer, std::string name)
      : state_(std::move(state)), layer_(std::move(layer)), name_(std::move(name)) {}

  std::shared_ptr<layers::State> state_;
  Layer layer_;
  std::string name_;
};

}  // namespace pantoum
