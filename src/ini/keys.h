// Reads the keys of one section by their types. Example:
//
//   Keys keys(section, path);
//   const int64_t units = keys.whole("unit", 1, std::nullopt);   // required
//   const bool bias = !keys.boolean("disable_bias", false);
//   PANTOUM_TRY(keys.done());                                    // the first problem, or a key that nothing read
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ini/ini_text.h"

namespace pantoum::ini {

class Keys {
 public:
  // Both have to outlive this.
  Keys(const Section& section, const std::string& path) : section_(section), path_(path) {}

  // The value as it stands; nullptr where the key is absent.
  const Entry* entry(std::string_view key);
  // Absent: `otherwise`; without it the key is required.
  std::string text(std::string_view key, std::optional<std::string> otherwise = std::nullopt);
  int64_t whole(std::string_view key, int64_t least, std::optional<int64_t> otherwise);
  double number(std::string_view key, double least, double most, std::optional<double> otherwise);
  bool boolean(std::string_view key, bool otherwise);
  // One of `words`, in lower case.
  std::string word(std::string_view key, const std::vector<std::string>& words, std::optional<std::string> otherwise);
  // Several whole numbers between commas: at least 1, at most `most` of them; empty where the key is absent.
  std::vector<int64_t> wholes(std::string_view key, int64_t least, size_t most);
  std::vector<double> numbers(std::string_view key, double least, double most);
  // The key may stand there and changes nothing here.
  void ignore(std::string_view key) { (void)entry(key); }

  // Notes the problem of a key, or with "" of the section; the first one counts.
  void refuse(std::string_view key, const std::string& problem, const std::string& help);
  [[nodiscard]] bool has_problem() const { return problem_.has_value(); }
  // "net.ini:12".
  [[nodiscard]] std::string place() const { return place_of(path_, section_.line); }
  [[nodiscard]] const Section& section() const { return section_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  // E0214: the first problem; a key that nothing read, with the nearest one that something read.
  [[nodiscard]] Result<void> done() const;

 private:
  const Section& section_;
  const std::string& path_;
  std::set<std::string, std::less<>> read_;
  std::optional<Error> problem_;

  void refuse_missing(std::string_view key);
  std::optional<int64_t> whole_in(std::string_view key, const std::string& text, int64_t least);
  std::optional<double> number_in(std::string_view key, const std::string& text, double least, double most);
};

}  // namespace pantoum::ini
