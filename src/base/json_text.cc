#include "base/json_text.h"

#include <nlohmann/json.hpp>

namespace pantoum::base {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kOpenDepth = 2;

bool holds_objects(const Json& value) {
  return value.is_array() && !value.empty() && value.front().is_object();
}

bool opens(const Json& value, int depth) {
  if (holds_objects(value)) return true;
  if (!value.is_object() || depth >= kOpenDepth) return false;
  if (depth == 0) return true;
  for (const auto& member : value)
    if (holds_objects(member)) return true;
  return false;
}

void write(const Json& value, int depth, std::string& text) {
  if (!opens(value, depth)) {
    text += ascii_json(value);
    return;
  }
  const std::string indent(static_cast<size_t>(depth + 1) * 2, ' ');
  text += value.is_object() ? "{" : "[";
  const char* separator = "\n";
  for (const auto& [key, member] : value.items()) {
    text += separator + indent;
    separator = ",\n";
    if (value.is_object()) {
      text += ascii_json(Json(key)) + ": ";
      write(member, depth + 1, text);
    } else {
      text += ascii_json(member);
    }
  }
  text += "\n" + indent.substr(2) + (value.is_object() ? "}" : "]");
}

}  // namespace

std::string ascii_json(const Json& document, int indent) {
  return document.dump(indent, ' ', true, Json::error_handler_t::replace);
}

std::string json_text(const Json& document) {
  std::string text;
  write(document, 0, text);
  return text + "\n";
}

}  // namespace pantoum::base
