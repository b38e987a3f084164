// The sections that are no layers: [model], [optimizer], [learningratescheduler], data sets.
#pragma once

#include "ini/model.h"

namespace pantoum::ini {

enum class LossName : uint8_t { kNone, kMse, kCross };

struct Settings {
  Training training;
  LossName loss = LossName::kNone;
  std::optional<double> clip_of_all;                    // clip_grad_by_norm of [model]
  std::vector<std::string> input_layers, label_layers;  // of [model], in lower case
};

// E0214: a key that its section does not have, or a value that does not fit it.
[[nodiscard]] Result<Settings> read_settings(const Text& file);

}  // namespace pantoum::ini
