#include "emit/program_memory.h"

#include <gtest/gtest.h>

namespace pantoum::emit {
namespace {

TEST(ProgramMemory, CountsSectionsForWhatTheyAre) {
  ProgramMemory memory;
  for (const char* line : {"firmware.elf  :", "section             size        addr",
                           ".text             100000           0", ".ARM.exidx             8      100000",
                           ".stack              4096   536870912", ".data                104   536875008",
                           ".bss                5536   536875112", ".arena             57192   536880656",
                           ".debug_info      1000000           0", "Total            1166936", "", ".text"})
    read_section_line(line, memory);
  EXPECT_EQ(memory.stack, 4096U);
  EXPECT_EQ(memory.other, 5640U);
  EXPECT_EQ(memory.arena, 57192U);
  EXPECT_EQ(memory.flash, 100112U) << "what .data begins with lies in flash, too";
}

TEST(ProgramMemory, OfAFolderThatIsNoProjectNothingIsKnown) {
  const ProgramMemory memory = program_memory("/nowhere", "");
  EXPECT_EQ(memory.ram + memory.arena + memory.flash, 0U);
}

}  // namespace
}  // namespace pantoum::emit
