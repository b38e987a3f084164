/* Matrix products, convolutions, attention, and what follows products. */

#include "kernels/portable/norm_activation.h"
#include "runtime/op_rules.h"

static int is_transposed(const pt_op_use* use, unsigned flag) {
  return use->ints[flag] != 0;
}

/* The product of the first two inputs; of three, the last is a bias. */
static int product(pt_op_use* use, unsigned inputs) {
  const pt_tensor *a = in(use, 0), *b = in(use, 1);
  pt_tensor of_b = *b, *y = pt_make(use, a);
  uint32_t m, k, n, inner;
  unsigned flag;
  for (flag = 0; flag < PT_MATMUL_ATTRS; ++flag)
    if (!pt_want_below(use, flag, 2, PT_TEXT("a transposition is 0 or 1, not {}"))) return 0;
  if (a->rank < 2 || b->rank < 2) return PT_REFUSE(use, "its factors must have two dimensions or more");
  m = a->dims[a->rank - (is_transposed(use, PT_MATMUL_TRANS_A) ? 1u : 2u)];
  k = a->dims[a->rank - (is_transposed(use, PT_MATMUL_TRANS_A) ? 2u : 1u)];
  inner = b->dims[b->rank - (is_transposed(use, PT_MATMUL_TRANS_B) ? 1u : 2u)];
  n = b->dims[b->rank - (is_transposed(use, PT_MATMUL_TRANS_B) ? 2u : 1u)];
  if (k != inner) return pt_refuse(use, PT_TEXT("the inner extents {} and {} differ"), k, inner);
  y->rank = (uint8_t)(a->rank - 2u), of_b.rank = (uint8_t)(b->rank - 2u); /* the dimensions of the batch alone */
  if (!pt_broadcast(use, y, &of_b)) return 0;
  y->dims[y->rank] = m, y->dims[y->rank + 1u] = n;
  y->rank = (uint8_t)(y->rank + 2u);
  return inputs < 3 || pt_want_vector(use, in(use, 2), n, PT_TEXT("the bias"));
}
static int matmul(pt_op_use* use) {
  return product(use, use->input_count);
}

/* A convolution of images (`spatial` is 2) or volumes (3); the first input is an image or a volume. */
static int convolution(pt_op_use* use, unsigned spatial, unsigned inputs) {
  pt_tensor* y = pt_make(use, NULL);
  return pt_conv_dims(use, in(use, 0), in(use, 1), spatial, y) &&
         (inputs < 3 || pt_want_vector(use, in(use, 2), y->dims[1], PT_TEXT("the bias")));
}
/* dY W -> dX, which is given. */
static int convolution_dx(pt_op_use* use, unsigned spatial) {
  pt_tensor y;
  return pt_want_given(use) && pt_conv_dims(use, given(use, 0), in(use, 1), spatial, &y) &&
         pt_want_dims(use, in(use, 0), &y, PT_TEXT("the output's gradient"));
}
/* X dY -> dW, which is given. */
static int convolution_dw(pt_op_use* use, const pt_tensor* weight, unsigned spatial) {
  pt_tensor y;
  return pt_conv_dims(use, in(use, 0), weight, spatial, &y) &&
         pt_want_dims(use, in(use, 1), &y, PT_TEXT("the output's gradient"));
}
static int conv2d(pt_op_use* use) {
  return convolution(use, 2, use->input_count);
}
static int conv2d_dx(pt_op_use* use) {
  return convolution_dx(use, 2);
}
static int conv2d_dw(pt_op_use* use) {
  return pt_want_given(use) && convolution_dw(use, given(use, 0), 2);
}
static int conv3d(pt_op_use* use) {
  return convolution(use, 3, use->input_count);
}
static int conv3d_dx(pt_op_use* use) {
  return convolution_dx(use, 3);
}
static int conv3d_dw(pt_op_use* use) {
  return pt_want_given(use) && convolution_dw(use, given(use, 0), 3);
}

/* Is it an op of the list of ops.h? */
#define PT_CASE(name) case PT_OP_##name:
static int is_conv_gradient(int64_t op) {
  switch (op) {
    PT_CONV_GRADIENTS(PT_CASE)
    return 1;
    default:
      return 0;
  }
}
#undef PT_CASE

static int conv2d_dz(pt_op_use* use) {
  if (!is_conv_gradient(use->ints[PT_CONV_DZ_GRADIENT])) return PT_REFUSE(use, "it knows no such activation");
  return conv2d_dx(use) &&
         pt_want_dims(use, in(use, 2), given(use, 0), PT_TEXT("what the activation's gradient reads"));
}

/* Checks the steps that follow a product with `product_ints` integers. Returns how many inputs are the product's own; 0: the
 * use is refused. */
static unsigned product_inputs(pt_op_use* use, unsigned product_ints) {
  const int64_t* epilogue = use->ints + product_ints;
  const int64_t residual = epilogue[PT_EPILOGUE_RESIDUAL];
  const unsigned inputs = use->input_count - (residual != PT_RESIDUAL_NONE ? 1u : 0u);
  if (epilogue[PT_EPILOGUE_ACTIVATION] != 0 && !pt_is_epilogue(epilogue[PT_EPILOGUE_ACTIVATION]))
    return PT_REFUSE(use, "it knows no such activation") != 0;
  if (!pt_want_below(use, product_ints + PT_EPILOGUE_RESIDUAL, PT_RESIDUAL_COUNT, PT_TEXT("it knows no residual {}")))
    return 0;
  if (inputs < 2 || inputs > 3)
    return PT_REFUSE(use, "it has two factors, perhaps a bias, and what its attributes add") != 0;
  return inputs;
}
static int residual_fits(pt_op_use* use, unsigned inputs) {
  return inputs == use->input_count ||
         pt_want_dims(use, in(use, inputs), &use->made[0], PT_TEXT("what is added to the result"));
}
static int conv2d_act(pt_op_use* use) {
  const unsigned inputs = product_inputs(use, PT_CONV_ATTRS);
  return inputs != 0 && convolution(use, 2, inputs) && residual_fits(use, inputs);
}
static int matmul_act(pt_op_use* use) {
  const unsigned inputs = product_inputs(use, PT_MATMUL_ATTRS);
  return inputs != 0 && product(use, inputs) && residual_fits(use, inputs);
}

/* The states that the update of an op takes with this integer: at least, and at most. 0: it follows no product. */
static int states_of(int64_t op, int64_t flag, unsigned* least, unsigned* most) {
  *least = 2, *most = 3; /* Adam */
  if (op == PT_OP_sgd) *least = 0, *most = 1;
  if (op == PT_OP_adagrad) *least = *most = 1;
  if (op == PT_OP_rmsprop) *least = 1 + (flag != 0), *most = *least + 1;
  switch (op) {
#define PT_UPDATE(name) case PT_OP_##name:
    PT_PRODUCT_UPDATES(PT_UPDATE)
#undef PT_UPDATE
    return 1;
    default:
      return 0;
  }
}
/* The gradient of input 2, which a product of the first two makes, is followed by the update of it and its states. */
static int follows(pt_op_use* use, unsigned product_ints) {
  const int64_t *update = use->ints + product_ints, flag = update[PT_UPDATE_FLAG];
  const unsigned states = use->input_count - 3u;
  unsigned at, least, most;
  if (!states_of(update[PT_UPDATE_OP], flag, &least, &most)) return PT_REFUSE(use, "it knows no such update");
  if (!pt_want_below(use, product_ints + PT_UPDATE_FLAG, 2, PT_TEXT("the update's flag is 0 or 1, not {}"))) return 0;
  if (states < least || states > most) return pt_refuse(use, PT_TEXT("its update does not have {} states"), states, 0);
  for (at = 3; at < use->input_count; ++at)
    if (!pt_want_dims(use, in(use, at), in(use, 2), PT_TEXT("a state"))) return 0;
  return pt_want_outputs(use, states + 1) && pt_make_all(use, in(use, 2), states + 1);
}
static int matmul_update(pt_op_use* use) {
  if (!pt_want_group(use)) return 0;
  if (in(use, 0)->rank != 2 || in(use, 1)->rank != 2) return PT_REFUSE(use, "its factors must be matrices");
  if (!product(use, 2)) return 0;
  if (!pt_same_dims(&use->made[--use->made_count], in(use, 2)))
    return PT_REFUSE(use, "the product is not a gradient of what is updated");
  return follows(use, PT_MATMUL_ATTRS);
}
static int conv2d_dw_update(pt_op_use* use) {
  return pt_want_group(use) && convolution_dw(use, in(use, 2), 2) && follows(use, PT_CONV_ATTRS);
}

/* The shape of K or V: the batch of Q, and the last two dims in the order that the flag gives. */
static pt_tensor laid(const pt_op_use* use, const pt_tensor* q, uint32_t rows, uint32_t columns, unsigned flag) {
  pt_tensor made = *q;
  made.dims[q->rank - 2u] = is_transposed(use, flag) ? columns : rows;
  made.dims[q->rank - 1u] = is_transposed(use, flag) ? rows : columns;
  return made;
}
/* Checks that there is one mask for each step that needs one, and no more. `scores` has the shape of the scores, `mask` is the
 * first mask's input. */
static int masks_fit(pt_op_use* use, const pt_tensor* scores, unsigned mask) {
  unsigned at;
  for (at = 0; at < PT_ATTENTION_STEPS; ++at) {
    const int64_t step = use->ints[PT_ATTENTION_STEP + at];
    if (!pt_want_below(use, PT_ATTENTION_STEP + at, PT_STEP_COUNT, PT_TEXT("the step {} is unknown"))) return 0;
    if (step != PT_STEP_NONE && at > 0 && use->ints[PT_ATTENTION_STEP + at - 1u] == PT_STEP_NONE)
      return PT_REFUSE(use, "a step stands behind none");
    if (step == PT_STEP_NONE || step == PT_STEP_SCALE) continue;
    if (mask >= use->input_count) return PT_REFUSE(use, "a mask is missing");
    if (in(use, mask)->dtype != (step == PT_STEP_ADD ? scores->dtype : (uint8_t)PT_BOOL))
      return PT_REFUSE(use, "a mask is of another type");
    if (!pt_broadcasts_to(in(use, mask), scores))
      return pt_refuse_shapes(use, PT_TEXT("the mask {a} does not broadcast to the scores {b}"), "", in(use, mask),
                              scores);
    ++mask;
  }
  return mask == use->input_count || PT_REFUSE(use, "it has masks that no step takes");
}
/* Checks Q (input `first`), K, V and the masks; `y` becomes the shape of attention's result. */
static int attends(pt_op_use* use, unsigned first, pt_tensor* y) {
  const pt_tensor *q = in(use, first), *k = in(use, first + 1u), *v = in(use, first + 2u);
  const int64_t* ints = use->ints;
  pt_tensor wanted;
  uint32_t m, n, d, e;
  unsigned at;
  if (!pt_want_reals(use, 0, first + PT_ATTENTION_OPERANDS)) return 0;
  for (at = 0; at < PT_ATTENTION_STEP; ++at)
    if (!pt_want_below(use, at, 2, PT_TEXT("a transposition is 0 or 1, not {}"))) return 0;
  if (q->rank < 3) return PT_REFUSE(use, "Q must have three dimensions or more");
  if (k->rank != q->rank || v->rank != q->rank) return PT_REFUSE(use, "Q, K and V differ in rank");
  m = q->dims[q->rank - (ints[PT_ATTENTION_TRANS_Q] ? 1u : 2u)];
  d = q->dims[q->rank - (ints[PT_ATTENTION_TRANS_Q] ? 2u : 1u)];
  n = v->dims[q->rank - (ints[PT_ATTENTION_TRANS_V] ? 1u : 2u)];
  e = v->dims[q->rank - (ints[PT_ATTENTION_TRANS_V] ? 2u : 1u)];
  wanted = laid(use, q, n, d, PT_ATTENTION_TRANS_K);
  if (!pt_want_dims(use, k, &wanted, PT_TEXT("K"))) return 0;
  wanted = laid(use, q, n, e, PT_ATTENTION_TRANS_V);
  if (!pt_want_dims(use, v, &wanted, PT_TEXT("V"))) return 0;
  *y = *q;
  y->dims[q->rank - 2u] = m, y->dims[q->rank - 1u] = e;
  wanted = *y;
  wanted.dims[q->rank - 1u] = n;
  return masks_fit(use, &wanted, first + PT_ATTENTION_OPERANDS);
}
static int attention(pt_op_use* use) {
  return attends(use, 0, pt_make(use, NULL));
}
static int attention_grad(pt_op_use* use) {
  pt_tensor y;
  unsigned made;
  if (!attends(use, 1, &y) || !pt_want_dims(use, in(use, 0), &y, PT_TEXT("dY"))) return 0;
  for (made = 0; made < PT_ATTENTION_OPERANDS; ++made) pt_make(use, in(use, made + 1u));
  return 1;
}

PT_FAMILY(pt_product_records, PT_PRODUCT_OPERATORS)
