// Layer types that plug-ins add: each is one custom operator, with the section's keys as its settings. One table for the process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "ini/layer_types.h"

namespace pantoum::ini {

struct PluginKey {
  enum class Kind : uint8_t { kWhole, kReal, kBoolean };
  std::string name;
  Kind kind = Kind::kWhole;
  double least = 0, most = 0;
};

struct PluginLayer {
  std::string type, operator_name;
  std::vector<PluginKey> keys;
  bool is_loss = false;
};

// Any thread may call these at any time.
void add_plugin_layer(PluginLayer layer);  // its type is not taken
[[nodiscard]] std::shared_ptr<const PluginLayer> plugin_layer(const std::string& type);
[[nodiscard]] std::vector<std::string> plugin_layer_types();

// As build_layer of layer_types.h. A loss adds the input NAME.label to the model, and leaves its one number in the site's own_loss.
[[nodiscard]] std::vector<Tensor> build_plugin_layer(const PluginLayer& layer, LayerSite& site);

}  // namespace pantoum::ini
