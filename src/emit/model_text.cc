#include "emit/model_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "base/foreign_text.h"
#include "emit/model_tensors.h"
#include "emit/project/commit.h"
#include "kernels/portable/kernel_rows.h"
#include "kernels/portable/norm_activation.h"
#include "kernels/portable/pool_part.h"
#include "runtime/plan_bytes.h"
#include "runtime/session.h"
#include "runtime/slices.h"

namespace pantoum::emit {
namespace {

struct KernelNames {
  const char *op, *dtype, *algorithm, *function, *workspace;
};

// The names of each kernel, in the order of the kernel table.
constexpr KernelNames kKernelNames[] = {
#define PT_KERNEL_ROW(op, dtype, algorithm, name, numerics, function, workspace) \
  {"PT_OP_" #op, #dtype, #algorithm, #function, #workspace},
    PT_KERNEL_ROWS
#undef PT_KERNEL_ROW
};

std::string dtype_text(const char* dtype) {
  return std::string(dtype) == "PT_REAL_DTYPE" ? "PT_F32" : dtype;
}

std::string symbol(const char* function) {
  return std::string(function) + "_f32";
}

// The alignment of the arena and of ROM, from which the plan's places are counted.
uint32_t alignment(const pt_plan& plan) {
  return std::max(uint32_t{16}, plan.align_bytes);
}

// "static const uint8_t name[N] = {...};", aligned so that it can be read as any type; one zero where it is empty.
std::string byte_array(const std::string& name, std::span<const std::byte> bytes, uint32_t alignment = 16) {
  std::string text = fmt::format("static const uint8_t {}[{}] __attribute__((aligned({}))) = {{", name,
                                 bytes.empty() ? 1 : bytes.size(), alignment);
  for (size_t at = 0; at < bytes.size(); ++at)
    fmt::format_to(std::back_inserter(text), "{}{},", at % 24 == 0 ? "\n" : "", static_cast<unsigned>(bytes[at]));
  return text + (bytes.empty() ? "0};\n" : "\n};\n");
}

// A number that a compiler reads back as the same bits.
std::string literal(double value) {
  return fmt::format("{:a}", value);
}
std::string literal(float value) {
  return fmt::format("{:a}f", value);
}

bool is_constant(const train::Schedule& schedule) {
  return schedule.decay == train::Schedule::Decay::kConstant && schedule.warmup.value == 0;
}

std::string initializer(const train::Extent& extent) {
  return fmt::format("{{{}, {}}}", literal(extent.value), extent.percent);
}

// "" for a constant rate: the function that computes the rate is then not linked.
std::string schedule_text(const train::Schedule& schedule) {
  if (is_constant(schedule)) return "";
  std::vector<std::string> places;
  std::vector<std::string> rates;
  for (const train::Extent& extent : schedule.at) places.push_back(initializer(extent));
  for (const double rate : schedule.rates) rates.push_back(literal(rate));
  std::string arrays;
  if (!places.empty()) arrays += fmt::format("static const pt_extent places[] = {{{}}};\n", fmt::join(places, ", "));
  if (!rates.empty()) arrays += fmt::format("static const double later_rates[] = {{{}}};\n", fmt::join(rates, ", "));
  return fmt::format("/* {} */\n{}static const pt_schedule schedule = {{{}, {}, {}, {}, {}, {}, {}, {}}};\n",
                     train::to_text(schedule), arrays, static_cast<int>(schedule.decay), initializer(schedule.warmup),
                     literal(schedule.gamma), initializer(schedule.every), places.empty() ? "NULL" : "places",
                     places.size(), literal(schedule.to), rates.empty() ? "NULL" : "later_rates");
}

// Rates and decays of the groups, and the place for those of a step, which a schedule makes. "": there are no groups.
std::string groups_text(const Firmware& firmware) {
  if (firmware.groups.empty()) return "";
  std::string text;
  for (const pt_group& group : firmware.groups)
    text += fmt::format("    {{{}, {}}},\n", literal(group.lr), literal(group.weight_decay));
  text = fmt::format("static const pt_group groups[] = {{\n{}}};\n", text);
  if (!is_constant(firmware.schedule)) text += fmt::format("static pt_group rates[{}];\n", firmware.groups.size());
  return text;
}

class Model {
 public:
  Model(const Firmware& firmware, const pt_plan& plan, std::span<const std::byte> board_plan, const BatchTensors& batch)
      : firmware_(firmware), plan_(plan), board_plan_(board_plan), batch_(batch) {}

  Result<std::string> text(FirmwareSizes& sizes) {
    PANTOUM_TRY(add_contents());
    sizes.weights = weight_bytes_;
    std::string text = "/* The plan, initial values, samples. */\n#include \"model.h\"\n\n";
    text += byte_array("plan", board_plan_) + arrays_;
    if (!rom_.empty()) text += byte_array("rom", rom_, alignment(plan_));
    text += fmt::format("static const pt_initial_value contents[] = {{\n{}}};\n", contents_);
    text += rows() + features() + outputs();
    text += samples("training", firmware_.training, sizes) + samples("test", firmware_.test, sizes);
    return text + schedule_text(firmware_.schedule) + groups_text(firmware_) + description();
  }

 private:
  Result<void> add_contents() {
    PANTOUM_ASSIGN(const InitialValues first, initial_values(plan_, *firmware_.weights, names_of(firmware_.inputs)));
    rom_ = first.rom, weight_bytes_ = first.weight_bytes;
    for (const FirstContent& each : first.tensors) {
      const pt_initial_value value = each.value(firmware_.storage_image);
      const std::string array = value.data != nullptr ? fmt::format("contents_{}", each.tensor) : "NULL";
      if (each.data) add_to(weights_crc_, *each.data);
      if (value.data != nullptr) arrays_ += byte_array(array, *each.data);
      if (each.data && value.data == nullptr) weight_bytes_ -= each.data->size();
      contents_ += fmt::format("    {{{}, {}, {}, {}}}, /* {} */\n", value.tensor, value.bytes, array, value.flags,
                               base::c_comment(each.name));
    }
    if (contents_.empty()) contents_ = "    {0, 0, NULL, 0},\n";
    add_to(weights_crc_, rom_);
    return {};
  }

  static void add_to(uint32_t& crc, std::span<const std::byte> data) {
    crc = pt_crc32_more(crc, reinterpret_cast<const uint8_t*>(data.data()), data.size());
  }

  std::string rows() const {
    std::string text;
    for (size_t row = 0; row < batch_.rows.size(); ++row)
      text += fmt::format("    {{{}, {}, {}}}, /* {} */\n", batch_.rows[row].tensor, batch_.rows[row].row_bytes,
                          batch_.rows[row].readers, base::c_comment(firmware_.inputs[row].name));
    return fmt::format("static const pt_batch_tensor rows[] = {{\n{}}};\n", text);
  }

  std::string features() const {
    std::string text;
    for (size_t at = 0; at < batch_.features.size(); ++at) {
      const pt_feature& each = batch_.features[at];
      text += fmt::format("    {{{}, {}, {}}}, /* {} */\n", each.made, each.read, each.row_bytes,
                          base::c_comment(firmware_.features[at]));
    }
    return text.empty() ? text : fmt::format("static const pt_feature features[] = {{\n{}}};\n", text);
  }

  std::string outputs() const {
    std::string text;
    for (const pt_output& each : batch_.outputs) text += fmt::format("    {{{}, {}}},\n", each.tensor, each.row_bytes);
    return text.empty() ? text : fmt::format("static const pt_output outputs[] = {{\n{}}};\n", text);
  }

  static std::string samples(const std::string& name, const Samples& of, FirmwareSizes& sizes) {
    std::string text, rows;
    uint32_t crc = 0;
    for (size_t at = 0; at < of.rows.size(); ++at) {
      const SampleRows& each = of.rows[at];
      const std::string array = fmt::format("{}_{}", name, at);
      sizes.samples += each.data.size();
      text += byte_array(array, each.data);
      add_to(crc, each.data);
      add_to(crc, std::as_bytes(std::span(each.planes)));
      add_to(crc, std::as_bytes(std::span(&each.conversion, 1)));
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
    return text +
           fmt::format("const pt_sample_set pt_model_{} = {{{}_rows, {}, {:#x}u}};\n", name, name, of.count, crc);
  }

  std::string description() const {
    const auto program = [&](const char* name) { return pt_plan_program(&plan_, name); };
    const auto tensor = [&](const char* name) { return pt_plan_tensor(&plan_, name); };
    return fmt::format(
        "const pt_model pt_model_description = {{\n"
        "    plan, sizeof plan, &pt_model_kernels, {}, contents, rows,\n"
        "    sizeof contents / sizeof contents[0], sizeof rows / sizeof rows[0], {},\n"
        "    {}, {}, {}, {}, {},\n"
        "    {}, {}u, {},\n"
        "    {}, {}, {}, {:#x}u,\n"
        "    {}, {}, {},\n"
        "    {}, {}, {},\n"
        "    {}, {},\n}};\n",
        rom_.empty() ? "NULL" : "rom", batch_.batch, program("train"), program("eval"), tensor("loss"),
        tensor("eval.loss"), tensor("eval.count_correct"), literal(firmware_.lr), firmware_.seed,
        is_constant(firmware_.schedule) ? "NULL, NULL" : "&schedule, pt_rate_at",
        batch_.features.empty() ? "NULL" : "features", batch_.features.size(), program("features"), weights_crc_,
        firmware_.groups.empty() ? "NULL" : "groups",
        firmware_.groups.empty() || is_constant(firmware_.schedule) ? "NULL" : "rates", firmware_.groups.size(),
        batch_.outputs.empty() ? "NULL" : "outputs", batch_.outputs.size(), program("predict"), class_output(),
        firmware_.labels.value_or(0));
  }

  int class_output() const {
    for (size_t at = 0; firmware_.labels && at < batch_.outputs.size(); ++at) {
      pt_tensor_info info;
      if (firmware_.classes && *firmware_.classes != batch_.output_names[at]) continue;
      if (pt_plan_tensor_info(&plan_, batch_.outputs[at].tensor, &info) != PT_OK) continue;
      if (info.dtype == PT_F32 && info.rank == 2) return static_cast<int>(at);
    }
    return -1;
  }

  const Firmware& firmware_;
  const pt_plan& plan_;
  std::span<const std::byte> board_plan_;
  const BatchTensors& batch_;
  std::string arrays_, contents_;
  std::vector<std::byte> rom_;
  uint64_t weight_bytes_ = 0;
  uint32_t weights_crc_ = 0;
};

}  // namespace

namespace {

Result<void> check_loop(const pt_plan& plan, const pt_op_view& view, const pt_kernel& kernel) {
  pt_loop loop;
  if (pt_loop_open(&loop, &view, plan.align_bytes, &kernel, nullptr) == PT_OK &&
      loop.workspace_bytes <= view.workspace_bytes)
    return {};
  return fail("E0291", "an op of the plan has no such slices", "plan", "plan again, with this version of Pantoum");
}

}  // namespace

Result<std::set<size_t>> kernels_used(const pt_plan& plan, std::span<const host::CrewThreads> crews) {
  std::set<size_t> rows;
  const pt_kernel_table* table = pt_portable_kernels();
  for (uint32_t op = 0; op < plan.op_count; ++op) {
    pt_op_view view;
    if (pt_decode_op(&plan, op, &view) != PT_OK) return fail("E0291", "the binary plan is damaged", "plan");
    if (view.op == PT_OP_custom || view.op == PT_OP_custom_update)
      return fail("E0291", "the plan has a custom operator or optimizer, whose kernel is the host's alone", "plan",
                  "train it on the host");
    const pt_kernel* kernel = pt_kernel_find(table, view.op, view.dtype, view.algorithm, view.engine);
    if (kernel == nullptr)
      return fail("E0291", "the plan uses a kernel that is not one of the portable ones", "plan",
                  "plan with --kernels portable and without an OpenCL device in --engines, or for a device other than "
                  "the host");
    if (pt_is_sliced(&view)) {
      PANTOUM_TRY(check_loop(plan, view, *kernel));
      rows.insert(static_cast<size_t>(kernel - table->kernels));
      continue;
    }
    const pt_scalars scalars = {1, 0, 0};
    const auto crew = std::ranges::find(crews, view.engines, &host::CrewThreads::engines);
    const pt_pool pool = {nullptr, crew == crews.end() ? 1 : crew->threads, nullptr};
    pt_pool_part part;
    pt_call call = pt_call_of(&view, pool.threads == 1 ? nullptr : pt_take_pool(&part, &pool, view.threads));
    call.scalars = &scalars;
    if (kernel->workspace_bytes != nullptr && kernel->workspace_bytes(&call) > view.workspace_bytes)
      return fail("E0291", "the plan is of several threads, whose kernels take less workspace than those of one",
                  "plan", "plan with --threads 1");
    rows.insert(static_cast<size_t>(kernel - table->kernels));
  }
  return rows;
}

std::string kernel_function(size_t row) {
  return symbol(kKernelNames[row].function);
}

std::set<std::string> symbols_of(const std::set<size_t>& rows) {
  std::set<std::string> functions{"pt_kernel_find", "pt_arrange", "pt_plain_op"};  // what the interpreter calls
  for (const size_t row : rows) {
    functions.insert(kernel_function(row));
    functions.insert(symbol(kKernelNames[row].workspace));
  }
  return functions;
}

Result<std::string> model_text(const Firmware& firmware, const pt_plan& plan, std::span<const std::byte> board_plan,
                               const BatchTensors& batch, FirmwareSizes& sizes) {
  return Model(firmware, plan, board_plan, batch).text(sizes);
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

namespace {

// Bytes behind a session's tables, as pt_session_bytes counts them; in what the compiler computes for the target.
std::string more_session_bytes(const pt_plan& plan) {
  return fmt::format(" + 15 + (PT_QUEUES * sizeof(pt_queue) + 15) / 16 * 16 + ({0} * 5 + 15) / 16 * 16 + {1}",
                     uint64_t{pt_plan_engines(&plan) + 1} * plan.tensor_count, pt_waits_bytes(&plan));
}

// The crews of a plan of several engines and the threads of both.
std::string engines_text(const pt_plan& plan, std::span<const host::CrewThreads> crews) {
  std::string teams, rows, pools;
  for (const host::CrewThreads& each : crews) {
    std::string pool = "NULL";
    if (each.threads > 1) {
      const size_t team = static_cast<size_t>(std::ranges::count(pools, '\n'));
      teams += fmt::format("    PT_TEAM({}),\n", each.threads - 1);
      pools += fmt::format("    {{&teams[{}], {}, pt_team_pool}},\n", team, each.threads);
      pool = fmt::format("&pools[{}]", team);
    }
    rows += fmt::format("    {{{:#x}, &pt_model_kernels, {}}},\n", each.engines, pool);
  }
  std::string text = "\n/* The threads of sets of engines, beside that of the first engine of each. */\n";
  if (!teams.empty())
    text += fmt::format("static pt_team teams[] = {{\n{}}};\nstatic const pt_pool pools[] = {{\n{}}};\n", teams, pools);
  // the caller computes as the first engine; a thread of the pager's is there where a program pages
  const uint32_t threads = pt_plan_engines(&plan) - 1 + (plan.storage_bytes > 0 ? 1 : 0);
  text += fmt::format(
      R"(static const pt_crew crews[] = {{
{0}}};
static pt_engine_threads threads = PT_ENGINE_THREADS({1});
static const pt_engines engines = {{&threads, crews, {2}, pt_engine_threads_run, pt_engine_threads_set,
                                   pt_engine_threads_get, pt_engine_threads_wait}};

static pt_status start(void) {{
)",
      rows, threads, crews.size());
  if (teams.empty()) return text + "  return pt_team_start(&threads.team);\n}\n";
  return text +
         "  size_t team;\n  pt_status status = pt_team_start(&threads.team);\n"
         "  for (team = 0; team < sizeof teams / sizeof teams[0] && status == PT_OK; ++team)\n"
         "    status = pt_team_start(&teams[team]);\n  return status;\n}\n";
}

}  // namespace

std::string memory_text(const pt_plan& plan, std::span<const host::CrewThreads> crews, bool is_stored,
                        bool check_blocks) {
  const bool checked = is_stored && check_blocks, several = !crews.empty();
  return fmt::format(
      R"(/* Everything in RAM but the stack: the arena of the plan, and what the session takes beside it. */
#include "model.h"

{8}#include "runtime/session.h"

enum {{ SESSION_BYTES = (sizeof(struct pt_session) + 15) / 16 * 16 + {0} * 5 + {1} * 2{9} }};

#ifdef __ZEPHYR__
static uint8_t arena[{3}] __attribute__((aligned({2})));
#else
__attribute__((section(".arena"), aligned({2}), used)) static uint8_t arena[{3}];
#endif
static uint8_t session[SESSION_BYTES] __attribute__((aligned(16)));
{4}{5}{10}
const pt_memory pt_model_memory = {{arena, session, {6}, {7}, {11}}};
)",
      plan.tensor_count, plan.op_count, alignment(plan), std::max<uint64_t>(plan.arena_bytes, 16),
      is_stored ? fmt::format("static uint8_t buffer[PT_BLOCK_BYTES] __attribute__((aligned({})));\n", alignment(plan))
                : "",
      checked ? fmt::format("static uint32_t sums[{}]; /* of blocks */\n", std::max(1U, pt_plan_blocks(&plan))) : "",
      is_stored ? "buffer" : "NULL", checked ? "sums" : "NULL", several ? "#include \"engine_threads.h\"\n" : "",
      several ? more_session_bytes(plan) : "", several ? engines_text(plan, crews) : "",
      several ? "&engines, start" : "NULL, NULL");
}

std::string model_header(const std::string& name, bool is_stored) {
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
      base::c_comment(name), is_stored ? 1 : 0);
}

// Binary plans number queues as for as many engines as a plan can have.
std::string limits(const pt_plan& plan) {
  bool has_costly_epilogue = false, has_slices = false;
  unsigned operands = 10, attributes = 12, rank = 5;  // of every operator that the rules of operands speak of
  for (uint32_t op = 0; op < plan.op_count; ++op) {
    pt_op_view view;
    if (pt_decode_op(&plan, op, &view) != PT_OK) continue;
    operands = std::max(operands, static_cast<unsigned>(view.input_count) + view.output_count);
    attributes = std::max({attributes, static_cast<unsigned>(view.int_count), static_cast<unsigned>(view.real_count)});
    for (unsigned at = 0; at < static_cast<unsigned>(view.input_count) + view.output_count; ++at)
      rank = std::max(rank, static_cast<unsigned>(view.operands[at].rank));
    has_slices = has_slices || pt_is_sliced(&view);
    if (view.op != PT_OP_conv2d_act && view.op != PT_OP_matmul_act) continue;
    const int64_t activation = view.ints[size_t{view.int_count} - PT_EPILOGUE_ATTRS + PT_EPILOGUE_ACTIVATION];
    has_costly_epilogue = has_costly_epilogue || (activation != 0 && !pt_is_norm_activation(activation));
  }
  return fmt::format("-DPT_MAX_OPERANDS={} -DPT_MAX_ATTRS={} -DPT_MAX_RANK={} -DPT_MAX_IN_FLIGHT=1{}{} -DPT_NO_TEXT{}",
                     operands, attributes, rank, has_slices ? "" : " -DPT_NO_SLICES -DPT_NO_PARTS",
                     pt_plan_engines(&plan) > 1 ? "" : " -DPT_MAX_ENGINES=1",
                     has_costly_epilogue ? "" : " -DPT_CHEAP_EPILOGUES");
}

}  // namespace pantoum::emit
