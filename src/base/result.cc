#include "base/result.h"

#include <cstdio>
#include <cstdlib>

#include "base/foreign_text.h"

namespace pantoum {

int exit_code(const Error& error) {
  const std::string& code = error.code;
  if (code == "E0999") return 130;
  if (code == "E0301") return 5;
  if (code == "E0303") return 7;
  if (code == "E0300") return 2;
  const std::string area = code.substr(0, 3);
  if (area == "E01") return 2;
  if (area == "E02") return 3;
  if (area == "E03") return 6;
  if (area == "E04") return 4;
  if (area == "E07") return 3;
  if (area == "E08") return 8;
  if (area == "E09") return 9;
  return 1;
}

std::string to_text(const Error& error) {
  std::string text = "error[" + error.code + "]: " + base::one_line(error.message) + "\n";
  if (!error.where.empty()) text += "  --> " + base::one_line(error.where) + "\n";
  for (const std::string& note : error.notes) text += "   = " + base::one_line(note) + "\n";
  if (!error.help.empty()) text += "  help: " + base::one_line(error.help) + "\n";
  return text;
}

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "internal error: %s does not hold at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace pantoum
