// What a file is, by its bytes and not by its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pantoum::base {

enum class Contents : uint8_t {
  kUnknown,  // an ONNX model, for one: protobuf has no mark of its own
  kStream,   // a pipe, a device: not looked at
  kEmpty,
  kFolder,
  kSavedModel,
  kTorchZip,
  kTorchScript,
  kTorchExport,
  kPickle,
  kSafetensors,
  kTorchGraph,
  kTflite,
  kHdf5,
  kKerasZip,
  kNpz,
  kZip,
  kTar,
  kGzip,
  kIni,
  kOnnxText,
  kOrt,
  kGguf,
  kPlan,
  kBinaryPlan,
  kRefusal,
  kCostGraph,
  kSweep,
  kRunLog,
  kJson,
  kNpy,
  kImage,
  kProgram,
  kMarkup,
  kLfsPointer,
};

// Reads 64 KiB from either end at most; kUnknown also where the file cannot be read.
[[nodiscard]] Contents contents_of(const std::string& path);

// "a PyTorch checkpoint"; "" of kUnknown and kStream.
[[nodiscard]] std::string name_of(Contents contents);

struct Advice {
  std::vector<std::string> notes;  // what to type
  std::string help;
};

// What to do with a file of these contents where a model was asked for.
[[nodiscard]] Advice advice_on_model(Contents contents, const std::string& path);

// E0202 with what the file is and how a model is made of it, where it is known to be none of an ONNX model, a torch graph, a
// model of NNTrainer (.ini) and one of TensorFlow Lite.
[[nodiscard]] std::optional<Error> why_no_model(const std::string& path);

}  // namespace pantoum::base
