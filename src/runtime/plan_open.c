#include <string.h>

#include "runtime/op_shapes.h"
#include "runtime/plan_bytes.h"

static int in_plan(const pt_plan* plan, uint32_t at, uint64_t count, uint32_t each) {
  return at >= PT_HEADER_SIZE && at <= plan->size && count * each <= plan->size - at; /* count, each < 2^32 */
}

static pt_status read_header(pt_plan* plan, const uint8_t* bytes, size_t size) {
  if (size < PT_AT_CRC || memcmp(bytes, PT_PLAN_MAGIC, 4) != 0) return PT_E_PLAN;
  if (pt_load_u16(bytes + PT_AT_VERSION) != PT_PLAN_VERSION) return PT_E_VERSION;
  if ((pt_load_u16(bytes + PT_AT_FLAGS) & ~(uint32_t)PT_PLAN_FLAGS) != 0) return PT_E_VERSION;
  if (size < PT_HEADER_SIZE || size > PT_NOWHERE || pt_load_u32(bytes + PT_AT_SIZE) != size) return PT_E_PLAN;
  if (pt_load_u32(bytes + PT_AT_CRC) != pt_crc32(bytes + PT_AT_ARENA, size - PT_AT_ARENA)) return PT_E_PLAN;
  plan->bytes = bytes;
  plan->size = size;
  plan->arena_bytes = pt_load_u64(bytes + PT_AT_ARENA);
  plan->storage_bytes = pt_load_u64(bytes + PT_AT_STORAGE);
  plan->rom_bytes = pt_load_u64(bytes + PT_AT_ROM);
  plan->align_bytes = pt_load_u32(bytes + PT_AT_ALIGN);
  plan->tensor_count = pt_load_u32(bytes + PT_AT_TENSOR_COUNT);
  plan->op_count = pt_load_u32(bytes + PT_AT_OP_COUNT);
  plan->program_count = pt_load_u32(bytes + PT_AT_PROGRAM_COUNT);
  plan->layout_count = pt_load_u32(bytes + PT_AT_LAYOUT_COUNT);
  plan->tensors_at = pt_load_u32(bytes + PT_AT_TENSORS);
  plan->layouts_at = pt_load_u32(bytes + PT_AT_LAYOUTS);
  plan->index_at = pt_load_u32(bytes + PT_AT_INDEX);
  plan->ops_at = pt_load_u32(bytes + PT_AT_OPS);
  plan->staging_bytes = pt_load_u32(bytes + PT_AT_STAGING);
  return PT_OK;
}

/* Fields and records have sizes that the reader loads. A tensor takes a byte at least, so that there are no more than the plan has bytes. */
static pt_status check_fields(const pt_plan* plan) {
  const uint8_t *ends = plan->bytes + PT_AT_TENSOR_ENDS, *bytes = plan->bytes;
  unsigned field, begin = 0;
  for (field = 0; field < PT_TENSOR_FIELDS; ++field) {
    if (ends[field] < begin || ends[field] - begin > PT_MOST_FIELD) return PT_E_PLAN;
    begin = ends[field];
  }
  if (ends[PT_TENSOR_WHAT] == 0) return PT_E_PLAN;
  if (bytes[PT_AT_UNITS_END] < PT_LAYOUT_UNITS || bytes[PT_AT_UNITS_END] > PT_LAYOUT_UNITS + PT_MOST_FIELD)
    return PT_E_PLAN;
  if (bytes[PT_AT_DIM_SIZE] > PT_MOST_FIELD || bytes[PT_AT_LAYOUT_SIZE] < bytes[PT_AT_UNITS_END]) return PT_E_PLAN;
  return bytes[PT_AT_INDEX_SIZE] > 0 && bytes[PT_AT_INDEX_SIZE] <= PT_MOST_FIELD ? PT_OK : PT_E_PLAN;
}

/* Each name begins inside the section, and the zero at its end terminates it. */
static int names_fit(const pt_plan* plan) {
  const uint32_t at = pt_load_u32(plan->bytes + PT_AT_NAMES);
  const uint64_t count = (uint64_t)plan->program_count + plan->tensor_count;
  uint64_t name;
  if (at == 0) return 1;
  if (!in_plan(plan, at, count, PT_NAME_SIZE) || at == plan->size || plan->bytes[plan->size - 1] != 0) return 0;
  for (name = 0; name < count; ++name)
    if (pt_load_u32(plan->bytes + at + name * PT_NAME_SIZE) >= plan->size - at) return 0;
  return 1;
}

static pt_status check_sections(const pt_plan* plan) {
  if (plan->align_bytes == 0 || plan->arena_bytes > SIZE_MAX || plan->rom_bytes > SIZE_MAX) return PT_E_PLAN;
  if (plan->program_count > INT32_MAX || plan->tensor_count > INT32_MAX) return PT_E_PLAN;
  if (check_fields(plan) != PT_OK) return PT_E_PLAN;
  if (!in_plan(plan, plan->tensors_at, plan->tensor_count, plan->bytes[PT_AT_TENSOR_ENDS + PT_TENSOR_FIELDS - 1]))
    return PT_E_PLAN;
  if (!in_plan(plan, plan->layouts_at, plan->layout_count, plan->bytes[PT_AT_LAYOUT_SIZE])) return PT_E_PLAN;
  if (!in_plan(plan, plan->index_at, plan->op_count, plan->bytes[PT_AT_INDEX_SIZE])) return PT_E_PLAN;
  if (!in_plan(plan, plan->ops_at, 0, 1)) return PT_E_PLAN;
  if (!in_plan(plan, pt_load_u32(plan->bytes + PT_AT_PROGRAMS), plan->program_count, PT_PROGRAM_SIZE)) return PT_E_PLAN;
  return names_fit(plan) ? PT_OK : PT_E_PLAN;
}

/* The tensor has the bytes of this type. */
static int holds(const pt_plan* plan, uint32_t tensor, const pt_tensor* type) {
  const uint64_t bytes = (uint64_t)pt_tensor_units(plan, tensor) * plan->align_bytes;
  return pt_type_elements(type) <= bytes / pt_dtype_size(type->dtype);
}

/* A place in units, or none: [at, at + bytes) is inside `limit` bytes. */
static int place_fits(const pt_plan* plan, uint32_t at, uint64_t bytes, uint64_t limit) {
  const uint64_t begin = (uint64_t)at * plan->align_bytes;
  return at == PT_NOWHERE || (begin <= limit && bytes <= limit - begin);
}

/* A pair: each names the other, one is the successor, and they are alike. */
static int pair_fits(const pt_plan* plan, uint32_t tensor) {
  const uint32_t pair = pt_tensor_pair(plan, tensor);
  if (pair == PT_NOWHERE) return !pt_is_successor(plan, tensor);
  return pair < plan->tensor_count && pt_tensor_pair(plan, pair) == tensor &&
         pt_is_successor(plan, tensor) != pt_is_successor(plan, pair) &&
         pt_tensor_units(plan, pair) == pt_tensor_units(plan, tensor);
}

static pt_status check_tensor(const pt_plan* plan, uint32_t tensor) {
  const uint32_t slot = pt_tensor_slot(plan, tensor), place = pt_tensor_place(plan, tensor);
  const uint8_t home = pt_tensor_home(plan, tensor);
  const int has_place = home == PT_HOME_RAM || home == PT_HOME_ROM;
  pt_tensor type;
  uint64_t bytes;
  if (!pt_tensor_type(plan, tensor, &type) || !holds(plan, tensor, &type)) return PT_E_PLAN;
  bytes = (uint64_t)pt_tensor_units(plan, tensor) * plan->align_bytes;
  if (!place_fits(plan, slot, bytes, plan->storage_bytes)) return PT_E_PLAN;
  if (!place_fits(plan, place, bytes, home == PT_HOME_ROM ? plan->rom_bytes : plan->arena_bytes)) return PT_E_PLAN;
  if (has_place != (place != PT_NOWHERE) || (home == PT_HOME_AUX && slot == PT_NOWHERE)) return PT_E_PLAN;
  return PT_OK;
}

/* After all tensors' own checks. */
static pt_status check_pairs(const pt_plan* plan) {
  uint32_t tensor;
  for (tensor = 0; tensor < plan->tensor_count; ++tensor)
    if (!pair_fits(plan, tensor)) return PT_E_PLAN;
  return PT_OK;
}

static pt_status check_op(const pt_plan* plan, uint32_t op) {
  pt_op_view view;
  unsigned operand, output;
  if (pt_decode_op(plan, op, &view) != PT_OK) return PT_E_PLAN;
  if (pt_is_sliced(&view) && pt_has_engines(plan)) return PT_E_PLAN; /* transfers stand in queues of their own there */
  for (operand = 0; operand < (unsigned)view.input_count + view.output_count; ++operand)
    if (!holds(plan, view.tensors[operand], &view.operands[operand])) return PT_E_PLAN;
  for (output = 0; output < view.output_count; ++output)
    if (pt_tensor_home(plan, view.tensors[view.input_count + output]) == PT_HOME_ROM) return PT_E_PLAN;
  return pt_check_op(&view);
}

/* The header's flags match the plan: pt_decode_op refuses threads without their flag, this refuses a flag that no op
 * needs. */
static pt_status check_flags(const pt_plan* plan) {
  uint32_t op, used = 0;
  pt_op_view view;
  if (pt_load_u16(plan->bytes + PT_AT_FLAGS) == 0) return PT_OK;
  for (op = 0; op < plan->op_count; ++op) {
    if (pt_decode_op(plan, op, &view) != PT_OK) return PT_E_PLAN;
    if (view.threads != 0) used |= PT_FLAG_THREADS;
    if (view.engines != 1) used |= PT_FLAG_ENGINES;
    if (pt_is_sliced(&view)) used |= PT_FLAG_SLICES;
  }
  return used == pt_load_u16(plan->bytes + PT_AT_FLAGS) ? PT_OK : PT_E_PLAN;
}

static int staging_fits(const pt_plan* plan, uint32_t at) {
  if (plan->staging_bytes == 0) return at == PT_NOWHERE;
  return at != PT_NOWHERE && place_fits(plan, at, plan->staging_bytes, plan->arena_bytes);
}

/* The instructions fill the program's code exactly, and each is inside its bounds. */
static pt_status check_program(const pt_plan* plan, uint32_t program) {
  const uint8_t* record = pt_program_record(plan, program);
  uint32_t instructions, done;
  pt_code code;
  pt_step step;
  pt_op_view view;
  if (!staging_fits(plan, pt_load_u32(record + PT_PROGRAM_STAGING))) return PT_E_PLAN;
  if (!in_plan(plan, pt_load_u32(record + PT_PROGRAM_CODE), pt_load_u32(record + PT_PROGRAM_CODE_SIZE), 1))
    return PT_E_PLAN;
  code = pt_program_code(plan, program, &instructions);
  for (done = 0; done < instructions; ++done) {
    if (pt_decode_step(plan, &code, &step, &view) != PT_OK) return PT_E_PLAN;
    if (step.kind != PT_DO_COMPUTE) {
      if (pt_tensor_home(plan, step.subject) == PT_HOME_ROM) return PT_E_PLAN;
      if (step.kind != PT_DO_FREE && pt_tensor_slot(plan, step.subject) == PT_NOWHERE) return PT_E_PLAN;
    }
  }
  return code.cursor.at == code.cursor.end ? PT_OK : PT_E_PLAN;
}

pt_status pt_plan_open(pt_plan* plan, const void* bytes, size_t size) {
  pt_status status;
  uint32_t tensor, op, program;
  if (plan == NULL || bytes == NULL) return PT_E_ARGUMENT;
  memset(plan, 0, sizeof *plan);
  status = read_header(plan, (const uint8_t*)bytes, size);
  if (status == PT_OK) status = check_sections(plan);
  for (tensor = 0; status == PT_OK && tensor < plan->tensor_count; ++tensor) status = check_tensor(plan, tensor);
  if (status == PT_OK) status = check_pairs(plan);
  for (op = 0; status == PT_OK && op < plan->op_count; ++op) status = check_op(plan, op);
  for (program = 0; status == PT_OK && program < plan->program_count; ++program) status = check_program(plan, program);
  if (status == PT_OK) status = check_flags(plan);
  if (status != PT_OK) memset(plan, 0, sizeof *plan);
  return status;
}
