#include "cli/output.h"

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/foreign_text.h"
#include "base/json_text.h"
#include "base/system_calls.h"

namespace pantoum::cli {
namespace {

int failed_with = 0;  // errno of the first write to stdout that failed

// stdio's own buffer goes first, so that what others printed (the parser's help) keeps its place.
void write_out(const std::string& text) {
  std::cout.flush();
  if (std::fflush(stdout) != 0 && failed_with == 0) failed_with = errno;
  if (!base::write_all(fileno(stdout), text) && failed_with == 0) failed_with = errno;
}

}  // namespace

void print_result(std::string_view text) {
  write_out(base::visible_lines(text));
}

void print_message(std::string_view text) {
  const std::string visible = base::visible_lines(text);
  std::fwrite(visible.data(), 1, visible.size(), stderr);
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
