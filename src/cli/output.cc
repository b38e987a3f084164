#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/foreign_text.h"
#include "base/json_text.h"
#include "base/system_calls.h"
#include "cli/line/paint.h"
#include "cli/status_line.h"

namespace pantoum::cli {
namespace {

int failed_with = 0;            // errno of the first write to stdout that failed
bool stdout_is_a_file = false;  // which nothing else is written to
bool json_notes = false;
std::function<std::string(std::string)> message_names;

// stdio's own buffer goes first, so that what others printed (the parser's help) keeps its place.
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

void print_remark(const char* kind, std::string_view text) {
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
  if (error == 0) return {};
  errno = error;
  return fail("E0901", "cannot write the result: " + base::system_reason(), "standard output",
              "what was written to files is whole; lead the output elsewhere");
}

}  // namespace pantoum::cli
