// Any bytes as a name: what is written for a terminal, HTML, a comment, Markdown, a shell, CSV and JSON holds nothing that the place reads as its own.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/foreign_text.h"
#include "base/json_text.h"

namespace base = pantoum::base;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool has_control(std::string_view text) {
  for (const char letter : text)
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) return true;
  return false;
}

bool is_utf8(std::string_view text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

// What a POSIX shell makes of one word that is plain or in single quotes.
std::string unquoted(std::string_view word) {
  std::string text;
  bool quoted = false;
  for (size_t at = 0; at < word.size(); ++at) {
    if (word[at] == '\'')
      quoted = !quoted;
    else
      text += !quoted && word[at] == '\\' ? word[++at] : word[at];
  }
  return quoted ? "an open quote" : text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  const std::string line = base::one_line(name), html = base::html_text(name),
                    comment = " " + base::c_comment(name) + " ";
  for (const std::string& text : {line, html, comment, base::markdown_text(name)})
    require(!has_control(text) && is_utf8(text));
  require(base::one_line(line) == line);
  require(html.find_first_of("<>\"'`") == std::string::npos);
  for (const char* mark : {"*/", "/*", "?\?"}) require(comment.find(mark) == std::string::npos);
  const std::string word = base::shell_word(name);
  require(!word.empty() && word[0] != '-' && unquoted(word) == (name.starts_with('-') ? "./" : "") + std::string(name));
  require(base::is_utf8(name) == is_utf8(name));
  const std::string json = base::ascii_json(nlohmann::ordered_json(std::string(name)));
  require(!has_control(json));
  for (const char letter : json) require(static_cast<unsigned char>(letter) < 0x80);
  if (is_utf8(name)) require(nlohmann::json::parse(json).get<std::string>() == name);
  const std::string field = base::csv_field(name);
  require(field == name || (field.front() == '"' && field.back() == '"'));
  return 0;
}
