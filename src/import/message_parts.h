// The message of an ONNX file without the contents of its large initializers, which can so stay in the file.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace pantoum::import {

inline constexpr size_t kLargeContents = size_t{1} << 20;
// Of the message of a model, as protocol buffers have it.
inline constexpr size_t kMostModelBytes = (size_t{1} << 31) - 1;

// Where the raw contents of an initializer are: bytes [at, at + size) of the file.
struct ContentsPlace {
  size_t at = 0, size = 0;
};

struct MessageParts {
  std::string message;                       // of onnx.ModelProto
  std::map<int, ContentsPlace> contents_of;  // initializers, by their position in the graph
};

// Takes out raw contents of kLargeContents bytes or more. None: there are none, or the bytes are no message that this reads; the parser
// tells what is wrong with them.
[[nodiscard]] std::optional<MessageParts> part_message(std::span<const std::byte> file);

}  // namespace pantoum::import
