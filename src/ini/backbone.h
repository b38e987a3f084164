// A backbone of another format than .ini: a whole network that stands where its section does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ini/layer_types.h"
#include "ini/network.h"
#include "layers/part.h"

namespace pantoum::ini {

class Backbone {
 public:
  // The file that the layer names, which has to outlive this. E0214 with the layer's line: it has no input or several outputs, or more dimensions than
  // layers here have. The errors of ONNX and TensorFlow Lite files, with the layer's line too.
  [[nodiscard]] static Result<Backbone> read(const NetworkLayer& layer);

  // What was read otherwise than the file has it.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  // The shape of a sample, channels:rows:columns as the section gives it or, without one, as the file has it: of a backbone that reads no layer.
  // E0214: another shape than the file's; none where the file leaves it open; the file has several inputs.
  [[nodiscard]] Result<std::vector<int64_t>> sample_shape(const std::optional<std::vector<int64_t>>& given) const;

  // The output [N,C,H,W] at the site's inputs. What trains is added to the site's stored tensors. E0214: the inputs are others than the file's, or the
  // output has no form that a layer could read. E0207, E0211, E0401: the network cannot be joined.
  [[nodiscard]] Result<Tensor> join(LayerSite& site) const;

 private:
  Backbone(const NetworkLayer& layer, layers::PartSource source) : layer_(&layer), source_(std::move(source)) {}

  const NetworkLayer* layer_;
  layers::PartSource source_;
  bool is_tflite_ = false;
  std::vector<std::string> notes_;

  [[nodiscard]] Failure refuse(const char* key, const std::string& problem, const std::string& help) const;
  [[nodiscard]] Failure refused(Error error) const;
  [[nodiscard]] Failure other_shape(const layers::PartInput& input, const std::vector<int64_t>& given) const;
};

}  // namespace pantoum::ini
