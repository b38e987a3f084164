#include "cli/output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/foreign_text.h"
#include "base/json_text.h"

namespace pantoum::cli {
namespace {

void write_to(std::FILE* stream, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stream);
}

}  // namespace

void print_result(std::string_view text) {
  write_to(stdout, base::visible_lines(text));
}

void print_message(std::string_view text) {
  write_to(stderr, base::visible_lines(text));
}

void print_json(const nlohmann::ordered_json& json, int indent) {
  write_to(stdout, base::ascii_json(json, indent) + "\n");
}

}  // namespace pantoum::cli
