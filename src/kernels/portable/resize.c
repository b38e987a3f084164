#include <math.h>
#include <string.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"

/* Images of another size, plane by plane; the sources of a run of columns are computed once for all rows. The gradient
 * adds in ascending order of (run, row, column). */
enum { kColumns = 64 };

typedef struct axis {
  ptrdiff_t from, to; /* extents of the image and of the resized one */
  double scale;
} axis;

typedef struct resize {
  axis rows, columns;
  int64_t linear, coordinates, rounding;
  const pt_real* source; /* the image; of the gradient, the resized one */
  pt_real* target;
} resize;

typedef struct tap { /* between two elements: value = (1 - share) x[first] + share x[second] */
  ptrdiff_t first, second;
  pt_real share;
} tap;

static double position_of(const resize* r, const axis* a, ptrdiff_t at) {
  const double x = (double)at;
  switch (r->coordinates) {
    case PT_RESIZE_ASYMMETRIC:
      return x / a->scale;
    case PT_RESIZE_ALIGN_CORNERS:
      return a->to > 1 ? x * (double)(a->from - 1) / (double)(a->to - 1) : 0;
    case PT_RESIZE_PYTORCH_HALF_PIXEL:
      return a->to > 1 ? (x + 0.5) / a->scale - 0.5 : 0;
    default:
      return (x + 0.5) / a->scale - 0.5;
  }
}

static double round_to_element(int64_t rounding, double x) {
  switch (rounding) {
    case PT_RESIZE_FLOOR:
      return floor(x);
    case PT_RESIZE_CEIL:
      return ceil(x);
    case PT_RESIZE_PREFER_FLOOR:
      return ceil(x - 0.5);
    default:
      return floor(x + 0.5);
  }
}

static tap tap_at(const resize* r, const axis* a, ptrdiff_t at) {
  const double last = (double)(a->from - 1);
  double x = position_of(r, a, at);
  if (!r->linear) x = round_to_element(r->rounding, x);
  x = x < 0 ? 0 : x > last ? last : x;
  tap t = {(ptrdiff_t)x, (ptrdiff_t)x, 0};
  t.share = (pt_real)(x - (double)t.first);
  if (t.share > 0) ++t.second;
  return t;
}

static ptrdiff_t taps_of(const resize* r, ptrdiff_t first, tap* columns) {
  const ptrdiff_t count = r->columns.to - first < kColumns ? r->columns.to - first : kColumns;
  for (ptrdiff_t column = 0; column < count; ++column) columns[column] = tap_at(r, &r->columns, first + column);
  return count;
}

static void resize_planes(void* arg, size_t begin, size_t end) {
  const resize* r = arg;
  const ptrdiff_t width = r->columns.from;
  tap columns[kColumns];
  for (size_t plane = begin; plane < end; ++plane) {
    const pt_real* x = r->source + plane * (size_t)(r->rows.from * width);
    pt_real* y = r->target + plane * (size_t)(r->rows.to * r->columns.to);
    for (ptrdiff_t first = 0; first < r->columns.to; first += kColumns) {
      const ptrdiff_t count = taps_of(r, first, columns);
      for (ptrdiff_t row = 0; row < r->rows.to; ++row) {
        const tap t = tap_at(r, &r->rows, row);
        const pt_real *upper = x + t.first * width, *lower = x + t.second * width;
        pt_real* out = y + row * r->columns.to + first;
        for (ptrdiff_t column = 0; column < count; ++column) {
          const tap c = columns[column];
          if (!r->linear) {
            out[column] = upper[c.first];
            continue;
          }
          const pt_real above = (1 - c.share) * upper[c.first] + c.share * upper[c.second];
          const pt_real below = (1 - c.share) * lower[c.first] + c.share * lower[c.second];
          out[column] = (1 - t.share) * above + t.share * below;
        }
      }
    }
  }
}

static void resize_grad_planes(void* arg, size_t begin, size_t end) {
  const resize* r = arg;
  const ptrdiff_t width = r->columns.from;
  tap columns[kColumns];
  for (size_t plane = begin; plane < end; ++plane) {
    const pt_real* dy = r->source + plane * (size_t)(r->rows.to * r->columns.to);
    pt_real* dx = r->target + plane * (size_t)(r->rows.from * width);
    memset(dx, 0, (size_t)(r->rows.from * width) * sizeof(pt_real));
    for (ptrdiff_t first = 0; first < r->columns.to; first += kColumns) {
      const ptrdiff_t count = taps_of(r, first, columns);
      for (ptrdiff_t row = 0; row < r->rows.to; ++row) {
        const tap t = tap_at(r, &r->rows, row);
        pt_real *upper = dx + t.first * width, *lower = dx + t.second * width;
        const pt_real* in = dy + row * r->columns.to + first;
        for (ptrdiff_t column = 0; column < count; ++column) {
          const tap c = columns[column];
          const pt_real above = (1 - t.share) * in[column], below = t.share * in[column];
          upper[c.first] += (1 - c.share) * above;
          if (c.share > 0) upper[c.second] += c.share * above;
          if (t.share > 0) lower[c.first] += (1 - c.share) * below;
          if (t.share > 0 && c.share > 0) lower[c.second] += c.share * below;
        }
      }
    }
  }
}

static pt_status run(const pt_call* call, const pt_tensor* x, const pt_tensor* y, pt_body body) {
  resize r = {{(ptrdiff_t)x->dims[2], (ptrdiff_t)y->dims[2], call->reals[0]},
              {(ptrdiff_t)x->dims[3], (ptrdiff_t)y->dims[3], call->reals[1]},
              call->ints[PT_RESIZE_LINEAR],
              call->ints[PT_RESIZE_COORDINATES],
              call->ints[PT_RESIZE_ROUNDING],
              call->inputs[0].data,
              call->outputs[0].data};
  const size_t planes = (size_t)x->dims[0] * x->dims[1];
  return PT_NAME(pt_parallel)(call, planes, pt_elements(x) + pt_elements(y), body, &r);
}

pt_status PT_NAME(pt_resize)(const pt_call* call) {
  return run(call, &call->inputs[0], &call->outputs[0], resize_planes);
}
pt_status PT_NAME(pt_resize_grad)(const pt_call* call) {
  return run(call, &call->outputs[0], &call->inputs[0], resize_grad_planes);
}
