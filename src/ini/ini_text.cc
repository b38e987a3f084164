#include "ini/ini_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace pantoum::ini {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

// `text` without blanks at its end.
std::string_view without_end_blanks(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// A line, with those that continue it.
struct Line {
  std::string text;
  int number = 0;
};

// Takes the next line off `rest`; joins the lines that a backslash at the end continues. Blanks in front of these stay: they part words.
Line take_line(std::string_view& rest, int& number) {
  Line line{.number = number + 1};
  for (bool continued = true; continued;) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view part = without_end_blanks(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    continued = part.ends_with('\\') && !rest.empty();
    line.text += part.substr(0, part.size() - (part.ends_with('\\') ? 1 : 0));
  }
  line.text = trimmed(line.text);
  return line;
}

bool is_comment(std::string_view line) {
  return line.starts_with('#') || line.starts_with(';');
}

// The value behind '=': in quotes, or up to a comment. Without a closing quote the value reaches to the end of the line, as iniparser has it.
std::string value_in(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 1 && (text.front() == '"' || text.front() == '\'')) {
    const std::string_view inside = text.substr(1);
    return std::string(inside.substr(0, inside.find(text.front())));
  }
  return std::string(trimmed(text.substr(0, text.find_first_of("#;"))));
}

class LineReader {
 public:
  explicit LineReader(const std::string& path) { text_.path = path; }

  Result<Text> read(std::string_view bytes) {
    if (bytes.size() > kMostBytes)
      return fail("E0214", fmt::format("the file has {} bytes, more than {}", bytes.size(), kMostBytes), text_.path);
    if (bytes.find('\0') != std::string_view::npos)
      return fail("E0214", "the file has a byte of 0, and is no text", text_.path);
    if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
    for (int number = 0; !bytes.empty();) PANTOUM_TRY(take(take_line(bytes, number)));
    return std::move(text_);
  }

 private:
  Text text_;
  std::map<std::string, size_t, std::less<>> places_;
  size_t open_ = SIZE_MAX;  // the section that the next key belongs to

  Result<void> take(const Line& line) {
    if (line.text.empty() || is_comment(line.text)) return {};
    if (line.text.size() > kMostLineBytes)
      return refuse(line, fmt::format("the line has {} bytes, more than {}", line.text.size(), kMostLineBytes),
                    "shorten it: NNTrainer reads no longer ones, either");
    if (line.text.front() == '[') return begin_section(line);
    const size_t equals = line.text.find('=');
    const std::string key = lower_case(trimmed(std::string_view(line.text).substr(0, equals)));
    if (equals == std::string::npos || key.empty())
      return refuse(line, "this line is no section, no comment, and no key = value",
                    "write key = value, or # in front");
    if (open_ == SIZE_MAX) return refuse(line, "a key stands before the first section", "write [model] above it");
    const std::string value = value_in(std::string_view(line.text).substr(equals + 1));
    if (value.empty())
      return refuse(line, fmt::format("the key '{}' has no value", key), "give it one, or delete the line");
    put({key, value, line.number});
    if (text_.sections[open_].entries.size() > kMostKeys)
      return refuse(line, fmt::format("the section has more than {} keys", kMostKeys), "delete what is no key of it");
    return {};
  }

  Result<void> begin_section(const Line& line) {
    if (line.text.back() != ']')
      return refuse(line, "this section does not end in ]", "write [name] alone in its line, and a comment in another");
    const std::string name = lower_case(trimmed(std::string_view(line.text).substr(1, line.text.find(']') - 1)));
    const auto [place, is_new] = places_.emplace(name, text_.sections.size());
    if (is_new) text_.sections.push_back({name, line.number, {}});
    if (text_.sections.size() > kMostSections)
      return refuse(line, fmt::format("the file has more than {} sections", kMostSections), "split the network");
    open_ = place->second;
    return {};
  }

  void put(Entry entry) {
    std::vector<Entry>& entries = text_.sections[open_].entries;
    const auto same =
        std::find_if(entries.begin(), entries.end(), [&](const Entry& each) { return each.key == entry.key; });
    if (same == entries.end())
      entries.push_back(std::move(entry));
    else
      *same = std::move(entry);
  }

  Failure refuse(const Line& line, const std::string& problem, const std::string& help) const {
    return fail("E0214", problem, place_of(text_.path, line.number), help);
  }
};

}  // namespace

const Entry* Section::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& each) { return each.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

const Section* Text::find(std::string_view name) const {
  const auto found =
      std::find_if(sections.begin(), sections.end(), [&](const Section& each) { return each.name == name; });
  return found == sections.end() ? nullptr : &*found;
}

Result<Text> parse_ini(std::string_view bytes, const std::string& path) {
  return LineReader(path).read(bytes);
}

std::string place_of(const std::string& path, int line) {
  return fmt::format("{}:{}", path, line);
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return lower;
}

std::vector<std::string> comma_list(std::string_view text) {
  std::vector<std::string> parts;
  for (bool more = !trimmed(text).empty(); more;) {
    const size_t comma = text.find(',');
    parts.emplace_back(trimmed(text.substr(0, comma)));
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return parts;
}

}  // namespace pantoum::ini
