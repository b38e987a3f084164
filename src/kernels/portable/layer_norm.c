#include <math.h>
#include <string.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/lanes.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/parts.h"

/* The sums over rows between the calls of a kernel that makes parts. */
typedef struct kept_sums {
  size_t rows;     /* that they are of */
  pt_real lanes[]; /* of dscale, then of dbias: [PT_LANES][columns] each */
} kept_sums;

/* Per row over the dimensions from `axis` on. Y may be X, dX may be dY. */
typedef struct norm {
  size_t count, length;
  size_t first, columns; /* of which the call makes dscale and dbias */
  const pt_real *x, *scale, *bias, *mean, *invstd, *dy;
  pt_real *y, *mean_out, *invstd_out, *dscale, *dbias;
  pt_real eps;
  kept_sums* kept; /* where the call makes a part; else NULL */
  int goes_on, is_unfinished;
} norm;

static void forward_rows(void* arg, size_t begin, size_t end) {
  const norm* n = arg;
  const pt_real length = (pt_real)n->length;
  for (size_t row = begin; row < end; ++row) {
    const pt_real* x = n->x + row * n->length;
    pt_real* y = n->y + row * n->length;
    pt_lanes sums = {{0}, 0}, squares = {{0}, 0};
    PT_LANES_ADD(sums, n->length, x[at]);
    const pt_real mean = pt_lanes_total(&sums) / length;
    PT_LANES_ADD(squares, n->length, (x[at] - mean) * (x[at] - mean));
    const pt_real invstd = 1 / (pt_real)sqrt((double)(pt_lanes_total(&squares) / length + n->eps));
    for (size_t at = 0; at < n->length; ++at) y[at] = (x[at] - mean) * invstd * n->scale[at] + n->bias[at];
    n->mean_out[row] = mean;
    n->invstd_out[row] = invstd;
  }
}

pt_status PT_NAME(pt_layer_norm)(const pt_call* call) {
  const pt_tensor* x = &call->inputs[0];
  norm n = {.x = x->data, .scale = call->inputs[1].data, .bias = call->inputs[2].data};
  n.count = pt_extent(x, 0, (size_t)call->ints[0]), n.length = pt_extent(x, (size_t)call->ints[0], x->rank);
  n.y = call->outputs[0].data, n.mean_out = call->outputs[1].data, n.invstd_out = call->outputs[2].data;
  n.eps = (pt_real)call->reals[0];
  if (n.length > 0) PT_NAME(pt_parallel)(call, n.count, n.count * n.length * 2, forward_rows, &n);
  return PT_OK;
}

/* dscale and dbias: sums over rows, in lanes of rows, a block of columns at a time. */
enum { kColumns = 32 };

enum { kGoOn, kLeave };

/* Copies the sums of a block of columns between the stack and what is kept. */
static void move_sums(const norm* n, int way, size_t first, size_t columns, pt_real (*scale_sums)[kColumns],
                      pt_real (*bias_sums)[kColumns]) {
  const size_t bytes = columns * sizeof(pt_real);
  for (size_t lane = 0; lane < PT_LANES; ++lane) {
    pt_real *scale = n->kept->lanes + lane * n->columns + first, *bias = scale + PT_LANES * n->columns;
    memcpy(way == kGoOn ? scale_sums[lane] : scale, way == kGoOn ? scale : scale_sums[lane], bytes);
    memcpy(way == kGoOn ? bias_sums[lane] : bias, way == kGoOn ? bias : bias_sums[lane], bytes);
  }
}

static void parameter_blocks(void* arg, size_t begin, size_t end) {
  const norm* n = arg;
  const size_t rows_before = n->goes_on ? n->kept->rows : 0;
  for (size_t block = begin; block < end; ++block) {
    const size_t first = block * kColumns, columns = n->columns - first < kColumns ? n->columns - first : kColumns;
    pt_real scale_sums[PT_LANES][kColumns], bias_sums[PT_LANES][kColumns];
    memset(scale_sums, 0, sizeof scale_sums);
    memset(bias_sums, 0, sizeof bias_sums);
    if (n->goes_on) move_sums(n, kGoOn, first, columns, scale_sums, bias_sums);
    for (size_t row = 0; row < n->count; ++row) {
      const size_t at = row * n->length + n->first + first;
      const pt_real *x = n->x + at, *dy = n->dy + at;
      const pt_real mean = n->mean[row], invstd = n->invstd[row];
      const size_t lane = (rows_before + row) % PT_LANES;
      for (size_t column = 0; column < columns; ++column) {
        scale_sums[lane][column] += dy[column] * ((x[column] - mean) * invstd);
        bias_sums[lane][column] += dy[column];
      }
    }
    if (n->is_unfinished) move_sums(n, kLeave, first, columns, scale_sums, bias_sums);
    for (size_t column = 0; !n->is_unfinished && column < columns; ++column) {
      n->dscale[first + column] = pt_lanes_tree(&scale_sums[0][column], kColumns);
      n->dbias[first + column] = pt_lanes_tree(&bias_sums[0][column], kColumns);
    }
  }
}

/* With g = dY scale: dX = invstd (g - mean(g) - xhat mean(g xhat)). */
static void backward_rows(void* arg, size_t begin, size_t end) {
  const norm* n = arg;
  const pt_real length = (pt_real)n->length;
  for (size_t row = begin; row < end; ++row) {
    const pt_real *x = n->x + row * n->length, *dy = n->dy + row * n->length, *scale = n->scale;
    pt_real* dx = n->y + row * n->length;
    const pt_real mean = n->mean[row], invstd = n->invstd[row];
    pt_lanes sums = {{0}, 0}, products = {{0}, 0};
    PT_LANES_ADD(sums, n->length, dy[at] * scale[at]);
    PT_LANES_ADD(products, n->length, dy[at] * scale[at] * ((x[at] - mean) * invstd));
    const pt_real b = pt_lanes_total(&sums) / length, c = pt_lanes_total(&products) / length;
    for (size_t at = 0; at < n->length; ++at) dx[at] = invstd * (dy[at] * scale[at] - b - (x[at] - mean) * invstd * c);
  }
}

size_t PT_NAME(pt_layer_norm_grad_workspace)(const pt_call* call) {
  const pt_tensor* dscale = &call->outputs[1];
  if (call->terms == PT_ALL_TERMS) return 0;
  return sizeof(kept_sums) + 2 * PT_LANES * pt_elements(dscale) * sizeof(pt_real);
}

pt_status PT_NAME(pt_layer_norm_grad)(const pt_call* call) {
  const pt_tensor* x = &call->inputs[1];
  norm n = {.dy = call->inputs[0].data, .x = x->data, .scale = call->inputs[2].data};
  n.count = pt_extent(x, 0, (size_t)call->ints[0]), n.length = pt_extent(x, (size_t)call->ints[0], x->rank);
  n.mean = call->inputs[3].data, n.invstd = call->inputs[4].data;
  n.y = call->outputs[0].data, n.dscale = call->outputs[1].data, n.dbias = call->outputs[2].data;
  n.goes_on = pt_goes_on(call), n.is_unfinished = pt_is_unfinished(call);
  n.kept = n.goes_on || n.is_unfinished ? call->workspace : NULL;
  n.columns = pt_elements(&call->outputs[1]);
  n.first = call->whole_extent > 0 ? n.length / call->whole_extent * call->slice_begin : 0;
  if (n.length == 0) return PT_OK;
  PT_NAME(pt_parallel)(call, (n.columns + kColumns - 1) / kColumns, n.count * n.columns * 2, parameter_blocks, &n);
  if (n.is_unfinished) n.kept->rows = (n.goes_on ? n.kept->rows : 0) + n.count;
  if (n.first > 0) return PT_OK; /* dX was made with the first columns */
  return PT_NAME(pt_parallel)(call, n.count, n.count * n.length * 4, backward_rows, &n);
}
