#include "cli/line/paint.h"

#include <unistd.h>

#include <cstdlib>

namespace pantoum::cli {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

const char* code_of(Ink ink) {
  switch (ink) {
    case Ink::kError:
      return "1;31";
    case Ink::kWarning:
      return "1;33";
    case Ink::kNote:
      return "1;36";
    case Ink::kHelp:
      return "1;32";
    case Ink::kHeading:
      return "1";
  }
  return "0";
}

struct Start {
  std::string_view text;
  Ink ink;
};
constexpr Start kStarts[] = {
    {"error", Ink::kError}, {"warning:", Ink::kWarning}, {"note:", Ink::kNote}, {"  help:", Ink::kHelp}};

std::string painted_line(std::string_view line) {
  for (const Start& start : kStarts) {
    if (!line.starts_with(start.text)) continue;
    const size_t end = line.find(':');
    if (end == std::string_view::npos) break;
    return in(start.ink, line.substr(0, end + 1), true) + std::string(line.substr(end + 1));
  }
  return std::string(line);
}

}  // namespace

bool is_painted(int descriptor) {
  if (is_set("NO_COLOR")) return false;
  const char* force = std::getenv("CLICOLOR_FORCE");
  if (force != nullptr && *force != '\0' && std::string_view(force) != "0") return true;
  const char* terminal = std::getenv("TERM");
  return ::isatty(descriptor) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::string in(Ink ink, std::string_view text, bool painted) {
  if (!painted) return std::string(text);
  return std::string("\033[") + code_of(ink) + "m" + std::string(text) + "\033[0m";
}

std::string painted_message(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    all += painted_line(text.substr(0, end));
    if (end == std::string_view::npos) break;
    all += '\n';
    text.remove_prefix(end + 1);
  }
  return all;
}

}  // namespace pantoum::cli
