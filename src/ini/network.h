// The layers of a model file: which one reads which, and their order.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "ini/ini_text.h"

namespace pantoum::ini {

// Output `output` of the layer number `layer` of Network::layers.
struct Source {
  size_t layer = 0;
  int64_t output = 0;
};

struct NetworkLayer {
  const Section* section = nullptr;
  const std::string* path = nullptr;  // of the file that the section stands in
  std::string name, type;             // in lower case
  std::vector<Source> sources;
  std::string backbone = {};  // of a backbone that is no .ini file: its path, and the layer stands for all of it
  std::string weights = {};   // the layer whose tensors it uses; empty: its own, of its name
  bool is_made = false;       // no file has it: its section is one of Network::made
  bool is_step = false;       // of a part that is unrolled: one time step of the layer
  bool frozen = false;        // of a backbone that is not trained
  bool is_read = false;       // by another layer
};

struct Network {
  std::deque<Text> files;            // the model's file first, then the backbones'
  std::deque<Section> made;          // of layers that no file has: those that collect what an unrolled part gives
  std::vector<NetworkLayer> layers;  // in the order of the files
  // Positions in `layers`. Every layer comes behind those that it reads. The order is NNTrainer's, which its .bin files have: the reverse of the
  // order in which a depth-first walk from reader to reader leaves the layers.
  std::vector<size_t> order;
};

// Is the section one of those that are no layer?
[[nodiscard]] bool is_setting(std::string_view section);

// May a layer have this name?
[[nodiscard]] bool is_layer_name(std::string_view name);

// Reads the files of backbones that `file` names, relative to its folder, and unrolls those that repeat in time (unroll.h).
// E0214: a layer reads one that is not there, or its own result; a name twice or of other letters; a backbone that is no .ini, .tflite or .onnx
// file, one that names itself, by others too, or a backbone of a backbone and so on to a depth of 8; a part that cannot be unrolled;
// shared_from names a layer of another type. E0201: a backbone's .ini file cannot be read.
[[nodiscard]] Result<Network> read_network(Text file);

}  // namespace pantoum::ini
