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
  plan->tensors_at = pt_load_u32(bytes + PT_AT_TENSORS);
  plan->ops_at = pt_load_u32(bytes + PT_AT_OPS);
  plan->programs_at = pt_load_u32(bytes + PT_AT_PROGRAMS);
  plan->shapes_at = pt_load_u32(bytes + PT_AT_SHAPES);
  plan->shape_count = pt_load_u32(bytes + PT_AT_SHAPE_COUNT);
  plan->names_at = pt_load_u32(bytes + PT_AT_NAMES);
  plan->names_size = pt_load_u32(bytes + PT_AT_NAMES_SIZE);
  plan->staging_bytes = pt_load_u32(bytes + PT_AT_STAGING);
  return PT_OK;
}

static pt_status check_sections(const pt_plan* plan) {
  if (plan->align_bytes == 0 || plan->arena_bytes > SIZE_MAX || plan->rom_bytes > SIZE_MAX) return PT_E_PLAN;
  if (plan->program_count > INT32_MAX || plan->tensor_count > INT32_MAX) return PT_E_PLAN;
  if (!in_plan(plan, plan->tensors_at, plan->tensor_count, PT_TENSOR_SIZE)) return PT_E_PLAN;
  if (!in_plan(plan, plan->ops_at, plan->op_count, 4)) return PT_E_PLAN;
  if (!in_plan(plan, plan->programs_at, plan->program_count, PT_PROGRAM_SIZE)) return PT_E_PLAN;
  if (!in_plan(plan, plan->shapes_at, plan->shape_count, 4)) return PT_E_PLAN;
  if (!in_plan(plan, plan->names_at, plan->names_size, 1)) return PT_E_PLAN;
  /* A zero at the end terminates every name. */
  if (plan->names_size == 0 || plan->bytes[plan->names_at + plan->names_size - 1] != 0) return PT_E_PLAN;
  return PT_OK;
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
static int pair_fits(const pt_plan* plan, uint32_t tensor, const uint8_t* record) {
  const uint32_t pair = pt_load_u32(record + PT_TENSOR_PAIR);
  const uint8_t* other;
  if (pair == PT_NOWHERE) return record[PT_TENSOR_FLAGS] == 0;
  if (pair >= plan->tensor_count || record[PT_TENSOR_FLAGS] > PT_FLAG_SUCCESSOR) return 0;
  other = pt_tensor_record(plan, pair);
  return pt_load_u32(other + PT_TENSOR_PAIR) == tensor && record[PT_TENSOR_FLAGS] != other[PT_TENSOR_FLAGS] &&
         pt_load_u32(other + PT_TENSOR_UNITS) == pt_load_u32(record + PT_TENSOR_UNITS);
}

static pt_status check_tensor(const pt_plan* plan, uint32_t tensor) {
  const uint8_t* record = pt_tensor_record(plan, tensor);
  const uint32_t ram = pt_load_u32(record + PT_TENSOR_RAM), storage = pt_load_u32(record + PT_TENSOR_STORAGE);
  const uint32_t rom = pt_load_u32(record + PT_TENSOR_ROM);
  const uint64_t bytes = (uint64_t)pt_load_u32(record + PT_TENSOR_UNITS) * plan->align_bytes;
  const uint8_t home = record[PT_TENSOR_HOME];
  pt_tensor type;
  if (!pt_decode_type(plan, pt_load_u32(record + PT_TENSOR_TYPE), &type)) return PT_E_PLAN;
  if (!holds(plan, tensor, &type)) return PT_E_PLAN;
  if (pt_load_u32(record + PT_TENSOR_NAME) >= plan->names_size) return PT_E_PLAN;
  if (!place_fits(plan, ram, bytes, plan->arena_bytes)) return PT_E_PLAN;
  if (!place_fits(plan, storage, bytes, plan->storage_bytes)) return PT_E_PLAN;
  if (!place_fits(plan, rom, bytes, plan->rom_bytes)) return PT_E_PLAN;
  if (home > PT_HOME_ROM || (home == PT_HOME_RAM && ram == PT_NOWHERE)) return PT_E_PLAN;
  if ((home == PT_HOME_AUX && storage == PT_NOWHERE) || (home == PT_HOME_ROM) != (rom != PT_NOWHERE)) return PT_E_PLAN;
  if (pt_load_u16(record + PT_TENSOR_RESERVED) != 0 || !pair_fits(plan, tensor, record)) return PT_E_PLAN;
  return PT_OK;
}

static pt_status check_op(const pt_plan* plan, uint32_t op) {
  pt_op_view view;
  unsigned operand, output;
  if (pt_decode_op(plan, op, &view) != PT_OK || view.output_count == 0) return PT_E_PLAN;
  if (pt_is_sliced(&view) && pt_has_engines(plan)) return PT_E_PLAN; /* transfers stand in queues of their own there */
  for (operand = 0; operand < (unsigned)view.input_count + view.output_count; ++operand)
    if (!holds(plan, view.tensors[operand], &view.operands[operand])) return PT_E_PLAN;
  for (output = 0; output < view.output_count; ++output) {
    const uint8_t* record = pt_tensor_record(plan, view.tensors[view.input_count + output]);
    if (record[PT_TENSOR_HOME] == PT_HOME_ROM) return PT_E_PLAN;
  }
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
  const uint8_t* record = plan->bytes + plan->programs_at + (size_t)program * PT_PROGRAM_SIZE;
  uint32_t instructions, done;
  pt_cursor cursor;
  pt_step step;
  pt_op_view view;
  if (pt_load_u32(record + PT_PROGRAM_NAME) >= plan->names_size) return PT_E_PLAN;
  if (!staging_fits(plan, pt_load_u32(record + PT_PROGRAM_STAGING))) return PT_E_PLAN;
  if (!in_plan(plan, pt_load_u32(record + PT_PROGRAM_CODE), pt_load_u32(record + PT_PROGRAM_CODE_SIZE), 1))
    return PT_E_PLAN;
  cursor = pt_program_code(plan, program, &instructions);
  for (done = 0; done < instructions; ++done) {
    if (pt_decode_step(plan, &cursor, &step, &view) != PT_OK) return PT_E_PLAN;
    if (step.kind != PT_DO_COMPUTE) {
      const uint8_t* tensor = pt_tensor_record(plan, step.subject);
      if (tensor[PT_TENSOR_HOME] == PT_HOME_ROM) return PT_E_PLAN;
      if (step.kind != PT_DO_FREE && pt_load_u32(tensor + PT_TENSOR_STORAGE) == PT_NOWHERE) return PT_E_PLAN;
    }
  }
  return cursor.at == cursor.end ? PT_OK : PT_E_PLAN;
}

pt_status pt_plan_open(pt_plan* plan, const void* bytes, size_t size) {
  pt_plan found;
  pt_status status;
  uint32_t tensor, op, program;
  if (plan == NULL || bytes == NULL) return PT_E_ARGUMENT;
  status = read_header(&found, (const uint8_t*)bytes, size);
  if (status == PT_OK) status = check_sections(&found);
  for (tensor = 0; status == PT_OK && tensor < found.tensor_count; ++tensor) status = check_tensor(&found, tensor);
  for (op = 0; status == PT_OK && op < found.op_count; ++op) status = check_op(&found, op);
  for (program = 0; status == PT_OK && program < found.program_count; ++program)
    status = check_program(&found, program);
  if (status == PT_OK) status = check_flags(&found);
  if (status == PT_OK) *plan = found;
  return status;
}
