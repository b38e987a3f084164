// A name with settings, as users write them in one word: "smooth_l1,beta=0.5,weight=2".
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace pantoum::base {

struct Settings {
  std::string name;
  std::map<std::string, std::string> values;
};

// `where`: the option that the word belongs to. `flags`: a key may stand alone, and has the value "on" then. E0115 another
// part that is no KEY=VALUE, or a key that stands twice.
[[nodiscard]] Result<Settings> parse_settings(const std::string& text, const std::string& where, bool flags = false);

// A finite number. E0116.
[[nodiscard]] Result<double> parse_number(const std::string& text, const std::string& where);

}  // namespace pantoum::base
