// What a built project takes of its board's memory.
#pragma once

#include <cstdint>
#include <string>

namespace pantoum::emit {

// Sizes in bytes; 0: not known. A project for this machine (posix) has no `stack`, `other` and `flash`.
struct ProgramMemory {
  uint64_t steps = 0;                        // of the whole training, as it was emitted
  std::string target, board, plan;           // what the project was emitted for, and the plan file it was made from
  uint64_t ram = 0, rom = 0;                 // the linker's limit; the chip's size
  uint64_t arena = 0, stack = 0, other = 0;  // parts of RAM; other: the interpreter, the pager and the board
  uint64_t flash = 0;                        // code, constants, plan, weights, samples
};

// Adds one line of `size -A` (section, bytes, address) to `memory`.
void read_section_line(const std::string& line, ProgramMemory& memory);

// The memory of the project in `folder`, which `make` has built with these variables.
ProgramMemory program_memory(const std::string& folder, const std::string& make_words);

}  // namespace pantoum::emit
