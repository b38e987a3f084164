/* Matrix products and convolutions. */
#include "runtime/op_rules.h"
#include "runtime/window_shapes.h"

static int factors(const pt_op_view* view) {
  const pt_tensor *a = in(view, 0), *b = in(view, 1), *y = out(view, 0);
  const int64_t trans_a = view->ints[0], trans_b = view->ints[1];
  unsigned ma, ka, kb, nb;
  if (trans_a < 0 || trans_a > 1 || trans_b < 0 || trans_b > 1) return 0;
  if (a->rank < 2 || b->rank < 2 || y->rank != (a->rank > b->rank ? a->rank : b->rank)) return 0;
  ma = a->rank - (trans_a != 0 ? 1u : 2u);
  ka = a->rank - (trans_a != 0 ? 2u : 1u);
  kb = b->rank - (trans_b != 0 ? 1u : 2u);
  nb = b->rank - (trans_b != 0 ? 2u : 1u);
  if (a->dims[ka] != b->dims[kb]) return 0;
  if (y->dims[y->rank - 2u] != a->dims[ma] || y->dims[y->rank - 1u] != b->dims[nb]) return 0;
  return pt_broadcast_dims(a, b, y, y->rank - 2u);
}
static int matmul(const pt_op_view* view) {
  const pt_tensor* y = out(view, 0);
  return factors(view) && (view->input_count < 3 || is_vector(in(view, 2), y->dims[y->rank - 1u]));
}

static int conv2d(const pt_op_view* view) {
  if (view->input_count == 3 && !is_vector(in(view, 2), in(view, 1)->dims[0])) return 0;
  return pt_conv_fits(in(view, 0), in(view, 1), out(view, 0), view->ints);
}
static int conv2d_dx(const pt_op_view* view) {
  return pt_conv_fits(out(view, 0), in(view, 1), in(view, 0), view->ints);
}
static int takes_dx(int64_t op) {
  switch (op) {
#define PT_GRADIENT(name) case PT_OP_##name:
    PT_CONV_GRADIENTS(PT_GRADIENT)
#undef PT_GRADIENT
    return 1;
    default:
      return 0;
  }
}
static int conv2d_dz(const pt_op_view* view) {
  return takes_dx(view->ints[PT_CONV_DZ_GRADIENT]) && conv2d_dx(view) && pt_same_dims(in(view, 2), out(view, 0));
}
static int finishes(int64_t op) {
  switch (op) {
#define PT_ACTIVATION(name) case PT_OP_##name:
    PT_EPILOGUES(PT_ACTIVATION)
#undef PT_ACTIVATION
    case 0:
      return 1;
    default:
      return 0;
  }
}
/* What follows a product that has so many integers: returns how many inputs are the product's own, 0: it does not fit. */
static unsigned product_inputs(const pt_op_view* view, unsigned product_ints) {
  const int64_t* epilogue = view->ints + product_ints;
  const int64_t residual = epilogue[PT_EPILOGUE_RESIDUAL];
  const unsigned inputs = view->input_count - (residual != PT_RESIDUAL_NONE ? 1u : 0u);
  if (!finishes(epilogue[PT_EPILOGUE_ACTIVATION])) return 0;
  if (residual < 0 || residual >= PT_RESIDUAL_COUNT || inputs < 2 || inputs > 3) return 0;
  if (residual != PT_RESIDUAL_NONE && !pt_same_dims(in(view, inputs), out(view, 0))) return 0;
  return inputs;
}
static int conv2d_act(const pt_op_view* view) {
  const unsigned inputs = product_inputs(view, PT_CONV_ATTRS);
  if (inputs == 3 && !is_vector(in(view, 2), in(view, 1)->dims[0])) return 0;
  return inputs != 0 && pt_conv_fits(in(view, 0), in(view, 1), out(view, 0), view->ints);
}
static int matmul_act(const pt_op_view* view) {
  const pt_tensor* y = out(view, 0);
  const unsigned inputs = product_inputs(view, PT_MATMUL_ATTRS);
  return inputs != 0 && factors(view) && (inputs < 3 || is_vector(in(view, 2), y->dims[y->rank - 1u]));
}
static int conv2d_dw(const pt_op_view* view) {
  return pt_conv_fits(in(view, 0), out(view, 0), in(view, 1), view->ints);
}

static int conv3d(const pt_op_view* view) {
  if (view->input_count == 3 && !is_vector(in(view, 2), in(view, 1)->dims[0])) return 0;
  return pt_conv3d_fits(in(view, 0), in(view, 1), out(view, 0), view->ints);
}
static int conv3d_dx(const pt_op_view* view) {
  return pt_conv3d_fits(out(view, 0), in(view, 1), in(view, 0), view->ints);
}
static int conv3d_dw(const pt_op_view* view) {
  return pt_conv3d_fits(in(view, 0), out(view, 0), in(view, 1), view->ints);
}

/* A product of two inputs is the gradient that the update of the others follows. */
static int follows(const pt_op_view* view, unsigned product_ints) {
  const int64_t op = view->ints[product_ints + PT_UPDATE_OP], flag = view->ints[product_ints + PT_UPDATE_FLAG];
  const unsigned states = view->input_count - 3u;
  unsigned at;
  if (flag < 0 || flag > 1 || view->output_count != states + 1u) return 0;
  for (at = 2; at < (unsigned)view->input_count + view->output_count; ++at)
    if (!pt_same_dims(in(view, at), in(view, 2))) return 0;
  if (op == PT_OP_sgd) return states <= 1;
  if (op == PT_OP_adam || op == PT_OP_adamw) return states == 2;
  if (op == PT_OP_rmsprop) return states == 1 + (unsigned)flag || states == 2 + (unsigned)flag;
  return op == PT_OP_adagrad && states == 1;
}
static int matmul_update(const pt_op_view* view) {
  return in(view, 0)->rank == 2 && in(view, 1)->rank == 2 && factors(view) && follows(view, PT_MATMUL_ATTRS);
}
static int conv2d_dw_update(const pt_op_view* view) {
  return conv2d_dw(view) && follows(view, PT_CONV_ATTRS);
}

/* Q, K or V: batch dims of Q, then rows and columns, or columns and rows. */
static int lies_as(const pt_tensor* t, const pt_tensor* q, uint32_t rows, uint32_t columns, int64_t transposed) {
  unsigned d;
  if (t->rank != q->rank) return 0;
  for (d = 0; d + 2u < q->rank; ++d)
    if (t->dims[d] != q->dims[d]) return 0;
  return t->dims[d] == (transposed ? columns : rows) && t->dims[d + 1u] == (transposed ? rows : columns);
}
static int is_mask(const pt_tensor* mask, const pt_tensor* q, uint32_t m, uint32_t n, uint8_t dtype) {
  pt_tensor scores = *q;
  scores.dims[q->rank - 2u] = m, scores.dims[q->rank - 1u] = n;
  return mask->dtype == dtype && pt_broadcasts_to(mask, &scores);
}
/* Every step takes the mask that it needs, and none is left. `first`: where Q stands. */
static int masks_fit(const pt_op_view* view, unsigned first, uint32_t m, uint32_t n) {
  const pt_tensor* q = in(view, first);
  unsigned mask = first + 3u, at;
  for (at = 0; at < PT_ATTENTION_STEPS; ++at) {
    const int64_t step = view->ints[PT_ATTENTION_STEP + at];
    if (step < 0 || step >= PT_STEP_COUNT) return 0;
    if (step != PT_STEP_NONE && at > 0 && view->ints[PT_ATTENTION_STEP + at - 1u] == PT_STEP_NONE) return 0;
    if (step == PT_STEP_NONE || step == PT_STEP_SCALE) continue;
    if (mask >= view->input_count) return 0;
    if (!is_mask(in(view, mask), q, m, n, step == PT_STEP_ADD ? q->dtype : (uint8_t)PT_BOOL)) return 0;
    ++mask;
  }
  return mask == view->input_count;
}
static int attends(const pt_op_view* view, unsigned first, const pt_tensor* y) {
  const pt_tensor *q = in(view, first), *k = in(view, first + 1u), *v = in(view, first + 2u);
  const int64_t* ints = view->ints;
  uint32_t m, n, d, e;
  unsigned at;
  for (at = 0; at < PT_ATTENTION_STEP; ++at)
    if (ints[at] < 0 || ints[at] > 1) return 0;
  if (q->rank < 3 || v->rank != q->rank || y->rank != q->rank) return 0;
  if (q->dtype != view->dtype || k->dtype != q->dtype || v->dtype != q->dtype || y->dtype != q->dtype) return 0;
  m = q->dims[q->rank - (ints[PT_ATTENTION_TRANS_Q] ? 1u : 2u)];
  d = q->dims[q->rank - (ints[PT_ATTENTION_TRANS_Q] ? 2u : 1u)];
  n = v->dims[q->rank - (ints[PT_ATTENTION_TRANS_V] ? 1u : 2u)];
  e = v->dims[q->rank - (ints[PT_ATTENTION_TRANS_V] ? 2u : 1u)];
  return lies_as(k, q, n, d, ints[PT_ATTENTION_TRANS_K]) && lies_as(v, q, n, e, ints[PT_ATTENTION_TRANS_V]) &&
         lies_as(y, q, m, e, 0) && masks_fit(view, first, m, n);
}
static int is_real(const pt_tensor* t) {
  return t->dtype == PT_F32 || t->dtype == PT_F64;
}
static int attention(const pt_op_view* view) {
  return is_real(in(view, 0)) && attends(view, 0, out(view, 0));
}
static int attention_grad(const pt_op_view* view) {
  unsigned made;
  if (!is_real(in(view, 0)) || !attends(view, 1, in(view, 0))) return 0;
  for (made = 0; made < 3; ++made)
    if (out(view, made)->dtype != in(view, 0)->dtype || !pt_same_dims(out(view, made), in(view, made + 1u))) return 0;
  return 1;
}

/* why: one row per operator, and nothing that two tables could share. */
static const pt_op_rule rules[] = {
    {PT_OP_matmul, 2, 3, 1, 1, PT_MATMUL_ATTRS, 0, REAL, matmul},
    {PT_OP_matmul_act, 2, 4, 1, 1, PT_MATMUL_ATTRS + PT_EPILOGUE_ATTRS, PT_EPILOGUE_REALS, REAL, matmul_act},
    {PT_OP_conv2d, 2, 3, 1, 1, PT_CONV_ATTRS, 0, REAL, conv2d},
    {PT_OP_conv2d_dx, 2, 2, 1, 1, PT_CONV_ATTRS, 0, REAL, conv2d_dx},
    {PT_OP_conv2d_dw, 2, 2, 1, 1, PT_CONV_ATTRS, 0, REAL, conv2d_dw},
    {PT_OP_conv2d_dz, 3, 3, 1, 1, PT_CONV_DZ_ATTRS, 3, REAL, conv2d_dz},
    {PT_OP_conv2d_act, 2, 4, 1, 1, PT_CONV_ATTRS + PT_EPILOGUE_ATTRS, PT_EPILOGUE_REALS, REAL, conv2d_act},
    {PT_OP_conv3d, 2, 3, 1, 1, PT_CONV3D_ATTRS, 0, REAL, conv3d},
    {PT_OP_conv3d_dx, 2, 2, 1, 1, PT_CONV3D_ATTRS, 0, REAL, conv3d_dx},
    {PT_OP_conv3d_dw, 2, 2, 1, 1, PT_CONV3D_ATTRS, 0, REAL, conv3d_dw},
    {PT_OP_attention, 3, 3 + PT_ATTENTION_STEPS, 1, 1, PT_ATTENTION_ATTRS, PT_ATTENTION_REALS, ANY, attention},
    {PT_OP_attention_grad, 4, 4 + PT_ATTENTION_STEPS, 3, 3, PT_ATTENTION_ATTRS, PT_ATTENTION_REALS, ANY,
     attention_grad},
    {PT_OP_matmul_update, 3, 6, 1, 4, PT_MATMUL_ATTRS + PT_UPDATE_ATTRS, PT_UPDATE_REALS, REAL, matmul_update},
    {PT_OP_conv2d_dw_update, 3, 6, 1, 4, PT_CONV_ATTRS + PT_UPDATE_ATTRS, PT_UPDATE_REALS, REAL, conv2d_dw_update},
};

const pt_op_family pt_product_rules = {rules, sizeof rules / sizeof rules[0]};
