#include "base/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace pantoum::base {

Result<Settings> parse_settings(const std::string& text, const std::string& where, bool flags) {
  Settings settings;
  size_t comma = std::min(text.find(','), text.size());
  settings.name = text.substr(0, comma);
  while (comma < text.size()) {
    const size_t begin = comma + 1;
    comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    const size_t sign = part.find('=');
    const bool alone = flags && sign == std::string::npos && !part.empty();
    if (sign == 0 || (sign == std::string::npos && !alone))
      return fail("E0115", fmt::format("'{}' in '{}' is no setting", part, text), where, "write NAME,KEY=VALUE");
    if (!settings.values.emplace(part.substr(0, sign), alone ? "on" : part.substr(sign + 1)).second)
      return fail("E0115", fmt::format("'{}' stands twice in '{}'", part.substr(0, sign), text), where);
  }
  return settings;
}

Result<double> parse_number(const std::string& text, const std::string& where) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number))
    return fail("E0116", fmt::format("'{}' is no finite number", text), where);
  return number;
}

}  // namespace pantoum::base
