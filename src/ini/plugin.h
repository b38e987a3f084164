// Loads plug-ins of include/pantoum/plugin.h.
#pragma once

#include <string>

#include "base/result.h"

namespace pantoum::ini {

// Adds what the shared object adds, until the process ends; does nothing where it was loaded before. A path without a slash is a file of the working
// folder. One call runs at a time.
//   errors  E0106: no shared object, no plug-in, one of another ABI version, one whose entry fails, or what it adds is unsound or has a name that is
//           taken. Nothing is added then.
[[nodiscard]] Result<void> load_plugin(const std::string& path);

}  // namespace pantoum::ini
