// How a project is built: Makefile and CMakeLists.txt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emit/boards.h"

namespace pantoum::emit {

struct Project {
  const Board& board;
  std::vector<std::string> sources;  // C files, inside the project
  std::string limits;
  uint64_t ram = 0, stack = 0, steps = 0, storage_blocks = 0;
};

[[nodiscard]] std::string makefile(const Project& project);
[[nodiscard]] std::string cmake_lists(const Project& project);

}  // namespace pantoum::emit
