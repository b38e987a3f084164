#include "emit/firmware.h"

#include <fmt/format.h>

#include <bit>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/foreign_text.h"
#include "base/json_text.h"
#include "emit/boards.h"
#include "emit/build_files.h"
#include "emit/measure_stack.h"
#include "emit/model_text.h"
#include "emit/project/commit.h"
#include "emit/project_folder.h"
#include "emit/project_sources.h"
#include "emit/step_work.h"
#include "runtime/plan_bytes.h"

namespace pantoum::emit {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kUnknownStack = 2048;

// Where a file of the repository stands in the project; empty: it does not belong there.
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
  const nlohmann::ordered_json json{{"steps", firmware.steps},
                                    {"lr", firmware.lr},
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

// As much stack as the program's calls need, main.c as it stands among them.
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
