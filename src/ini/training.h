// The sections that are no layers: [model], [optimizer], [learningratescheduler], data sets.
#pragma once

#include "ini/model.h"

namespace pantoum::ini {

enum class LossName : uint8_t { kNone, kMse, kCross };

// A key that names layers, in lower case.
struct NamedLayers {
  std::vector<std::string> names;
  int line = 0;
};

struct Settings {
  Training training;
  LossName loss = LossName::kNone;
  std::optional<double> clip_of_all;       // clip_grad_by_norm of [model]
  NamedLayers input_layers, label_layers;  // of [model]
};

// The key `clip_grad_by_norm`: the most that the norm may be. NNTrainer clips nothing where the value is 1e-6 or less.
[[nodiscard]] std::optional<double> clip_limit(Keys& keys);

// E0214: a key that its section does not have, or a value that does not fit it.
[[nodiscard]] Result<Settings> read_settings(const Text& file);

}  // namespace pantoum::ini
