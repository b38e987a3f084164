/* Which uses of an operator are sound, and the types of their outputs, as include/pantoum/ops.h documents them: what the runtime asks of a
 * plan, and what the compiler builds its graphs by. A kernel may rely on all of it; it checks itself only what depends on data (indices,
 * labels). The operators' records are in kernels/portable/operators.h. */
#pragma once

#include "kernels/portable/operators.h"
#include "runtime/plan_bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a use is refused. In `text`, {} stands for the next number, {dtype} for the name of the dtype that it is, {a} and {b} for shapes, {what}
 * for the operand's part. */
typedef struct pt_problem {
  const char *text, *what;
  double numbers[3];
  pt_tensor a, b;
} pt_problem;

enum { PT_MOST_MADE = 5 };

/* Operands and attributes of an op. Extents are between 1 and INT32_MAX, ranks at most PT_MAX_RANK. */
typedef struct pt_op_use {
  uint16_t op;
  uint8_t input_count, output_count; /* output_count 0: its outputs are to be told from its inputs */
  uint8_t int_count, real_count;
  const pt_tensor* operands; /* inputs, then outputs */
  const int64_t* ints;
  const double* reals;
  /* What pt_infer_op answers. */
  uint8_t dtype;      /* of its outputs */
  uint8_t made_count; /* 0: the outputs are as they were given */
  pt_tensor made[PT_MOST_MADE];
  pt_problem* problem; /* NULL: nobody asks why it is refused */
} pt_op_use;

typedef struct pt_op_record {
  uint8_t op;
  int8_t min_inputs, max_inputs, min_outputs, max_outputs, ints, reals; /* PT_ANY: any number */
  uint8_t dtypes;                                                       /* pt_dtype_rule of op_rules.h */
  int (*shape)(pt_op_use* use);                                         /* 1: it makes the outputs, or they fit */
} pt_op_record;

/* NULL: there is no such operator. */
const pt_op_record* pt_find_record(uint16_t op);
/* Tells the outputs' types, or checks the shapes that were given where the inputs do not determine them. 0: the use is refused. */
int pt_infer_op(pt_op_use* use);

/* The dtype of the kernel's key: that of the first output, except for count_correct. The op has operands. */
uint8_t pt_key_dtype(const pt_op_view* view);
/* PT_E_PLAN for an op that does not exist, has no kernel (alias), or whose operands or attributes break its rule. */
pt_status pt_check_op(const pt_op_view* view);
/* The input that the op uses as indices or labels, -1: none. No output may share its bytes. */
int pt_index_input(uint16_t op);

#ifdef __cplusplus
}
#endif
