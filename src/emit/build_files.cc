#include "emit/build_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "emit/project/blocks.h"

namespace pantoum::emit {
namespace {

constexpr const char* kCompile =
    "-std=gnu99 -ffp-contract=off -ffunction-sections -fdata-sections -Wall -Wextra -Werror -Wconversion "
    "-Wno-missing-field-initializers";

// Of storage.img: an SD card's image must be a power of two; a file may be one.
uint64_t image_bytes(const Project& project) {
  return std::bit_ceil(std::max<uint64_t>(project.storage_blocks, 512)) * PT_BLOCK_BYTES;
}

std::string qemu(const Board& board) {
  return fmt::format(
      "qemu-system-arm -M {} -display none -monitor none -serial none -chardev stdio,id=c -semihosting-config "
      "enable=on,target=native,chardev=c{}",
      board.machine, board.storage == "sd" ? " -drive if=sd,format=raw,file=storage.img" : "");
}

// What the linker is told: the chip's memory.
std::string memory_symbols(const Board& board, const std::string& ram, const std::string& stack) {
  return fmt::format(
      "-Wl,--defsym=ROM_ORIGIN={:#x},--defsym=ROM_SIZE={:#x},--defsym=RAM_ORIGIN={:#x},--defsym=RAM_SIZE={},"
      "--defsym=STACK_SIZE={}",
      board.rom_origin, board.rom_bytes, board.ram_origin, ram, stack);
}

// The variables above the sources: compiler, flags, memory.
std::string make_flags(const Project& project) {
  const Board& board = project.board;
  std::string text = fmt::format("CC := {}\nFLAGS := {}\n", board.is_posix() ? "cc" : "arm-none-eabi-gcc", board.flags);
  text += "OPTIMIZE := -O2\nSTEPS := " + std::to_string(project.steps) + "\nMORE :=\n";
  text += fmt::format(
      "CFLAGS := $(FLAGS) $(OPTIMIZE) {} {}{} -DSTEPS=$(STEPS) -Ipantoum/include -Ipantoum/src -Iboard -Imodel "
      "$(MORE)\n",
      kCompile, project.limits, board.is_posix() ? "" : " -specs=nano.specs");
  if (board.is_posix()) return text + "LDFLAGS := -Wl,--gc-sections -lm\nPROGRAM := firmware\n";
  return text + fmt::format(
                    "RAM_SIZE := {}\nSTACK_SIZE := {}\nLDFLAGS := -nostartfiles -Wl,--gc-sections {} -T "
                    "board/firmware.ld -lm\nPROGRAM := firmware.elf\n",
                    project.ram, project.stack, memory_symbols(board, "$(RAM_SIZE)", "$(STACK_SIZE)"));
}

// The storage's image and `make run`.
std::string run_rules(const Project& project) {
  const std::string needed = project.storage_blocks > 0 ? " storage.img" : "";
  std::string text;
  if (project.storage_blocks > 0)
    text += fmt::format(
        "# Empty, as a new card: training begins; as a run left it: it goes on.\nstorage.img:\n\t@truncate -s {} "
        "$@\n\n",
        image_bytes(project));
  if (project.board.is_posix()) return text + fmt::format("run: $(PROGRAM){}\n\t@./$(PROGRAM)\n", needed);
  return text + fmt::format(
                    "QEMU := {}\nQEMU_MORE :=\nrun: $(PROGRAM){}\n\t@$(QEMU) $(QEMU_MORE) -kernel $(PROGRAM)\n\n"
                    "build/symbols: $(PROGRAM)\n\t@$(CC:gcc=nm) -nS $< > $@\n\n"
                    "build/sizes: $(PROGRAM)\n\t@$(CC:gcc=size) -A -d $< > $@\n",
                    qemu(project.board), needed);
}

}  // namespace

std::string makefile(const Project& project) {
  std::string text = "# make        builds the firmware\n# make run    runs it\n# make clean\n" + make_flags(project);
  text += "SOURCES :=";
  for (const std::string& source : project.sources) text += " \\\n  " + source;
  text += "\nOBJECTS := $(SOURCES:%.c=build/%.o)\n\n$(PROGRAM): $(OBJECTS)\n\t@$(CC) $(FLAGS) -o $@ $^ $(LDFLAGS)";
  if (!project.board.is_posix()) text += " -specs=nano.specs";
  text +=
      "\n\nbuild/%.o: %.c build/flags $(wildcard board/*.h model/*.h)\n\t@mkdir -p $(@D)\n\t@$(CC) $(CFLAGS) -c -o $@ "
      "$<\n\n";
  return text + run_rules(project) +
         "\n# What was compiled with other flags is compiled again.\nbuild/flags: always\n\t@mkdir -p build; echo "
         "'$(CFLAGS)' | cmp -s - $@ || echo '$(CFLAGS)' > $@\n\nclean:\n\t@rm -rf build $(PROGRAM)\n.PHONY: run clean "
         "always\n";
}

namespace {

// "a;b;c": what CMake reads as several arguments.
std::string listed(std::string words) {
  words.erase(0, words.find_first_not_of(' '));
  std::replace(words.begin(), words.end(), ' ', ';');
  return words;
}

// `run`, as the Makefile has it: in the project's folder, where storage.img is.
std::string cmake_run(const Project& project) {
  const bool is_posix = project.board.is_posix();
  const std::string image =
      project.storage_blocks == 0
          ? ""
          : fmt::format("\n  COMMAND test -f storage.img || truncate -s {} storage.img", image_bytes(project));
  return fmt::format(
      "add_custom_target(run{}\n  COMMAND {}$<TARGET_FILE:firmware>\n  WORKING_DIRECTORY ${{CMAKE_SOURCE_DIR}} "
      "USES_TERMINAL DEPENDS firmware)\n",
      image, is_posix ? "" : qemu(project.board) + " -kernel ");
}

}  // namespace

std::string cmake_lists(const Project& project) {
  const Board& board = project.board;
  const std::string flags = board.is_posix() ? "" : board.flags + " -specs=nano.specs ";
  std::string text =
      "# cmake -B build/cmake; cmake --build build/cmake --target run\ncmake_minimum_required(VERSION 3.16)\n";
  if (!board.is_posix())
    text +=
        "set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_C_COMPILER arm-none-eabi-gcc)\nset(CMAKE_TRY_COMPILE_TARGET_TYPE "
        "STATIC_LIBRARY)\n";
  text += "project(firmware C)\n";
  text += fmt::format("set(STEPS {} CACHE STRING \"of the whole training\")\n", project.steps);
  text += "add_executable(firmware";
  for (const std::string& source : project.sources) text += "\n  " + source;
  text += ")\ntarget_include_directories(firmware PRIVATE pantoum/include pantoum/src board model)\n";
  text += fmt::format("target_compile_options(firmware PRIVATE\n  {})\n",
                      listed(fmt::format("{}-O2 {} {} -DSTEPS=${{STEPS}}", flags, kCompile, project.limits)));
  std::string link = "-Wl,--gc-sections";
  if (!board.is_posix())
    link = fmt::format("{}-nostartfiles {} {} -T ${{CMAKE_SOURCE_DIR}}/board/firmware.ld", flags, link,
                       memory_symbols(board, std::to_string(project.ram), std::to_string(project.stack)));
  text += fmt::format("target_link_options(firmware PRIVATE\n  {})\ntarget_link_libraries(firmware m)\n", listed(link));
  if (!board.is_posix()) text += "set_target_properties(firmware PROPERTIES SUFFIX .elf)\n";
  return text + cmake_run(project);
}

}  // namespace pantoum::emit
