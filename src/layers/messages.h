// How models, tensors and values of a builder are written as messages of ONNX.
#pragma once

#include <string>

#include "import/onnx_messages.h"
#include "layers/state.h"

namespace pantoum::layers {

// The operator set of every model that is written.
inline constexpr int64_t kOpset = 21;

// An empty model of IR 10.
void begin_model(onnx::ModelProto& model, const std::string& name);
// Another domain than ONNX's own is imported too.
void import_domain(onnx::ModelProto& model, const std::string& domain);
void write_attributes(onnx::NodeProto& node, const Attributes& attributes);
// An initializer, marked as PyTorch's exporter marks them: trained, or not.
void write_tensor(onnx::TensorProto& tensor, const std::string& name, DType dtype, const Shape& shape,
                  const Bytes& elements, bool trained);
// An extent of -1 is the batch, under its name.
void write_value(onnx::ValueInfoProto& value, const std::string& name, DType dtype, const Shape& shape);
void write_identity(onnx::GraphProto& graph, const std::string& name, const std::string& from, const std::string& to);

}  // namespace pantoum::layers
