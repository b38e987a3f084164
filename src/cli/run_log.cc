#include "cli/run_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/json_text.h"
#include "base/owned_file.h"
#include "base/special_files.h"
#include "base/system_calls.h"

namespace pantoum::cli {

namespace {

constexpr uint64_t kPieceBytes = 1 << 16, kLongestLine = 1 << 20;

// Text has no such bytes: the file has a block of zeros where a write did not reach the disk.
bool is_damage(char byte) {
  return static_cast<unsigned char>(byte) < 0x20 && byte != '\t' && byte != '\r';
}

bool is_whole(std::string_view line) {
  return line.size() <= kLongestLine && std::none_of(line.begin(), line.end(), is_damage);
}

using TakeLine = std::function<Result<void>(std::string_view line)>;

// Calls take(line) for each line, without its end; a last one without an end is the text `rest`.
Result<void> for_each_line(const base::OwnedFile& file, const TakeLine& take, std::string& rest) {
  std::string piece;
  for (uint64_t at = 0; at < file.size(); at += piece.size()) {
    piece.resize(static_cast<size_t>(std::min(kPieceBytes, file.size() - at)));
    PANTOUM_TRY(file.read_at(at, std::as_writable_bytes(std::span(piece)), "E0201"));
    for (std::string_view text = piece; !text.empty();) {
      const size_t end = text.find('\n');
      if (rest.size() <= kLongestLine) rest += text.substr(0, end);
      if (end == std::string_view::npos) break;
      PANTOUM_TRY(take(rest));
      rest.clear();
      text.remove_prefix(end + 1);
    }
  }
  return {};
}

Result<bool> all_are_whole(const base::OwnedFile& file) {
  bool all = true;
  std::string rest;
  PANTOUM_TRY(for_each_line(
      file,
      [&](std::string_view line) -> Result<void> {
        all = all && is_whole(line);
        return {};
      },
      rest));
  return all && rest.empty();
}

// Keeps the lines that end in a newline, have no control characters and at most 1 MiB. A file whose lines are all such is
// not touched; another file is replaced as a whole. Memory: a line. E0201, E0901.
Result<void> keep_whole_lines(const std::string& path) {
  PANTOUM_ASSIGN(const base::OwnedFile file, base::OwnedFile::open_to_read(path));
  PANTOUM_ASSIGN(const bool whole, all_are_whole(file));
  if (whole) return {};
  PANTOUM_ASSIGN(base::AtomicFile kept, base::AtomicFile::create(path, 0644));
  std::string rest;
  PANTOUM_TRY(for_each_line(
      file,
      [&](std::string_view line) -> Result<void> {
        if (!is_whole(line)) return {};
        const std::string ended = std::string(line) + "\n";
        return kept.append(std::as_bytes(std::span(ended)));
      },
      rest));
  return kept.commit();
}

Failure log_failure(const std::string& path, const std::string& why) {
  return fail("E0901", "cannot write the run log: " + why, path, "free some space, or choose another place with --log");
}

std::vector<std::string>& command_words() {
  static std::vector<std::string> words;
  return words;
}

// A file that is removed unless it is finished.
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

void keep_command(int argc, const char* const* argv) {
  command_words().assign(argv + std::min(argc, 1), argv + argc);
}

const std::vector<std::string>& kept_command() {
  return command_words();
}

Result<void> RunLog::open(const std::string& name, int flags) {
  std::string why;
  const int descriptor = base::open_own_file(name, O_WRONLY | O_CREAT | O_APPEND | flags, 0644, why);
  if (descriptor < 0) return log_failure(name, why);
  file_ = base::OwnedFile(descriptor, path_, 0);
  return {};
}

Result<void> RunLog::put_kept() {
  const std::string text = std::exchange(kept_, {});
  return put(text);
}

Result<void> RunLog::begin() {
  if (base::is_special_file(path_)) {
    PANTOUM_TRY(base::check_file(path_, base::Access::write));
    const int descriptor = base::uninterrupted([&] { return ::open(path_.c_str(), O_WRONLY | O_CLOEXEC); });
    if (descriptor < 0) return log_failure(path_, base::system_reason());
    file_ = base::OwnedFile(descriptor, path_, 0);
    return put_kept();
  }
  return append_ ? go_on() : begin_anew();
}

Result<void> RunLog::go_on() {
  PANTOUM_TRY(open(path_, 0));  // no link, and there
  PANTOUM_TRY(keep_whole_lines(path_));
  PANTOUM_TRY(open(path_, 0));  // what stands there now
  return put_kept();
}

Result<void> RunLog::begin_anew() {
  const std::string name = path_ + ".part";
  // why: the name may be predictable, because the process that writes the log holds its lock, and no link is followed.
  Unfinished unfinished(name);  // where memory is refused, too
  if (Result<void> opened = open(name, O_TRUNC); !opened) {
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

TemporaryFile::~TemporaryFile() {
  ::unlink(path_.c_str());
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
