// What a built project takes of its board's memory.
#pragma once

#include <cstdint>
#include <string>

namespace pantoum::emit {

// In bytes; 0: not known. A project for this machine (posix) has none of `stack` to `flash`.
struct ProgramMemory {
  uint64_t steps = 0;                        // of the whole training, as it was emitted
  std::string target, board, plan;           // as the project was emitted for, and from which plan file
  uint64_t ram = 0, rom = 0;                 // that there are: the linker's limit, the chip's
  uint64_t arena = 0, stack = 0, other = 0;  // of RAM: other is what the interpreter, the pager and the board keep
  uint64_t flash = 0;                        // code, constants, plan, weights, samples
};

// Adds one line of `size -A` (section, bytes, address) to `memory`.
void read_section_line(const std::string& line, ProgramMemory& memory);

// Of the project in `folder`, which `make` has built with these words.
ProgramMemory program_memory(const std::string& folder, const std::string& make_words);

}  // namespace pantoum::emit
