// For tests: other bytes in a file, thousands of times. A file that is emptied first is flushed by some file systems
// whenever it is closed.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace pantoum {

inline void overwrite(const std::string& path, const std::string& bytes) {
  if (!std::filesystem::exists(path)) std::ofstream(path).close();
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << bytes;
  std::filesystem::resize_file(path, bytes.size());
}

}  // namespace pantoum
