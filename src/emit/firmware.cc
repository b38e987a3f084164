#include "emit/firmware.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "artifact/binary_plan.h"
#include "base/files.h"
#include "base/foreign_text.h"
#include "base/json_text.h"
#include "base/units.h"
#include "emit/boards.h"
#include "emit/build_files.h"
#include "emit/model_text.h"
#include "emit/project/blocks.h"
#include "emit/project/commit.h"
#include "emit/project_sources.h"
#include "emit/stack_depth.h"
#include "emit/step_work.h"
#include "emit/storage_image.h"
#include "runtime/plan_bytes.h"
#include "runtime/slices.h"

namespace pantoum::emit {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kUnknownStack = 2048;
constexpr const char* kImage = "model/storage.img";

// The place of a repository's file inside the project; empty for a file that the project does not have.
std::string place_of(std::string_view path, const std::set<std::string>& kernels, const std::set<std::string>& board,
                     const std::string& main) {
  const std::string name = fs::path(path).filename().string();
  const bool is_source = name.ends_with(".c");
  if (path.starts_with("include/pantoum/")) return "pantoum/" + std::string(path);
  if (path.starts_with("src/runtime/")) return "pantoum/" + std::string(path);
  if (path.starts_with("src/kernels/portable/"))
    return is_source && !kernels.contains(name) ? "" : "pantoum/" + std::string(path);
  if (path.starts_with("src/emit/count/")) return "";  // run-firmware writes these (count.h)
  if (name == "main.c") return main;
  if (name == "engine_threads.h" && !board.contains("engine_threads.c")) return "";
  return is_source && !board.contains(name) ? "" : "board/" + name;
}

std::set<std::string> board_files(const std::vector<std::string>& own) {
  std::set<std::string> files{"block_pager.c", "commit.c", "feature_store.c", "trainer.c", "samples.c", "print.c"};
  files.insert(own.begin(), own.end());
  return files;
}

// The user's own file, where the layout's tools look for it.
std::string main_of(Layout layout) {
  return layout == Layout::make ? "main.c" : layout == Layout::cmake ? "src/main.c" : "samples/train/src/main.c";
}

Result<void> check_alignment(const pt_plan& plan) {
  if (!std::has_single_bit(plan.align_bytes))
    return fail("E0291", "the plan's alignment is no power of two, which a compiler needs", "plan",
                "change it in the device's profile, and plan again");
  if (plan.storage_bytes > 0 && plan.align_bytes != PT_BLOCK_BYTES && plan.staging_bytes < PT_BLOCK_BYTES)
    return fail("E0291", "the plan's storage has no blocks of 512 bytes, as a card has", "plan",
                "plan for a device with such a storage (m4), or in more RAM");
  return {};
}

// The threads of a plan of several engines; empty: it is of one.
Result<std::vector<host::CrewThreads>> crews_of(const pt_plan& plan, const Firmware& firmware, const Board& board) {
  if (pt_plan_engines(&plan) == 1) return std::vector<host::CrewThreads>();
  if (!board.is_posix() || firmware.layout == Layout::zephyr)
    return fail("E0291", "the plan computes on several engines, which are threads of POSIX in a project", "plan",
                "emit it with --target posix and --layout make or cmake, or plan without --engines");
  return host::crew_threads(plan, firmware.engines);
}

// `plan`: the board's, without names.
FirmwareSizes sizes_of(const pt_plan& plan, bool check_blocks) {
  FirmwareSizes sizes{.arena = plan.arena_bytes, .plan = plan.size, .read_in_place = plan.rom_bytes};
  if (check_blocks) sizes.sums = uint64_t{pt_plan_blocks(&plan)} * sizeof(uint32_t);
  sizes.tensor_table = uint64_t{plan.tensor_count} * plan.bytes[int{PT_AT_TENSOR_ENDS} + PT_TENSOR_FIELDS - 1] +
                       uint64_t{plan.layout_count} * plan.bytes[PT_AT_LAYOUT_SIZE];
  for (uint32_t program = 0; program < plan.program_count; ++program) {
    uint32_t instructions = 0;
    const pt_code code = pt_program_code(&plan, program, &instructions);
    sizes.instructions += instructions;
    sizes.code += static_cast<uint64_t>(code.cursor.end - code.cursor.at);
  }
  sizes.op_table =
      plan.size - PT_HEADER_SIZE - sizes.tensor_table - sizes.code - uint64_t{plan.program_count} * PT_PROGRAM_SIZE;
  return sizes;
}

constexpr uint64_t kCommitEvery = 10;  // COMMIT_EVERY of main.c

uint64_t whole_blocks(uint64_t bytes) {
  return (bytes + PT_BLOCK_BYTES - 1) / PT_BLOCK_BYTES * PT_BLOCK_BYTES;
}

// What an op in slices writes to storage.
uint64_t written_in_slices(const pt_plan& plan, const pt_op_view& view) {
  const pt_kernel* kernel = pt_kernel_find(pt_portable_kernels(), view.op, view.dtype, view.algorithm, view.engine);
  pt_loop loop;
  uint64_t bytes = 0;
  if (kernel == nullptr || pt_loop_open(&loop, &view, plan.align_bytes, kernel, nullptr) != PT_OK) return 0;
  for (unsigned output = 0; output < view.output_count; ++output)
    if (pt_is_streamed(&view, view.input_count + output))
      bytes += pt_traffic_of(&loop, view.input_count + output).bytes;
  return bytes;
}

uint64_t paged_out(const pt_plan& plan, uint32_t program) {
  uint32_t instructions = 0;
  pt_code code = pt_program_code(&plan, program, &instructions);
  uint64_t bytes = 0;
  for (; instructions > 0; --instructions) {
    pt_step step;
    pt_op_view view;
    if (pt_decode_step(&plan, &code, &step, &view) != PT_OK) break;
    if (step.kind == PT_DO_PAGE_OUT)
      bytes += whole_blocks(uint64_t{pt_tensor_units(&plan, step.subject)} * plan.align_bytes);
    if (step.kind == PT_DO_COMPUTE && pt_is_sliced(&view)) bytes += written_in_slices(plan, view);
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

std::string how_to_build(Layout layout, const Board& board) {
  if (layout == Layout::make)
    return "    make        # builds\n    make run    # runs: steps, losses, what the stack took\n    make STEPS=1000 "
           "run\n";
  if (layout == Layout::zephyr)
    return "A module of Zephyr and an application, samples/train. Not built here: Pantoum has no Zephyr, and checks "
           "the module against its\n"
           "documented format alone. The board's RAM is what Zephyr's linker says; the table counts the training's "
           "own.\n\n"
           "    west build -b BOARD samples/train\n    west flash\n";
  const char* preset = board.is_posix() ? "host" : "board";
  return fmt::format(
      "    cmake --preset {0}\n    cmake --build --preset {0}               # builds\n    cmake --build --preset {0} "
      "--target run  # runs\n\n"
      "Another project takes the library `pantoum_model` with add_subdirectory.\n",
      preset);
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
| weights in ROM | {11} |{20}
| of them read in place | {12} |
| samples in ROM | {13} |
| blocks of 512 bytes in storage | {14} |
| of them the backbone's features, written once | {15} |
{17}
{18}
`{19}` is yours. `model/` is the network, `board/` the board, `pantoum/` the interpreter and the kernels.
)",
      base::markdown_text(firmware.name), firmware.target,
      board.is_posix() ? "" : fmt::format(" (board {})", board.name), firmware.ram_bytes, sizes.arena, sizes.stack,
      sizes.instructions, sizes.code, sizes.op_table, sizes.tensor_table, sizes.plan, sizes.weights,
      sizes.read_in_place, sizes.samples, sizes.storage_blocks, sizes.feature_blocks, sizes.sums,
      endurance_rows(firmware, sizes.writes), how_to_build(firmware.layout, board), main_of(firmware.layout),
      sizes.image == 0 ? ""
                       : fmt::format("\n| image of the storage before the first step, {} | {} |", kImage, sizes.image));
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
                                    {"engines", firmware.engines},
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

FirmwareSizes firmware_sizes(const Firmware& firmware, const pt_plan& plan, const pt_plan& on_board,
                             const BatchTensors& batch) {
  FirmwareSizes sizes = sizes_of(on_board, firmware.check_blocks);
  sizes.ram = firmware.ram_bytes;
  sizes.storage_blocks = storage_blocks(plan, batch, firmware.training.count, firmware.check_blocks);
  sizes.feature_blocks = pt_feature_blocks(batch.features.data(), static_cast<uint32_t>(batch.features.size()),
                                           firmware.training.count, firmware.check_blocks ? 1 : 0);
  if (sizes.storage_blocks > 0) sizes.writes = storage_writes(plan, firmware.check_blocks);
  sizes.stack = firmware.stack_bytes == 0 ? kUnknownStack : firmware.stack_bytes;
  return sizes;
}

// Refuses, before a compiler does, weights that are larger than the board's ROM.
Result<void> check_rom(const Board& board, const FirmwareSizes& sizes, bool may_have_image) {
  if (board.is_posix() || sizes.weights <= board.rom_bytes) return {};
  return fail("E0292",
              fmt::format("initial values of {} are to be in ROM, and the board {} has {}",
                          base::show_bytes(static_cast<int64_t>(sizes.weights)), board.name,
                          base::show_bytes(static_cast<int64_t>(board.rom_bytes))),
              board.name,
              may_have_image ? "--storage-image puts what lives in storage into an image of it, or name another --board"
                             : "plan with --params-in aux, then emit with --storage-image, or name another --board");
}

constexpr std::array kModelSources{"model/model.c", "model/kernels.c", "model/memory.c"};

// The sources that are the same for every model; those to compile go into `project`. main.c is the user's once it is there.
std::vector<ProjectFile> common_files(const ProjectFolder& folder, const std::set<std::string>& kernels,
                                      Project& project) {
  std::vector<ProjectFile> files;
  for (const SourceFile& file : project_sources()) {
    const std::string place = place_of(file.path, kernels, board_files(project.board_sources), project.main);
    if (place.empty()) continue;
    if (place.ends_with(".c")) project.sources.push_back(place);
    if (place == project.main && folder.has(place)) continue;
    files.push_back({place, std::string(file.text)});
  }
  return files;
}

// Sets the stack to what the program's calls need, in the layout that is built here. The user's own main.c is one of the
// files, if it exists. `made`: the model's files.
Result<void> set_stack(const ProjectFolder& own, const std::vector<ProjectFile>& made,
                       const std::set<std::string>& kernels, Project& project, FirmwareSizes& sizes) {
  Project built = project;
  built.main = main_of(Layout::make), built.board_sources = project.board.files(), built.sources.clear();
  std::vector<ProjectFile> files;
  const bool own_main = own.has(project.main);
  if (own_main) {
    PANTOUM_ASSIGN(const std::string text, base::read_file(own.path_of(project.main)));
    files.push_back({built.main, text});
  }
  for (ProjectFile& file : common_files(own, kernels, built))
    if (file.name != built.main || !own_main) files.push_back(std::move(file));
  for (const char* source : kModelSources) built.sources.emplace_back(source);
  files.insert(files.end(), made.begin(), made.end());
  files.push_back({"Makefile", makefile(built)});
  const Result<StackDepth> depth = measure_stack(files, project.board);
  if (depth)
    project.stack = sizes.stack = depth->bytes, sizes.stack_calls = depth->calls;
  else
    sizes.stack_unknown = depth.error().message + (depth.error().where.empty() ? "" : ": " + depth.error().where);
  return {};
}

std::vector<ProjectFile> build_files(const Project& project, Layout layout) {
  if (layout == Layout::cmake) return cmake_files(project);
  if (layout == Layout::zephyr) return zephyr_files(project);
  return {{"Makefile", makefile(project)}, {"CMakeLists.txt", cmake_lists(project)}};
}

}  // namespace

uint64_t StorageWrites::life(uint64_t endurance) const {
  const double per_step = static_cast<double>(paged) + static_cast<double>(commit) / static_cast<double>(commit_every);
  return per_step > 0 ? static_cast<uint64_t>(static_cast<double>(endurance) / per_step) : 0;
}

Result<void> check_layout(const std::string& folder, Layout layout) {
  constexpr std::array kMarks{"Makefile", "CMakePresets.json", "zephyr/module.yml"};  // as names_of(Layout)
  PANTOUM_ASSIGN(const ProjectFolder own, ProjectFolder::open(folder));
  for (size_t at = 0; at < kMarks.size(); ++at)
    if (at != static_cast<size_t>(layout) && own.has(kMarks[at]))
      return fail("E0294", fmt::format("the folder holds a project of the layout {}", names_of(layout)[at]),
                  own.path_of(kMarks[at]), "give a new folder; nothing was changed");
  return {};
}

Result<FirmwareSizes> emit_firmware(const Firmware& firmware, const std::string& folder) {
  PANTOUM_ASSIGN(const Board board, find_board(firmware.target, firmware.board, firmware.ram_bytes));
  pt_plan plan;
  if (pt_plan_open(&plan, firmware.plan.data(), firmware.plan.size()) != PT_OK)
    return fail("E0291", "the binary plan cannot be opened", "plan");
  const std::vector<std::byte> board_bytes = artifact::without_names(firmware.plan);
  pt_plan on_board;
  if (pt_plan_open(&on_board, board_bytes.data(), board_bytes.size()) != PT_OK)
    return fail("E0001", "internal: the plan without its names cannot be opened", "plan");
  PANTOUM_TRY(check_alignment(plan));
  PANTOUM_ASSIGN(const std::vector<host::CrewThreads> crews, crews_of(plan, firmware, board));
  PANTOUM_ASSIGN(const std::set<size_t> rows, kernels_used(plan, crews));
  const std::set<std::string> kernels = kernel_files(kernel_symbols(), symbols_of(rows));
  if (kernels.empty()) return fail("E0291", "a kernel of the plan has no source here", firmware.name);
  PANTOUM_ASSIGN(const BatchTensors batch, batch_tensors(plan, firmware.inputs, firmware.features));
  FirmwareSizes sizes = firmware_sizes(firmware, plan, on_board, batch);
  Project project{
      .board = board, .main = main_of(firmware.layout), .board_sources = {}, .sources = {}, .limits = limits(plan)};
  project.board_sources = firmware.layout == Layout::zephyr ? std::vector<std::string>{"zephyr.c"} : board.files();
  project.has_threads = !crews.empty();
  if (project.has_threads) project.board_sources.emplace_back("engine_threads.c");
  project.ram = firmware.ram_bytes, project.stack = sizes.stack, project.steps = firmware.steps;
  project.storage_blocks = sizes.storage_blocks;
  PANTOUM_ASSIGN(ProjectFolder own, ProjectFolder::open(folder));
  std::vector<ProjectFile> files = common_files(own, kernels, project);
  const bool is_stored = sizes.storage_blocks > 0;
  if (firmware.storage_image && !is_stored)
    return fail("E0291", "the plan uses no storage, so there is no image of it", "--storage-image", "leave it out");
  PANTOUM_ASSIGN(const std::string text, model_text(firmware, plan, board_bytes, batch, sizes));
  PANTOUM_TRY(check_rom(board, sizes, is_stored && !firmware.storage_image));
  if (firmware.storage_image) sizes.image = sizes.storage_blocks * PT_BLOCK_BYTES;
  project.has_image = firmware.storage_image;
  for (const char* source : kModelSources) project.sources.emplace_back(source);
  std::vector<ProjectFile> made;
  std::string sample_bytes;
  PANTOUM_ASSIGN(const auto step, step_work(plan, static_cast<uint32_t>(pt_plan_program(&plan, "train"))));
  made.push_back({"model/model.h", model_header(firmware.name, is_stored)});
  made.push_back({"model/model.c", text});
  made.push_back({"model/kernels.c", kernel_table(rows)});
  made.push_back({"model/memory.c", memory_text(plan, crews, is_stored, firmware.check_blocks)});
  made.push_back({"model/run.json", run_json(firmware, board, sizes.arena, step, sample_bytes)});
  made.push_back({"model/samples.bin", std::move(sample_bytes)});
  made.push_back(
      {"model/plan.bin", std::string(reinterpret_cast<const char*>(firmware.plan.data()), firmware.plan.size())});
  if (firmware.stack_bytes == 0 && !board.is_posix()) PANTOUM_TRY(set_stack(own, made, kernels, project, sizes));
  files.insert(files.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
  for (ProjectFile& file : build_files(project, firmware.layout)) files.push_back(std::move(file));
  if (firmware.storage_image) {
    PANTOUM_TRY(own.claim({kImage}));
    PANTOUM_TRY(write_storage_image(firmware, sizes.storage_blocks, own.path_of(kImage)));
  }
  files.push_back({"README.md", readme(firmware, board, sizes)});
  PANTOUM_TRY(own.replace(files));
  return sizes;
}

}  // namespace pantoum::emit
