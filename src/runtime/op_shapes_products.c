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
static int conv2d_act(const pt_op_view* view) {
  const int64_t* epilogue = view->ints + PT_CONV_ATTRS;
  const int64_t residual = epilogue[PT_EPILOGUE_RESIDUAL];
  const unsigned inputs = view->input_count - (residual != PT_RESIDUAL_NONE ? 1u : 0u); /* the convolution's own */
  if (!finishes(epilogue[PT_EPILOGUE_ACTIVATION])) return 0;
  if (residual < 0 || residual >= PT_RESIDUAL_COUNT || inputs < 2 || inputs > 3) return 0;
  if (residual != PT_RESIDUAL_NONE && !pt_same_dims(in(view, inputs), out(view, 0))) return 0;
  if (inputs == 3 && !is_vector(in(view, 2), in(view, 1)->dims[0])) return 0;
  return pt_conv_fits(in(view, 0), in(view, 1), out(view, 0), view->ints);
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
  return in(view, 0)->rank == 2 && in(view, 1)->rank == 2 && factors(view) && follows(view, 2);
}
static int conv2d_dw_update(const pt_op_view* view) {
  return conv2d_dw(view) && follows(view, PT_CONV_ATTRS);
}

/* why: one row per operator, and nothing that two tables could share. */
static const pt_op_rule rules[] = {
    {PT_OP_matmul, 2, 3, 1, 1, 2, 0, REAL, matmul},
    {PT_OP_conv2d, 2, 3, 1, 1, PT_CONV_ATTRS, 0, REAL, conv2d},
    {PT_OP_conv2d_dx, 2, 2, 1, 1, PT_CONV_ATTRS, 0, REAL, conv2d_dx},
    {PT_OP_conv2d_dw, 2, 2, 1, 1, PT_CONV_ATTRS, 0, REAL, conv2d_dw},
    {PT_OP_conv2d_dz, 3, 3, 1, 1, PT_CONV_DZ_ATTRS, 3, REAL, conv2d_dz},
    {PT_OP_conv2d_act, 2, 4, 1, 1, PT_CONV_ATTRS + PT_EPILOGUE_ATTRS, PT_EPILOGUE_REALS, REAL, conv2d_act},
    {PT_OP_conv3d, 2, 3, 1, 1, PT_CONV3D_ATTRS, 0, REAL, conv3d},
    {PT_OP_conv3d_dx, 2, 2, 1, 1, PT_CONV3D_ATTRS, 0, REAL, conv3d_dx},
    {PT_OP_conv3d_dw, 2, 2, 1, 1, PT_CONV3D_ATTRS, 0, REAL, conv3d_dw},
    {PT_OP_matmul_update, 3, 6, 1, 4, 2 + PT_UPDATE_ATTRS, PT_UPDATE_REALS, REAL, matmul_update},
    {PT_OP_conv2d_dw_update, 3, 6, 1, 4, PT_CONV_ATTRS + PT_UPDATE_ATTRS, PT_UPDATE_REALS, REAL, conv2d_dw_update},
};

const pt_op_family pt_product_rules = {rules, sizeof rules / sizeof rules[0]};
