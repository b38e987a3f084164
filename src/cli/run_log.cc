#include "cli/run_log.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

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
  const std::string line = base::ascii_json(event) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() && std::fflush(file_.get()) == 0) return {};
  return fail("E0901", std::string("cannot write the run log: ") + std::strerror(errno), path_, "free some space");
}

Result<std::unique_ptr<TemporaryCache>> TemporaryCache::create() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string name = (error ? std::filesystem::path("/tmp") : parent) / "pantoum-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    return fail("E0901", std::string("cannot make a temporary folder: ") + std::strerror(errno), name,
                "name a folder with --cache, or another one for temporary files in TMPDIR");
  return std::make_unique<TemporaryCache>(name);
}

TemporaryCache::~TemporaryCache() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

TemporaryFile::~TemporaryFile() {
  ::unlink(path_.c_str());
}

}  // namespace pantoum::cli
