#include "emit/boards.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "base/nearest_name.h"
#include "base/units.h"
#include "emit/project/boards.h"

namespace pantoum::emit {
namespace {

const std::vector<Board>& boards() {
#define ROW(name, machine, flags, rom_at, rom, ram_at, ram, storage, guard, sources) \
  Board{name, machine, flags, rom_at, rom, ram_at, ram, storage, guard != 0, sources},
  static const std::vector<Board> all = {
      PT_BOARDS(ROW) Board{"posix", "", "", 0, 0, 0, uint64_t{1} << 40, "file", false, "posix.c fail_writes.c"}};
#undef ROW
  return all;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> all = {{"cortex-m0", "microbit"},    {"cortex-m3", "lm3s6965evb"},
                                          {"cortex-m4f", "mps2-an386"}, {"cortex-m7", "mps2-an500"},
                                          {"cortex-m55", "mps3-an547"}, {"posix", "posix"}};
  return all;
}

std::vector<std::string> Board::files() const {
  std::vector<std::string> files = words_of(sources);
  if (!is_posix())
    for (const std::string& each : words_of(PT_BOARD_SOURCES)) files.push_back(each);
  return files;
}

std::vector<std::string> board_names() {
  std::vector<std::string> names;
  for (const Board& each : boards()) names.push_back(each.name);
  return names;
}

Result<Board> find_board(const std::string& target_name, const std::string& board_name, uint64_t ram_bytes) {
  const auto target = std::ranges::find(targets(), target_name, &Target::name);
  std::vector<std::string> names;
  for (const Target& each : targets()) names.push_back(each.name);
  if (target == targets().end())
    return fail("E0297", fmt::format("the target '{}' is unknown", target_name), "--target",
                fmt::format("{}use one of {}", base::hint_at(target_name, names), fmt::join(names, ", ")));
  const std::string name = board_name.empty() ? target->board : board_name;
  const auto board = std::ranges::find(boards(), name, &Board::name);
  if (board == boards().end())
    return fail("E0297", fmt::format("the board '{}' is unknown", name), "--board",
                fmt::format("{}use one of {}", base::hint_at(name, board_names()), fmt::join(board_names(), ", ")));
  Board made = *board;
  if (!made.is_posix()) {
    const auto own = std::ranges::find(boards(), target->board, &Board::name);
    if (own->is_posix())
      return fail("E0297", fmt::format("'{}' is no board of the target posix", name), "--board", "leave it out");
    made.flags = own->flags;
  }
  if (ram_bytes > made.ram_bytes)
    return fail("E0292", fmt::format("{} of RAM are asked for, and the board {} has {}", base::show_bytes(static_cast<int64_t>(ram_bytes)),
                            name, base::show_bytes(static_cast<int64_t>(made.ram_bytes))),
                name,
                "give a smaller --ram, or another --board");
  return made;
}

}  // namespace pantoum::emit
