// The grammar of NNTrainer's model files, which is that of iniparser 3.2 and later:
//
//   # a comment          ; another
//   [section]
//   key = value          # values may stand in quotes: 'a # b', "a"
//   key = first \        a backslash at the end of a line continues it
//         second
//
// A continued line keeps the blanks in front of it. A quote that nothing closes reaches to the end of its line. A section's name ends at the first ].
// Names of sections and keys are lower-cased. Sections of the same name merge; of two values of a key the last counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pantoum::ini {

struct Entry {
  std::string key, value;
  int line = 0;  // from 1
};

struct Section {
  std::string name;
  int line = 0;
  std::vector<Entry> entries;

  [[nodiscard]] const Entry* find(std::string_view key) const;
};

struct Text {
  std::string path;
  std::vector<Section> sections;  // in the order of their first lines

  [[nodiscard]] const Section* find(std::string_view name) const;
};

inline constexpr size_t kMostBytes = size_t{1} << 22;
inline constexpr size_t kMostSections = 20000, kMostKeys = 1000;  // of a file, of a section
inline constexpr size_t kMostLineBytes = 1 << 16;                 // with those that continue it; NNTrainer takes 1,024

// E0214: a line is none of these (the error names it), a key stands before the first section, a byte is zero, or one of these limits is passed.
[[nodiscard]] Result<Text> parse_ini(std::string_view bytes, const std::string& path);

// "net.ini:12".
[[nodiscard]] std::string place_of(const std::string& path, int line);

// `text` without blanks at both ends; in lower case.
[[nodiscard]] std::string_view trimmed(std::string_view text);
[[nodiscard]] std::string lower_case(std::string_view text);
// The parts between commas, trimmed. An empty text has none.
[[nodiscard]] std::vector<std::string> comma_list(std::string_view text);

}  // namespace pantoum::ini
