#include <string.h>

#include "kernels/portable/operators.h"
#include "runtime/slices.h"

#ifndef PT_NO_SLICES

/* Adds an axis that no operand lies along yet; there are fewer than PT_MAX_LOOPS. Returns its number. */
static unsigned add(pt_axes* axes, uint32_t extent) {
  const unsigned at = axes->count;
  memset(axes->dim[at], -1, sizeof axes->dim[at]);
  axes->axis[at].extent = extent;
  axes->axis[at].reduces = axes->axis[at].grouped = axes->axis[at].placed = axes->axis[at].looks_up =
      axes->axis[at].once = 0;
  axes->axis[at].window = 0;
  axes->axis[at].windowed = 0;
  axes->axis[at].within = -1;
  ++axes->count;
  return at;
}

static void along(pt_axes* axes, unsigned axis, unsigned operand, unsigned dim) {
  axes->dim[axis][operand] = (int8_t)dim;
}

static unsigned operands_of(const pt_op_view* view) {
  return (unsigned)view->input_count + view->output_count;
}

static const pt_tensor* output(const pt_op_view* view) {
  return &view->operands[view->input_count];
}

/* Adds the dimension as an axis of every operand. */
static void add_shared(const pt_op_view* view, pt_axes* axes, unsigned dim) {
  const unsigned axis = add(axes, view->operands[0].dims[dim]);
  unsigned operand;
  for (operand = 0; operand < operands_of(view); ++operand) along(axes, axis, operand, dim);
}

/* ---- element by element ---- */

static int is_pointwise(uint16_t op) {
  switch (op) {
#define PT_CASE(name, ...) case PT_OP_##name:
    PT_POINTWISE_OPERATORS(PT_CASE)
#undef PT_CASE
    case PT_OP_assign:
    case PT_OP_sgd:
    case PT_OP_adam:
    case PT_OP_adamw:
    case PT_OP_rmsprop:
    case PT_OP_adagrad:
    case PT_OP_clip_norm:
    case PT_OP_accumulate:
      return 1;
    default:
      return 0;
  }
}

/* Several elements share a byte. */
static int shares_bytes(uint16_t op) {
  return op == PT_OP_sign_bits || op == PT_OP_relu_grad_bits || op == PT_OP_leaky_relu_grad_bits;
}

/* A result depends on where the element lies. */
static int draws_numbers(uint16_t op) {
  return op == PT_OP_random || op == PT_OP_dropout;
}

/* All operands have as many elements as the output, or one. */
static int add_elements(const pt_op_view* view, pt_axes* axes) {
  const uint64_t elements = pt_type_elements(output(view));
  unsigned operand, axis;
  if (elements > INT32_MAX) return 0;
  for (operand = 0; operand < operands_of(view); ++operand) {
    const uint64_t own = pt_type_elements(&view->operands[operand]);
    if (own != elements && own != 1) return 0;
    if (own != elements && operand >= view->input_count) return 0;
  }
  axes->flat = 1;
  axis = add(axes, (uint32_t)elements);
  axes->axis[axis].placed = (uint8_t)draws_numbers(view->op);
  for (operand = 0; operand < operands_of(view); ++operand)
    if (pt_type_elements(&view->operands[operand]) == elements) along(axes, axis, operand, 0);
  return 1;
}

/* The output's dimensions; inputs lie along those that they have, as they are broadcast. `last`: dimensions that are no axes. */
static void add_broadcast(const pt_op_view* view, pt_axes* axes, unsigned last) {
  const pt_tensor* y = output(view);
  unsigned dim, operand;
  for (dim = 0; dim + last < y->rank && axes->count < PT_MAX_LOOPS; ++dim) {
    const unsigned axis = add(axes, y->dims[dim]);
    for (operand = 0; operand < operands_of(view); ++operand) {
      const pt_tensor* each = &view->operands[operand];
      const unsigned missing = y->rank - (each->rank < y->rank ? each->rank : y->rank);
      if (dim >= missing && each->dims[dim - missing] == y->dims[dim]) along(axes, axis, operand, dim - missing);
    }
  }
}

/* ---- products ---- */

static uint64_t matrices_of(const pt_tensor* tensor) {
  uint64_t count = 1;
  unsigned dim;
  for (dim = 0; dim + 2 < tensor->rank; ++dim) count *= tensor->dims[dim];
  return count;
}

/* The dimensions in front of the matrices, if there are several and no operand is broadcast along some of them alone; 0 otherwise. */
static unsigned merged_batch(const pt_op_view* view) {
  const pt_tensor* y = output(view);
  const uint64_t batch = matrices_of(y);
  unsigned operand;
  if (y->rank < 4 || batch > INT32_MAX) return 0;
  for (operand = 0; operand < operands_of(view); ++operand) {
    const pt_tensor* each = &view->operands[operand];
    if (matrices_of(each) != 1 && (each->rank != y->rank || matrices_of(each) != batch)) return 0;
  }
  return y->rank - 2u;
}

/* Of the operand as the axes see it. */
static unsigned rank_of(const pt_op_view* view, const pt_axes* axes, unsigned operand) {
  const unsigned rank = view->operands[operand].rank;
  return axes->merged > 0 && rank == output(view)->rank ? rank - axes->merged + 1u : rank;
}

/* Matrices. They are numbered through where the batch has several dimensions. */
static void add_batch(const pt_op_view* view, pt_axes* axes) {
  const pt_tensor* y = output(view);
  const unsigned batch = add(axes, axes->merged > 0 ? (uint32_t)matrices_of(y) : y->dims[0]);
  unsigned operand;
  for (operand = 0; operand < operands_of(view); ++operand) {
    const pt_tensor* each = &view->operands[operand];
    if (each->rank != y->rank) continue;
    if (axes->merged > 0 ? matrices_of(each) == matrices_of(y) : each->dims[0] == y->dims[0])
      along(axes, batch, operand, 0);
  }
}

static void add_matmul(const pt_op_view* view, pt_axes* axes, int is_update) {
  const pt_tensor *a = &view->operands[0], *y = output(view);
  const unsigned trans_a = view->ints[PT_MATMUL_TRANS_A] != 0, trans_b = view->ints[PT_MATMUL_TRANS_B] != 0;
  const unsigned rows = add(axes, y->dims[y->rank - 2]), columns = add(axes, y->dims[y->rank - 1]),
                 reduced = add(axes, a->dims[a->rank - (trans_a ? 2 : 1)]);
  unsigned operand, a_rank, b_rank;
  axes->merged = (uint8_t)merged_batch(view);
  a_rank = rank_of(view, axes, 0);
  b_rank = rank_of(view, axes, 1);
  along(axes, rows, 0, a_rank - (trans_a ? 1u : 2u));
  along(axes, reduced, 0, a_rank - (trans_a ? 2u : 1u));
  along(axes, columns, 1, b_rank - (trans_b ? 2u : 1u));
  along(axes, reduced, 1, b_rank - (trans_b ? 1u : 2u));
  axes->axis[reduced].reduces = 1;
  for (operand = 2; operand < operands_of(view); ++operand) {
    const pt_tensor* each = &view->operands[operand];
    const int is_bias = !is_update && operand < view->input_count && each->rank == 1;
    along(axes, columns, operand, rank_of(view, axes, operand) - 1u);
    if (!is_bias) along(axes, rows, operand, rank_of(view, axes, operand) - 2u);
  }
  if (y->rank > 2) add_batch(view, axes);
}

/* ---- convolutions ---- */

static int has_groups(const pt_op_view* view) {
  return view->ints[PT_CONV_GROUPS] != 1;
}

/* Axes: samples, results (of a grouped convolution: groups), rows; terms. `source`, `made`: operands of the input's and result's kind; those behind
 * the weight are vectors of results, or of the result's shape. */
static void add_conv(const pt_op_view* view, pt_axes* axes, int is_backward) {
  const pt_tensor* y = output(view);
  const unsigned samples = add(axes, y->dims[0]);
  const unsigned results = add(axes, has_groups(view) ? (uint32_t)view->ints[PT_CONV_GROUPS] : y->dims[1]);
  const unsigned rows = add(axes, y->dims[2]);
  unsigned operand;
  along(axes, samples, 0, 0);
  axes->axis[rows].windowed = 1;
  axes->axis[rows].window = is_backward ? PT_WINDOW_CONV_BACK : PT_WINDOW_CONV;
  axes->axis[results].grouped = (uint8_t)has_groups(view);
  along(axes, rows, 0, 2);
  if (has_groups(view)) {
    along(axes, results, 0, 1);
    along(axes, results, 1, 0);
  } else {
    const unsigned terms = add(axes, view->operands[0].dims[1]);
    axes->axis[terms].reduces = 1;
    along(axes, results, 1, is_backward ? 1 : 0);
    along(axes, terms, 0, 1);
    along(axes, terms, 1, is_backward ? 0 : 1);
  }
  for (operand = 2; operand < operands_of(view); ++operand) {
    if (view->operands[operand].rank == 1) {
      along(axes, results, operand, 0);
      continue;
    }
    along(axes, samples, operand, 0);
    along(axes, results, operand, 1);
    along(axes, rows, operand, 2);
  }
}

/* Axes: outputs (groups), channels; samples and rows are terms. */
static void add_conv_dw(const pt_op_view* view, pt_axes* axes) {
  const pt_tensor *dw = output(view), *dy = &view->operands[1];
  const unsigned outputs = add(axes, has_groups(view) ? (uint32_t)view->ints[PT_CONV_GROUPS] : dw->dims[0]);
  const unsigned channels = add(axes, has_groups(view) ? 1 : dw->dims[1]);
  const unsigned samples = add(axes, dy->dims[0]), rows = add(axes, dy->dims[2]);
  unsigned operand;
  axes->axis[outputs].grouped = (uint8_t)has_groups(view);
  along(axes, outputs, 1, 1);
  if (has_groups(view))
    along(axes, outputs, 0, 1);
  else
    along(axes, channels, 0, 1);
  for (operand = 0; operand < 2; ++operand) along(axes, samples, operand, 0);
  along(axes, rows, 0, 2);
  along(axes, rows, 1, 2);
  axes->axis[rows].windowed = 1;
  axes->axis[rows].window = PT_WINDOW_CONV;
  axes->axis[samples].reduces = axes->axis[rows].reduces = 1;
  axes->axis[rows].within = (int8_t)samples;
  for (operand = 2; operand < operands_of(view); ++operand) {
    along(axes, outputs, operand, 0);
    if (!has_groups(view)) along(axes, channels, operand, 1);
  }
}

/* ---- images and rows ---- */

/* Channels: dimension 1 of images, the only one of vectors. */
static unsigned add_channels(const pt_op_view* view, pt_axes* axes) {
  const unsigned axis = add(axes, view->operands[0].rank > 1 ? view->operands[0].dims[1] : view->operands[0].dims[0]);
  unsigned operand;
  for (operand = 0; operand < operands_of(view); ++operand)
    along(axes, axis, operand, view->operands[operand].rank > 1 ? 1 : 0);
  return axis;
}

/* Samples, then rows: the dimensions of images beside their channels. */
static void add_images(const pt_op_view* view, pt_axes* axes) {
  static const unsigned dims[2] = {0, 2};
  unsigned which, operand;
  for (which = 0; which < 2; ++which) {
    if (dims[which] >= view->operands[0].rank) continue;
    {
      const unsigned axis = add(axes, view->operands[0].dims[dims[which]]);
      for (operand = 0; operand < operands_of(view); ++operand)
        if (view->operands[operand].rank > 1) along(axes, axis, operand, dims[which]);
    }
  }
}

/* A batch normalization that computes statistics: samples and rows are terms, and are gone over more than once. */
static void add_norm(const pt_op_view* view, pt_axes* axes, uint8_t passes) {
  const unsigned samples = add_channels(view, axes) + 1;
  unsigned axis;
  add_images(view, axes);
  for (axis = samples; axis < axes->count; ++axis) axes->axis[axis].reduces = 1;
  if (axes->count > samples + 1) axes->axis[samples + 1].within = (int8_t)samples;
  axes->passes = passes;
  axes->axis[PT_PASSES] = axes->axis[samples];
  axes->axis[PT_PASSES].extent = passes;
  axes->axis[PT_PASSES].reduces = 0;
  memset(axes->dim[PT_PASSES], -1, sizeof axes->dim[PT_PASSES]);
}

/* All operands have one shape but along dimension `but`. */
static void add_all_but(const pt_op_view* view, pt_axes* axes, int64_t but) {
  unsigned dim;
  for (dim = 0; dim < view->operands[0].rank && axes->count < PT_MAX_LOOPS; ++dim)
    if ((int64_t)dim != but) add_shared(view, axes, dim);
}

/* The dimensions that a reduction keeps; `kept`: operands, a bit each, that have them alone. */
static void add_kept(const pt_op_view* view, pt_axes* axes, unsigned kept) {
  const pt_tensor* x = &view->operands[view->op == PT_OP_reduce_max_grad ? 1 : 0];
  unsigned dim, place = 0, operand;
  for (dim = 0; dim < x->rank && axes->count < PT_MAX_LOOPS; ++dim) {
    unsigned axis;
    if ((view->ints[0] >> dim & 1) != 0) continue;
    axis = add(axes, x->dims[dim]);
    for (operand = 0; operand < operands_of(view); ++operand)
      along(axes, axis, operand, (kept >> operand & 1) != 0 ? place : dim);
    ++place;
  }
}

static void add_transposed(const pt_op_view* view, pt_axes* axes) {
  const pt_tensor* y = output(view);
  unsigned dim;
  for (dim = 0; dim < y->rank && axes->count < PT_MAX_LOOPS; ++dim) {
    const unsigned axis = add(axes, y->dims[dim]);
    along(axes, axis, 0, (unsigned)view->ints[dim]);
    along(axes, axis, 1, dim);
  }
}

/* Is the dimension taken whole, in order? */
static int is_untouched(const pt_op_view* view, unsigned dim) {
  return view->operands[0].dims[dim] == output(view)->dims[dim] && view->ints[2 * dim] == 0 &&
         view->ints[2 * dim + 1] == 1;
}

/* The result's dimensions: first those that are taken whole, then the others, whose parts of the input follow from start and step. */
static void add_sliced(const pt_op_view* view, pt_axes* axes, pt_window window) {
  const pt_tensor* y = output(view);
  unsigned dim;
  for (dim = 0; dim < y->rank && axes->count < PT_MAX_LOOPS; ++dim)
    if (is_untouched(view, dim)) add_shared(view, axes, dim);
  for (dim = 0; dim < y->rank && axes->count < PT_MAX_LOOPS; ++dim) {
    unsigned axis;
    if (is_untouched(view, dim)) continue;
    axis = add(axes, y->dims[dim]);
    along(axes, axis, 0, dim);
    along(axes, axis, 1, dim);
    axes->axis[axis].windowed = 1;
    axes->axis[axis].window = (uint8_t)window;
  }
}

/* The dimensions that the assigned slice has whole, in order. */
static void add_assigned(const pt_op_view* view, pt_axes* axes) {
  const pt_tensor *whole = &view->operands[0], *slice = &view->operands[1];
  unsigned dim;
  for (dim = 0; dim < whole->rank && axes->count < PT_MAX_LOOPS; ++dim)
    if (slice->dims[dim] == whole->dims[dim] && view->ints[2 * dim] == 0 && view->ints[2 * dim + 1] == 1)
      add_shared(view, axes, dim);
}

/* All dimensions of parts that are laid end to end: first the others, then the one along which they lie. */
static void add_joined(const pt_op_view* view, pt_axes* axes) {
  const unsigned whole = view->op == PT_OP_concat ? view->input_count : 0, dim = (unsigned)view->ints[0];
  unsigned axis, operand;
  add_all_but(view, axes, view->ints[0]);
  if (axes->count == PT_MAX_LOOPS) return;
  axis = add(axes, view->operands[whole].dims[dim]);
  axes->axis[axis].window = PT_WINDOW_JOINED;
  for (operand = 0; operand < operands_of(view); ++operand) {
    along(axes, axis, operand, dim);
    if (operand != whole) axes->axis[axis].windowed |= 1u << operand;
  }
}

/* Makes the axis one of terms. If sums run along the axis in front of it as well, a slice has one index of that axis. */
static void add_terms(pt_axes* axes, unsigned axis) {
  axes->axis[axis].reduces = 1;
  if (axis > 0 && axes->axis[axis - 1].reduces) axes->axis[axis].within = (int8_t)(axis - 1);
}

/* The dimensions in front of a layer normalization's axis. `whole`: the operands without these dimensions, a bit each. */
static void add_rows(const pt_op_view* view, pt_axes* axes, unsigned whole) {
  const pt_tensor* x = &view->operands[0];
  unsigned dim, operand;
  for (dim = 0; (int64_t)dim < view->ints[0] && dim < x->rank && axes->count < PT_MAX_LOOPS; ++dim) {
    const unsigned axis = add(axes, x->dims[dim]);
    for (operand = 0; operand < operands_of(view); ++operand)
      if ((whole >> operand & 1) == 0) along(axes, axis, operand, dim);
  }
}

/* The same for the gradient, where the gradients of scale and bias are sums over rows. At most the first two dimensions are axes. Then come the columns
 * of these two gradients: the rows are read for each slice of columns again, and made into rows of dX once. */
static void add_rows_of_gradient(const pt_op_view* view, pt_axes* axes) {
  const pt_tensor* x = &view->operands[1];
  unsigned axis;
  add_rows(view, axes, 1 << 2 | 1 << 6 | 1 << 7);
  if (axes->count > 2) axes->count = 2;
  for (axis = 0; axis < axes->count; ++axis) add_terms(axes, axis);
  if (view->ints[0] >= x->rank) return;
  axis = add(axes, x->dims[view->ints[0]]);
  along(axes, axis, 6, 0);
  along(axes, axis, 7, 0);
  axes->axis[axis].placed = axes->axis[axis].once = 1;
}

/* ---- attention ---- */

/* The rows of Q, behind the dimensions of the batch. The gradients of K and V are sums over them. */
static void add_queries(const pt_op_view* view, pt_axes* axes, int is_gradient) {
  const unsigned query = is_gradient ? 1 : 0, masks = query + PT_ATTENTION_OPERANDS, made = view->input_count;
  const pt_tensor *q = &view->operands[query], *y = &view->operands[is_gradient ? 0 : made];
  const unsigned behind = view->ints[PT_ATTENTION_TRANS_Q] != 0 ? 1 : 2;
  unsigned axis, mask;
  if (axes->count == PT_MAX_LOOPS || q->rank < 2) return;
  axis = add(axes, q->dims[q->rank - behind]);
  axes->axis[axis].reduces = (uint8_t)is_gradient;
  along(axes, axis, query, q->rank - behind);
  along(axes, axis, is_gradient ? 0 : made, y->rank - 2u);
  if (is_gradient) along(axes, axis, made, q->rank - behind);
  for (mask = masks; mask < view->input_count; ++mask) {
    const pt_tensor* each = &view->operands[mask];
    if (each->rank >= 2 && each->dims[each->rank - 2] == axes->axis[axis].extent)
      along(axes, axis, mask, each->rank - 2u);
  }
}

/* ---- losses ---- */

/* The samples of a loss of classes, or of its gradient. Labels are not cut, since the loss is divided by the number of labels that count. `labels`: 0 if
 * operand 1 is a probability for each class, which is cut. */
static void add_class_loss(const pt_op_view* view, pt_axes* axes, int labels, int is_gradient) {
  const unsigned axis = add(axes, view->operands[0].dims[0]);
  along(axes, axis, 0, 0);
  if (!labels) along(axes, axis, 1, 0);
  if (is_gradient)
    along(axes, axis, 2, 0);
  else
    axes->axis[axis].reduces = 1;
  axes->axis[axis].placed = 1;
}

/* The elements of a loss by element, or of its gradient. */
static void add_element_loss(const pt_op_view* view, pt_axes* axes) {
  const uint64_t elements = pt_type_elements(&view->operands[0]);
  const int is_gradient = pt_type_elements(output(view)) == elements && elements != 1;
  unsigned axis;
  if (elements < 2 || elements > INT32_MAX) return;
  axes->flat = 1;
  axis = add(axes, (uint32_t)elements);
  along(axes, axis, 0, 0);
  along(axes, axis, 1, 0);
  if (is_gradient)
    along(axes, axis, 2, 0);
  else
    axes->axis[axis].reduces = 1;
  axes->axis[axis].placed = 1;
}

/* ---- rows of tables ---- */

/* The dimensions of the indices. The operand `rows` has the same dimensions from the table's axis on. Returns the number of the first axis. */
static unsigned add_indices(const pt_op_view* view, pt_axes* axes, unsigned rows) {
  const pt_tensor* indices = &view->operands[1];
  const unsigned first = axes->count;
  unsigned dim;
  for (dim = 0; dim < indices->rank && axes->count < PT_MAX_LOOPS; ++dim) {
    const unsigned axis = add(axes, indices->dims[dim]);
    along(axes, axis, 1, dim);
    along(axes, axis, rows, (unsigned)view->ints[0] + dim);
  }
  return first;
}

/* The dimensions of the indices, where the table is looked up along its first dimension: every slice then reads one row of the table. */
static void add_lookups(const pt_op_view* view, pt_axes* axes) {
  unsigned axis;
  if (view->ints[0] != 0 || axes->count + view->operands[1].rank > PT_MAX_LOOPS) return;
  for (axis = add_indices(view, axes, 2); axis < axes->count; ++axis) {
    axes->axis[axis].looks_up = 1;
    along(axes, axis, 0, 0);
  }
}

/* The rows of a table's gradient, and the dimensions of the indices: a row is the sum over the indices that name it, in their order. */
static void add_looked_up_sums(const pt_op_view* view, pt_axes* axes) {
  unsigned axis;
  if (axes->count == PT_MAX_LOOPS) return;
  axis = add(axes, view->operands[2].dims[view->ints[0]]);
  along(axes, axis, 2, (unsigned)view->ints[0]);
  axes->axis[axis].placed = 1;
  if (view->ints[0] != 0)
    return; /* the indices are cut of tables that are looked up along their first dimension alone */
  for (axis = add_indices(view, axes, 0); axis < axes->count; ++axis) add_terms(axes, axis);
}

/* The rows of a table whose named rows are updated: w I dY states.. -> w' states'.. */
static void add_updated_rows(const pt_op_view* view, pt_axes* axes) {
  const unsigned axis = add(axes, view->operands[0].dims[0]);
  unsigned operand;
  axes->axis[axis].placed = 1;
  for (operand = 0; operand < operands_of(view); ++operand)
    if (operand != 1 && operand != 2) along(axes, axis, operand, 0);
}

/* The dimensions of what is looked up, behind the axis. */
static void add_looked_up(const pt_op_view* view, pt_axes* axes, unsigned table, unsigned rows) {
  const pt_tensor* of = &view->operands[table];
  unsigned behind, operand;
  for (behind = 1; behind < of->rank && (int64_t)(of->rank - behind) > view->ints[0] && axes->count < PT_MAX_LOOPS;
       ++behind) {
    const unsigned axis = add(axes, of->dims[of->rank - behind]);
    for (operand = 0; operand < operands_of(view); ++operand)
      if (operand == table || operand == rows) along(axes, axis, operand, view->operands[operand].rank - behind);
  }
}

void pt_axes_of(const pt_op_view* view, pt_axes* axes) {
  const unsigned rank = view->operands[0].rank;
  memset(axes, 0, sizeof *axes);
  if (shares_bytes(view->op)) return;
  if (is_pointwise(view->op)) {
    if (!add_elements(view, axes)) add_broadcast(view, axes, 0);
    return;
  }
  switch (view->op) {
    case PT_OP_matmul:
    case PT_OP_matmul_act:
      add_matmul(view, axes, 0);
      return;
    case PT_OP_matmul_update:
      add_matmul(view, axes, 1);
      return;
    case PT_OP_conv2d:
    case PT_OP_conv2d_act:
      add_conv(view, axes, 0);
      return;
    case PT_OP_conv2d_dx:
    case PT_OP_conv2d_dz:
      add_conv(view, axes, 1);
      return;
    case PT_OP_conv2d_dw:
    case PT_OP_conv2d_dw_update:
      add_conv_dw(view, axes);
      return;
    case PT_OP_batch_norm:
    case PT_OP_batch_norm_act:
      add_norm(view, axes, 3);
      return;
    case PT_OP_batch_norm_grad:
    case PT_OP_batch_norm_act_grad:
      add_norm(view, axes, 2);
      return;
    case PT_OP_batch_norm_stats:
      (void)add_channels(view, axes);
      return;
    case PT_OP_batch_norm_eval:
    case PT_OP_batch_norm_act_eval:
      (void)add_channels(view, axes);
      add_images(view, axes);
      return;
    case PT_OP_softmax:
    case PT_OP_softmax_grad:
    case PT_OP_log_softmax:
    case PT_OP_log_softmax_grad:
      add_all_but(view, axes, view->ints[0]);
      return;
    case PT_OP_concat:
    case PT_OP_split:
      add_joined(view, axes);
      return;
    case PT_OP_layer_norm:
      add_rows(view, axes, 1 << 1 | 1 << 2);
      return;
    case PT_OP_layer_norm_grad:
      add_rows_of_gradient(view, axes);
      return;
    case PT_OP_max_pool:
    case PT_OP_max_pool_grad:
    case PT_OP_avg_pool:
    case PT_OP_avg_pool_grad:
    case PT_OP_resize:
    case PT_OP_resize_grad:
      add_shared(view, axes, 0);
      add_shared(view, axes, 1);
      return;
    case PT_OP_reduce_sum:
    case PT_OP_reduce_mean:
    case PT_OP_reduce_max:
      add_kept(view, axes, 2);
      return;
    case PT_OP_reduce_max_grad:
      add_kept(view, axes, 1 | 4);
      return;
    case PT_OP_expand:
      add_broadcast(view, axes, 0);
      return;
    case PT_OP_transpose:
      add_transposed(view, axes);
      return;
    case PT_OP_slice:
      add_sliced(view, axes, PT_WINDOW_PICKED);
      return;
    case PT_OP_slice_grad:
      add_sliced(view, axes, PT_WINDOW_SPREAD);
      return;
    case PT_OP_assign_slice:
      add_assigned(view, axes);
      return;
    case PT_OP_gather:
      add_looked_up(view, axes, 0, 2);
      add_lookups(view, axes);
      return;
    case PT_OP_gather_grad:
      add_looked_up(view, axes, 2, 0);
      add_looked_up_sums(view, axes);
      return;
    case PT_OP_sgd_rows:
    case PT_OP_adagrad_rows:
    case PT_OP_adam_rows:
      add_updated_rows(view, axes);
      return;
    case PT_OP_cross_entropy:
    case PT_OP_nll:
      add_class_loss(view, axes, 1, 0);
      return;
    case PT_OP_cross_entropy_grad:
    case PT_OP_nll_grad:
      add_class_loss(view, axes, 1, 1);
      return;
    case PT_OP_soft_cross_entropy:
    case PT_OP_soft_cross_entropy_grad:
      add_class_loss(view, axes, 0, view->op == PT_OP_soft_cross_entropy_grad);
      return;
    case PT_OP_mse:
    case PT_OP_mse_grad:
    case PT_OP_l1:
    case PT_OP_l1_grad:
    case PT_OP_smooth_l1:
    case PT_OP_smooth_l1_grad:
    case PT_OP_bce_with_logits:
    case PT_OP_bce_with_logits_grad:
    case PT_OP_kl_div:
    case PT_OP_kl_div_grad:
      add_element_loss(view, axes);
      return;
    case PT_OP_attention:
    case PT_OP_attention_grad:
      if (rank > 2) add_broadcast(view, axes, 2);
      add_queries(view, axes, view->op == PT_OP_attention_grad);
      return;
    default:
      return;
  }
}

#endif
