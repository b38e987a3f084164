// The small files by which Linux tells of its devices, below any root, so that a recorded tree serves too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace pantoum::cost {

class Sysfs {
 public:
  explicit Sysfs(std::string root) : root_(std::move(root)) {}

  struct Text {
    std::string text;  // without the line's end
    int error = 0;     // errno; 0: it was read
  };
  // The first 4 KiB of a file.
  [[nodiscard]] Text read(const std::string& path) const;
  [[nodiscard]] std::string text(const std::string& path) const { return read(path).text; }  // "": none
  // A whole number and nothing else. E0909 with path and reason: it is gone, may not be read, or holds no such number.
  [[nodiscard]] Result<uint64_t> count(const std::string& path) const;
  [[nodiscard]] Result<int64_t> whole(const std::string& path) const;  // negative too
  [[nodiscard]] bool exists(const std::string& path) const;
  // Names in a folder, numbers in their order ("in2" before "in10"); none where there is no such folder.
  [[nodiscard]] std::vector<std::string> names(const std::string& folder) const;
  [[nodiscard]] std::string path(const std::string& path) const { return root_ + path; }

 private:
  std::string root_;
};

}  // namespace pantoum::cost
