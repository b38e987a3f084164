/* What the shape rules of all families (op_shapes_*.c) share. A rule looks at the use's inputs and attributes, whose counts and dtypes fit
 * already, and makes the outputs; or, where the inputs do not determine them, looks at those that were given. 0: the use is refused. */
#pragma once

#include "runtime/op_shapes.h"

/* Unless something else is said, all operands have one dtype. */
typedef enum pt_dtype_rule {
  SAME,
  REAL,       /* floating point */
  NUMBER,     /* floating point or integers */
  INTEGER,    /* i64, i32 or u8 */
  BITS,       /* integers or bool */
  ANY,        /* the rule checks them: every operand its own, the outputs as given or as the first input */
  REAL_LABEL, /* REAL but for input 1, which is i64, i32 or u8 */
  REAL_INDEX, /* REAL but for input 1, which is i64 or i32 */
  SAME_INDEX, /* SAME but for input 1, which is i64 or i32 */
  COMPARED,   /* a bool output */
  CHOSEN,     /* SAME but for input 0, which is bool */
  POSITIONS,  /* NUMBER, an i64 output */
  REAL_BYTES, /* REAL but for input 1, which is u8 */
  BYTES_MADE  /* REAL but for the output, which is u8 */
} pt_dtype_rule;

typedef struct pt_op_family {
  const pt_op_record* records;
  unsigned count;
} pt_op_family;

extern const pt_op_family pt_product_records, pt_pointwise_records, pt_image_records, pt_norm_records,
    pt_reduce_records, pt_move_records, pt_loss_records, pt_recurrent_records, pt_update_records, pt_block_records;

/* A line of operators.h as a record; behind the family's rules. */
#define PT_RECORD(name, min_in, max_in, min_out, max_out, ints, reals, dtypes, rule, kernels) \
  {PT_OP_##name, min_in, max_in, min_out, max_out, ints, reals, dtypes, rule},
#define PT_FAMILY(family, OPERATORS)                          \
  static const pt_op_record rules[] = {OPERATORS(PT_RECORD)}; \
  const pt_op_family family = {rules, sizeof rules / sizeof rules[0]};

/* Note the problem; both return 0. A program without texts (PT_NO_TEXT) notes nothing. */
#ifdef PT_NO_TEXT
#define PT_TEXT(text) ""
static inline int pt_refuse(pt_op_use* use, const char* text, int64_t a, int64_t b) {
  (void)use, (void)text, (void)a, (void)b;
  return 0;
}
static inline int pt_refuse_shapes(pt_op_use* use, const char* text, const char* what, const pt_tensor* a,
                                   const pt_tensor* b) {
  (void)use, (void)text, (void)what, (void)a, (void)b;
  return 0;
}
#else
#define PT_TEXT(text) text
int pt_refuse(pt_op_use* use, const char* text, int64_t a, int64_t b);
int pt_refuse_shapes(pt_op_use* use, const char* text, const char* what, const pt_tensor* a, const pt_tensor* b);
#endif
#define PT_REFUSE(use, text) pt_refuse(use, PT_TEXT(text), 0, 0)

static inline const pt_tensor* in(const pt_op_use* use, unsigned input) {
  return &use->operands[input];
}
static inline const pt_tensor* given(const pt_op_use* use, unsigned output) {
  return &use->operands[use->input_count + output];
}

/* A further output, with the dims of `like` (NULL: a scalar) until the rule changes them. */
pt_tensor* pt_make(pt_op_use* use, const pt_tensor* like);
/* As many more of them. Returns 1. */
int pt_make_all(pt_op_use* use, const pt_tensor* like, unsigned count);

int pt_same_dims(const pt_tensor* a, const pt_tensor* b);
int pt_broadcasts_to(const pt_tensor* from, const pt_tensor* to);

/* Each returns 1, or refuses the use. `what` names the operand. */
int pt_want_rank(pt_op_use* use, const pt_tensor* tensor, unsigned rank, const char* what);
int pt_want_dims(pt_op_use* use, const pt_tensor* tensor, const pt_tensor* like, const char* what);
int pt_want_vector(pt_op_use* use, const pt_tensor* tensor, uint64_t length, const char* what);
/* Of an update: the integers that it always has, and at most the parameter's group behind them. */
int pt_want_group(pt_op_use* use);
int pt_want_axis(pt_op_use* use, unsigned rank); /* the first integer */
int pt_want_below(pt_op_use* use, unsigned at, int64_t count,
                  const char* text); /* an integer from 0 on; {} of `text` is it */
int pt_want_outputs(pt_op_use* use, unsigned count);
int pt_want_given(pt_op_use* use);
int pt_want_extent(pt_op_use* use, uint64_t extent);
int pt_want_reals(pt_op_use* use, unsigned begin, unsigned end); /* inputs of one floating-point dtype */

/* Rules. */
int pt_same(pt_op_use* use);          /* all inputs have one shape, which is the output's */
int pt_axis_same(pt_op_use* use);     /* and the first integer is an axis */
int pt_broadcast_all(pt_op_use* use); /* as numpy broadcasts */
/* `y` becomes what it and `x` broadcast to. */
int pt_broadcast(pt_op_use* use, pt_tensor* y, const pt_tensor* x);

/* Extents of sliding windows: convolutions and pools (window_shapes.c). Each writes the shape that the windows give to `y`, and returns 1; or refuses the use.
 * X[N,C,H,W] and W[O,C/g,R,S], or X[N,C,D,H,W] and W of as many (spatial 3), under the use's [PT_CONV_*] or [PT_CONV3D_*]. */
int pt_conv_dims(pt_op_use* use, const pt_tensor* x, const pt_tensor* w, unsigned spatial, pt_tensor* y);
/* X[N,C,H,W] under [PT_POOL_*]; every window holds at least one element of the image. */
int pt_pool_dims(pt_op_use* use, const pt_tensor* x, pt_tensor* y);
