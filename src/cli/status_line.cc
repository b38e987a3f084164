#include "cli/status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "base/system_calls.h"

namespace pantoum::cli {
namespace {

constexpr size_t kOtherwise = 80, kLeast = 20, kMost = 500;
constexpr std::string_view kClear = "\r\033[K";

std::mutex printing;
bool line_stands = false;

size_t columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* text = std::getenv("COLUMNS");
  const long asked = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return asked > 0 ? static_cast<size_t>(asked) : kOtherwise;
}

// As much of the text as fits; letters beyond ASCII may be two columns wide, and are not cut.
std::string_view fitting(std::string_view text, size_t width) {
  size_t used = 0, at = 0;
  while (at < text.size()) {
    size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    used += end - at > 1 ? 2 : 1;
    if (used > width) break;
    at = end;
  }
  return text.substr(0, at);
}

void put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = base::uninterrupted([&] { return ::write(STDERR_FILENO, text.data(), text.size()); });
    if (written <= 0) return;  // nobody is there to be told
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void clear() {
  if (line_stands) put(kClear);
  line_stands = false;
}

}  // namespace

bool has_status_line() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

void show_status(std::string_view text) {
  const std::lock_guard lock(printing);
  std::array<char, kMost + 16> line;
  const bool rewritten = has_status_line();
  const size_t width = std::clamp(columns() - 1, kLeast, kMost);
  const std::string_view shown = rewritten ? fitting(text, width) : text.substr(0, kMost);
  char* end = rewritten ? std::copy(kClear.begin(), kClear.end(), line.begin()) : line.begin();
  end = std::copy(shown.begin(), shown.end(), end);
  if (!rewritten) *end++ = '\n';
  put({line.data(), static_cast<size_t>(end - line.begin())});
  line_stands = rewritten;
}

void clear_status() {
  const std::lock_guard lock(printing);
  clear();
}

void write_message(std::string_view text) {
  const std::lock_guard lock(printing);
  clear();
  std::fflush(stderr);
  put(text);
}

}  // namespace pantoum::cli
