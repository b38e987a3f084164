#include "cli/run_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/json_text.h"
#include "base/system_calls.h"
#include "cli/whole_lines.h"

namespace pantoum::cli {
namespace {

Failure log_failure(const std::string& path, const std::string& why) {
  return fail("E0901", "cannot write the run log: " + why, path, "free some space, or choose another place with --log");
}

int open_again(const std::string& path, int flags) {
  return base::uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0644); });
}

// A file that goes unless it is finished.
class Unfinished {
 public:
  explicit Unfinished(const std::string& name) : name_(name) {}
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    if (!finished_) ::unlink(name_.c_str());
  }
  void finish() { finished_ = true; }

 private:
  const std::string& name_;
  bool finished_ = false;
};

}  // namespace

Result<void> RunLog::open(const std::string& name, int flags) {
  const int descriptor = open_again(name, flags);
  if (descriptor < 0)
    return log_failure(path_,
                       errno == ELOOP ? "a symbolic link is there, and none is followed" : base::system_reason());
  file_ = base::OwnedFile(descriptor, path_, 0);
  return {};
}

Result<void> RunLog::put_kept() {
  const std::string text = std::exchange(kept_, {});
  return put(text);
}

Result<void> RunLog::begin() {
  if (base::is_special_file(path_)) {
    PANTOUM_TRY(open(path_, O_WRONLY));
    return put_kept();
  }
  return append_ ? go_on() : begin_anew();
}

Result<void> RunLog::go_on() {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
  PANTOUM_TRY(open(path_, kFlags));  // no link, and there
  PANTOUM_TRY(keep_whole_lines(path_));
  PANTOUM_TRY(open(path_, kFlags));  // what stands there now
  return put_kept();
}

Result<void> RunLog::begin_anew() {
  const std::string name = path_ + ".part";
  // why: the name may be foreseen, as whoever writes the log holds its lock; and no link is followed.
  Unfinished unfinished(name);  // where memory is refused, too
  if (Result<void> opened = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW); !opened) {
    unfinished.finish();  // what stands there is not ours
    return opened;
  }
  PANTOUM_TRY(put_kept());
  if (base::uninterrupted([&] { return ::fsync(file_.descriptor()); }) != 0)
    return log_failure(path_, base::system_reason());
  if (::rename(name.c_str(), path_.c_str()) != 0) return log_failure(path_, base::system_reason());
  unfinished.finish();
  return base::flush_folder_of(path_);
}

Result<void> RunLog::write(const nlohmann::ordered_json& event) {
  const std::string line = base::ascii_json(event) + "\n";
  if (file_.descriptor() >= 0) return put(line);
  kept_ += line;
  return {};
}

Result<void> RunLog::put(const std::string& text) const {
  if (base::write_all(file_.descriptor(), text)) return {};
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
