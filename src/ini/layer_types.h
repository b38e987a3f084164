// The types of layers: what each builds with the C++ builder, by NNTrainer's rules where they differ from ONNX's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ini/keys.h"
#include "pantoum/model_builder.hpp"

namespace pantoum::ini {

// A parameter or statistic of the network, in the order of a .bin file. Row-major f32.
struct StoredTensor {
  std::string name;  // "conv1.weight"
  std::vector<int64_t> shape;
  bool is_statistic = false;  // it has no gradient
  bool is_frozen = false;     // the file says that it is not trained
};

// The loss that a layer of the file asks for by its type.
enum class LossLayer : uint8_t { kNone, kMse, kCrossSoftmax, kCrossSigmoid, kOwn };

// Where one layer is built.
struct LayerSite {
  ModelBuilder& net;
  Keys& keys;
  std::string name;
  std::string weights;                     // the layer's name, or of the one whose weights it uses
  std::map<std::string, Tensor>& shared;   // the parameters of all layers until now, by name
  std::vector<Tensor> inputs;         // [N,C,H,W] each
  std::vector<StoredTensor>& stored;  // what the layer adds stands at the end
  LossLayer loss = LossLayer::kNone;
  Tensor own_loss = {};  // of kOwn: one number
  bool has_weights = false;

  [[nodiscard]] Place place() const { return {keys.path().c_str(), static_cast<unsigned>(keys.section().line)}; }
  [[nodiscard]] const Tensor& x() const { return inputs.front(); }
};

// With those of plug-ins.
[[nodiscard]] std::vector<std::string> layer_types();

// `name` has to be one of layer_types(), or "teacher": what unroll.h puts between two steps. The outputs of the layer at the site, [N,C,H,W] each; a reason against it is put into the site's keys.
// The keys of its type are read, not yet those that any layer has.
[[nodiscard]] std::vector<Tensor> build_layer(const std::string& name, LayerSite& site);

// The function of an activation: a value of the key `activation`, of any layer.
[[nodiscard]] const std::vector<std::string>& activation_names();
[[nodiscard]] Tensor activate(LayerSite& site, const std::string& activation, const Tensor& x);
// [N,C,H,W] -> [N,1,1,C H W]
[[nodiscard]] Tensor flatten(LayerSite& site, const Tensor& x);

}  // namespace pantoum::ini
