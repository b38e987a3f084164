#include "base/foreign_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace pantoum::base {
namespace {

struct Letter {
  char32_t code = 0;
  size_t bytes = 0;  // 0: no UTF-8 begins here
};

struct Utf8Form {
  unsigned mask, mark;
  size_t bytes;
  char32_t least;  // a shorter form would hold what is below it
};
constexpr Utf8Form kForms[] = {
    {0x80, 0x00, 1, 0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}};

unsigned byte_at(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]);
}

Letter letter_at(std::string_view text, size_t at) {
  const unsigned first = byte_at(text, at);
  for (const Utf8Form& form : kForms) {
    if ((first & form.mask) != form.mark) continue;
    if (form.bytes > text.size() - at) return {};
    char32_t code = first & ~form.mask;
    for (size_t more = 1; more < form.bytes; ++more) {
      const unsigned next = byte_at(text, at + more);
      if ((next & 0xC0) != 0x80) return {};
      code = code << 6 | (next & 0x3F);
    }
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code < form.least || surrogate || code > 0x10FFFF ? Letter{} : Letter{code, form.bytes};
  }
  return {};
}

// Is it a control, an end of a line or paragraph, or something that reorders or hides the letters beside it?
bool is_unseen(char32_t code) {
  constexpr char32_t kRanges[][2] = {{0x00, 0x1F},     {0x7F, 0x9F},      {0x61C, 0x61C},   {0x200B, 0x200B},
                                     {0x200E, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F}, {0xFEFF, 0xFEFF},
                                     {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const char32_t* range) { return code >= range[0] && code <= range[1]; });
}

std::string shown(char32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  const auto number = static_cast<uint32_t>(code);
  if (number < 0x80) return fmt::format("\\x{:02x}", number);
  return number < 0x10000 ? fmt::format("\\u{:04x}", number) : fmt::format("\\U{:08x}", number);
}

std::string visible(std::string_view text, bool keeps_lines) {
  std::string made;
  for (size_t at = 0; at < text.size();) {
    const Letter letter = letter_at(text, at);
    if (letter.bytes == 0) {
      made += fmt::format("\\x{:02x}", byte_at(text, at));
    } else if (is_unseen(letter.code) && !(keeps_lines && letter.code == '\n')) {
      made += shown(letter.code);
    } else {
      made += text.substr(at, letter.bytes);
    }
    at += std::max<size_t>(1, letter.bytes);
  }
  return made;
}

// The text with `before` in front of each letter that is one of `marks`.
std::string marked(std::string_view text, std::string_view marks, char before) {
  std::string made;
  for (const char letter : text) {
    if (marks.find(letter) != std::string_view::npos) made += before;
    made += letter;
  }
  return made;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (size_t at = 0, size = 0; at < text.size(); at += size)
    if (size = letter_at(text, at).bytes; size == 0) return false;
  return true;
}

std::string one_line(std::string_view text) {
  return visible(text, false);
}

std::string visible_lines(std::string_view text) {
  return visible(text, true);
}

std::string html_text(std::string_view text) {
  std::string made;
  for (const char letter : one_line(text)) {
    const bool special = std::string_view("&<>\"'`").find(letter) != std::string_view::npos;
    made += special ? fmt::format("&#{};", static_cast<int>(letter)) : std::string(1, letter);
  }
  return made;
}

std::string c_comment(std::string_view text) {
  std::string made;
  for (const char letter : one_line(text)) {
    const char before = made.empty() ? ' ' : made.back();
    const bool pair =
        (before == '*' && letter == '/') || (before == '/' && letter == '*') || (before == '?' && letter == '?');
    made += pair ? std::string{' ', letter} : std::string(1, letter);
  }
  return made;
}

std::string markdown_text(std::string_view text) {
  return marked(one_line(text), "\\`*_[]<>&|#~$!", '\\');
}

std::string shell_word(std::string_view text) {
  const auto plain = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           std::string_view("/._-+,:@").find(letter) != std::string_view::npos;
  };
  const std::string word = (text.starts_with('-') ? "./" : "") + std::string(text);
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string made = "'";
  for (const char letter : word) made += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return made + "'";
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  return "\"" + marked(text, "\"", '"') + "\"";
}

}  // namespace pantoum::base
