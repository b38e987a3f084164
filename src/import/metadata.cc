#include "import/metadata.h"

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include "import/onnx_messages.h"

namespace pantoum::import {

std::map<std::string, std::string> read_metadata(const google::protobuf::Message& message, MetadataField field) {
  std::map<std::string, std::string> entries;
  const auto take = [&](const std::string& bytes) {
    onnx::StringStringEntryProto entry;
    if (entry.ParseFromString(bytes)) entries.emplace(entry.key(), entry.value());
  };
  const int number = static_cast<int>(field);
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int at = 0; at < unknown.field_count(); ++at) {
    const auto& each = unknown.field(at);
    if (each.number() == number && each.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      take(each.length_delimited());
  }
  // Newer message classes know the field.
  if (const auto* known = message.GetDescriptor()->FindFieldByNumber(number);
      known != nullptr && known->is_repeated() && known->name() == "metadata_props") {
    const int count = message.GetReflection()->FieldSize(message, known);
    for (int at = 0; at < count; ++at)
      take(message.GetReflection()->GetRepeatedMessage(message, known, at).SerializeAsString());
  }
  return entries;
}

}  // namespace pantoum::import
