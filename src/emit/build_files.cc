#include "emit/build_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

#include "base/foreign_text.h"
#include "emit/project/blocks.h"

namespace pantoum::emit {
namespace {

constexpr const char* kCompile =
    "-std=gnu99 -ffp-contract=off -ffunction-sections -fdata-sections -Wall -Wextra -Werror -Wconversion "
    "-Wno-missing-field-initializers";

// The size of storage.img. The image of an SD card must be a power of two, so that of a file is one, too.
uint64_t image_bytes(const Project& project) {
  return std::bit_ceil(std::max<uint64_t>(project.storage_blocks, 512)) * PT_BLOCK_BYTES;
}

// The command that makes a storage as a training begins with it.
std::string new_storage(const Project& project, const std::string& path) {
  const std::string sized = fmt::format("truncate -s {} {}", image_bytes(project), path);
  return project.has_image ? fmt::format("cp --sparse=always model/storage.img {} && {}", path, sized) : sized;
}

std::string qemu(const Board& board) {
  return fmt::format(
      "qemu-system-arm -M {} -display none -monitor none -serial none -chardev stdio,id=c -semihosting-config "
      "enable=on,target=native,chardev=c{}",
      board.machine, board.storage == "sd" ? " -drive if=sd,format=raw,file=storage.img" : "");
}

// The linker's symbols for the chip's memory.
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
  if (board.is_posix())
    return text + fmt::format("LDFLAGS := -Wl,--gc-sections{} -lm\nPROGRAM := firmware\n",
                              project.has_threads ? " -pthread" : "");
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
    text += fmt::format("# {}, as a new card: training begins; as a run left it: it goes on.\nstorage.img:\n\t@{}\n\n",
                        project.has_image ? "Initial values" : "Empty", new_storage(project, "$@"));
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

std::string libraries(const Project& project) {
  return project.has_threads ? "m pthread" : "m";
}

// "a;b;c": what CMake reads as several arguments.
std::string listed(std::string words) {
  words.erase(0, words.find_first_not_of(' '));
  std::ranges::replace(words, ' ', ';');
  return words;
}

// `run`, as the Makefile has it: in the project's folder, where storage.img is.
std::string cmake_run(const Project& project) {
  const bool is_posix = project.board.is_posix();
  const std::string image = project.storage_blocks == 0 ? ""
                                                        : fmt::format("\n  COMMAND test -f storage.img || sh -c \"{}\"",
                                                                      new_storage(project, "storage.img"));
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
  text += fmt::format("target_link_options(firmware PRIVATE\n  {})\ntarget_link_libraries(firmware {})\n", listed(link),
                      libraries(project));
  if (!board.is_posix()) text += "set_target_properties(firmware PROPERTIES SUFFIX .elf)\n";
  return text + cmake_run(project);
}

namespace {

// The sources that belong to the program, and those of the library that every program takes.
std::string listed_sources(const Project& project, bool of_program, const std::string& before) {
  std::set<std::string> own{project.main};
  for (const std::string& name : project.board_sources) own.insert("board/" + name);
  std::string text;
  for (const std::string& source : project.sources)
    if (own.contains(source) == of_program) text += "\n  " + before + source;
  return text;
}

constexpr const char* kToolchain =
    "# The compiler of the board: cmake --preset board, or -DCMAKE_TOOLCHAIN_FILE=cmake/board.cmake.\n"
    "set(CMAKE_SYSTEM_NAME Generic)\n"
    "set(CMAKE_SYSTEM_PROCESSOR arm)\n"
    "set(CMAKE_C_COMPILER arm-none-eabi-gcc)\n"
    "set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)\n"
    "set(CMAKE_C_FLAGS_INIT \"{} -specs=nano.specs\")\n";

std::string presets(const Board& board) {
  const std::string name = board.is_posix() ? "host" : "board";
  nlohmann::ordered_json configure{
      {"name", name}, {"generator", "Unix Makefiles"}, {"binaryDir", "${sourceDir}/build/" + name}};
  if (!board.is_posix()) configure["toolchainFile"] = "${sourceDir}/cmake/board.cmake";
  const nlohmann::ordered_json build{{"name", name}, {"configurePreset", name}};
  const nlohmann::ordered_json json{{"version", 3},
                                    {"cmakeMinimumRequired", {{"major", 3}, {"minor", 21}, {"patch", 0}}},
                                    {"configurePresets", nlohmann::ordered_json::array({configure})},
                                    {"buildPresets", nlohmann::ordered_json::array({build})}};
  return json.dump(2) + "\n";
}

std::string library_lists(const Project& project) {
  const Board& board = project.board;
  std::string text =
      "# Alone: a library, and the program that trains on it. Inside another project (add_subdirectory): the library, "
      "pantoum_model.\n"
      "cmake_minimum_required(VERSION 3.21)\nproject(firmware C)\n";
  text += fmt::format("set(STEPS {} CACHE STRING \"of the whole training\")\n\n", project.steps);
  text += "add_library(pantoum_model STATIC" + listed_sources(project, false, "") + ")\n";
  text += "target_include_directories(pantoum_model PUBLIC pantoum/include pantoum/src board model)\n";
  text += fmt::format("target_compile_options(pantoum_model PRIVATE\n  {})\n", listed(fmt::format("-O2 {}", kCompile)));
  if (!project.limits.empty())
    text += fmt::format("target_compile_options(pantoum_model PUBLIC {})\n", listed(project.limits));
  text += "target_link_libraries(pantoum_model PUBLIC " + libraries(project) +
          ")\n\nif(NOT PROJECT_IS_TOP_LEVEL)\n  return()\nendif()\n\n";
  text += "add_executable(firmware" + listed_sources(project, true, "") + ")\n";
  text += fmt::format("target_compile_options(firmware PRIVATE\n  {})\n",
                      listed(fmt::format("-O2 {} -DSTEPS=${{STEPS}}", kCompile)));
  text += "target_link_libraries(firmware PRIVATE pantoum_model)\n";
  std::string link = "-Wl,--gc-sections";
  if (!board.is_posix())
    link = fmt::format("-nostartfiles {} {} -T ${{CMAKE_SOURCE_DIR}}/board/firmware.ld", link,
                       memory_symbols(board, std::to_string(project.ram), std::to_string(project.stack)));
  text += fmt::format("target_link_options(firmware PRIVATE\n  {})\n", listed(link));
  if (!board.is_posix()) text += "set_target_properties(firmware PROPERTIES SUFFIX .elf)\n";
  return text + cmake_run(project);
}

constexpr const char* kKconfig =
    "config PANTOUM_MODEL\n"
    "\tbool \"A network that trains on the device\"\n"
    "\thelp\n"
    "\t  Builds the interpreter, the kernels and the plan of this module as a library. board.h in board/ names the\n"
    "\t  functions that an application provides; samples/train does.\n\n"
    "if PANTOUM_MODEL\n\n"
    "config PANTOUM_MODEL_STEPS\n"
    "\tint \"Steps of the whole training\"\n"
    "\tdefault {}\n"
    "\trange 1 1000000000\n\n"
    "endif # PANTOUM_MODEL\n";

std::string module_lists(const Project& project) {
  return "# Zephyr reads this file where zephyr/module.yml says so.\nif(CONFIG_PANTOUM_MODEL)\n"
         "zephyr_library_named(pantoum_model)\nzephyr_library_sources(" +
         listed_sources(project, false, "${CMAKE_CURRENT_SOURCE_DIR}/") + ")\nzephyr_library_compile_options(\n  " +
         listed(fmt::format("-ffp-contract=off -Wno-missing-field-initializers {}", project.limits)) +
         ")\nzephyr_include_directories(" + "pantoum/include pantoum/src board model)\n" +
         (project.limits.empty() ? "" : "zephyr_compile_options(" + listed(project.limits) + ")\n") + "endif()\n";
}

}  // namespace

std::vector<ProjectFile> cmake_files(const Project& project) {
  std::vector<ProjectFile> files{{"CMakeLists.txt", library_lists(project)},
                                 {"CMakePresets.json", presets(project.board)}};
  if (!project.board.is_posix()) files.push_back({"cmake/board.cmake", fmt::format(kToolchain, project.board.flags)});
  return files;
}

std::vector<ProjectFile> zephyr_files(const Project& project) {
  std::string sample =
      "cmake_minimum_required(VERSION 3.20.0)\n"
      "list(APPEND ZEPHYR_EXTRA_MODULES ${CMAKE_CURRENT_SOURCE_DIR}/../..)\n"
      "find_package(Zephyr REQUIRED HINTS $ENV{ZEPHYR_BASE})\nproject(train C)\n"
      "target_compile_definitions(app PRIVATE STEPS=${CONFIG_PANTOUM_MODEL_STEPS})\n"
      "target_sources(app PRIVATE src/main.c ../../board/zephyr.c)\n";
  // printk and the kernel's own calls come on top of what the training's deepest calls take
  std::string settings = fmt::format(
      "CONFIG_PANTOUM_MODEL=y\nCONFIG_MAIN_STACK_SIZE={}\nCONFIG_THREAD_STACK_INFO=y\nCONFIG_INIT_STACKS=y\n",
      project.stack + 2048);
  if (project.storage_blocks > 0)
    settings +=
        "# state and what is paged: a disk \"SD\", of which the board's devicetree has to "
        "know\nCONFIG_DISK_ACCESS=y\nCONFIG_DISK_DRIVERS=y\nCONFIG_SDMMC_STACK=y\n";
  return {{"zephyr/module.yml", "name: pantoum_model\nbuild:\n  cmake: .\n  kconfig: Kconfig\nsamples:\n  - samples\n"},
          {"CMakeLists.txt", module_lists(project)},
          {"Kconfig", fmt::format(kKconfig, project.steps)},
          {"samples/train/CMakeLists.txt", sample},
          {"samples/train/prj.conf", settings},
          {"samples/train/sample.yaml",
           "sample:\n  name: A network that trains on the device\ncommon:\n  build_only: true\n  tags: "
           "pantoum\ntests:\n  sample.pantoum.train: {}\n"}};
}

}  // namespace pantoum::emit
