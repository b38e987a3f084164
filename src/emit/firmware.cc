#include "emit/firmware.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/files.h"
#include "emit/c_text.h"
#include "emit/project/boards.h"
#include "emit/project/commit.h"
#include "emit/project_sources.h"
#include "emit/step_work.h"
#include "kernels/portable/kernel_rows.h"
#include "runtime/plan_bytes.h"

namespace pantoum::emit {
namespace {

namespace fs = std::filesystem;

// ---- boards ----

struct Board {
  std::string name, machine, flags;
  uint64_t rom_origin, rom_bytes, ram_origin, ram_bytes;
  std::string storage;
  bool guard;
  std::string sources;
  [[nodiscard]] bool is_posix() const { return machine.empty(); }
};

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

Result<Board> board_of(const Firmware& firmware) {
  const auto target = std::find_if(targets().begin(), targets().end(),
                                   [&](const Target& each) { return each.name == firmware.target; });
  std::vector<std::string> names;
  for (const Target& each : targets()) names.push_back(each.name);
  if (target == targets().end())
    return fail("E0297", fmt::format("the target '{}' is unknown", firmware.target), "--target",
                fmt::format("use one of {}", fmt::join(names, ", ")));
  const std::string name = firmware.board.empty() ? target->board : firmware.board;
  const auto board =
      std::find_if(boards().begin(), boards().end(), [&](const Board& each) { return each.name == name; });
  names.clear();
  for (const Board& each : boards()) names.push_back(each.name);
  if (board == boards().end())
    return fail("E0297", fmt::format("the board '{}' is unknown", name), "--board",
                fmt::format("use one of {}", fmt::join(names, ", ")));
  Board made = *board;
  if (!made.is_posix()) {  // the code is the target's, whatever the board could run
    const auto own =
        std::find_if(boards().begin(), boards().end(), [&](const Board& each) { return each.name == target->board; });
    if (own->is_posix())
      return fail("E0297", fmt::format("'{}' is no board of the target posix", name), "--board", "leave it out");
    made.flags = own->flags;
  }
  if (firmware.ram_bytes > made.ram_bytes)
    return fail("E0292", fmt::format("{} bytes of RAM on a board with {}", firmware.ram_bytes, made.ram_bytes), name,
                "give a smaller --ram, or another --board");
  return made;
}

// ---- kernels ----

struct KernelNames {
  const char *op, *dtype, *algorithm, *function, *workspace;
};

// In the order of the kernel table.
constexpr KernelNames kKernelNames[] = {
#define ROW(op, dtype, algorithm, name, numerics, function, workspace) \
  {"PT_OP_" #op, #dtype, #algorithm, #function, #workspace},
    PT_KERNEL_ROWS(ROW)
#undef ROW
};

Result<std::set<size_t>> kernels_used(const pt_plan& plan) {
  std::set<size_t> rows;
  const pt_kernel_table* table = pt_portable_kernels();
  for (uint32_t op = 0; op < plan.op_count; ++op) {
    pt_op_view view;
    if (pt_decode_op(&plan, op, &view) != PT_OK) return fail("E0291", "the binary plan is damaged", "plan");
    const pt_kernel* kernel = pt_kernel_find(table, view.op, view.dtype, view.algorithm, view.engine);
    if (kernel == nullptr)
      return fail("E0291", "the plan uses a kernel that is not one of the portable ones", "plan",
                  "plan with --kernels portable, or for a device other than the host");
    rows.insert(static_cast<size_t>(kernel - table->kernels));
  }
  return rows;
}

std::string dtype_text(const char* dtype) {
  return std::string(dtype) == "PT_REAL_DTYPE" ? "PT_F32" : dtype;
}

std::string symbol(const char* function) {
  return std::string(function) + "_f32";
}

std::string kernel_table(const std::set<size_t>& rows) {
  std::set<std::string> functions, workspaces;
  std::string table;
  for (const size_t row : rows) {
    const KernelNames& names = kKernelNames[row];
    functions.insert(symbol(names.function));
    workspaces.insert(symbol(names.workspace));
    table += fmt::format("    {{{}, {}, 0, {}, \"\", \"\", {}, NULL, {}}},\n", names.op, dtype_text(names.dtype),
                         names.algorithm, symbol(names.function), symbol(names.workspace));
  }
  std::string text = "/* The kernels that the plan uses. */\n#include \"model.h\"\n\n";
  for (const std::string& name : functions) text += fmt::format("pt_status {}(const pt_call* call);\n", name);
  for (const std::string& name : workspaces) text += fmt::format("size_t {}(const pt_call* call);\n", name);
  text += fmt::format("\nstatic const pt_kernel kernels[] = {{\n{}}};\n", table);
  return text + "const pt_kernel_table pt_model_kernels = {kernels, sizeof kernels / sizeof kernels[0]};\n";
}

// ---- the model ----

class Model {
 public:
  Model(const Firmware& firmware, const pt_plan& plan) : firmware_(firmware), plan_(plan) {}

  Result<std::string> text(FirmwareSizes& sizes) {
    PANTOUM_TRY(add_contents());
    PANTOUM_TRY(add_rows());
    sizes.weights = weight_bytes_;
    std::string text = "/* The plan, first contents, samples. */\n#include \"model.h\"\n\n";
    text += byte_array("plan", firmware_.plan) + arrays_;
    if (!rom_.empty()) text += byte_array("rom", rom_);
    text += fmt::format("static const pt_first_contents contents[] = {{\n{}}};\n", contents_);
    text += fmt::format("static const pt_batch_tensor rows[] = {{\n{}}};\n", rows_);
    text += samples("training", firmware_.training, sizes) + samples("test", firmware_.test, sizes);
    return text + description();
  }

 private:
  bool is_of_the_batch(const std::string& name) const {
    return std::find(firmware_.inputs.begin(), firmware_.inputs.end(), name) != firmware_.inputs.end();
  }

  // Everything that is there before the first step: its contents, or zeros for the optimizer's state.
  Result<void> add_contents() {
    for (uint32_t tensor = 0; tensor < plan_.tensor_count; ++tensor) {
      pt_tensor_info info;
      if (pt_plan_tensor_info(&plan_, tensor, &info) != PT_OK)
        return fail("E0291", "the binary plan is damaged", "plan");
      const uint8_t* record = pt_tensor_record(&plan_, tensor);
      const std::string name = info.name;
      const bool is_successor = (record[PT_TENSOR_FLAGS] & PT_FLAG_SUCCESSOR) != 0;
      if (info.home == PT_HOME_NONE || is_successor || name.empty() || is_of_the_batch(name)) continue;
      const artifact::SafetensorEntry* entry = firmware_.weights->find(name);
      if (entry == nullptr) {
        if (name.starts_with("optim.")) contents_ += fmt::format("    {{{}, {}, NULL}},\n", tensor, info.payload);
        continue;
      }
      PANTOUM_TRY(add_weight(tensor, info, *entry));
    }
    if (contents_.empty()) contents_ = "    {0, 0, NULL},\n";
    return {};
  }

  Result<void> add_weight(uint32_t tensor, const pt_tensor_info& info, const artifact::SafetensorEntry& entry) {
    std::vector<std::byte> bytes(static_cast<size_t>(info.payload));
    if (entry.bytes != info.payload)
      return fail("E0291", "a tensor of the weights has another size than in the plan", entry.name);
    PANTOUM_TRY(artifact::read_tensor(*firmware_.weights, entry, 0, bytes));
    weight_bytes_ += info.payload;
    if (info.home == PT_HOME_ROM) {
      const size_t at =
          static_cast<size_t>(pt_load_u32(pt_tensor_record(&plan_, tensor) + PT_TENSOR_ROM)) * plan_.align_bytes;
      rom_.resize(std::max(rom_.size(), at + bytes.size()));
      std::copy(bytes.begin(), bytes.end(), rom_.begin() + static_cast<std::ptrdiff_t>(at));
      return {};
    }
    const std::string array = fmt::format("contents_{}", tensor);
    arrays_ += byte_array(array, bytes);
    contents_ += fmt::format("    {{{}, {}, {}}}, /* {} */\n", tensor, info.payload, array, entry.name);
    return {};
  }

  Result<void> add_rows() {
    for (const std::string& name : firmware_.inputs) {
      const int32_t tensor = pt_plan_tensor(&plan_, name.c_str());
      pt_tensor_info info;
      if (tensor < 0 || pt_plan_tensor_info(&plan_, static_cast<uint32_t>(tensor), &info) != PT_OK || info.rank == 0)
        return fail("E0291", "the plan has no such tensor of the batch", name);
      batch_ = info.dims[0];
      rows_ += fmt::format("    {{{}, {}}}, /* {} */\n", tensor, info.payload / info.dims[0], name);
    }
    return {};
  }

  static std::string samples(const std::string& name, const Samples& of, FirmwareSizes& sizes) {
    std::string text, rows;
    for (size_t at = 0; at < of.rows.size(); ++at) {
      const SampleRows& each = of.rows[at];
      const std::string array = fmt::format("{}_{}", name, at);
      sizes.samples += each.data.size();
      text += byte_array(array, each.data);
      std::vector<std::string> planes;
      for (const float value : each.planes) planes.push_back(literal(value));
      if (!planes.empty())
        text += fmt::format("static const float {}_planes[] = {{{}}};\n", array, fmt::join(planes, ", "));
      rows +=
          fmt::format("    {{{}, {}, {}, {}, {}, {}}},\n", array, planes.empty() ? "NULL" : array + "_planes",
                      each.elements, std::max<size_t>(1, each.planes.size() / 2), each.stored_bytes, each.conversion);
    }
    if (rows.empty()) rows = "    {NULL, NULL, 0, 1, 1, 0},\n";
    text += fmt::format("static const pt_rows {}_rows[] = {{\n{}}};\n", name, rows);
    return text + fmt::format("const pt_sample_set pt_model_{} = {{{}_rows, {}}};\n", name, name, of.count);
  }

  std::string description() const {
    const auto program = [&](const char* name) { return pt_plan_program(&plan_, name); };
    const auto tensor = [&](const char* name) { return pt_plan_tensor(&plan_, name); };
    return fmt::format(
        "const pt_model pt_model_description = {{\n"
        "    plan, sizeof plan, &pt_model_kernels, {}, contents, rows,\n"
        "    sizeof contents / sizeof contents[0], sizeof rows / sizeof rows[0], {},\n"
        "    {}, {}, {}, {}, {},\n"
        "    {}, {}u,\n}};\n",
        rom_.empty() ? "NULL" : "rom", batch_, program("train"), program("eval"), tensor("loss"), tensor("eval.loss"),
        tensor("eval.count_correct"), literal(firmware_.lr), firmware_.seed);
  }

  const Firmware& firmware_;
  const pt_plan& plan_;
  std::string arrays_, contents_, rows_;
  std::vector<std::byte> rom_;
  uint64_t weight_bytes_ = 0;
  uint32_t batch_ = 1;
};

std::string memory_text(const pt_plan& plan) {
  const bool stored = plan.storage_bytes > 0;
  return fmt::format(
      R"(/* Everything in RAM but the stack: the arena of the plan, and what the session takes beside it. */
#include "model.h"

#include "runtime/session.h"

enum {{ SESSION_BYTES = (sizeof(struct pt_session) + 15) / 16 * 16 + {} * 5 + {} * 2 }};

__attribute__((section(".arena"), aligned(16), used)) static uint8_t arena[{}];
static uint8_t session[SESSION_BYTES] __attribute__((aligned(16)));
{}
const pt_memory pt_model_memory = {{arena, session, {}}};
)",
      plan.tensor_count, plan.op_count, std::max<uint64_t>(plan.arena_bytes, 16),
      stored ? "static uint8_t buffer[PT_BLOCK_BYTES] __attribute__((aligned(16)));\n" : "",
      stored ? "buffer" : "NULL");
}

std::string model_header(const pt_plan& plan, const std::string& name) {
  return fmt::format(
      R"(/* {}: what model.c, kernels.c and memory.c hold. */
#ifndef PANTOUM_MODEL_H
#define PANTOUM_MODEL_H

#include "samples.h"
#include "trainer.h"

#define PT_MODEL_STORAGE {} /* whether training needs storage */

extern const pt_model pt_model_description;
extern const pt_memory pt_model_memory;
extern const pt_kernel_table pt_model_kernels;
extern const pt_sample_set pt_model_training, pt_model_test;

#endif
)",
      name, plan.storage_bytes > 0 ? 1 : 0);
}

// ---- the project ----

// Limits of the interpreter, as small as this plan allows: less stack.
std::string limits(const pt_plan& plan) {
  unsigned operands = 10, attributes = 12, rank = 5;  // of every operator that the rules of operands speak of
  for (uint32_t op = 0; op < plan.op_count; ++op) {
    pt_op_view view;
    if (pt_decode_op(&plan, op, &view) != PT_OK) continue;
    operands = std::max(operands, static_cast<unsigned>(view.input_count) + view.output_count);
    attributes = std::max({attributes, static_cast<unsigned>(view.int_count), static_cast<unsigned>(view.real_count)});
    for (unsigned at = 0; at < static_cast<unsigned>(view.input_count) + view.output_count; ++at)
      rank = std::max(rank, static_cast<unsigned>(view.operands[at].rank));
  }
  return fmt::format("-DPT_MAX_OPERANDS={} -DPT_MAX_ATTRS={} -DPT_MAX_RANK={} -DPT_MAX_IN_FLIGHT=1 -DPT_NO_TEXT",
                     operands, attributes, rank);
}

struct Project {
  const Board& board;
  std::vector<std::string> sources;  // C files, inside the project
  std::string limits;
  uint64_t ram = 0, stack = 0, steps = 0, storage_blocks = 0;
};

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
        "-semihosting-config enable=on,target=native,chardev=c{}\nQEMU_MORE :=\nrun: $(PROGRAM){}\n\t@$(QEMU) "
        "$(QEMU_MORE) "
        "-kernel $(PROGRAM)\n\nbuild/symbols: $(PROGRAM)\n\t@$(CC:gcc=nm) -nS $< > $@\n",
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

class Writer {
 public:
  explicit Writer(const std::string& folder) : folder_(folder) {}

  Result<void> write(const std::string& name, std::string_view text) const {
    std::error_code error;
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path(), error);
    if (error) return fail("E0901", "cannot make the folder: " + error.message(), path.parent_path().string());
    return base::write_file_atomically(path.string(), text);
  }

  [[nodiscard]] bool has(const std::string& name) const { return fs::exists(folder_ / name); }

 private:
  fs::path folder_;
};

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
  std::set<std::string> files{"block_pager.c", "commit.c", "trainer.c", "samples.c", "print.c"};
  for (const std::string& name : words_of(board.sources)) files.insert(name);
  if (!board.is_posix())
    for (const std::string& name : words_of(PT_BOARD_SOURCES)) files.insert(name);
  return files;
}

FirmwareSizes sizes_of(const pt_plan& plan) {
  FirmwareSizes sizes{.arena = plan.arena_bytes, .plan = plan.size};
  if (plan.storage_bytes > 0) sizes.storage_blocks = pt_journal_blocks(&plan);
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

std::string readme(const Firmware& firmware, const Board& board, const FirmwareSizes& sizes) {
  return fmt::format(
      R"(# {0}

Trains on {1}{2}, as it was planned.

| memory | bytes |
| --- | --- |
| RAM in all (the linker's limit) | {3} |
| of it the plan's arena | {4} |
| of it the stack | {5} |
| plan in ROM: {6} instructions in {7} bytes, ops {8}, tensors {9}, in all | {10} |
| weights in ROM | {11} |
| samples in ROM | {12} |
| blocks of 512 bytes in storage | {13} |

    make        # builds
    make run    # runs: steps, losses, what the stack took
    make STEPS=1000 run

`main.c` is yours. `model/` is the network, `board/` the board, `pantoum/` the interpreter and the kernels.
)",
      firmware.name, firmware.target, board.is_posix() ? "" : fmt::format(" (board {})", board.name),
      firmware.ram_bytes, sizes.arena, sizes.stack, sizes.instructions, sizes.code, sizes.op_table, sizes.tensor_table,
      sizes.plan, sizes.weights, sizes.samples, sizes.storage_blocks);
}

// What emit::run_on_host and emit::counted_steps read.
std::string run_json(const Firmware& firmware, const std::vector<KernelWork>& step, std::string& bytes) {
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
  return nlohmann::ordered_json{{"steps", firmware.steps},
                                {"lr", firmware.lr},
                                {"seed", firmware.seed},
                                {"batch", firmware.inputs},
                                {"training", set(firmware.training)},
                                {"test", set(firmware.test)},
                                {"energy_j", firmware.energy_j},
                                {"kernels", to_json(step)}}
             .dump(1) +
         "\n";
}

std::set<std::string> symbols_of(const std::set<size_t>& rows) {
  std::set<std::string> functions{"pt_kernel_find", "pt_arrange", "pt_plain_op"};  // what the interpreter calls
  for (const size_t row : rows) {
    functions.insert(symbol(kKernelNames[row].function));
    functions.insert(symbol(kKernelNames[row].workspace));
  }
  return functions;
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> all = {{"cortex-m0", "microbit"},    {"cortex-m3", "lm3s6965evb"},
                                          {"cortex-m4f", "mps2-an386"}, {"cortex-m7", "mps2-an500"},
                                          {"cortex-m55", "mps3-an547"}, {"posix", "posix"}};
  return all;
}

Result<FirmwareSizes> emit_firmware(const Firmware& firmware, const std::string& folder) {
  PANTOUM_ASSIGN(const Board board, board_of(firmware));
  pt_plan plan;
  if (pt_plan_open(&plan, firmware.plan.data(), firmware.plan.size()) != PT_OK)
    return fail("E0291", "the binary plan cannot be opened", "plan");
  PANTOUM_ASSIGN(const std::set<size_t> rows, kernels_used(plan));
  const std::set<std::string> kernels = kernel_files(kernel_symbols(), symbols_of(rows));
  if (kernels.empty()) return fail("E0291", "a kernel of the plan has no source here", firmware.name);
  FirmwareSizes sizes = sizes_of(plan);
  sizes.ram = firmware.ram_bytes;
  sizes.stack = firmware.stack_bytes == 0 ? 2048 : firmware.stack_bytes;
  Project project{.board = board, .sources = {}, .limits = limits(plan)};
  project.ram = firmware.ram_bytes, project.stack = sizes.stack, project.steps = firmware.steps;
  project.storage_blocks = sizes.storage_blocks;
  const Writer writer(folder);
  for (const SourceFile& file : project_sources()) {
    const std::string place = place_of(file.path, kernels, board_files(board));
    if (place.empty()) continue;
    if (place.ends_with(".c")) project.sources.push_back(place);
    if (place == "main.c" && writer.has(place)) continue;
    PANTOUM_TRY(writer.write(place, file.text));
  }
  Model model(firmware, plan);
  PANTOUM_ASSIGN(const std::string text, model.text(sizes));
  for (const char* made : {"model/model.c", "model/kernels.c", "model/memory.c"}) project.sources.emplace_back(made);
  PANTOUM_TRY(writer.write("model/model.h", model_header(plan, firmware.name)));
  PANTOUM_TRY(writer.write("model/model.c", text));
  PANTOUM_TRY(writer.write("model/kernels.c", kernel_table(rows)));
  PANTOUM_TRY(writer.write("model/memory.c", memory_text(plan)));
  std::string sample_bytes;
  PANTOUM_ASSIGN(const auto step, step_work(plan, static_cast<uint32_t>(pt_plan_program(&plan, "train"))));
  PANTOUM_TRY(writer.write("model/run.json", run_json(firmware, step, sample_bytes)));
  PANTOUM_TRY(writer.write("model/samples.bin", sample_bytes));
  PANTOUM_TRY(
      writer.write("model/plan.bin", {reinterpret_cast<const char*>(firmware.plan.data()), firmware.plan.size()}));
  PANTOUM_TRY(writer.write("Makefile", makefile(project)));
  PANTOUM_TRY(writer.write("CMakeLists.txt", cmake_lists(project)));
  PANTOUM_TRY(writer.write("README.md", readme(firmware, board, sizes)));
  return sizes;
}

}  // namespace pantoum::emit
