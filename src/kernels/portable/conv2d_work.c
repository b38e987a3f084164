#include "kernels/portable/conv2d_work.h"

#include <string.h>

#include "kernels/portable/compact.h"
#include "kernels/portable/parts.h"

/* Returns the work for the image `x` and the convolution's result `y` or, if `backward`, for the gradients of both. One of the two is the call's
 * output. */
static conv_work work_of(const pt_call* call, const pt_tensor* x, const pt_tensor* y, int backward) {
  conv_work c;
  memset(&c, 0, sizeof c);
  c.s = conv_shape_of(x, &call->inputs[1], y, call->ints);
  c.backward = backward;
  const conv_shape* s = &c.s;
  const ptrdiff_t taps = (ptrdiff_t)(s->kernel_h * s->kernel_w), output = (ptrdiff_t)s->channels * taps;
  c.rows = backward ? s->channels : s->outputs, c.reduced = backward ? s->outputs : s->channels;
  c.height = backward ? s->height : s->out_height, c.width = backward ? s->width : s->out_width;
  c.source_height = backward ? s->out_height : s->height, c.source_width = backward ? s->out_width : s->width;
  c.w_row = backward ? taps : output, c.w_reduced = backward ? output : taps;
  c.source = call->inputs[0].data, c.w = call->inputs[1].data, c.made = call->outputs[0].data;
  c.goes_on = pt_goes_on(call);
  c.planes = conv_planes(&c);
  c.part = c.rows, c.c_row = c.height * c.width;
  return c;
}
conv_work PT_NAME(pt_conv2d_work)(const pt_call* call) {
  return work_of(call, &call->inputs[0], &call->outputs[0], 0);
}
conv_work PT_NAME(pt_conv2d_dx_work)(const pt_call* call) {
  return work_of(call, &call->outputs[0], &call->inputs[0], 1);
}

static conv_axis forward_axis(size_t made, size_t source, size_t kernel, ptrdiff_t stride, ptrdiff_t pad,
                              ptrdiff_t dilation) {
  return (conv_axis){made, kernel, source, 0, 1, -pad, stride, dilation, 0, 1};
}

static conv_axis backward_axis(size_t made, size_t source, size_t kernel, ptrdiff_t stride, ptrdiff_t pad,
                               ptrdiff_t dilation, size_t phase) {
  conv_axis result = {0, 0, source, phase, (size_t)stride, 0, 1, 0, 0, 1};
  ptrdiff_t last = 0;
  if (phase < made) result.count = (made - phase + (size_t)stride - 1) / (size_t)stride;
  for (size_t tap = 0; tap < kernel; ++tap) {
    const ptrdiff_t at = (ptrdiff_t)phase + pad - (ptrdiff_t)tap * dilation;
    if (at % stride != 0) continue;
    if (result.taps == 0) result.first = at / stride, result.tap_first = (ptrdiff_t)tap;
    if (result.taps == 1) result.tap_move = at / stride - result.first, result.tap_step = (ptrdiff_t)tap - last;
    last = (ptrdiff_t)tap;
    ++result.taps;
  }
  return result;
}

conv_axis PT_NAME(pt_conv_rows)(const conv_work* c, size_t phase) {
  const conv_shape* s = &c->s;
  return c->backward
             ? backward_axis(c->height, c->source_height, s->kernel_h, s->stride_h, s->pad_top, s->dilation_h, phase)
             : forward_axis(c->height, c->source_height, s->kernel_h, s->stride_h, s->pad_top, s->dilation_h);
}
conv_axis PT_NAME(pt_conv_columns)(const conv_work* c, size_t phase) {
  const conv_shape* s = &c->s;
  return c->backward
             ? backward_axis(c->width, c->source_width, s->kernel_w, s->stride_w, s->pad_left, s->dilation_w, phase)
             : forward_axis(c->width, c->source_width, s->kernel_w, s->stride_w, s->pad_left, s->dilation_w);
}

static ptrdiff_t source_of(const conv_axis* x, const conv_span* at) {
  return x->first + (ptrdiff_t)at->begin * x->move + (ptrdiff_t)at->tap * x->tap_move;
}
static ptrdiff_t weight_of(const conv_axis* x, const conv_span* at) {
  return x->tap_first + (ptrdiff_t)at->tap * x->tap_step;
}

static pt_nest nest_of(const conv_work* c, const conv_axis* v, const conv_axis* h, const conv_span* down,
                       const conv_span* along) {
  const ptrdiff_t width = (ptrdiff_t)c->source_width;
  return (pt_nest){c->part,
                   0,
                   {c->reduced, down->taps, along->taps},
                   {c->w_reduced, v->tap_step * (ptrdiff_t)c->s.kernel_w, h->tap_step},
                   {(ptrdiff_t)c->source_height * width, v->tap_move * width, h->tap_move},
                   c->w_row,
                   0,
                   (ptrdiff_t)c->c_row,
                   0,
                   c->goes_on};
}

/* Computes a rectangle of `height` times `width` positions: a column of the product is a position along a row of the image or, if a row has fewer
 * than four positions left, a position down the image. */
static void run_rectangle(const conv_work* c, pt_nest* n, const conv_axis* v, const conv_axis* h, size_t height,
                          size_t width, const pt_real* a, const pt_real* b, pt_real* made) {
  const ptrdiff_t b_down = v->move * (ptrdiff_t)c->source_width, c_down = (ptrdiff_t)(v->step * c->width);
  const ptrdiff_t b_along = h->move, c_along = (ptrdiff_t)h->step;
  if (b_down == b_along * (ptrdiff_t)width && c_down == c_along * (ptrdiff_t)width) width *= height, height = 1;
  const size_t along = height < 4 || n->rows < 4 ? width : width / 4 * 4;
  n->columns = along, n->b_column = b_along, n->c_column = c_along;
  for (size_t row = 0; along > 0 && row < height; ++row)
    PT_NAME(pt_nest_run)(n, a, b + (ptrdiff_t)row * b_down, made + (ptrdiff_t)row * c_down);
  n->columns = height, n->b_column = b_down, n->c_column = c_down;
  for (size_t column = along; column < width; ++column)
    PT_NAME(pt_nest_run)(n, a, b + (ptrdiff_t)column * b_along, made + (ptrdiff_t)column * c_along);
}

static void run_spans(const conv_work* c, const conv_axis* v, const conv_axis* h, const conv_span* down,
                      const conv_span* along) {
  const size_t taps = c->s.kernel_h * c->s.kernel_w;
  const ptrdiff_t weight =
      (ptrdiff_t)c->row * c->w_row + weight_of(v, down) * (ptrdiff_t)c->s.kernel_w + weight_of(h, along);
  const ptrdiff_t from = source_of(v, down) * (ptrdiff_t)c->source_width + source_of(h, along);
  const size_t to = (down->begin * v->step + v->phase) * c->width + along->begin * h->step + h->phase - c->origin;
  pt_nest nest = nest_of(c, v, h, down, along);
  for (size_t plane = c->plane; plane < c->planes; ++plane)
    run_rectangle(c, &nest, v, h, down->end - down->begin, along->end - along->begin,
                  c->w + (ptrdiff_t)(plane % c->s.groups * c->rows * c->reduced * taps) + weight,
                  c->source + (ptrdiff_t)((plane - c->plane) * conv_plane_size(c)) + from,
                  c->made + (plane - c->plane) * c->part * c->c_row + to);
}

/* Serves depthwise convolutions, which have too few terms and channels for tiles. Computes neighbouring positions together: along the rows of the
 * image, or down the image if the rows are shorter than four or one column is left over. */
static void run_window(const conv_work* c, pt_window* t, const conv_axis* v, const conv_axis* h, size_t height,
                       size_t width, const pt_real* w, const pt_real* x, pt_real* made) {
  const ptrdiff_t x_down = v->move * (ptrdiff_t)c->source_width, c_down = (ptrdiff_t)(v->step * c->width);
  const ptrdiff_t x_along = h->move, c_along = (ptrdiff_t)h->step;
  const size_t down = width % 4 == 1 || width < 4 ? width % 4 : 0, along = height < 4 ? width : width - down;
  if (along > 0) {
    t->x_move = x_along, t->c_move = c_along, t->x_line = x_down, t->c_line = c_down;
    PT_NAME(pt_window_run)(t, height, along, w, x, made);
  }
  if (along == width) return;
  t->x_move = x_down, t->c_move = c_down, t->x_line = x_along, t->c_line = c_along;
  PT_NAME(pt_window_run)
  (t, width - along, height, w, x + (ptrdiff_t)along * x_along, made + (ptrdiff_t)along * c_along);
}

/* Computes a rectangle by windows. Adds the channels of the source one after the other. */
PT_APART void run_windows(const conv_work* c, const conv_axis* v, const conv_axis* h, const conv_span* down,
                          const conv_span* along) {
  const ptrdiff_t width = (ptrdiff_t)c->source_width, kernel = (ptrdiff_t)c->s.kernel_w,
                  taps = (ptrdiff_t)c->s.kernel_h * kernel;
  const ptrdiff_t weight = (ptrdiff_t)c->row * c->w_row + weight_of(v, down) * kernel + weight_of(h, along),
                  from = source_of(v, down) * width + source_of(h, along);
  const size_t to = (down->begin * v->step + v->phase) * c->width + along->begin * h->step + h->phase - c->origin;
  pt_window window = {
      down->taps, along->taps, v->tap_step * kernel, h->tap_step, v->tap_move * width, h->tap_move, 0, 0, 0, 0, 0};
  for (size_t plane = c->plane; plane < c->planes; ++plane) {
    const pt_real* w = c->w + (ptrdiff_t)(plane % c->s.groups * c->rows * c->reduced) * taps + weight;
    const pt_real* x = c->source + (ptrdiff_t)((plane - c->plane) * conv_plane_size(c)) + from;
    for (size_t part = 0; part < c->part; ++part)
      for (size_t read = 0; read < c->reduced; ++read) {
        window.goes_on = read > 0 || c->goes_on;
        run_window(c, &window, v, h, down->end - down->begin, along->end - along->begin,
                   w + (ptrdiff_t)part * c->w_row + (ptrdiff_t)read * c->w_reduced,
                   x + (ptrdiff_t)(read * c->source_height) * width,
                   c->made + ((plane - c->plane) * c->part + part) * c->c_row + to);
      }
  }
}

void PT_NAME(pt_conv_rectangle)(const conv_work* c, const conv_axis* v, const conv_axis* h, const conv_span* down,
                                const conv_span* along) {
  if (c->rows < PT_FEW_CHANNELS && c->reduced < PT_FEW_CHANNELS)
    run_windows(c, v, h, down, along);
  else
    run_spans(c, v, h, down, along);
}
