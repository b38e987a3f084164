// The wire format of protocol buffers (https://protobuf.dev/programming-guides/encoding): a message is a series of fields, each a key and a
// value; of a field that is there twice the last one counts, and messages that are there twice are merged.
#include "import/message_parts.h"

#include <cstdint>

namespace pantoum::import {
namespace {

constexpr uint64_t kGraph = 7;        // of ModelProto
constexpr uint64_t kInitializer = 5;  // of GraphProto
constexpr uint64_t kRawData = 9;      // of TensorProto
constexpr unsigned kLengthDelimited = 2;

struct Field {
  size_t begin = 0, value = 0,
         end = 0;  // in the file; `value`: behind the key, and behind the length where there is one
  uint64_t number = 0;
  unsigned wire = 0;
};

// Reads the fields of a message that is bytes [at, end) of the file.
class Fields {
 public:
  Fields(std::span<const std::byte> file, size_t at, size_t end) : file_(file), at_(at), end_(end) {}

  [[nodiscard]] bool at_end() const { return at_ == end_; }

  std::optional<Field> next() {
    Field field{.begin = at_};
    const std::optional<uint64_t> key = varint();
    if (!key || *key >> 3 == 0) return std::nullopt;
    field.number = *key >> 3;
    field.wire = static_cast<unsigned>(*key & 7);
    const std::optional<uint64_t> size = size_of_value(field.wire);
    if (!size || *size > end_ - at_) return std::nullopt;
    field.value = at_;
    field.end = at_ += static_cast<size_t>(*size);
    return field;
  }

 private:
  // Bytes of the value from at_ on. None: the wire type is none that ONNX has.
  std::optional<uint64_t> size_of_value(unsigned wire) {
    const size_t before = at_;
    switch (wire) {
      case 0: {
        const bool whole = varint().has_value();
        const size_t size = at_ - before;
        at_ = before;
        return whole ? std::optional<uint64_t>(size) : std::nullopt;
      }
      case 1:
        return 8;
      case kLengthDelimited:
        return varint();
      case 5:
        return 4;
      default:
        return std::nullopt;
    }
  }

  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at_ < end_; shift += 7) {
      const auto byte = static_cast<uint64_t>(file_[at_++]);
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }

  std::span<const std::byte> file_;
  size_t at_, end_;
};

void put_varint(uint64_t value, std::string& to) {
  for (; value > 0x7f; value >>= 7) to.push_back(static_cast<char>((value & 0x7f) | 0x80));
  to.push_back(static_cast<char>(value));
}

class Parter {
 public:
  explicit Parter(std::span<const std::byte> file) : file_(file) {}

  std::optional<MessageParts> model() {
    MessageParts parts;
    const bool whole = each_field({.end = file_.size()}, parts.message, [&](const Field& field, std::string& to) {
      return field.number == kGraph && graph(field, to);
    });
    if (!whole || failed_ || contents_of_.empty()) return std::nullopt;
    parts.contents_of = std::move(contents_of_);
    return parts;
  }

 private:
  // Copies the fields of a message but for those that `take` takes. False: it is no message.
  template <class Take>
  bool each_field(const Field& message, std::string& to, const Take& take) {
    Fields fields(file_, message.value, message.end);
    while (!fields.at_end()) {
      const std::optional<Field> field = fields.next();
      if (!field) return false;
      if (field->wire == kLengthDelimited && take(*field, to)) continue;
      to.append(reinterpret_cast<const char*>(file_.data()) + field->begin, field->end - field->begin);
    }
    return true;
  }

  bool put_message(uint64_t number, const std::string& message, std::string& to) {
    put_varint(number << 3 | kLengthDelimited, to);
    put_varint(message.size(), to);
    to += message;
    return true;
  }

  bool graph(const Field& graph, std::string& to) {
    std::string message;
    const bool whole = each_field(graph, message, [&](const Field& field, std::string& into) {
      return field.number == kInitializer && initializer(field, into);
    });
    failed_ = failed_ || !whole;
    return put_message(kGraph, message, to);
  }

  bool initializer(const Field& tensor, std::string& to) {
    const int position = initializers_++;
    if (tensor.end - tensor.value < kLargeContents) return false;
    std::string message;
    const bool whole = each_field(tensor, message, [&](const Field& field, std::string&) {
      if (field.number != kRawData) return false;
      contents_of_.erase(position);
      if (field.end - field.value < kLargeContents) return false;
      contents_of_[position] = {.at = field.value, .size = field.end - field.value};
      return true;
    });
    failed_ = failed_ || !whole;
    return put_message(kInitializer, message, to);
  }

  std::span<const std::byte> file_;
  std::map<int, ContentsPlace> contents_of_;
  int initializers_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<MessageParts> part_message(std::span<const std::byte> file) {
  return Parter(file).model();
}

}  // namespace pantoum::import
