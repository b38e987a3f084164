#include "ini/plugin_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "base/custom_operators.h"

namespace pantoum::ini {
namespace {

struct PluginTypes {
  std::shared_mutex mutex;
  std::map<std::string, std::shared_ptr<const PluginLayer>> by_type;
};

PluginTypes& plugin_types() {
  static PluginTypes all;
  return all;
}

const base::CustomAttribute* setting_named(const base::CustomOperator& op, const std::string& name) {
  for (const auto* settings : {&op.ints, &op.reals})
    for (const base::CustomAttribute& each : *settings)
      if (each.name == name) return &each;
  return nullptr;
}

constexpr double kMostReal = 1e30;

// The value of the key, as the attribute of the operator that it is.
Attribute attribute_of(const PluginKey& key, const base::CustomAttribute& setting, Keys& keys) {
  const bool is_limited = key.least != 0 || key.most != 0;
  const std::optional<double> otherwise = setting.otherwise;
  if (key.kind == PluginKey::Kind::kReal)
    return keys.number(key.name, is_limited ? key.least : -kMostReal, is_limited ? key.most : kMostReal, otherwise);
  if (key.kind == PluginKey::Kind::kBoolean) {
    if (!otherwise) (void)keys.text(key.name);
    return int64_t{keys.boolean(key.name, otherwise.value_or(0) != 0)};
  }
  const auto least = static_cast<int64_t>(std::max(key.least, 0.0));
  const int64_t value =
      keys.whole(key.name, least, otherwise ? std::optional(static_cast<int64_t>(*otherwise)) : std::nullopt);
  if (is_limited && static_cast<double>(value) > key.most)
    keys.refuse(key.name, fmt::format("'{}' of '{}' is above {}", value, key.name, key.most), "give a smaller number");
  return value;
}

// The label comes behind all inputs of the model: a data set has it there.
Tensor label_like(LayerSite& site) {
  const std::vector<int64_t> batch = site.x().shape();
  return site.net.input(site.name + ".label", {batch.begin() + 1, batch.end()}, DType::f32, site.place());
}

bool is_sample_batch(const Tensor& tensor) {
  return tensor.shape().size() == 4;
}

}  // namespace

void add_plugin_layer(PluginLayer layer) {
  PluginTypes& all = plugin_types();
  const std::unique_lock lock(all.mutex);
  std::string type = layer.type;
  all.by_type.emplace(std::move(type), std::make_shared<const PluginLayer>(std::move(layer)));
}

std::shared_ptr<const PluginLayer> plugin_layer(const std::string& type) {
  PluginTypes& all = plugin_types();
  const std::shared_lock lock(all.mutex);
  const auto found = all.by_type.find(type);
  return found == all.by_type.end() ? nullptr : found->second;
}

std::vector<std::string> plugin_layer_types() {
  PluginTypes& all = plugin_types();
  const std::shared_lock lock(all.mutex);
  std::vector<std::string> names;
  for (const auto& [type, layer] : all.by_type) names.push_back(type);
  return names;
}

std::vector<Tensor> build_plugin_layer(const PluginLayer& layer, LayerSite& site) {
  const auto op = base::custom_operator(layer.operator_name);
  if (!op) {
    site.keys.refuse("type", fmt::format("the operator '{}' of the layer is not known", layer.operator_name),
                     "mend the plug-in");
    return {};
  }
  NodeOptions options;
  for (const PluginKey& key : layer.keys)
    options.attributes[key.name] = attribute_of(key, *setting_named(*op, key.name), site.keys);
  if (layer.is_loss && site.inputs.size() != 1) site.keys.refuse("input_layers", "a loss reads one layer", "name one");
  if (site.keys.has_problem()) return {};
  const size_t colons = layer.operator_name.find("::");
  options.domain = layer.operator_name.substr(0, colons);
  options.name = site.name;
  std::vector<Tensor> operands = site.inputs;
  if (layer.is_loss) operands.push_back(label_like(site));
  std::vector<Tensor> made =
      site.net.node(layer.operator_name.substr(colons + 2), operands, std::move(options), site.place());
  if (!site.net.problems().empty()) return {};
  const bool fits =
      layer.is_loss ? made.size() == 1 && made[0].shape().empty() : std::ranges::all_of(made, is_sample_batch);
  if (!fits) {
    site.keys.refuse("type",
                     fmt::format("the operator '{}' gives outputs that are not {}", layer.operator_name,
                                 layer.is_loss ? "one number, as a loss is" : "[N,C,H,W], as those of layers are"),
                     "mend the shape rule of the plug-in");
    return {};
  }
  if (!layer.is_loss) return made;
  site.loss = LossLayer::kOwn;
  site.own_loss = made[0];
  return {site.x()};
}

}  // namespace pantoum::ini
