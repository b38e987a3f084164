#include <string.h>

#include "kernels/portable/compact.h"
#include "kernels/portable/conv2d_shape.h"
#include "kernels/portable/products.h"

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
  const struct known_spans* known;
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

/* The columns' spans, where one phase has them all and they are few: they are the same for every row. */
enum { kKnownSpans = 3 };
typedef struct known_spans {
  axis h;
  size_t count; /* 0: they are not known */
  span all[kKnownSpans];
} known_spans;

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

/* Depthwise: too few terms and channels for tiles. Positions of a window side by side, in columns where rows are short. */
enum { kFew = 4 };

static void run_window(const conv* c, pt_window* t, const axis* v, const axis* h, size_t height, size_t width,
                       const pt_real* w, const pt_real* x, pt_real* made) {
  const ptrdiff_t x_down = v->move * (ptrdiff_t)c->source_width, c_down = (ptrdiff_t)(v->step * c->width);
  const ptrdiff_t x_along = h->move, c_along = (ptrdiff_t)h->step;
  const size_t along = height < 4 ? width : width / 4 * 4;
  t->x_move = x_along, t->c_move = c_along;
  for (size_t row = 0; along > 0 && row < height; ++row)
    PT_NAME(pt_window_run)(t, along, w, x + (ptrdiff_t)row * x_down, made + (ptrdiff_t)row * c_down);
  t->x_move = x_down, t->c_move = c_down;
  for (size_t column = along; column < width; ++column)
    PT_NAME(pt_window_run)(t, height, w, x + (ptrdiff_t)column * x_along, made + (ptrdiff_t)column * c_along);
}

/* Every channel that is read after the other. */
PT_APART void run_windows(const conv* c, const axis* v, const axis* h, const span* down, const span* along) {
  const ptrdiff_t width = (ptrdiff_t)c->source_width, kernel = (ptrdiff_t)c->s.kernel_w,
                  taps = (ptrdiff_t)c->s.kernel_h * kernel;
  const ptrdiff_t weight = (ptrdiff_t)c->row * c->w_row + weight_of(v, down) * kernel + weight_of(h, along),
                  from = source_of(v, down) * width + source_of(h, along);
  const size_t to = (down->begin * v->step + v->phase) * c->width + along->begin * h->step + h->phase - c->origin;
  pt_window window = {
      down->taps, along->taps, v->tap_step * kernel, h->tap_step, v->tap_move * width, h->tap_move, 0, 0, 0};
  for (size_t plane = c->plane; plane < c->planes; ++plane) {
    const pt_real* w = c->w + (ptrdiff_t)(plane % c->s.groups * c->rows * c->reduced) * taps + weight;
    const pt_real* x = c->source + (ptrdiff_t)(plane * c->reduced * c->source_height) * width + from;
    for (size_t part = 0; part < c->part; ++part)
      for (size_t read = 0; read < c->reduced; ++read) {
        window.goes_on = read > 0;
        run_window(c, &window, v, h, down->end - down->begin, along->end - along->begin,
                   w + (ptrdiff_t)part * c->w_row + (ptrdiff_t)read * c->w_reduced,
                   x + (ptrdiff_t)(read * c->source_height) * width,
                   c->made + ((plane - c->plane) * c->part + part) * c->c_row + to);
      }
  }
}

static void run_span(const conv* c, const axis* v, const axis* h, const span* down, const span* along) {
  if (c->rows < kFew && c->reduced < kFew)
    run_windows(c, v, h, down, along);
  else
    run_spans(c, v, h, down, along);
}

static size_t phases_along(const conv* c) {
  return c->backward ? (size_t)c->s.stride_w : 1;
}

PT_APART void find_spans(const conv* c, known_spans* known) {
  known->count = 0;
  if (phases_along(c) > 1) return;
  known->h = columns_axis(c, 0);
  for (size_t at = 0; at < known->h.count; at = known->all[known->count++].end) {
    if (known->count == kKnownSpans) {
      known->count = 0;
      return;
    }
    known->all[known->count] = span_at(&known->h, at);
  }
}

PT_APART void run_rows(const conv* c, const axis* v, const span* down) {
  const size_t phases = phases_along(c);
  for (size_t at = 0; at < c->known->count; ++at) run_span(c, v, &c->known->h, down, &c->known->all[at]);
  for (size_t phase = 0; c->known->count == 0 && phase < phases; ++phase) {
    const axis h = columns_axis(c, phase);
    for (span along = {0, 0, 0, 0}; along.end < h.count;) {
      along = span_at(&h, along.end);
      run_span(c, v, &h, down, &along);
    }
  }
}

/* Strips of one row of the image and a few channels, or of one channel and a few rows where they lie together, go to
 * the scratch, and on from there. */
PT_APART void finish_rows(conv* c, const axis* v, const span* down, const pt_finish* finish) {
  const size_t planes = c->s.samples * c->s.groups, most = c->rows == 1 && v->step == 1 ? PT_COMPACT_ROWS : 1;
  span one = *down;
  c->made = finish->scratch;
  for (; one.begin < down->end; one.begin = one.end) {
    const size_t height = down->end - one.begin < most ? down->end - one.begin : most;
    one.end = one.begin + height, c->origin = (one.begin * v->step + v->phase) * c->width;
    c->c_row = height * c->width;
    for (c->plane = 0; c->plane < planes; ++c->plane) {
      c->planes = c->plane + 1;
      for (c->row = 0; c->row < c->rows; c->row += c->part) {
        c->part = c->rows - c->row < PT_COMPACT_ROWS ? c->rows - c->row : PT_COMPACT_ROWS;
        run_rows(c, v, &one);
        for (size_t row = 0; row < c->part; ++row)
          finish->take(finish->context, c->plane, c->row + row, c->origin, c->c_row, c->made + row * c->c_row);
      }
    }
  }
}

static void run(conv* c, const pt_finish* finish) {
  const size_t phases = c->backward ? (size_t)c->s.stride_h : 1;
  known_spans known;
  find_spans(c, &known);
  c->known = &known;
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

static conv forward_of(const pt_call* call) {
  conv c;
  memset(&c, 0, sizeof c);
  c.s = conv_shape_of(&call->inputs[0], &call->inputs[1], &call->outputs[0], call->ints);
  c.rows = c.s.outputs, c.reduced = c.s.channels;
  c.height = c.s.out_height, c.width = c.s.out_width;
  c.source_height = c.s.height, c.source_width = c.s.width;
  c.w_reduced = (ptrdiff_t)(c.s.kernel_h * c.s.kernel_w), c.w_row = (ptrdiff_t)c.s.channels * c.w_reduced;
  c.source = call->inputs[0].data, c.w = call->inputs[1].data, c.made = call->outputs[0].data;
  return c;
}

pt_status PT_NAME(pt_conv2d_compact)(const pt_call* call) {
  conv c = forward_of(call);
  run(&c, NULL);
  if (call->input_count > 2) PT_NAME(pt_add_bias)
  (c.made, call->inputs[2].data, c.s.samples, c.s.groups * c.rows, c.height * c.width);
  return PT_OK;
}

void PT_NAME(pt_conv2d_compact_finish)(const pt_call* call, const pt_finish* finish) {
  conv c = forward_of(call);
  run(&c, finish);
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
