// The run log (JSON lines, written as events happen), and files that are removed automatically.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <vector>

#include "base/file_lock.h"
#include "base/owned_file.h"
#include "base/result.h"
#include "cli/files/inputs_kept.h"

namespace pantoum::cli {

// Lines are kept in memory until begin(), so that a run which fails because of its inputs does not change the log.
class RunLog {
 public:
  // `append`: the run continues the log that exists; else it replaces that log by a new one.
  RunLog(std::string path, bool append) : path_(std::move(path)), append_(append) {}

  // Opens the log and writes what was kept. A new one is written beside the old one and renamed over it. No link is
  // followed; lines that are not whole go when a log is continued (keep_whole_lines). E0201, E0901.
  [[nodiscard]] Result<void> begin();
  // One line, flushed; before begin() it is kept. E0901 a full disk.
  [[nodiscard]] Result<void> write(const nlohmann::ordered_json& event);

 private:
  base::OwnedFile file_{-1, "", 0};
  std::string path_, kept_;
  bool append_;

  [[nodiscard]] Result<void> open(const std::string& name, int flags);  // as file_
  [[nodiscard]] Result<void> go_on();
  [[nodiscard]] Result<void> begin_anew();
  [[nodiscard]] Result<void> put_kept();
  [[nodiscard]] Result<void> put(const std::string& text) const;
};

// Keeps the words of this process's command line; the log of a training tells them.
void keep_command(int argc, const char* const* argv);
// Returns what was kept, without the program's name.
[[nodiscard]] const std::vector<std::string>& kept_command();

// A path whose file is removed at the end of the object's lifetime.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The files that a training writes while it runs: each by one run at a time.
// Locks every output during the lifetime of the result. E0907: another run writes one of them; E0901: an output cannot be written.
[[nodiscard]] Result<std::vector<base::FileLock>> lock_all(const std::vector<NamedOutput>& outputs);

}  // namespace pantoum::cli
