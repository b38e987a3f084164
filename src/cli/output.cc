#include "cli/output.h"

#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>

#include "base/files.h"
#include "base/foreign_text.h"
#include "base/json_text.h"
#include "base/system_calls.h"
#include "cli/line/paint.h"

namespace pantoum::cli {

namespace {

int failed_with = 0;            // errno of the first write to stdout that failed
bool stdout_is_a_file = false;  // which nothing else is written to
bool json_notes = false;
bool notes_are_left_out = false;
std::function<std::string(std::string)> message_names;

// Flushes stdio's buffer first, so that text printed by others (the parser's help) keeps its place.
void write_out(const std::string& text) {
  if (!text.empty()) clear_status();
  std::cout.flush();
  if (std::fflush(stdout) != 0 && failed_with == 0) failed_with = errno;
  if (!base::write_all(fileno(stdout), text) && failed_with == 0) failed_with = errno;
}

}  // namespace

void print_result(std::string_view text) {
  if (stdout_is_a_file) return print_message(text);
  write_out(base::visible_lines(text));
}

void print_message(std::string_view text) {
  const std::string named = message_names ? message_names(std::string(text)) : std::string(text);
  const std::string visible = base::visible_lines(named);
  write_message(is_painted(STDERR_FILENO) ? painted_message(visible) : visible);
}

void keep_quiet() {
  notes_are_left_out = true;
}

bool is_quiet() {
  return notes_are_left_out;
}

void print_remark(const char* kind, std::string_view text) {
  if (notes_are_left_out && std::string_view(kind) == "note") return;
  if (json_notes) return print_message(base::ascii_json(nlohmann::ordered_json{{kind, text}}) + "\n");
  print_message(fmt::format("{}: {}\n", kind, base::one_line(std::string(text))));
}

void print_notes_as_json() {
  json_notes = true;
}

bool notes_are_json() {
  return json_notes;
}

void name_in_messages(std::function<std::string(std::string)> names) {
  message_names = std::move(names);
}

void print_bytes(std::string_view bytes) {
  write_out(std::string(bytes));
}

void keep_stdout_for_a_file() {
  stdout_is_a_file = true;
}

void print_json(const nlohmann::ordered_json& json, int indent) {
  write_out(base::ascii_json(json, indent) + "\n");
}

Result<void> check_printed() {
  write_out("");
  const int error = std::exchange(failed_with, 0);
  // A reader that ends, as `head`, has what it wanted; but a file that was led to it is not whole.
  if (error == 0 || (error == EPIPE && !stdout_is_a_file)) return {};
  errno = error;
  return fail("E0901", "cannot write the result: " + base::system_reason(), "standard output",
              "what was written to files is whole; lead the output elsewhere");
}

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

// The part of the text that fits into `width` columns. A letter beyond ASCII counts as two columns, and no letter is cut.
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
    if (written <= 0) return;  // stderr cannot be written: there is no other place for the message
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
