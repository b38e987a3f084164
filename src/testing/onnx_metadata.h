// Metadata of an ONNX message, as newer exporters write it. Tests only.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <string>

#include "import/parameter_marks.h"
#include "import/onnx_messages.h"

namespace pantoum::import {

// Appends an entry to the message's metadata_props, which the installed message classes do not know.
inline void annotate(google::protobuf::Message& message, MetadataField field, const std::string& key,
                     const std::string& value) {
  onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(static_cast<int>(field),
                                                                              entry.SerializeAsString());
}

}  // namespace pantoum::import
