#include "pipeline/contributions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/foreign_text.h"
#include "base/lists.h"
#include "base/nearest_name.h"

namespace pantoum::pipeline {
namespace {

constexpr const char* kRows = "a row is a tensor and what training it contributes, as in: fc.weight,0.4";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t begin = text.find_first_not_of(kSpace);
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// Without the quotes around it; nullopt: a quote is open.
std::optional<std::string> unquoted(std::string_view text) {
  if (!text.starts_with('"')) return std::string(text);
  if (text.size() < 2 || !text.ends_with('"')) return std::nullopt;
  std::string name;
  for (size_t at = 1; at + 1 < text.size(); ++at) {
    if (text[at] == '"' && (text[++at] != '"' || at + 1 == text.size())) return std::nullopt;
    name += text[at];
  }
  return name;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string shown(std::string_view text) {
  constexpr size_t kShown = 60;
  return base::one_line(std::string(text.substr(0, kShown)) + (text.size() > kShown ? "..." : ""));
}

class Reader {
 public:
  Reader(const std::string& where, const std::vector<std::string>& trainable, const std::vector<std::string>& others)
      : where_(where), trainable_(trainable), others_(others) {}

  Result<void> add(std::string_view line) {
    ++line_;
    line = trimmed(line);
    if (line.empty() || line.starts_with('#')) return {};
    const bool first = !std::exchange(begun_, true);
    const size_t comma = line.rfind(',');  // names may have commas, numbers have none
    if (comma == std::string_view::npos) return wrong(fmt::format("'{}' has no comma", shown(line)), kRows);
    const std::string_view number = trimmed(line.substr(comma + 1));
    const std::optional<std::string> name = unquoted(trimmed(line.substr(0, comma)));
    if (!name) return wrong(fmt::format("the quotes of '{}' do not fit together", shown(line)), kRows);
    const std::optional<double> value = number_in(number);
    if (!value && first && is_word(number)) return {};  // the columns' names
    if (!value || !std::isfinite(*value))
      return wrong(fmt::format("'{}' is no number", shown(number)), "give a number of 0 or more");
    if (*value < 0)
      return wrong(fmt::format("the contribution of '{}' is below 0", shown(*name)),
                   "give a number of 0 or more; a tensor of 0, or one that is not listed, is not trained");
    return take(*name, *value);
  }

  Result<std::map<std::string, double>> finish() {
    const bool any = std::ranges::any_of(rows_, [](const auto& row) { return row.second > 0; });
    if (any) return std::move(rows_);
    return fail("E0126", "no tensor contributes more than 0", where_, kRows);
  }

 private:
  const std::string& where_;
  const std::vector<std::string>&trainable_, &others_;
  std::map<std::string, double> rows_;
  size_t line_ = 0;
  bool begun_ = false;

  static bool is_word(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char letter) {
      return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_' || letter == ' ';
    });
  }

  [[nodiscard]] Failure wrong(const std::string& what, const std::string& help) const {
    return fail("E0126", what, fmt::format("{}: line {}", where_, line_), help);
  }

  // "conv5.weight=1/4" is a row of conv5.weight.
  [[nodiscard]] bool is_share(const std::string& name) const {
    const size_t equals = name.rfind('=');
    return equals != std::string::npos && base::contains(trainable_, name.substr(0, equals));
  }

  Result<void> take(const std::string& name, double value) {
    if (!base::contains(trainable_, name) && !is_share(name)) {
      if (base::contains(others_, name))
        return wrong(fmt::format("'{}' does not train", shown(name)),
                     "leave out its row, or its --freeze; --train makes a fixed tensor of the file one that trains");
      return wrong(fmt::format("the model has no tensor '{}'", shown(name)),
                   base::hint_at(name, trainable_) + "`pantoum inspect` lists the tensors");
    }
    if (!rows_.emplace(name, value).second)
      return wrong(fmt::format("'{}' stands twice", shown(name)),
                   "give each tensor, and each share of its channels, one row");
    return {};
  }
};

}  // namespace

Result<std::map<std::string, double>> parse_contributions(std::string_view text, const std::string& where,
                                                          const std::vector<std::string>& trainable,
                                                          const std::vector<std::string>& others) {
  Reader reader(where, trainable, others);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    PANTOUM_TRY(reader.add(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.finish();
}

}  // namespace pantoum::pipeline
