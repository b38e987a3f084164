// The stack that a firmware needs, from what the linker made of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "emit/boards.h"
#include "emit/project_folder.h"

namespace pantoum::emit {

struct StackDepth {
  uint64_t bytes = 0;              // a multiple of 8
  std::vector<std::string> calls;  // the deepest ones, from the first function on
};

// Of what read_thumb_listing takes of a program for Arm (Thumb), from its function `entry` on. A frame is all
// that a function's instructions take from the stack; a tail call counts as a call. A call through a pointer goes to any
// function whose address lies in the program that it can be meant for:
//   what stands in the table of kernels   from outside these
//   what stands in a table of shape rules from pt_check_op, or from a rule: that of the plain op, which asks none
//   page_in, page_out, done: the pager    from outside
//   ..._blocks: storage                   from outside or from the pager; one in another where a board has several
//   what stands elsewhere: a callback     from anywhere; one that calls through pointers itself from outside, from a kernel or
//                                         from another such callback, but two inside one another at most
// E0299 recursion, a frame whose size is not constant, no such function.
Result<StackDepth> stack_depth(std::string_view disassembly, std::string_view entry);

// Builds the project, with its Makefile, in a temporary folder that is removed, and asks stack_depth. E0299 it cannot be
// built here (arm-none-eabi-gcc, its objdump and make), or it has no bound. Cost: a build.
Result<StackDepth> measure_stack(const std::vector<ProjectFile>& files, const Board& board);

// ---- the disassembly (thumb_listing.cc) ----

struct ThumbFunction {
  uint32_t address = 0;
  std::string name;
  uint64_t frame = 0;          // bytes: of all its instructions together
  std::vector<int> calls;      // by index; jumps to other functions, too
  bool calls_pointer = false;  // through a register
  bool is_constant = true;     // the frame
};

// A function's address in a word of the program.
struct ThumbPointer {
  int function = 0, holder = 0;  // `holder`: the function or table that the word belongs to
};

struct ThumbListing {
  std::vector<ThumbFunction> functions;  // by address
  std::vector<ThumbPointer> pointers;    // by function

  // The function that holds the address; -1: none.
  int index_of(uint32_t address) const;
};

// Of `objdump -d -z -j .text` and `objdump -D -z -j .data`, one behind the other. Any text may be given.
ThumbListing read_thumb_listing(std::string_view text);

}  // namespace pantoum::emit
