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
/* An unsigned number of 0 to 4 bytes. */
static inline uint32_t pt_load_field(const uint8_t* bytes, unsigned size) {
  switch (size) {
    case 0:
      return 0;
    case 1:
      return bytes[0];
    case 2:
      return pt_load_u16(bytes);
    case 3:
      return pt_load_u16(bytes) | (uint32_t)bytes[2] << 16;
    default:
      return pt_load_u32(bytes);
  }
}
/* CRC-32 as in zlib and PNG. */
uint32_t pt_crc32(const uint8_t* bytes, size_t size);
/* The checksum of data that had the checksum `before`, followed by these bytes. */
uint32_t pt_crc32_more(uint32_t before, const uint8_t* bytes, size_t size);

/* A bounded reader: past its end, or at a varint of more than 64 bits, it turns bad and gives zeros from then on. */
typedef struct pt_cursor {
  const uint8_t *at, *end;
  uint8_t bad;
} pt_cursor;

/* A program's code. Its instructions name ops and tensors by how far they are from those that follow from the instructions before. */
typedef struct pt_code {
  pt_cursor cursor;
  uint32_t next_op; /* behind the one that was computed last */
  uint32_t tensor;  /* that an instruction named or made last */
} pt_code;

uint64_t pt_take_varint(pt_cursor* cursor);
/* A varint that must be below 2^32 - 1. */
uint32_t pt_take_u32(pt_cursor* cursor);

/* Bytes of an element; 0 for a dtype that does not exist. */
uint32_t pt_dtype_size(uint32_t dtype);
/* Product of the dims; UINT64_MAX where it may not fit (never below 2^33). No division: microcontrollers have none for
 * 64 bits. */
uint64_t pt_type_elements(const pt_tensor* tensor);

/* What the plan says of a tensor; `tensor` < tensor_count. */
uint32_t pt_tensor_what(const pt_plan* plan, uint32_t tensor); /* PT_TENSOR_WHAT */
/* Is its home there, and is it no successor? */
static inline int pt_lives_in(uint32_t what, pt_home home) {
  return (what & ((1u << PT_WHAT_LAYOUT_SHIFT) - 1)) == (unsigned)home << PT_WHAT_HOME_SHIFT;
}
uint32_t pt_tensor_units(const pt_plan* plan, uint32_t tensor);
uint8_t pt_tensor_home(const pt_plan* plan, uint32_t tensor); /* a pt_home */
int pt_is_successor(const pt_plan* plan, uint32_t tensor);
/* In units; PT_NOWHERE: none. The slot in storage, and where the tensor is at home in RAM or ROM. */
uint32_t pt_tensor_slot(const pt_plan* plan, uint32_t tensor);
uint32_t pt_tensor_place(const pt_plan* plan, uint32_t tensor);
/* The successor, or of a successor, whose it is; PT_NOWHERE: it is of no pair. */
uint32_t pt_tensor_pair(const pt_plan* plan, uint32_t tensor);
/* Dims, rank and dtype of the payload; `data` stays untouched. 0 where the layout is none. */
int pt_tensor_type(const pt_plan* plan, uint32_t tensor, pt_tensor* type);
/* The same of a layout: bytes of a tensor, and what they hold. */
int pt_decode_layout(const pt_plan* plan, uint32_t layout, pt_tensor* type);

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

static inline const uint8_t* pt_program_record(const pt_plan* plan, uint32_t program) {
  return plan->bytes + pt_load_u32(plan->bytes + PT_AT_PROGRAMS) + (size_t)program * PT_PROGRAM_SIZE;
}
/* The code of a program; `program` < program_count. */
pt_code pt_program_code(const pt_plan* plan, uint32_t program, uint32_t* instructions);
/* The next instruction, and for a compute its op. PT_E_PLAN unless its subject exists and its places are inside the
 * arena. */
pt_status pt_decode_step(const pt_plan* plan, pt_code* code, pt_step* step, pt_op_view* view);
/* The same, with what it waits for. */
pt_status pt_decode_waiting_step(const pt_plan* plan, pt_code* code, pt_step* step, pt_op_view* view, pt_waits* waits);

#ifdef __cplusplus
}
#endif
