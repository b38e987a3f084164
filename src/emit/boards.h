// The processors that firmware is emitted for, and the boards that stand for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace pantoum::emit {

// A processor and the board that stands for it unless another one is named.
struct Target {
  std::string name, board;
};
const std::vector<Target>& targets();

// A row of project/boards.h, or this machine ("posix").
struct Board {
  std::string name, machine, flags;
  uint64_t rom_origin, rom_bytes, ram_origin, ram_bytes;
  std::string storage;
  bool guard;
  std::string sources;
  bool is_posix() const { return machine.empty(); }
  // Its C files, those of every board of its kind included.
  std::vector<std::string> files() const;
};

std::vector<std::string> board_names();

// The board `board` ("": the target's own) with the target's flags: the code is the target's, whatever the board could
// run. E0297 an unknown target or board; E0292 more RAM than the board has.
Result<Board> find_board(const std::string& target, const std::string& board, uint64_t ram_bytes);

}  // namespace pantoum::emit
