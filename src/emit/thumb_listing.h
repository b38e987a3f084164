// What objdump says of a program for Arm (Thumb): its functions, what each takes from the stack and whom it calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pantoum::emit {

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
  [[nodiscard]] int index_of(uint32_t address) const;
};

// Of `objdump -d -z -j .text` and `objdump -D -z -j .data`, one behind the other. Any text may be given.
[[nodiscard]] ThumbListing read_thumb_listing(std::string_view text);

}  // namespace pantoum::emit
