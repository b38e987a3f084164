#include "cli/run_outputs.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/files.h"

namespace pantoum::cli {

Result<void> check_distinct(const std::vector<NamedOutput>& outputs) {
  std::map<std::string, const char*> taken;
  for (const NamedOutput& output : outputs) {
    if (output.path.empty() || base::is_special_file(output.path)) continue;
    std::error_code ignored;
    const std::string whole = std::filesystem::absolute(output.path, ignored).lexically_normal().string();
    const auto [before, is_new] = taken.emplace(whole, output.option);
    if (!is_new)
      return fail("E0117", fmt::format("{} and {} name one file: {}", before->second, output.option, output.path),
                  output.option, "give each a file of its own");
  }
  return {};
}

Result<std::vector<base::FileLock>> lock_all(const std::vector<NamedOutput>& outputs) {
  std::vector<base::FileLock> locks;
  for (const NamedOutput& output : outputs) {
    if (output.path.empty()) continue;
    Result<base::FileLock> lock = base::FileLock::acquire(output.path);
    if (!lock) return Failure(std::move(lock).error());
    locks.push_back(std::move(*lock));
  }
  return locks;
}

}  // namespace pantoum::cli
