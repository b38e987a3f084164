#include <string.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/pool_window.h"

/* Pooling, plane by plane. Positions in the padding never win a maximum; averages count them when asked to, but never
 * those of ceil-mode windows beyond the padded extent. A window wholly outside gives 0 (average) or the lowest number
 * (maximum). */

/* The offset of the first maximum of rows x columns taps, the first of which lies at `row`. NaN wins. */
static inline ptrdiff_t argmax_taps(const pool* p, const pt_real* x, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t columns) {
  ptrdiff_t best = row;
  pt_real most = x[best];
  for (ptrdiff_t r = 0; r < rows; ++r, row += p->dilation_h * p->width) {
    for (ptrdiff_t c = 0; c < columns; ++c) {
      const ptrdiff_t at = row + c * p->dilation_w;
      const pt_real value = x[at];
      const int more = (value > most) | ((value != value) & (most == most));
      best = more ? at : best;
      most = more ? value : most;
    }
  }
  return best;
}

/* The same for an output's window; -1 without input. The usual sizes are compiled on their own. */
static inline ptrdiff_t argmax(const pool* p, const pt_real* x, ptrdiff_t out_row, ptrdiff_t out_column) {
  const ptrdiff_t top = out_row * p->stride_h - p->pad_top, left = out_column * p->stride_w - p->pad_left;
  const ptrdiff_t bottom = top + (p->kernel_h - 1) * p->dilation_h, right = left + (p->kernel_w - 1) * p->dilation_w;
  if (top >= 0 && left >= 0 && bottom < p->height && right < p->width) {
    const ptrdiff_t first = top * p->width + left;
    if (p->kernel_h == 2 && p->kernel_w == 2) return argmax_taps(p, x, first, 2, 2);
    if (p->kernel_h == 3 && p->kernel_w == 3) return argmax_taps(p, x, first, 3, 3);
    return argmax_taps(p, x, first, p->kernel_h, p->kernel_w);
  }
  const window w = window_of(p, out_row, out_column);
  if (w.row_begin >= w.row_end || w.column_begin >= w.column_end) return -1;
  return argmax_taps(p, x, (w.top + w.row_begin * p->dilation_h) * p->width + w.left + w.column_begin * p->dilation_w,
                     w.row_end - w.row_begin, w.column_end - w.column_begin);
}

/* Handles one window: `image` is the offset of its plane in the image, `made` its output or the output's gradient. */
typedef void (*at_window)(const pool* p, size_t image, ptrdiff_t row, ptrdiff_t column, pt_real* made);

PT_INLINE void each_window(const pool* p, size_t begin, size_t end, int is_gradient, at_window visit) {
  const size_t area = (size_t)(p->height * p->width);
  pt_real* made = p->made + begin * (size_t)(p->out_height * p->out_width);
  for (size_t plane = begin; plane < end; ++plane) {
    if (is_gradient) memset(p->image + plane * area, 0, area * sizeof(pt_real));
    for (ptrdiff_t row = 0; row < p->out_height; ++row)
      for (ptrdiff_t column = 0; column < p->out_width; ++column) visit(p, plane * area, row, column, made++);
  }
}

PT_INLINE void take_maximum(const pool* p, size_t image, ptrdiff_t row, ptrdiff_t column, pt_real* made) {
  const pt_real* x = p->image + image;
  const ptrdiff_t best = argmax(p, x, row, column);
  *made = best >= 0 ? x[best] : (pt_real)-3.4028234663852886e38;
}
static void max_planes(void* arg, size_t begin, size_t end) {
  each_window(arg, begin, end, 0, take_maximum);
}

typedef struct max_grad {
  pool pool;
  const pt_real* x;
} max_grad;

PT_INLINE void give_to_maximum(const pool* p, size_t image, ptrdiff_t row, ptrdiff_t column, pt_real* made) {
  const ptrdiff_t best = argmax(p, ((const max_grad*)p)->x + image, row, column);
  if (best >= 0) p->image[image + (size_t)best] += *made;
}
static void max_grad_planes(void* arg, size_t begin, size_t end) {
  each_window(arg, begin, end, 1, give_to_maximum);
}

/* The number that an average divides by. */
static pt_real divisor(const pool* p, const window* w) {
  if (!p->count_padding) return (pt_real)((w->row_end - w->row_begin) * (w->column_end - w->column_begin));
  ptrdiff_t rows = 0, columns = 0;
  for (ptrdiff_t r = 0; r < p->kernel_h; ++r) rows += w->top + r * p->dilation_h < p->height + p->pad_bottom;
  for (ptrdiff_t c = 0; c < p->kernel_w; ++c) columns += w->left + c * p->dilation_w < p->width + p->pad_right;
  return (pt_real)(rows * columns);
}

PT_INLINE void take_average(const pool* p, size_t image, ptrdiff_t row, ptrdiff_t column, pt_real* made) {
  const pt_real* x = p->image + image;
  const window w = window_of(p, row, column);
  const pt_real count = divisor(p, &w);
  pt_real sum = 0;
  for (ptrdiff_t r = w.row_begin; r < w.row_end; ++r)
    for (ptrdiff_t c = w.column_begin; c < w.column_end; ++c)
      sum += x[(w.top + r * p->dilation_h) * p->width + w.left + c * p->dilation_w];
  *made = count > 0 ? sum / count : 0;
}
static void average_planes(void* arg, size_t begin, size_t end) {
  each_window(arg, begin, end, 0, take_average);
}

PT_INLINE void give_to_all(const pool* p, size_t image, ptrdiff_t row, ptrdiff_t column, pt_real* made) {
  pt_real* dx = p->image + image;
  const window w = window_of(p, row, column);
  const pt_real count = divisor(p, &w);
  if (count <= 0) return;
  const pt_real share = *made / count;
  for (ptrdiff_t r = w.row_begin; r < w.row_end; ++r)
    for (ptrdiff_t c = w.column_begin; c < w.column_end; ++c)
      dx[(w.top + r * p->dilation_h) * p->width + w.left + c * p->dilation_w] += share;
}
static void average_grad_planes(void* arg, size_t begin, size_t end) {
  each_window(arg, begin, end, 1, give_to_all);
}

static pt_status run(const pt_call* call, pool* p, pt_body body) {
  const size_t taps = (size_t)(p->out_height * p->out_width * p->kernel_h * p->kernel_w);
  return PT_NAME(pt_parallel)(call, p->planes, p->planes * (taps + (size_t)(p->height * p->width)), body, p);
}

pt_status PT_NAME(pt_max_pool)(const pt_call* call) {
  pool p = pt_pool_of(&call->inputs[0], &call->outputs[0], call->ints);
  return run(call, &p, max_planes);
}
pt_status PT_NAME(pt_max_pool_grad)(const pt_call* call) {
  max_grad p = {pt_pool_of(&call->outputs[0], &call->inputs[0], call->ints), call->inputs[1].data};
  return run(call, &p.pool, max_grad_planes);
}
pt_status PT_NAME(pt_avg_pool)(const pt_call* call) {
  pool p = pt_pool_of(&call->inputs[0], &call->outputs[0], call->ints);
  return run(call, &p, average_planes);
}
pt_status PT_NAME(pt_avg_pool_grad)(const pt_call* call) {
  pool p = pt_pool_of(&call->outputs[0], &call->inputs[0], call->ints);
  return run(call, &p, average_grad_planes);
}
