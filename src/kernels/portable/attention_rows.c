#include <stdint.h>

#include "kernels/portable/attention.h"
#include "kernels/portable/gemm.h"
#include "kernels/portable/lanes.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/parts.h"
#include "kernels/portable/real_math.h"

/* A step that scores go through: its kind, its real, and its mask with the mask's strides. */
typedef struct step {
  int64_t kind;
  pt_real p;
  const pt_tensor* mask;
  size_t row_step, column_step; /* of the mask, in elements */
} step;

typedef struct attention {
  const pt_call* call;
  const pt_attention_form* form;
  size_t batches, m, n, d, e;
  size_t rows, blocks; /* rows of a block; blocks of a matrix */
  size_t kept;         /* blocks in the workspace */
  int shows;           /* call only the products; the contents of the operands do not matter */
  void (*softmax)(pt_real* x, size_t n);
  void (*softmax_gradient)(const pt_real* y, pt_real* dx, size_t n);
  const pt_tensor *dy, *q, *k, *v;
  size_t steps;
  step step[PT_ATTENTION_STEPS];
} attention;

static size_t from_end(const pt_tensor* tensor, size_t dim) {
  return dim < tensor->rank ? tensor->dims[tensor->rank - 1 - dim] : 1;
}

static int takes_mask(int64_t kind) {
  return kind == PT_STEP_ADD || kind == PT_STEP_KEEP || kind == PT_STEP_FILL;
}

static attention describe(const pt_call* call, int backward, const pt_attention_form* form) {
  const pt_tensor* first = call->inputs + (backward ? 1 : 0);
  const int64_t* ints = call->ints;
  attention a = {
      .call = call, .form = form, .batches = 1, .kept = backward ? 2 : 1, .q = first, .k = first + 1, .v = first + 2};
  const pt_tensor* mask = first + 3;
  a.dy = call->inputs;
  a.m = from_end(a.q, ints[PT_ATTENTION_TRANS_Q] ? 0 : 1), a.d = from_end(a.q, ints[PT_ATTENTION_TRANS_Q] ? 1 : 0);
  a.n = from_end(a.k, ints[PT_ATTENTION_TRANS_K] ? 0 : 1), a.e = from_end(a.v, ints[PT_ATTENTION_TRANS_V] ? 1 : 0);
  for (size_t dim = 2; dim < a.q->rank; ++dim) a.batches *= from_end(a.q, dim);
  a.rows = form->elements / (a.n > 0 ? a.n : 1) / 8 * 8;
  if (a.rows < form->rows) a.rows = form->rows;
  a.rows = pt_least(a.rows, a.m > 0 ? a.m : 1);
  a.blocks = (a.m + a.rows - 1) / a.rows;
  for (size_t at = 0; at < PT_ATTENTION_STEPS && ints[PT_ATTENTION_STEP + at] != PT_STEP_NONE; ++at) {
    step* s = &a.step[a.steps++];
    s->kind = ints[PT_ATTENTION_STEP + at];
    s->p = (pt_real)call->reals[at];
    if (!takes_mask(s->kind)) continue;
    s->mask = mask++;
    s->column_step = from_end(s->mask, 0) == 1 ? 0 : 1;
    s->row_step = from_end(s->mask, 1) == 1 ? 0 : from_end(s->mask, 0);
  }
  return a;
}

/* One share's part of the workspace: the scratch, then rows of scores, then (backward) rows of their gradients. */
static size_t share_bytes(const attention* a) {
  const size_t rows = a->kept * a->rows * a->n * sizeof(pt_real);
  return a->form->scratch > 0 ? a->form->scratch + (rows + 63) / 64 * 64 : rows;
}
static void* scratch_of(const attention* a, size_t share) {
  return (char*)a->call->workspace + share * share_bytes(a);
}
static pt_real* rows_of(const attention* a, size_t share) {
  return (pt_real*)(void*)((char*)scratch_of(a, share) + a->form->scratch);
}

/* The first element of a mask that belongs to a matrix of the batch. */
static size_t mask_at(const attention* a, const pt_tensor* mask, size_t batch) {
  size_t at = 0, stride = from_end(mask, 0) * from_end(mask, 1);
  for (size_t dim = 2; dim < a->q->rank; ++dim) {
    const size_t extent = from_end(a->q, dim), own = from_end(mask, dim);
    if (own != 1) at += batch % extent * stride;
    batch /= extent;
    stride *= own;
  }
  return at;
}

/* Rows x columns of one matrix of a batch, as they are seen: not transposed. */
static pt_factor factor(const pt_tensor* tensor, size_t batch, size_t rows, size_t columns, int transposed) {
  const pt_factor plain = {(const pt_real*)tensor->data + batch * rows * columns, columns, 1},
                  turned = {plain.at, 1, rows};
  return transposed ? turned : plain;
}
static pt_factor turned(pt_factor f) {
  return (pt_factor){f.at, f.column_step, f.row_step};
}
static pt_factor rows_from(pt_factor f, size_t row) {
  return (pt_factor){f.at + row * f.row_step, f.row_step, f.column_step};
}

/* ---- a row of scores ---- */

static void through_step(const step* s, size_t at, size_t n, pt_real* x) {
  const pt_real p = s->p;
  const size_t along = s->column_step;
  if (s->kind == PT_STEP_SCALE) {
    for (size_t column = 0; column < n; ++column) x[column] = p * x[column] + 0;
  } else if (s->kind == PT_STEP_ADD) {
    const pt_real* m = (const pt_real*)s->mask->data + at;
    for (size_t column = 0; column < n; ++column) x[column] += m[column * along];
  } else {
    const uint8_t* m = (const uint8_t*)s->mask->data + at;
    const int keeps = s->kind == PT_STEP_KEEP;
    for (size_t column = 0; column < n; ++column) x[column] = (m[column * along] != 0) == keeps ? x[column] : p;
  }
}

/* The gradient of a score before the step, computed from its gradient after the step. */
static void back_through_step(const step* s, size_t at, size_t n, pt_real* dx) {
  if (s->kind == PT_STEP_ADD) return;
  if (s->kind == PT_STEP_SCALE) {
    through_step(s, at, n, dx);
    return;
  }
  step gradient = *s;
  gradient.p = 0;
  through_step(&gradient, at, n, dx);
}

static size_t mask_row(const attention* a, const step* s, size_t batch, size_t row) {
  return s->mask == NULL ? 0 : mask_at(a, s->mask, batch) + row * s->row_step;
}

/* The order of operations is that of softmax and softmax_grad. */
PT_INLINE void softmax_row(pt_real* x, size_t n) {
  pt_real top = x[0];
  for (size_t at = 1; at < n; ++at) top = x[at] > top ? x[at] : top;
  for (size_t at = 0; at < n; ++at) x[at] = pt_real_exp(x[at] - top);
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, n, x[at]);
  const pt_real scale = 1 / pt_lanes_total(&lanes);
  for (size_t at = 0; at < n; ++at) x[at] *= scale;
}

PT_INLINE void softmax_gradient_row(const pt_real* y, pt_real* dx, size_t n) {
  pt_lanes lanes = {{0}, 0};
  PT_LANES_ADD(lanes, n, dx[at] * y[at]);
  const pt_real dot = pt_lanes_total(&lanes);
  for (size_t at = 0; at < n; ++at) dx[at] = y[at] * (dx[at] - dot);
}

#define PT_ROW_FORMS(name, target)                                                      \
  target static void softmax_##name(pt_real* x, size_t n) {                             \
    softmax_row(x, n);                                                                  \
  }                                                                                     \
  target static void softmax_gradient_##name(const pt_real* y, pt_real* dx, size_t n) { \
    softmax_gradient_row(y, dx, n);                                                     \
  }
PT_ROW_FORMS(plain, )
#ifdef PT_HAS_AVX
PT_ROW_FORMS(avx2, PT_AVX2)
PT_ROW_FORMS(avx512, __attribute__((target("avx512f"))))
#endif

/* Uses wider vectors; the bits are the same. */
static void choose_rows(attention* a) {
  a->softmax = softmax_plain, a->softmax_gradient = softmax_gradient_plain;
#ifdef PT_HAS_AVX
  if (__builtin_cpu_supports("avx2")) a->softmax = softmax_avx2, a->softmax_gradient = softmax_gradient_avx2;
  if (__builtin_cpu_supports("avx512f")) a->softmax = softmax_avx512, a->softmax_gradient = softmax_gradient_avx512;
#endif
}

/* Computes some rows of softmax(steps(Q K')). */
static void weights(const attention* a, size_t batch, size_t row, size_t rows, pt_real* made, void* scratch) {
  const int64_t* ints = a->call->ints;
  const pt_factor q = rows_from(factor(a->q, batch, a->m, a->d, ints[PT_ATTENTION_TRANS_Q] != 0), row),
                  k = turned(factor(a->k, batch, a->n, a->d, ints[PT_ATTENTION_TRANS_K] != 0));
  a->form->product(&q, &k, rows, a->n, a->d, 0, made, a->n, scratch);
  for (size_t at = 0; at < rows && !a->shows; ++at) {
    pt_real* x = made + at * a->n;
    for (size_t s = 0; s < a->steps; ++s) through_step(&a->step[s], mask_row(a, &a->step[s], batch, row + at), a->n, x);
    a->softmax(x, a->n);
  }
}

/* ---- forward ---- */

static void forward_block(const attention* a, size_t batch, size_t row, pt_real* p, void* scratch) {
  const size_t rows = pt_least(a->rows, a->m - row);
  const pt_factor seen = {p, a->n, 1}, v = factor(a->v, batch, a->n, a->e, a->call->ints[PT_ATTENTION_TRANS_V] != 0);
  pt_real* y = (pt_real*)a->call->outputs[0].data + (batch * a->m + row) * a->e;
  weights(a, batch, row, rows, p, scratch);
  a->form->product(&seen, &v, rows, a->e, a->n, 0, y, a->e, scratch);
}

static void forward_blocks(void* arg, size_t share, size_t begin, size_t end) {
  const attention* a = arg;
  for (size_t block = begin; block < end; ++block)
    forward_block(a, block / a->blocks, block % a->blocks * a->rows, rows_of(a, share), scratch_of(a, share));
}

void PT_NAME(pt_attention_run)(const pt_call* call, const pt_attention_form* form) {
  attention a = describe(call, 0, form);
  choose_rows(&a);
  PT_NAME(pt_split_shares)(call->pool, a.batches * a.blocks, forward_blocks, &a);
}

size_t PT_NAME(pt_attention_bytes)(const pt_call* call, const pt_attention_form* form) {
  const attention a = describe(call, 0, form);
  return pt_shares(call->pool, a.batches * a.blocks) * share_bytes(&a);
}

/* ---- backward ---- */

/* Adds a' b to a matrix that lies as `c` says: a is rows x m, b is rows x n, the matrix m x n. */
static void add_product(const attention* a, pt_factor left, pt_factor right, size_t m, size_t n, size_t rows,
                        int goes_on, pt_real* c, int transposed, void* scratch) {
  const pt_factor turned_left = turned(left), turned_right = turned(right);
  if (transposed)
    a->form->product(&turned_right, &left, n, m, rows, goes_on, c, m, scratch);
  else
    a->form->product(&turned_left, &right, m, n, rows, goes_on, c, n, scratch);
}

/* dP becomes the gradient of the products Q K'. */
static void score_gradients(const attention* a, size_t batch, size_t row, size_t rows, const pt_real* p, pt_real* dp) {
  for (size_t at = 0; at < rows && !a->shows; ++at) {
    pt_real* dx = dp + at * a->n;
    a->softmax_gradient(p + at * a->n, dx, a->n);
    for (size_t s = a->steps; s-- > 0;)
      back_through_step(&a->step[s], mask_row(a, &a->step[s], batch, row + at), a->n, dx);
  }
}

/* dQ is written last: it may lie over Q or dY, whose rows of this block are not read any more. */
static void backward_block(const attention* a, size_t batch, size_t row, pt_real* p, pt_real* ds, void* scratch) {
  const int64_t* ints = a->call->ints;
  const int trans_q = ints[PT_ATTENTION_TRANS_Q] != 0, trans_k = ints[PT_ATTENTION_TRANS_K] != 0,
            trans_v = ints[PT_ATTENTION_TRANS_V] != 0, goes_on = row > 0 || pt_goes_on(a->call);
  const size_t rows = pt_least(a->rows, a->m - row);
  const pt_factor q = rows_from(factor(a->q, batch, a->m, a->d, trans_q), row),
                  k = factor(a->k, batch, a->n, a->d, trans_k), v = factor(a->v, batch, a->n, a->e, trans_v),
                  dy = rows_from(factor(a->dy, batch, a->m, a->e, 0), row), seen_p = {p, a->n, 1},
                  seen_ds = {ds, a->n, 1}, turned_v = turned(v), turned_k = turned(k), turned_ds = turned(seen_ds);
  pt_real *dq = (pt_real*)a->call->outputs[0].data + batch * a->m * a->d,
          *dk = (pt_real*)a->call->outputs[1].data + batch * a->n * a->d,
          *dv = (pt_real*)a->call->outputs[2].data + batch * a->n * a->e;
  weights(a, batch, row, rows, p, scratch);
  add_product(a, seen_p, dy, a->n, a->e, rows, goes_on, dv, trans_v, scratch);
  a->form->product(&dy, &turned_v, rows, a->n, a->e, 0, ds, a->n, scratch);
  score_gradients(a, batch, row, rows, p, ds);
  add_product(a, seen_ds, q, a->n, a->d, rows, goes_on, dk, trans_k, scratch);
  if (trans_q)
    a->form->product(&turned_k, &turned_ds, a->d, rows, a->n, 0, dq + row, a->m, scratch);
  else
    a->form->product(&seen_ds, &k, rows, a->d, a->n, 0, dq + row * a->d, a->d, scratch);
}

static void backward_matrices(void* arg, size_t share, size_t begin, size_t end) {
  const attention* a = arg;
  void* scratch = scratch_of(a, share);
  pt_real* p = rows_of(a, share);
  for (size_t batch = begin; batch < end; ++batch)
    for (size_t row = 0; row < a->m; row += a->rows) backward_block(a, batch, row, p, p + a->rows * a->n, scratch);
}

void PT_NAME(pt_attention_grad_run)(const pt_call* call, const pt_attention_form* form) {
  attention a = describe(call, 1, form);
  choose_rows(&a);
  PT_NAME(pt_split_shares)(call->pool, a.batches, backward_matrices, &a);
}

size_t PT_NAME(pt_attention_grad_bytes)(const pt_call* call, const pt_attention_form* form) {
  const attention a = describe(call, 1, form);
  return pt_shares(call->pool, a.batches) * share_bytes(&a);
}

void PT_NAME(pt_attention_show)(const pt_call* call, int backward, const pt_attention_form* form) {
  attention a = describe(call, backward, form);
  a.shows = 1;
  const size_t shown[] = {0, 1, a.blocks - 1}; /* the first block starts the sums, the others continue them */
  for (size_t at = 0; at < sizeof shown / sizeof *shown; ++at) {
    if (shown[at] >= a.blocks) continue;
    if (backward)
      backward_block(&a, 0, shown[at] * a.rows, NULL, NULL, NULL);
    else
      forward_block(&a, 0, shown[at] * a.rows, NULL, NULL);
  }
}
