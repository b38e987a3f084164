#include "runtime/plan_bytes.h"

#include <string.h>

uint32_t pt_crc32(const uint8_t* bytes, size_t size) {
  return pt_crc32_more(0, bytes, size);
}

uint32_t pt_crc32_more(uint32_t before, const uint8_t* bytes, size_t size) {
  static const uint32_t nibbles[16] = {0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
                                       0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
                                       0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C};
  uint32_t crc = ~before;
  size_t at;
  for (at = 0; at < size; ++at) {
    crc ^= bytes[at];
    crc = crc >> 4 ^ nibbles[crc & 15];
    crc = crc >> 4 ^ nibbles[crc & 15];
  }
  return ~crc;
}

/* Most numbers of a plan have one byte or two. */
uint64_t pt_take_varint(pt_cursor* cursor) {
  uint64_t value;
  unsigned shift;
  const uint8_t* at = cursor->at;
  if (!cursor->bad && cursor->end - at >= 2) {
    if (at[0] < 0x80) {
      cursor->at = at + 1;
      return at[0];
    }
    if (at[1] < 0x80) {
      cursor->at = at + 2;
      return (at[0] & 0x7Fu) | (uint32_t)at[1] << 7;
    }
  }
  for (value = 0, shift = 0; shift < 64; shift += 7) {
    uint8_t byte;
    if (cursor->bad || cursor->at == cursor->end) break;
    byte = *cursor->at++;
    if (shift == 63 && byte > 1) break;
    value |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  cursor->bad = 1;
  return 0;
}

uint32_t pt_take_u32(pt_cursor* cursor) {
  const uint64_t value = pt_take_varint(cursor);
  if (value >= PT_NOWHERE) cursor->bad = 1;
  return cursor->bad ? 0 : (uint32_t)value;
}

static int64_t unzigzag(uint64_t value) { /* 0, -1, 1, -2, ... */
  const int64_t half = (int64_t)(value >> 1);
  return (value & 1) != 0 ? -half - 1 : half;
}

static double take_real(pt_cursor* cursor) {
  double real = 0;
  if (cursor->bad || cursor->end - cursor->at < 8) {
    cursor->bad = 1;
  } else {
    const uint64_t bits = pt_load_u64(cursor->at);
    memcpy(&real, &bits, sizeof real);
    cursor->at += 8;
  }
  return real;
}

uint32_t pt_dtype_size(uint32_t dtype) {
  static const uint8_t sizes[PT_DTYPE_COUNT] = {4, 8, 4, 1, 1, 8};
  return dtype < PT_DTYPE_COUNT ? sizes[dtype] : 0;
}

uint64_t pt_type_elements(const pt_tensor* tensor) {
  uint64_t count = 1;
  unsigned d;
  for (d = 0; d < tensor->rank; ++d) {
    if (count > UINT64_MAX >> 31) return UINT64_MAX; /* dims are below 2^31 */
    count *= tensor->dims[d];
  }
  return count;
}

/* `field`: behind PT_TENSOR_WHAT. */
static uint32_t tensor_field(const pt_plan* plan, uint32_t tensor, unsigned field) {
  const uint8_t* ends = plan->bytes + PT_AT_TENSOR_ENDS;
  const unsigned begin = ends[field - 1];
  return pt_load_field(plan->bytes + plan->tensors_at + (size_t)tensor * ends[PT_TENSOR_FIELDS - 1] + begin,
                       ends[field] - begin);
}

static const uint8_t* layout_record(const pt_plan* plan, uint32_t layout) {
  return plan->bytes + plan->layouts_at + (size_t)layout * plan->bytes[PT_AT_LAYOUT_SIZE];
}

uint32_t pt_tensor_what(const pt_plan* plan, uint32_t tensor) {
  const uint8_t* ends = plan->bytes + PT_AT_TENSOR_ENDS;
  return pt_load_field(plan->bytes + plan->tensors_at + (size_t)tensor * ends[PT_TENSOR_FIELDS - 1],
                       ends[PT_TENSOR_WHAT]);
}

static uint32_t layout_of(const pt_plan* plan, uint32_t tensor) {
  return pt_tensor_what(plan, tensor) >> PT_WHAT_LAYOUT_SHIFT;
}

uint32_t pt_tensor_units(const pt_plan* plan, uint32_t tensor) {
  return pt_load_field(layout_record(plan, layout_of(plan, tensor)) + PT_LAYOUT_UNITS,
                       plan->bytes[PT_AT_UNITS_END] - (unsigned)PT_LAYOUT_UNITS);
}

uint8_t pt_tensor_home(const pt_plan* plan, uint32_t tensor) {
  return pt_tensor_what(plan, tensor) >> PT_WHAT_HOME_SHIFT & PT_WHAT_HOME_MASK;
}

int pt_is_successor(const pt_plan* plan, uint32_t tensor) {
  return (pt_tensor_what(plan, tensor) & PT_WHAT_SUCCESSOR) != 0;
}

uint32_t pt_tensor_slot(const pt_plan* plan, uint32_t tensor) {
  return tensor_field(plan, tensor, PT_TENSOR_SLOT) - 1; /* 0, for none, wraps to PT_NOWHERE */
}

uint32_t pt_tensor_place(const pt_plan* plan, uint32_t tensor) {
  return tensor_field(plan, tensor, PT_TENSOR_PLACE) - 1;
}

uint32_t pt_tensor_pair(const pt_plan* plan, uint32_t tensor) {
  return tensor_field(plan, tensor, PT_TENSOR_PAIR) - 1;
}

int pt_decode_layout(const pt_plan* plan, uint32_t layout, pt_tensor* type) {
  const unsigned end = plan->bytes[PT_AT_UNITS_END], size = plan->bytes[PT_AT_DIM_SIZE];
  const uint8_t *record, *dims;
  unsigned d;
  if (layout >= plan->layout_count) return 0;
  record = layout_record(plan, layout);
  dims = record + end;
  type->dtype = record[0] % PT_LAYOUT_RANK;
  type->rank = record[0] / PT_LAYOUT_RANK;
  if (type->dtype >= PT_DTYPE_COUNT || type->rank > PT_MAX_RANK) return 0;
  if (end + type->rank * size > plan->bytes[PT_AT_LAYOUT_SIZE]) return 0;
  for (d = 0; d < type->rank; ++d, dims += size) {
    type->dims[d] = pt_load_field(dims, size);
    if (type->dims[d] == 0 || type->dims[d] > INT32_MAX) return 0; /* kernels may count in int32_t */
  }
  for (; d < PT_MAX_RANK; ++d) type->dims[d] = 0;
  return 1;
}

int pt_tensor_type(const pt_plan* plan, uint32_t tensor, pt_tensor* type) {
  return pt_decode_layout(plan, layout_of(plan, tensor), type);
}

/* An operand: the first tensor's number, of others how far it is from the one before; twice, and 1 where a layout follows. */
static pt_status decode_operands(const pt_plan* plan, pt_cursor* cursor, pt_op_view* view) {
  const unsigned count = (unsigned)view->input_count + view->output_count;
  unsigned operand;
  if (count > PT_MAX_OPERANDS) return PT_E_PLAN;
  for (operand = 0; operand < count; ++operand) {
    pt_tensor* type = &view->operands[operand];
    const uint64_t number = pt_take_varint(cursor), apart = number >> 1;
    const uint64_t tensor = operand == 0 ? apart : view->tensors[operand - 1] + (uint64_t)unzigzag(apart);
    uint32_t layout;
    if (cursor->bad || tensor >= plan->tensor_count) return PT_E_PLAN;
    view->tensors[operand] = (uint32_t)tensor;
    layout = (number & 1) != 0 ? pt_take_u32(cursor) : layout_of(plan, (uint32_t)tensor);
    type->data = NULL;
    if (cursor->bad || !pt_decode_layout(plan, layout, type)) return PT_E_PLAN;
  }
  return PT_OK;
}

int pt_has_engines(const pt_plan* plan) {
  return PT_MAX_ENGINES > 1 && (pt_load_u16(plan->bytes + PT_AT_FLAGS) & PT_FLAG_ENGINES) != 0;
}

unsigned pt_first_engine(uint8_t engines) {
  unsigned engine = 0;
  while (engine + 1 < PT_MAX_ENGINES && (engines >> engine & 1) == 0) ++engine;
  return engine;
}

unsigned pt_queue_of(const pt_step* step, const pt_op_view* view) {
  switch (step->kind) {
    case PT_DO_COMPUTE:
      return pt_first_engine(view->engines);
    case PT_DO_PAGE_OUT:
      return PT_QUEUE_OUT;
    case PT_DO_PAGE_IN:
      return PT_QUEUE_IN;
    default:
      return PT_QUEUES;
  }
}

#ifndef PT_NO_SLICES
static pt_status decode_slicing(pt_cursor* cursor, pt_op_view* view) {
  pt_slicing* slicing = &view->slicing;
  const uint64_t loops = pt_take_varint(cursor);
  const unsigned operands = (unsigned)view->input_count + view->output_count;
  unsigned loop;
  if (cursor->bad || loops > PT_MAX_LOOPS || operands > PT_MAX_OPERANDS) return PT_E_PLAN;
  slicing->loops = (uint8_t)loops;
  if (loops == 0) return PT_OK;
  for (loop = 0; loop < loops; ++loop) {
    const uint64_t axis = pt_take_varint(cursor);
    slicing->tile[loop] = pt_take_u32(cursor);
    if (cursor->bad || axis >= PT_MAX_LOOPS || slicing->tile[loop] == 0) return PT_E_PLAN;
    slicing->axis[loop] = (uint8_t)axis;
  }
  slicing->streamed = pt_take_u32(cursor);
  return cursor->bad || (uint64_t)slicing->streamed >> operands != 0 ? PT_E_PLAN : PT_OK;
}
#endif

/* From there to the end of the plan. */
static pt_cursor cursor_at(const pt_plan* plan, const uint8_t* at) {
  pt_cursor cursor;
  cursor.at = at;
  cursor.end = plan->bytes + plan->size;
  cursor.bad = 0;
  return cursor;
}

/* `form`: its offset in the section of ops. */
static pt_status decode_form(const pt_plan* plan, uint64_t form, pt_op_view* view) {
  const uint32_t behind = (uint32_t)plan->size - plan->ops_at;
  const uint8_t* fixed = plan->bytes + plan->ops_at + (size_t)form;
  pt_cursor cursor;
  unsigned attr;
  if (behind < PT_FORM_FIXED_SIZE || form > behind - PT_FORM_FIXED_SIZE) return PT_E_PLAN;
  view->op = (uint16_t)pt_load_u16(fixed + PT_FORM_KIND);
  view->algorithm = (uint16_t)pt_load_u16(fixed + PT_FORM_ALGORITHM);
  view->engine = fixed[PT_FORM_ENGINE];
  view->dtype = fixed[PT_FORM_DTYPE];
  view->input_count = fixed[PT_FORM_INPUTS];
  view->output_count = fixed[PT_FORM_OUTPUTS];
  view->int_count = fixed[PT_FORM_INTS];
  view->real_count = fixed[PT_FORM_REALS];
  if (view->output_count == 0) return PT_E_PLAN;
  if (view->int_count > PT_MAX_ATTRS || view->real_count > PT_MAX_ATTRS) return PT_E_PLAN;
  view->threads = (uint16_t)pt_load_u16(fixed + PT_FORM_THREADS);
  if (view->threads != 0 && (pt_load_u16(plan->bytes + PT_AT_FLAGS) & PT_FLAG_THREADS) == 0) return PT_E_PLAN;
  cursor = cursor_at(plan, fixed + PT_FORM_FIXED_SIZE);
  view->engines = 1;
  if (pt_has_engines(plan)) {
    const uint64_t engines = pt_take_varint(&cursor);
    if (engines == 0 || engines >> PT_MAX_ENGINES != 0) return PT_E_PLAN;
    view->engines = (uint8_t)engines;
  }
  for (attr = 0; attr < view->int_count; ++attr) view->ints[attr] = unzigzag(pt_take_varint(&cursor));
  for (attr = 0; attr < view->real_count; ++attr) view->reals[attr] = take_real(&cursor);
  return cursor.bad ? PT_E_PLAN : PT_OK;
}

pt_status pt_decode_op(const pt_plan* plan, uint32_t op, pt_op_view* view) {
  const unsigned size = plan->bytes[PT_AT_INDEX_SIZE];
  const uint32_t at = pt_load_field(plan->bytes + plan->index_at + (size_t)op * size, size);
  pt_cursor cursor;
  if (at > plan->size - plan->ops_at) return PT_E_PLAN;
  cursor = cursor_at(plan, plan->bytes + plan->ops_at + at);
  if (decode_form(plan, pt_take_varint(&cursor), view) != PT_OK) return PT_E_PLAN;
#ifndef PT_NO_SLICES
  memset(&view->slicing, 0, sizeof view->slicing);
  if ((pt_load_u16(plan->bytes + PT_AT_FLAGS) & PT_FLAG_SLICES) != 0 && decode_slicing(&cursor, view) != PT_OK)
    return PT_E_PLAN;
#endif
  view->workspace_bytes = pt_take_varint(&cursor);
  if (decode_operands(plan, &cursor, view) != PT_OK) return PT_E_PLAN;
  return cursor.bad ? PT_E_PLAN : PT_OK;
}

pt_code pt_program_code(const pt_plan* plan, uint32_t program, uint32_t* instructions) {
  const uint8_t* record = pt_program_record(plan, program);
  pt_code code;
  code.cursor = cursor_at(plan, plan->bytes + pt_load_u32(record + PT_PROGRAM_CODE));
  code.cursor.end = code.cursor.at + pt_load_u32(record + PT_PROGRAM_CODE_SIZE);
  code.next_op = code.tensor = 0;
  *instructions = pt_load_u32(record + PT_PROGRAM_INSTRUCTIONS);
  return code;
}

/* Bytes [at, at + bytes) of the arena, `at` in units: are they inside it? */
static int in_arena(const pt_plan* plan, uint32_t at, uint64_t bytes) {
  const uint64_t begin = (uint64_t)at * plan->align_bytes;
  return begin <= plan->arena_bytes && bytes <= plan->arena_bytes - begin;
}

static int tensor_in_arena(const pt_plan* plan, uint32_t at, uint32_t tensor) {
  return in_arena(plan, at, (uint64_t)pt_tensor_units(plan, tensor) * plan->align_bytes);
}

static pt_status decode_compute(const pt_plan* plan, pt_cursor* cursor, pt_step* step, pt_op_view* view) {
  unsigned output;
  if (pt_decode_op(plan, step->subject, view) != PT_OK) return PT_E_PLAN;
  for (output = 0; output < view->output_count; ++output) {
    step->at[output] = PT_NOWHERE;
    if (pt_is_streamed(view, view->input_count + output)) continue;
    step->at[output] = pt_take_u32(cursor);
    if (!tensor_in_arena(plan, step->at[output], view->tensors[view->input_count + output])) return PT_E_PLAN;
  }
  step->workspace_at = view->workspace_bytes != 0 ? pt_take_u32(cursor) : 0;
  if (!in_arena(plan, step->workspace_at, view->workspace_bytes)) return PT_E_PLAN;
  return cursor->bad ? PT_E_PLAN : PT_OK;
}

/* What the code expects next follows from this instruction. */
static void expect(pt_code* code, const pt_step* step, const pt_op_view* view) {
  if (step->kind != PT_DO_COMPUTE) {
    code->tensor = step->subject;
    return;
  }
  code->next_op = step->subject + 1;
  code->tensor = view->tensors[view->input_count + view->output_count - 1];
}

static pt_status decode_plain_step(const pt_plan* plan, pt_code* code, pt_step* step, pt_op_view* view) {
  const uint64_t head = pt_take_varint(&code->cursor);
  const int is_compute = (head & 3) == PT_DO_COMPUTE;
  const uint64_t subject = (is_compute ? code->next_op : code->tensor) + (uint64_t)unzigzag(head >> PT_DO_BITS);
  if (code->cursor.bad || subject >= (is_compute ? plan->op_count : plan->tensor_count)) return PT_E_PLAN;
  step->kind = (uint8_t)(head & 3);
  step->subject = (uint32_t)subject;
  if (is_compute && decode_compute(plan, &code->cursor, step, view) != PT_OK) return PT_E_PLAN;
  if (step->kind == PT_DO_PAGE_IN) {
    step->at[0] = pt_take_u32(&code->cursor);
    if (code->cursor.bad || !tensor_in_arena(plan, step->at[0], step->subject)) return PT_E_PLAN;
  }
  expect(code, step, view);
  return PT_OK;
}

static pt_status decode_waits(pt_cursor* cursor, pt_waits* waits) {
  const uint64_t queues = pt_take_varint(cursor);
  unsigned queue;
  if (cursor->bad || queues >> PT_QUEUES != 0) return PT_E_PLAN;
  for (queue = 0; queue < PT_QUEUES; ++queue) {
    waits->ended[queue] = (queues >> queue & 1) != 0 ? pt_take_u32(cursor) : 0;
    if (cursor->bad || ((queues >> queue & 1) != 0) != (waits->ended[queue] != 0)) return PT_E_PLAN;
  }
  return PT_OK;
}

pt_status pt_decode_waiting_step(const pt_plan* plan, pt_code* code, pt_step* step, pt_op_view* view, pt_waits* waits) {
  const pt_status status = decode_plain_step(plan, code, step, view);
  if (status != PT_OK) return status;
  memset(waits, 0, sizeof *waits);
  return pt_has_engines(plan) && step->kind != PT_DO_FREE ? decode_waits(&code->cursor, waits) : PT_OK;
}

pt_status pt_decode_step(const pt_plan* plan, pt_code* code, pt_step* step, pt_op_view* view) {
  pt_waits waits;
  return pt_decode_waiting_step(plan, code, step, view, &waits);
}
