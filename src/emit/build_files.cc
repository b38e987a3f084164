#include "emit/build_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "emit/project/blocks.h"

namespace pantoum::emit {

std::string makefile(const Project& project) {
  const Board& board = project.board;
  const std::string common =
      "-std=gnu99 -ffp-contract=off -ffunction-sections -fdata-sections -Wall -Wextra -Werror -Wconversion "
      "-Wno-missing-field-initializers";
  std::string text = "# make        builds the firmware\n# make run    runs it\n# make clean\n";
  text += fmt::format("CC := {}\nFLAGS := {}\n", board.is_posix() ? "cc" : "arm-none-eabi-gcc", board.flags);
  text += "OPTIMIZE := -O2\nSTEPS := " + std::to_string(project.steps) + "\nMORE :=\n";
  text += fmt::format(
      "CFLAGS := $(FLAGS) $(OPTIMIZE) {} {}{} -DSTEPS=$(STEPS) -Ipantoum/include -Ipantoum/src -Iboard -Imodel "
      "$(MORE)\n",
      common, project.limits, board.is_posix() ? "" : " -specs=nano.specs");
  if (board.is_posix()) {
    text += "LDFLAGS := -Wl,--gc-sections -lm\nPROGRAM := firmware\n";
  } else {
    text += fmt::format(
        "RAM_SIZE := {}\nSTACK_SIZE := {}\nLDFLAGS := -nostartfiles -Wl,--gc-sections "
        "-Wl,--defsym=ROM_ORIGIN={:#x},--defsym=ROM_SIZE={:#x},--defsym=RAM_ORIGIN={:#x},--defsym=RAM_SIZE=$(RAM_SIZE),"
        "--defsym=STACK_SIZE=$(STACK_SIZE) -T board/firmware.ld -lm\nPROGRAM := firmware.elf\n",
        project.ram, project.stack, board.rom_origin, board.rom_bytes, board.ram_origin);
  }
  text += "SOURCES :=";
  for (const std::string& source : project.sources) text += " \\\n  " + source;
  text += "\nOBJECTS := $(SOURCES:%.c=build/%.o)\n\n$(PROGRAM): $(OBJECTS)\n\t@$(CC) $(FLAGS) -o $@ $^ $(LDFLAGS)";
  if (!board.is_posix()) text += " -specs=nano.specs";
  text +=
      "\n\nbuild/%.o: %.c build/flags $(wildcard board/*.h model/*.h)\n\t@mkdir -p $(@D)\n\t@$(CC) $(CFLAGS) -c -o $@ "
      "$<\n\n";
  // An SD card's image must be a power of two; a file may be one.
  const std::string needed = project.storage_blocks > 0 ? " storage.img" : "";
  if (project.storage_blocks > 0)
    text += fmt::format(
        "# Empty, as a new card: training begins; as a run left it: it goes on.\nstorage.img:\n\t@truncate -s {} "
        "$@\n\n",
        std::bit_ceil(std::max<uint64_t>(project.storage_blocks, 512)) * PT_BLOCK_BYTES);
  if (board.is_posix()) {
    text += fmt::format("run: $(PROGRAM){}\n\t@./$(PROGRAM)\n", needed);
  } else {
    const std::string drive = board.storage == "sd" ? " -drive if=sd,format=raw,file=storage.img" : "";
    text += fmt::format(
        "QEMU := qemu-system-arm -M {} -display none -monitor none -serial none -chardev stdio,id=c "
        "-semihosting-config enable=on,target=native,chardev=c{}\nrun: $(PROGRAM){}\n\t@$(QEMU) -kernel $(PROGRAM)\n",
        board.machine, drive, needed);
  }
  return text +
         "\n# What was compiled with other flags is compiled again.\nbuild/flags: always\n\t@mkdir -p build; echo "
         "'$(CFLAGS)' | cmp -s - $@ || echo '$(CFLAGS)' > $@\n\nclean:\n\t@rm -rf build $(PROGRAM)\n.PHONY: run clean "
         "always\n";
}

std::string cmake_lists(const Project& project) {
  const Board& board = project.board;
  std::string text = "cmake_minimum_required(VERSION 3.16)\n";
  if (!board.is_posix())
    text +=
        "set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_C_COMPILER arm-none-eabi-gcc)\nset(CMAKE_TRY_COMPILE_TARGET_TYPE "
        "STATIC_LIBRARY)\n";
  text += "project(firmware C)\nadd_executable(firmware";
  for (const std::string& source : project.sources) text += "\n  " + source;
  text += ")\ntarget_include_directories(firmware PRIVATE pantoum/include pantoum/src board model)\n";
  std::string flags = board.flags + (board.is_posix() ? "" : " -specs=nano.specs");
  std::replace(flags.begin(), flags.end(), ' ', ';');
  std::string limits = project.limits;
  std::replace(limits.begin(), limits.end(), ' ', ';');
  text += fmt::format(
      "target_compile_options(firmware PRIVATE "
      "{};-O2;-ffp-contract=off;-ffunction-sections;-fdata-sections;{};-DSTEPS={})\n",
      flags, limits, project.steps);
  if (board.is_posix())
    return text + "target_link_options(firmware PRIVATE -Wl,--gc-sections)\ntarget_link_libraries(firmware m)\n";
  return text +
         fmt::format(
             "target_link_options(firmware PRIVATE {};-nostartfiles;-Wl,--gc-sections;-Wl,--defsym=ROM_ORIGIN={:#x},"
             "--defsym=ROM_SIZE={:#x},--defsym=RAM_ORIGIN={:#x},--defsym=RAM_SIZE={},--defsym=STACK_SIZE={};-T;"
             "${{CMAKE_SOURCE_DIR}}/board/firmware.ld)\ntarget_link_libraries(firmware m)\n",
             flags, board.rom_origin, board.rom_bytes, board.ram_origin, project.ram, project.stack);
}

}  // namespace pantoum::emit
