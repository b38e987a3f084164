// Nodes and values of a builder as messages of ONNX.
#pragma once

#include <string>

#include "import/onnx_proto.h"
#include "layers/state.h"

namespace pantoum::layers {

inline constexpr int64_t kOpset = 21, kIrVersion = 10;

// An empty model of these versions; `domain`, if it is another, is imported too.
void begin_model(onnx::ModelProto& model, const std::string& name);
void import_domain(onnx::ModelProto& model, const std::string& domain);

void write_attributes(onnx::NodeProto& node, const Attributes& attributes);

// An initializer, marked as PyTorch's exporter marks them: trained, or not.
void write_tensor(onnx::TensorProto& tensor, const std::string& name, DType dtype, const Shape& shape,
                  const Bytes& elements, bool trained);

// An extent of -1 is the batch, under its name.
void write_value(onnx::ValueInfoProto& value, const std::string& name, DType dtype, const Shape& shape);

}  // namespace pantoum::layers
