// The run log (JSON lines, appended as they happen) and files that go away again.
#pragma once

#include <cstdio>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "pantoum/result.h"

namespace pantoum::cli {

class RunLog {
 public:
  // Replaces an older log. E0901.
  [[nodiscard]] static Result<RunLog> create(const std::string& path);
  // One line, flushed. E0901 a full disk.
  [[nodiscard]] Result<void> write(const nlohmann::ordered_json& event);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  RunLog(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  std::unique_ptr<std::FILE, Close> file_;
  std::string path_;
};

// A path whose file is removed when this ends.
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

// A private folder among the system's temporary files, removed with all that is in it when this ends.
class TemporaryCache {
 public:
  [[nodiscard]] static Result<std::unique_ptr<TemporaryCache>> create();  // E0901
  explicit TemporaryCache(std::string path) : path_(std::move(path)) {}
  ~TemporaryCache();
  TemporaryCache(const TemporaryCache&) = delete;
  TemporaryCache& operator=(const TemporaryCache&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace pantoum::cli
