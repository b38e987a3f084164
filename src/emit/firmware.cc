#include "emit/firmware.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/foreign_text.h"
#include "base/json_text.h"
#include "emit/boards.h"
#include "emit/model_text.h"
#include "emit/project/blocks.h"
#include "emit/project/commit.h"
#include "emit/project_sources.h"
#include "emit/stack_depth.h"
#include "emit/step_work.h"
#include "runtime/plan_bytes.h"

namespace pantoum::emit {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kUnknownStack = 2048;

// The place of a repository's file inside the project; empty for a file that the project does not have.
std::string place_of(std::string_view path, const std::set<std::string>& kernels, const std::set<std::string>& board) {
  const std::string name = fs::path(path).filename().string();
  const bool is_source = name.ends_with(".c");
  if (path.starts_with("include/pantoum/")) return "pantoum/" + std::string(path);
  if (path.starts_with("src/runtime/")) return "pantoum/" + std::string(path);
  if (path.starts_with("src/kernels/portable/"))
    return is_source && !kernels.contains(name) ? "" : "pantoum/" + std::string(path);
  if (path.starts_with("src/emit/count/")) return "";  // run-firmware writes these (count.h)
  if (name == "main.c") return name;
  return is_source && !board.contains(name) ? "" : "board/" + name;
}

std::set<std::string> board_files(const Board& board) {
  std::set<std::string> files{"block_pager.c", "commit.c", "feature_store.c", "trainer.c", "samples.c", "print.c"};
  for (const std::string& name : board.files()) files.insert(name);
  return files;
}

Result<void> check_alignment(const pt_plan& plan) {
  if (!std::has_single_bit(plan.align_bytes))
    return fail("E0291", "the plan's alignment is no power of two, which a compiler needs", "plan",
                "change it in the device's profile, and plan again");
  if (plan.storage_bytes > 0 && plan.staging_bytes < PT_BLOCK_BYTES)
    return fail("E0291", "the plan's storage has no blocks of 512 bytes, as a card has", "plan",
                "plan for a device with such a storage (m4), or in more RAM");
  return {};
}

FirmwareSizes sizes_of(const pt_plan& plan, bool check_blocks) {
  FirmwareSizes sizes{.arena = plan.arena_bytes, .plan = plan.size, .read_in_place = plan.rom_bytes};
  if (check_blocks) sizes.sums = uint64_t{pt_plan_blocks(&plan)} * sizeof(uint32_t);
  sizes.tensor_table = uint64_t{plan.tensor_count} * PT_TENSOR_SIZE;
  for (uint32_t program = 0; program < plan.program_count; ++program) {
    uint32_t instructions = 0;
    const pt_cursor code = pt_program_code(&plan, program, &instructions);
    sizes.instructions += instructions;
    sizes.code += code.end - code.at;
  }
  sizes.op_table = plan.size - PT_HEADER_SIZE - sizes.tensor_table - sizes.code - plan.names_size -
                   uint64_t{plan.program_count} * PT_PROGRAM_SIZE;
  return sizes;
}

constexpr uint64_t kCommitEvery = 10;  // COMMIT_EVERY of main.c

uint64_t whole_blocks(uint64_t bytes) {
  return (bytes + PT_BLOCK_BYTES - 1) / PT_BLOCK_BYTES * PT_BLOCK_BYTES;
}

uint64_t paged_out(const pt_plan& plan, uint32_t program) {
  uint32_t instructions = 0;
  pt_cursor code = pt_program_code(&plan, program, &instructions);
  uint64_t bytes = 0;
  for (; instructions > 0; --instructions) {
    pt_step step;
    pt_op_view view;
    if (pt_decode_step(&plan, &code, &step, &view) != PT_OK) break;
    if (step.kind == PT_DO_PAGE_OUT)
      bytes += whole_blocks(uint64_t{pt_tensor_units(&plan, step.subject)} * plan.align_bytes);
  }
  return bytes;
}

// What the program "train" writes to storage if main.c stays as it is emitted.
StorageWrites storage_writes(const pt_plan& plan, bool check_blocks) {
  const int32_t train = pt_plan_program(&plan, "train");
  if (train < 0) return {};
  return {.paged = paged_out(plan, static_cast<uint32_t>(train)),
          .commit = pt_commit_bytes(&plan, check_blocks ? 1 : 0),
          .commit_every = pt_commits_every_step(&plan) != 0 ? 1 : kCommitEvery};
}

std::string endurance_rows(const Firmware& firmware, const StorageWrites& writes) {
  if (writes.commit == 0) return "";
  return fmt::format(
      "| written to storage by each step | {} |\n| by each commit, every {} | {} |\n"
      "| steps until the storage's endurance, {} bytes, is written | {} |\n",
      writes.paged, writes.commit_every == 1 ? "step" : fmt::format("{} steps", writes.commit_every), writes.commit,
      firmware.endurance, writes.life(firmware.endurance));
}

std::string readme(const Firmware& firmware, const Board& board, const FirmwareSizes& sizes) {
  return fmt::format(
      R"(# {0}

Trains on {1}{2}, as it was planned.

| memory | bytes |
| --- | --- |
| RAM in all (the linker's limit) | {3} |
| of it the plan's arena | {4} |
| of it the stack | {5} |
| of it checksums of the blocks in storage | {16} |
| plan in ROM: {6} instructions in {7} bytes, ops {8}, tensors {9}, in all | {10} |
| weights in ROM | {11} |
| of them read in place | {12} |
| samples in ROM | {13} |
| blocks of 512 bytes in storage | {14} |
| of them the backbone's features, written once | {15} |
{17}
    make        # builds
    make run    # runs: steps, losses, what the stack took
    make STEPS=1000 run

`main.c` is yours. `model/` is the network, `board/` the board, `pantoum/` the interpreter and the kernels.
)",
      base::markdown_text(firmware.name), firmware.target,
      board.is_posix() ? "" : fmt::format(" (board {})", board.name), firmware.ram_bytes, sizes.arena, sizes.stack,
      sizes.instructions, sizes.code, sizes.op_table, sizes.tensor_table, sizes.plan, sizes.weights,
      sizes.read_in_place, sizes.samples, sizes.storage_blocks, sizes.feature_blocks, sizes.sums,
      endurance_rows(firmware, sizes.writes));
}

// What emit::run_on_host, emit::counted_steps and emit::program_memory read.
std::string run_json(const Firmware& firmware, const Board& board, uint64_t arena, const std::vector<KernelWork>& step,
                     std::string& bytes) {
  const auto set = [&bytes](const Samples& of) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const SampleRows& each : of.rows) {
      rows.push_back({{"at", bytes.size()},
                      {"elements", each.elements},
                      {"stored_bytes", each.stored_bytes},
                      {"conversion", each.conversion},
                      {"planes", each.planes}});
      bytes.append(reinterpret_cast<const char*>(each.data.data()), each.data.size());
    }
    return nlohmann::ordered_json{{"count", of.count}, {"rows", rows}};
  };
  nlohmann::ordered_json batch = nlohmann::ordered_json::array();
  for (const BatchName& each : firmware.inputs) batch.push_back({{"name", each.name}, {"readers", each.readers}});
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const pt_group& each : firmware.groups) groups.push_back({each.lr, each.weight_decay});
  const nlohmann::ordered_json json{{"steps", firmware.steps},
                                    {"lr", firmware.lr},
                                    {"groups", groups},
                                    {"schedule", train::to_text(firmware.schedule)},
                                    {"seed", firmware.seed},
                                    {"endurance", firmware.endurance},
                                    {"batch", batch},
                                    {"features", firmware.features},
                                    {"training", set(firmware.training)},
                                    {"test", set(firmware.test)},
                                    {"plan", firmware.plan_path},
                                    {"target", firmware.target},
                                    {"board", board.is_posix() ? "" : board.name},
                                    {"ram_bytes", firmware.ram_bytes},
                                    {"rom_bytes", board.is_posix() ? 0 : board.rom_bytes},
                                    {"arena_bytes", arena},
                                    {"energy_j", firmware.energy_j},
                                    {"kernels", to_json(step)}};
  return base::ascii_json(json, 1) + "\n";
}

FirmwareSizes firmware_sizes(const Firmware& firmware, const pt_plan& plan, const BatchTensors& batch) {
  FirmwareSizes sizes = sizes_of(plan, firmware.check_blocks);
  sizes.ram = firmware.ram_bytes;
  sizes.storage_blocks = storage_blocks(plan, batch, firmware.training.count, firmware.check_blocks);
  sizes.feature_blocks = pt_feature_blocks(batch.features.data(), static_cast<uint32_t>(batch.features.size()),
                                           firmware.training.count, firmware.check_blocks ? 1 : 0);
  if (sizes.storage_blocks > 0) sizes.writes = storage_writes(plan, firmware.check_blocks);
  sizes.stack = firmware.stack_bytes == 0 ? kUnknownStack : firmware.stack_bytes;
  return sizes;
}

// How a project is built: what Makefile and CMakeLists.txt say.
struct Project {
  const Board& board;
  std::vector<std::string> sources;  // C files, inside the project
  std::string limits;                // definitions for the compiler
  uint64_t ram = 0, stack = 0, steps = 0, storage_blocks = 0;
};

constexpr const char* kCompile =
    "-std=gnu99 -ffp-contract=off -ffunction-sections -fdata-sections -Wall -Wextra -Werror -Wconversion "
    "-Wno-missing-field-initializers";

// The size of storage.img. The image of an SD card must be a power of two, so that of a file is one, too.
uint64_t image_bytes(const Project& project) {
  return std::bit_ceil(std::max<uint64_t>(project.storage_blocks, 512)) * PT_BLOCK_BYTES;
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

// "a;b;c": what CMake reads as several arguments.
std::string listed(std::string words) {
  words.erase(0, words.find_first_not_of(' '));
  std::ranges::replace(words, ' ', ';');
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

// The sources that are the same for every model; those to compile go into `project`. main.c is the user's once it is there.
std::vector<ProjectFile> common_files(const ProjectFolder& folder, const std::set<std::string>& kernels,
                                      Project& project) {
  std::vector<ProjectFile> files;
  for (const SourceFile& file : project_sources()) {
    const std::string place = place_of(file.path, kernels, board_files(project.board));
    if (place.empty()) continue;
    if (place.ends_with(".c")) project.sources.push_back(place);
    if (place == "main.c" && folder.has(place)) continue;
    files.push_back({place, std::string(file.text)});
  }
  return files;
}

// Sets the stack to what the program's calls need. The user's own main.c is one of the files, if it exists.
Result<void> set_stack(const ProjectFolder& own, std::vector<ProjectFile> files, Project& project,
                       FirmwareSizes& sizes) {
  if (own.has("main.c")) {
    PANTOUM_ASSIGN(const std::string text, base::read_file(own.path_of("main.c")));
    files.push_back({"main.c", text});
  }
  files.push_back({"Makefile", makefile(project)});
  const Result<StackDepth> depth = measure_stack(files, project.board);
  if (depth)
    project.stack = sizes.stack = depth->bytes, sizes.stack_calls = depth->calls;
  else
    sizes.stack_unknown = depth.error().message + (depth.error().where.empty() ? "" : ": " + depth.error().where);
  return {};
}

}  // namespace

uint64_t StorageWrites::life(uint64_t endurance) const {
  const double per_step = static_cast<double>(paged) + static_cast<double>(commit) / static_cast<double>(commit_every);
  return per_step > 0 ? static_cast<uint64_t>(static_cast<double>(endurance) / per_step) : 0;
}

Result<FirmwareSizes> emit_firmware(const Firmware& firmware, const std::string& folder) {
  PANTOUM_ASSIGN(const Board board, find_board(firmware.target, firmware.board, firmware.ram_bytes));
  pt_plan plan;
  if (pt_plan_open(&plan, firmware.plan.data(), firmware.plan.size()) != PT_OK)
    return fail("E0291", "the binary plan cannot be opened", "plan");
  PANTOUM_TRY(check_alignment(plan));
  PANTOUM_ASSIGN(const std::set<size_t> rows, kernels_used(plan));
  const std::set<std::string> kernels = kernel_files(kernel_symbols(), symbols_of(rows));
  if (kernels.empty()) return fail("E0291", "a kernel of the plan has no source here", firmware.name);
  PANTOUM_ASSIGN(const BatchTensors batch, batch_tensors(plan, firmware.inputs, firmware.features));
  FirmwareSizes sizes = firmware_sizes(firmware, plan, batch);
  Project project{.board = board, .sources = {}, .limits = limits(plan)};
  project.ram = firmware.ram_bytes, project.stack = sizes.stack, project.steps = firmware.steps;
  project.storage_blocks = sizes.storage_blocks;
  PANTOUM_ASSIGN(ProjectFolder own, ProjectFolder::open(folder));
  std::vector<ProjectFile> files = common_files(own, kernels, project);
  PANTOUM_ASSIGN(const std::string text, model_text(firmware, plan, batch, sizes));
  const bool is_stored = sizes.storage_blocks > 0;
  for (const char* made : {"model/model.c", "model/kernels.c", "model/memory.c"}) project.sources.emplace_back(made);
  std::string sample_bytes;
  PANTOUM_ASSIGN(const auto step, step_work(plan, static_cast<uint32_t>(pt_plan_program(&plan, "train"))));
  files.push_back({"model/model.h", model_header(firmware.name, is_stored)});
  files.push_back({"model/model.c", text});
  files.push_back({"model/kernels.c", kernel_table(rows)});
  files.push_back({"model/memory.c", memory_text(plan, is_stored, firmware.check_blocks)});
  files.push_back({"model/run.json", run_json(firmware, board, sizes.arena, step, sample_bytes)});
  files.push_back({"model/samples.bin", std::move(sample_bytes)});
  files.push_back(
      {"model/plan.bin", std::string(reinterpret_cast<const char*>(firmware.plan.data()), firmware.plan.size())});
  if (firmware.stack_bytes == 0 && !board.is_posix()) PANTOUM_TRY(set_stack(own, files, project, sizes));
  files.push_back({"Makefile", makefile(project)});
  files.push_back({"CMakeLists.txt", cmake_lists(project)});
  files.push_back({"README.md", readme(firmware, board, sizes)});
  PANTOUM_TRY(own.replace(files));
  return sizes;
}

}  // namespace pantoum::emit
