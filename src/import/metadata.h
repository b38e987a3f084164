// The metadata_props of nodes, values and tensors. The message classes of distributions are older than these fields and
// keep them as unknown ones.
#pragma once

#include <map>
#include <string>

namespace google::protobuf {
class Message;
}

namespace pantoum::import {

// Where ONNX (1.16 on) has metadata_props.
enum class MetadataField : int { kOfNode = 9, kOfValue = 4, kOfTensor = 16, kOfGraph = 16 };

// By key; of a key that is there twice the first value counts. Damaged entries are left out.
[[nodiscard]] std::map<std::string, std::string> read_metadata(const google::protobuf::Message& message,
                                                               MetadataField field);

}  // namespace pantoum::import
