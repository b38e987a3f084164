#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/pool_window.h"

/* Which tap of a window holds its first maximum, a byte per output, and the gradient that needs no more: the same bits
 * as max_pool_grad. Images in blocks of channels are planes whose neighbours lie `step` elements apart. Taps off the
 * image take no gradient, whoever wrote them. */
enum { kNoTap = 255 };

typedef struct taps {
  pool pool;
  size_t step;
  const uint8_t* read;
  uint8_t* written;
} taps;

static size_t plane_start(const taps* t, size_t plane, ptrdiff_t height, ptrdiff_t width) {
  return plane / t->step * t->step * (size_t)(height * width) + plane % t->step;
}

/* The same rule as max_pool's: the first of equals, NaN wins. */
static uint8_t first_maximum(const taps* t, const pt_real* x, ptrdiff_t row, ptrdiff_t column) {
  const pool* p = &t->pool;
  const window w = window_of(p, row, column);
  pt_real most = 0;
  unsigned best = kNoTap;
  for (ptrdiff_t r = w.row_begin; r < w.row_end; ++r) {
    for (ptrdiff_t c = w.column_begin; c < w.column_end; ++c) {
      const ptrdiff_t at = (w.top + r * p->dilation_h) * p->width + w.left + c * p->dilation_w;
      const pt_real value = x[(size_t)at * t->step];
      if (best != kNoTap && !(value > most) && !(value != value && most == most)) continue;
      best = (unsigned)(r * p->kernel_w + c);
      most = value;
    }
  }
  return (uint8_t)best;
}

static void taps_planes(void* arg, size_t begin, size_t end) {
  const taps* t = arg;
  const pool* p = &t->pool;
  for (size_t plane = begin; plane < end; ++plane) {
    const pt_real* x = p->image + plane_start(t, plane, p->height, p->width);
    uint8_t* to = t->written + plane_start(t, plane, p->out_height, p->out_width);
    for (ptrdiff_t row = 0; row < p->out_height; ++row)
      for (ptrdiff_t column = 0; column < p->out_width; ++column, to += t->step) *to = first_maximum(t, x, row, column);
  }
}

static void grad_planes(void* arg, size_t begin, size_t end) {
  const taps* t = arg;
  const pool* p = &t->pool;
  for (size_t plane = begin; plane < end; ++plane) {
    const size_t start = plane_start(t, plane, p->out_height, p->out_width), area = (size_t)(p->height * p->width);
    const pt_real* dy = p->made + start;
    const uint8_t* from = t->read + start;
    pt_real* dx = p->image + plane_start(t, plane, p->height, p->width);
    for (size_t at = 0; at < area; ++at) dx[at * t->step] = 0;
    for (ptrdiff_t row = 0; row < p->out_height; ++row) {
      for (ptrdiff_t column = 0; column < p->out_width; ++column, dy += t->step, from += t->step) {
        const ptrdiff_t y = row * p->stride_h - p->pad_top + *from / p->kernel_w * p->dilation_h;
        const ptrdiff_t x = column * p->stride_w - p->pad_left + *from % p->kernel_w * p->dilation_w;
        if (*from == kNoTap || y < 0 || y >= p->height || x < 0 || x >= p->width) continue;
        dx[(size_t)(y * p->width + x) * t->step] += *dy;
      }
    }
  }
}

static pt_status run(const pt_call* call, taps* t, const pt_tensor* image, pt_body body) {
  const pool* p = &t->pool;
  t->step = image->rank == 5 ? image->dims[4] : 1;
  const size_t planes = p->planes * t->step;
  const size_t touched = (size_t)(p->out_height * p->out_width * p->kernel_h * p->kernel_w + p->height * p->width);
  return PT_NAME(pt_parallel)(call, planes, planes * touched, body, t);
}

pt_status PT_NAME(pt_max_pool_taps)(const pt_call* call) {
  taps t = {pt_pool_of(&call->inputs[0], &call->outputs[0], call->ints), 1, NULL, call->outputs[0].data};
  return run(call, &t, &call->inputs[0], taps_planes);
}

pt_status PT_NAME(pt_max_pool_grad_taps)(const pt_call* call) {
  taps t = {pt_pool_of(&call->outputs[0], &call->inputs[0], call->ints), 1, call->inputs[1].data, NULL};
  return run(call, &t, &call->outputs[0], grad_planes);
}
