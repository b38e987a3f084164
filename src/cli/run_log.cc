#include "cli/run_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"

namespace pantoum::cli {
namespace {

Failure log_failure(const std::string& path, const std::string& why) {
  return fail("E0901", "cannot write the run log: " + why, path, "free some space, or choose another place with --log");
}

// A run that was killed may have left half a line: cuts the file after its last whole one.
bool cut_to_whole_lines(int descriptor) {
  off_t size = ::lseek(descriptor, 0, SEEK_END);
  for (char piece[4096]; size > 0;) {
    const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(sizeof piece));
    const auto length = static_cast<size_t>(size - begin);
    if (::pread(descriptor, piece, length, begin) != static_cast<ssize_t>(length)) return false;
    const size_t end = std::string_view(piece, length).rfind('\n');
    size = end == std::string_view::npos ? begin : begin + static_cast<off_t>(end) + 1;
    if (end != std::string_view::npos) break;
  }
  return size >= 0 && ::ftruncate(descriptor, size) == 0;
}

// -1: errno has the reason.
int open_to_continue(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (descriptor < 0 || cut_to_whole_lines(descriptor)) return descriptor;
  ::close(descriptor);
  return -1;
}

}  // namespace

Result<void> RunLog::begin() {
  const bool special = base::is_special_file(path_), beside = !special && !append_;
  const std::string name = beside ? path_ + ".part" : path_;
  // why: the name beside may be foreseen, as whoever writes the log holds its lock; and no link is followed.
  const int descriptor = special  ? ::open(path_.c_str(), O_WRONLY | O_CLOEXEC)
                         : beside ? ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644)
                                  : open_to_continue(path_);
  if (descriptor < 0)
    return log_failure(path_,
                       errno == ELOOP ? "a symbolic link is there, and none is followed" : base::system_reason());
  file_.reset(::fdopen(descriptor, append_ ? "a" : "w"));
  if (file_ == nullptr) {
    const std::string why = base::system_reason();
    ::close(descriptor);
    return log_failure(path_, why);
  }
  PANTOUM_TRY(put(kept_));
  kept_.clear();
  if (!beside) return {};
  if (::fsync(descriptor) != 0 || ::rename(name.c_str(), path_.c_str()) != 0) {
    const std::string why = base::system_reason();
    ::unlink(name.c_str());
    return log_failure(path_, why);
  }
  return base::flush_folder_of(path_);
}

Result<void> RunLog::write(const nlohmann::ordered_json& event) {
  const std::string line = base::ascii_json(event) + "\n";
  if (file_) return put(line);
  kept_ += line;
  return {};
}

Result<void> RunLog::put(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() && std::fflush(file_.get()) == 0) return {};
  return log_failure(path_, base::system_reason());
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
