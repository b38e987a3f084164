#include "emit/c_text.h"

#include <fmt/format.h>

#include <iterator>

namespace pantoum::emit {

std::string byte_array(const std::string& name, std::span<const std::byte> bytes, uint32_t alignment) {
  std::string text = fmt::format("static const uint8_t {}[{}] __attribute__((aligned({}))) = {{", name,
                                 bytes.empty() ? 1 : bytes.size(), alignment);
  for (size_t at = 0; at < bytes.size(); ++at)
    fmt::format_to(std::back_inserter(text), "{}{},", at % 24 == 0 ? "\n" : "", static_cast<unsigned>(bytes[at]));
  return text + (bytes.empty() ? "0};\n" : "\n};\n");
}

std::string literal(double value) {
  return fmt::format("{:a}", value);
}

std::string literal(float value) {
  return fmt::format("{:a}f", value);
}

}  // namespace pantoum::emit
