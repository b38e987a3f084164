#include "kernels/portable/compact.h"
#include "kernels/portable/conv2d_shape.h"
#include "kernels/portable/products.h"

#if defined(__GNUC__)
#define APART static __attribute__((noinline)) /* a frame of its own: the other way need not pay for it */
#else
#define APART static
#endif

/* conv2d and conv2d_dx: rows of the product are channels of what is made, columns its positions. Where all positions of
 * a rectangle have the same kernel elements inside of the source, the product needs no test: the image falls into such
 * rectangles, in conv2d_dx with a stride for every remainder of a position's division by it. */
typedef struct conv {
  conv_shape s;
  int backward;
  size_t rows, reduced;               /* channels made, and summed over, of one group */
  size_t height, width;               /* of what is made */
  size_t source_height, source_width; /* of what is read */
  ptrdiff_t w_row, w_reduced;         /* strides of the weights */
  const pt_real *w, *source;
  /* What to make now, for planes (sample * groups + group) [plane, planes): `part` channels from `row` on. The element
   * `origin` of each plane's first is at `made`; channels are `c_row` apart. */
  size_t plane, planes, row, part, origin, c_row;
  pt_real* made;
} conv;

/* One direction: position `at` = first + move * index is made at index * step + phase, tap i of it reads
 * source at + i * tap_move, its weight is tap_first + i * tap_step. */
typedef struct axis {
  size_t count, taps, extent, phase, step;
  ptrdiff_t first, move, tap_move, tap_first, tap_step;
} axis;

/* Positions [begin, end) whose taps [tap, tap + taps), and no others, read inside of the source. */
typedef struct span {
  size_t begin, end, tap, taps;
} span;

static axis forward_axis(size_t made, size_t source, size_t kernel, ptrdiff_t stride, ptrdiff_t pad,
                         ptrdiff_t dilation) {
  return (axis){made, kernel, source, 0, 1, -pad, stride, dilation, 0, 1};
}

static axis backward_axis(size_t made, size_t source, size_t kernel, ptrdiff_t stride, ptrdiff_t pad,
                          ptrdiff_t dilation, size_t phase) {
  axis result = {0, 0, source, phase, (size_t)stride, 0, 1, 0, 0, 1};
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

static axis rows_axis(const conv* c, size_t phase) {
  const conv_shape* s = &c->s;
  return c->backward
             ? backward_axis(c->height, c->source_height, s->kernel_h, s->stride_h, s->pad_top, s->dilation_h, phase)
             : forward_axis(c->height, c->source_height, s->kernel_h, s->stride_h, s->pad_top, s->dilation_h);
}
static axis columns_axis(const conv* c, size_t phase) {
  const conv_shape* s = &c->s;
  return c->backward
             ? backward_axis(c->width, c->source_width, s->kernel_w, s->stride_w, s->pad_left, s->dilation_w, phase)
             : forward_axis(c->width, c->source_width, s->kernel_w, s->stride_w, s->pad_left, s->dilation_w);
}

static span taps_at(const axis* x, size_t position) {
  span result = {position, position + 1, 0, 0};
  ptrdiff_t at = x->first + (ptrdiff_t)position * x->move;
  for (size_t tap = 0; tap < x->taps; ++tap, at += x->tap_move) {
    if (at < 0 || at >= (ptrdiff_t)x->extent) continue;
    if (result.taps++ == 0) result.tap = tap;
  }
  return result;
}

/* The span that begins at `position`. */
static span span_at(const axis* x, size_t position) {
  span result = taps_at(x, position);
  for (; result.end < x->count; ++result.end) {
    const span next = taps_at(x, result.end);
    if (next.tap != result.tap || next.taps != result.taps) break;
  }
  return result;
}

static ptrdiff_t source_of(const axis* x, const span* at) {
  return x->first + (ptrdiff_t)at->begin * x->move + (ptrdiff_t)at->tap * x->tap_move;
}
static ptrdiff_t weight_of(const axis* x, const span* at) {
  return x->tap_first + (ptrdiff_t)at->tap * x->tap_step;
}

static pt_nest nest_of(const conv* c, const axis* v, const axis* h, const span* down, const span* along) {
  const ptrdiff_t width = (ptrdiff_t)c->source_width;
  return (pt_nest){c->part,
                   0,
                   {c->reduced, down->taps, along->taps},
                   {c->w_reduced, v->tap_step * (ptrdiff_t)c->s.kernel_w, h->tap_step},
                   {(ptrdiff_t)c->source_height * width, v->tap_move * width, h->tap_move},
                   c->w_row,
                   0,
                   (ptrdiff_t)c->c_row,
                   0};
}

/* A rectangle of `height` times `width` positions: columns of the product along the image's rows, then down the image
 * where fewer than four are left. */
static void run_rectangle(const conv* c, pt_nest* n, const axis* v, const axis* h, size_t height, size_t width,
                          const pt_real* a, const pt_real* b, pt_real* made) {
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

static void run_spans(const conv* c, const axis* v, const axis* h, const span* down, const span* along) {
  const size_t taps = c->s.kernel_h * c->s.kernel_w;
  const ptrdiff_t weight =
      (ptrdiff_t)c->row * c->w_row + weight_of(v, down) * (ptrdiff_t)c->s.kernel_w + weight_of(h, along);
  const ptrdiff_t from = source_of(v, down) * (ptrdiff_t)c->source_width + source_of(h, along);
  const size_t to = (down->begin * v->step + v->phase) * c->width + along->begin * h->step + h->phase - c->origin;
  pt_nest nest = nest_of(c, v, h, down, along);
  for (size_t plane = c->plane; plane < c->planes; ++plane)
    run_rectangle(c, &nest, v, h, down->end - down->begin, along->end - along->begin,
                  c->w + (ptrdiff_t)(plane % c->s.groups * c->rows * c->reduced * taps) + weight,
                  c->source + (ptrdiff_t)(plane * c->reduced * c->source_height * c->source_width) + from,
                  c->made + (plane - c->plane) * c->part * c->c_row + to);
}

/* Depthwise: too few terms and channels for tiles. Chains grow in what is made, kernel element after kernel element. */
enum { kFew = 4 };

static void clear(const conv* c, const axis* v, const axis* h, const span* down) {
  for (size_t plane = 0; plane < (c->planes - c->plane) * c->part; ++plane)
    for (size_t at = down->begin; at < down->end; ++at) {
      pt_real* made = c->made + plane * c->c_row + (at * v->step + v->phase) * c->width + h->phase - c->origin;
      for (size_t left = h->count; left > 0; --left, made += h->step) *made = 0;
    }
}

/* Kernel element (r, q) of the spans, weighing channel `from` of the source. */
static void add_tap(const conv* c, const axis* v, const axis* h, const span* down, size_t from, size_t r, size_t q) {
  const ptrdiff_t row = v->first + (ptrdiff_t)down->begin * v->move + (ptrdiff_t)r * v->tap_move,
                  column = h->first + (ptrdiff_t)q * h->tap_move, width = (ptrdiff_t)c->source_width;
  const conv_range range = conv_inside(h->count, h->extent, column, h->move);
  const ptrdiff_t weight = (v->tap_first + (ptrdiff_t)r * v->tap_step) * (ptrdiff_t)c->s.kernel_w + h->tap_first +
                           (ptrdiff_t)q * h->tap_step + (ptrdiff_t)from * c->w_reduced;
  const pt_steps read = {v->move * width, h->move}, made = {(ptrdiff_t)(v->step * c->width), (ptrdiff_t)h->step};
  const size_t to = (down->begin * v->step + v->phase) * c->width + range.begin * h->step + h->phase - c->origin;
  const ptrdiff_t at = row * width + column + (ptrdiff_t)range.begin * h->move;
  if (range.count == 0) return;
  for (size_t plane = c->plane; plane < c->planes; ++plane)
    for (size_t part = 0; part < c->part; ++part) {
      const size_t channel = plane % c->s.groups * c->rows * c->reduced * c->s.kernel_h * c->s.kernel_w;
      PT_NAME(pt_add_scaled)
      (down->end - down->begin, range.count, c->w[(ptrdiff_t)channel + (ptrdiff_t)(c->row + part) * c->w_row + weight],
       c->source + (plane * c->reduced + from) * c->source_height * c->source_width + at, read,
       c->made + ((plane - c->plane) * c->part + part) * c->c_row + to, made);
    }
}

APART void run_taps(const conv* c, const axis* v, const axis* h, const span* down) {
  clear(c, v, h, down);
  for (size_t from = 0; from < c->reduced; ++from)
    for (size_t r = down->tap; r < down->tap + down->taps; ++r)
      for (size_t q = 0; q < h->taps; ++q) add_tap(c, v, h, down, from, r, q);
}

static void run_rows(const conv* c, const axis* v, const span* down) {
  const size_t phases = c->backward ? (size_t)c->s.stride_w : 1;
  for (size_t phase = 0; phase < phases; ++phase) {
    const axis h = columns_axis(c, phase);
    if (c->rows < kFew && c->reduced < kFew) {
      run_taps(c, v, &h, down);
      continue;
    }
    for (span along = {0, 0, 0, 0}; along.end < h.count;) {
      along = span_at(&h, along.end);
      run_spans(c, v, &h, down, &along);
    }
  }
}

/* Strips of one row of the image and a few channels go to the scratch, and on from there. */
static void finish_rows(conv* c, const axis* v, const span* down, const pt_finish* finish) {
  const size_t planes = c->s.samples * c->s.groups;
  span one = *down;
  c->made = finish->scratch, c->c_row = c->width;
  for (; one.begin < down->end; ++one.begin) {
    one.end = one.begin + 1, c->origin = (one.begin * v->step + v->phase) * c->width;
    for (c->plane = 0; c->plane < planes; ++c->plane) {
      c->planes = c->plane + 1;
      for (c->row = 0; c->row < c->rows; c->row += c->part) {
        c->part = c->rows - c->row < PT_COMPACT_ROWS ? c->rows - c->row : PT_COMPACT_ROWS;
        run_rows(c, v, &one);
        for (size_t row = 0; row < c->part; ++row)
          finish->take(finish->context, c->plane, c->row + row, c->origin, c->width, c->made + row * c->width);
      }
    }
  }
}

static void run(conv* c, const pt_finish* finish) {
  const size_t phases = c->backward ? (size_t)c->s.stride_h : 1;
  c->plane = 0, c->planes = c->s.samples * c->s.groups;
  c->row = 0, c->part = c->rows, c->origin = 0, c->c_row = c->height * c->width;
  for (size_t phase = 0; phase < phases; ++phase) {
    const axis v = rows_axis(c, phase);
    for (span down = {0, 0, 0, 0}; down.end < v.count;) {
      down = span_at(&v, down.end);
      if (finish != NULL)
        finish_rows(c, &v, &down, finish);
      else
        run_rows(c, &v, &down);
    }
  }
}

pt_status PT_NAME(pt_conv2d_compact)(const pt_call* call) {
  conv c;
  c.s = conv_shape_of(&call->inputs[0], &call->inputs[1], &call->outputs[0], call->ints);
  c.backward = 0;
  c.rows = c.s.outputs, c.reduced = c.s.channels;
  c.height = c.s.out_height, c.width = c.s.out_width;
  c.source_height = c.s.height, c.source_width = c.s.width;
  c.w_reduced = (ptrdiff_t)(c.s.kernel_h * c.s.kernel_w), c.w_row = (ptrdiff_t)c.s.channels * c.w_reduced;
  c.source = call->inputs[0].data, c.w = call->inputs[1].data, c.made = call->outputs[0].data;
  run(&c, NULL);
  if (call->input_count > 2) PT_NAME(pt_add_bias)
  (c.made, call->inputs[2].data, c.s.samples, c.s.groups * c.rows, c.height * c.width);
  return PT_OK;
}

void PT_NAME(pt_conv2d_dx_compact_finish)(const pt_call* call, const pt_finish* finish) {
  conv c;
  c.s = conv_shape_of(&call->outputs[0], &call->inputs[1], &call->inputs[0], call->ints);
  c.backward = 1;
  c.rows = c.s.channels, c.reduced = c.s.outputs;
  c.height = c.s.height, c.width = c.s.width;
  c.source_height = c.s.out_height, c.source_width = c.s.out_width;
  c.w_row = (ptrdiff_t)(c.s.kernel_h * c.s.kernel_w), c.w_reduced = (ptrdiff_t)c.s.channels * c.w_row;
  c.source = call->inputs[0].data, c.w = call->inputs[1].data, c.made = call->outputs[0].data;
  run(&c, finish);
}

pt_status PT_NAME(pt_conv2d_dx_compact)(const pt_call* call) {
  PT_NAME(pt_conv2d_dx_compact_finish)(call, NULL);
  return PT_OK;
}
