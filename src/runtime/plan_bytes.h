/* Reads a binary plan in place: little-endian loads byte by byte (no alignment is assumed), varints, decoded ops and
 * instructions. */
#pragma once

#include "pantoum/pantoum.h"
#include "runtime/plan_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline uint32_t pt_load_u16(const uint8_t* bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}
static inline uint32_t pt_load_u32(const uint8_t* bytes) {
  return pt_load_u16(bytes) | pt_load_u16(bytes + 2) << 16;
}
static inline uint64_t pt_load_u64(const uint8_t* bytes) {
  return pt_load_u32(bytes) | (uint64_t)pt_load_u32(bytes + 4) << 32;
}
/* CRC-32 as in zlib and PNG. */
uint32_t pt_crc32(const uint8_t* bytes, size_t size);
/* The checksum of data that had the checksum `before`, followed by these bytes. */
uint32_t pt_crc32_more(uint32_t before, const uint8_t* bytes, size_t size);

/* A bounded reader: past its end, or at a varint of more than 64 bits, it turns bad and gives zeros from then on. */
typedef struct pt_cursor {
  const uint8_t* bytes;
  uint32_t at, end;
  uint8_t bad;
} pt_cursor;

uint64_t pt_take_varint(pt_cursor* cursor);
/* A varint that must be below 2^32 - 1. */
uint32_t pt_take_u32(pt_cursor* cursor);

/* Bytes of an element; 0 for a dtype that does not exist. */
uint32_t pt_dtype_size(uint32_t dtype);
/* Product of the dims; UINT64_MAX where it may not fit (never below 2^33). No division: microcontrollers have none for
 * 64 bits. */
uint64_t pt_type_elements(const pt_tensor* tensor);

/* Fields of a tensor's record; `tensor` < tensor_count. */
const uint8_t* pt_tensor_record(const pt_plan* plan, uint32_t tensor);
uint32_t pt_tensor_units(const pt_plan* plan, uint32_t tensor);
/* Dims, rank and dtype of a type reference; `data` stays untouched. 0 where it is none. */
int pt_decode_type(const pt_plan* plan, uint64_t reference, pt_tensor* type);

/* How an op is computed in slices: loops over axes (slice_axes.c), the outermost first. */
typedef struct pt_slicing {
  uint32_t streamed;           /* a bit for each operand, inputs first: it is in storage, and moves slice by slice */
  uint32_t tile[PT_MAX_LOOPS]; /* extent of a slice along the axis; the last slice may be smaller */
  uint8_t axis[PT_MAX_LOOPS];
  uint8_t loops; /* 0: the op is computed at once */
} pt_slicing;

/* An op, decoded onto the stack: about 2 KiB. Inputs first, then outputs. */
typedef struct pt_op_view {
  uint16_t op, algorithm;
  uint8_t engine, dtype;
  uint8_t input_count, output_count, int_count, real_count;
  uint16_t threads; /* at most; 0: all */
  uint8_t engines;  /* a bit each; 1 in a plan of one engine */
#ifndef PT_NO_SLICES
  pt_slicing slicing;
#endif
  uint64_t workspace_bytes;
  uint32_t tensors[PT_MAX_OPERANDS];
  pt_tensor operands[PT_MAX_OPERANDS];
  int64_t ints[PT_MAX_ATTRS];
  double reals[PT_MAX_ATTRS];
} pt_op_view;

/* PT_E_PLAN unless the record lies inside the plan, its counts are within the limits and its operands are tensors of
 * the plan. Data pointers are NULL. Whether the operands suit their tensors and the op, pt_plan_open checks once
 * (pt_check_op). */
pt_status pt_decode_op(const pt_plan* plan, uint32_t op, pt_op_view* view);

/* Is the op computed in slices; does the operand move slice by slice? A program built with PT_NO_SLICES opens no plan that has such ops. */
static inline int pt_is_sliced(const pt_op_view* view) {
#ifdef PT_NO_SLICES
  (void)view;
  return 0;
#else
  return view->slicing.loops != 0;
#endif
}
static inline int pt_is_streamed(const pt_op_view* view, unsigned operand) {
#ifdef PT_NO_SLICES
  (void)view;
  (void)operand;
  return 0;
#else
  return (view->slicing.streamed >> operand & 1) != 0;
#endif
}

/* A call of the op's kernel, without workspace and scalars; `view` and `pool` outlive it. */
pt_call pt_call_of(const pt_op_view* view, const pt_pool* pool);

typedef struct pt_step {
  uint8_t kind;
  uint32_t subject;             /* op or tensor */
  uint32_t at[PT_MAX_OPERANDS]; /* units; compute: one per output, PT_NOWHERE for one that is streamed; page_in: one */
  uint32_t workspace_at;        /* units */
} pt_step;

/* Which instructions must have ended before one begins: of each queue so many, in the order of the program; 0: none. */
typedef struct pt_waits {
  uint32_t ended[PT_QUEUES];
} pt_waits;

int pt_has_engines(const pt_plan* plan);
/* The queue in which a compute on these engines stands: that of the first of them. */
unsigned pt_first_engine(uint8_t engines);
/* The queue of an instruction; PT_QUEUES: it has none (a free). */
unsigned pt_queue_of(const pt_step* step, const pt_op_view* view);

/* The code of a program; `program` < program_count. */
pt_cursor pt_program_code(const pt_plan* plan, uint32_t program, uint32_t* instructions);
/* The next instruction, and for a compute its op. PT_E_PLAN unless its subject exists and its places are inside the
 * arena. */
pt_status pt_decode_step(const pt_plan* plan, pt_cursor* cursor, pt_step* step, pt_op_view* view);
/* The same, with what it waits for. */
pt_status pt_decode_waiting_step(const pt_plan* plan, pt_cursor* cursor, pt_step* step, pt_op_view* view,
                                 pt_waits* waits);

#ifdef __cplusplus
}
#endif
