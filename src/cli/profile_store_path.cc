#include "cli/profile_store_path.h"

#include <cstdlib>
#include <filesystem>

namespace pantoum::cli {

// As the XDG base directories have it.
std::string default_profile_store() {
  const auto folder = [](const char* variable) -> std::filesystem::path {
    const char* value = std::getenv(variable);
    return value != nullptr && *value == '/' ? value : "";
  };
  const std::filesystem::path cache = folder("XDG_CACHE_HOME"), home = folder("HOME");
  if (cache.empty() && home.empty()) return "";
  return ((cache.empty() ? home / ".cache" : cache) / "pantoum" / "times.db").string();
}

}  // namespace pantoum::cli
