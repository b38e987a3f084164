// The operators of TensorFlow Lite, each as nodes of the builder.
#pragma once

#include <cstddef>
#include <string>

#include "tflite/network.h"

namespace pantoum::tflite {

// One operator of the file, and where it is built.
struct Site {
  Network& network;
  const schema::Operator& op;
  size_t position;  // among the operators
  std::string type;  // "CONV_2D"

  [[nodiscard]] size_t input_count() const { return op.inputs() == nullptr ? 0 : op.inputs()->size(); }
  // kNoTensor where it is left out.
  [[nodiscard]] int input(size_t at) const {
    return at < input_count() ? op.inputs()->Get(static_cast<flatbuffers::uoffset_t>(at)) : kNoTensor;
  }
  [[nodiscard]] int output() const { return op.outputs()->Get(0); }
  [[nodiscard]] std::string where() const;
};

// Is there a rule for operators of this code?
[[nodiscard]] bool is_known(schema::Operators code);

// Which table of settings operators of this code have; NONE: none that is read.
[[nodiscard]] schema::Options options_of(schema::Operators code);

// Builds the operator, which is known; its output is then a value of the network, or stands for a constant.
//   errors  E0215 operands, shapes or settings that do not fit; E0401 a form of the operator that is not read
[[nodiscard]] Result<void> build_operator(Site& site);

}  // namespace pantoum::tflite
