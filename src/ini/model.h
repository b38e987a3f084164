// A model file of NNTrainer as a model in training form, and what it says of its training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ini/layer_types.h"
#include "pantoum/model.hpp"

namespace pantoum::ini {

// What the file sets; what it leaves open is absent.
struct Training {
  std::optional<int64_t> batch = {}, epochs = {};
  std::optional<Losses> loss = {};
  std::optional<Optimizer> optimizer = {};
  std::optional<std::string> schedule = {};  // as TrainerOptions::schedule
  std::optional<double> clip_norm = {};
  std::vector<ParameterGroup> groups = {};  // penalties of weights
  std::vector<std::string> freeze = {};
  bool continue_train = false;  // a training takes optimizer state and iteration of a .bin, too
  std::optional<std::string> train_data = {}, test_data = {};  // paths from the working folder
  std::vector<std::string> notes = {};                         // keys that mean nothing here
};

struct Model {
  std::string onnx;  // the bytes of an ONNX model
  Training training;
  std::vector<StoredTensor> stored;  // in the order of a .bin file
};

// Puts what the file sets into `options`, and leaves the rest as it is.
void apply(const Training& training, ModelOptions& options);

// Reads the file and the backbones that it names. The same file gives the same bytes.
// E0201: a file cannot be read. E0214: what is wrong, with the line.
[[nodiscard]] Result<Model> read_model(const std::string& path);
// The file's bytes, as they stand at `path`.
[[nodiscard]] Result<Model> parse_model(std::string_view bytes, const std::string& path);

}  // namespace pantoum::ini
