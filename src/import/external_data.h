// Tensor contents that lie in files beside the model.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "base/mapped_file.h"
#include "import/onnx_proto.h"
#include "import/shapes.h"

namespace pantoum::import {

// Reads pieces of regular files inside one folder. A piece that several tensors name is read once; all pieces of one
// file together may be at most twice as long as the file, so that a small model cannot ask for unbounded memory.
class ExternalData {
 public:
  // `folder`: where relative locations start; "" is the current folder. `allowed` false: every read is refused.
  explicit ExternalData(std::string folder, bool allowed = true) : folder_(std::move(folder)), allowed_(allowed) {}

  // The `bytes` bytes that the message's external_data names. E0206: no or a wrong location (absolute, outside the
  // folder), a missing or short file, an offset or length that does not fit.
  [[nodiscard]] Result<ir::Data> read(const onnx::TensorProto& message, int64_t bytes, const std::string& where);

 private:
  struct File {
    std::string path;
    int64_t size = 0, read = 0;
    std::shared_ptr<const base::MappedFile> mapped;  // where a tensor of it is large
  };
  [[nodiscard]] Result<File*> open(const std::string& location, const std::string& where);

  std::string folder_;
  bool allowed_;
  std::map<std::string, File> files_;
  std::map<std::tuple<std::string, int64_t, int64_t>, ir::Data> pieces_;
};

}  // namespace pantoum::import
