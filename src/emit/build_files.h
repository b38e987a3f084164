// What builds an emitted project: a Makefile and CMakeLists.txt, a CMake project of a library and a program, or a module of Zephyr.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emit/boards.h"
#include "emit/project_folder.h"

namespace pantoum::emit {

struct Project {
  const Board& board;
  std::string main = "main.c";             // inside the project
  std::vector<std::string> board_sources;  // of `sources`, those in board/ that belong to the board
  std::vector<std::string> sources;        // all C files, inside the project
  std::string limits;                      // definitions for the compiler
  bool has_image = false;                  // model/storage.img is the storage before the first step
  bool has_threads = false;                // it is linked with POSIX threads
  uint64_t ram = 0, stack = 0, steps = 0, storage_blocks = 0;
};

std::string makefile(const Project& project);
// The Makefile's twin: one program.
std::string cmake_lists(const Project& project);

// A library `pantoum_model` for other projects and a program on it; presets, and a toolchain file for a board.
std::vector<ProjectFile> cmake_files(const Project& project);
// A module of Zephyr with an application; its board is zephyr.c.
std::vector<ProjectFile> zephyr_files(const Project& project);

}  // namespace pantoum::emit
