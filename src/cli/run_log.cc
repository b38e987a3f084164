#include "cli/run_log.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace pantoum::cli {

Result<RunLog> RunLog::create(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr)
    return fail("E0901", std::string("cannot write the run log: ") + std::strerror(errno), path,
                "choose another place with --log");
  return RunLog(file, path);
}

Result<void> RunLog::write(const nlohmann::ordered_json& event) {
  const std::string line = event.dump() + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() && std::fflush(file_.get()) == 0) return {};
  return fail("E0901", std::string("cannot write the run log: ") + std::strerror(errno), path_, "free some space");
}

TemporaryFile::~TemporaryFile() {
  ::unlink(path_.c_str());
}

}  // namespace pantoum::cli
