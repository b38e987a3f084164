#include "base/printable.h"

#include <fmt/format.h>

namespace pantoum::base {

std::string printable(const std::string& text) {
  std::string shown;
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    const bool moves = (code < 0x20 && byte != '\n' && byte != '\t') || code == 0x7f;
    shown += moves ? fmt::format("\\x{:02x}", code) : std::string(1, byte);
  }
  return shown;
}

std::vector<std::string> printable(std::vector<std::string> texts) {
  for (std::string& text : texts) text = printable(text);
  return texts;
}

}  // namespace pantoum::base
