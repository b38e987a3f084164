/* How a family of operators (op_shapes_*.c) says what it asks of its operands, and what several of them need for it. */
#ifndef PANTOUM_RUNTIME_OP_RULES_H
#define PANTOUM_RUNTIME_OP_RULES_H

#include "runtime/plan_bytes.h"

typedef int (*pt_shape_rule)(const pt_op_view* view); /* 1: obeyed */

typedef enum pt_dtype_rule {
  SAME,       /* all operands have one dtype */
  REAL,       /* and it is a floating-point one */
  ANY,        /* every operand its own (cast) */
  REAL_LABEL, /* REAL but for input 1, which is i64, i32 or u8 */
  SAME_INDEX, /* SAME but for input 1, which is i64 or i32 */
  COMPARED,   /* inputs of one dtype, a bool output */
  CHOSEN,     /* SAME but for input 0, which is bool */
  POSITIONS,  /* an input of f32 or integers, an i64 output */
  REAL_BYTES, /* REAL but for input 1, which is u8 */
  BYTES_MADE  /* REAL but for the output, which is u8 */
} pt_dtype_rule;

typedef struct pt_op_rule {
  uint8_t op, min_inputs, max_inputs, min_outputs, max_outputs;
  int8_t ints, reals; /* counts; < 0: the shape rule checks them */
  uint8_t dtypes;     /* pt_dtype_rule */
  pt_shape_rule shape;
} pt_op_rule;

typedef struct pt_op_family {
  const pt_op_rule* rules;
  unsigned count;
} pt_op_family;

extern const pt_op_family pt_product_rules, pt_pointwise_rules, pt_image_rules, pt_norm_rules, pt_reduce_rules,
    pt_move_rules, pt_loss_rules, pt_recurrent_rules, pt_update_rules, pt_block_rules;

/* NULL: no operator with a kernel. */
const pt_op_rule* pt_find_rule(uint16_t op);

static inline const pt_tensor* in(const pt_op_view* view, unsigned input) {
  return &view->operands[input];
}
static inline const pt_tensor* out(const pt_op_view* view, unsigned output) {
  return &view->operands[view->input_count + output];
}

static inline int is_vector(const pt_tensor* t, uint32_t length) {
  return t->rank == 1 && t->dims[0] == length;
}

static inline int is_axis(const pt_op_view* view, unsigned rank) {
  return view->ints[0] >= 0 && view->ints[0] < (int64_t)rank;
}

int pt_same_dims(const pt_tensor* a, const pt_tensor* b);
/* The dim that lines up with dim d of a tensor of `rank`, as numpy pads with 1s on the left. */
uint32_t pt_padded_dim(const pt_tensor* t, unsigned d, unsigned rank);
int pt_broadcasts_to(const pt_tensor* from, const pt_tensor* to);
/* The first `dims` dims of y are those of a and b broadcast together; a and b leave out their own last two. */
int pt_broadcast_dims(const pt_tensor* a, const pt_tensor* b, const pt_tensor* y, unsigned dims);
/* All operands have the dims of the first. */
int pt_all_same(const pt_op_view* view);
/* And one int is 0 or 1: gelu's approximation, sgd's nesterov. */
int pt_flagged_same(const pt_op_view* view);
/* And one int is an axis. */
int pt_axis_same(const pt_op_view* view);

#endif
