// The names of ONNX's message classes, for headers. onnx_messages.h defines them.
#pragma once

namespace google::protobuf {
class Message;
}

namespace onnx {

class AttributeProto;
class GraphProto;
class ModelProto;
class NodeProto;
class TensorShapeProto;
class TensorShapeProto_Dimension;
class TensorProto;
class ValueInfoProto;

}  // namespace onnx
