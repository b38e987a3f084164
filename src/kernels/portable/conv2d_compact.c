#include "kernels/portable/compact.h"
#include "kernels/portable/conv2d_work.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parts.h"

/* Direct convolution: the image is cut into rectangles whose positions read the same kernel elements inside the
 * source. */

/* The spans of the columns. They are the same for every row, and kept where one phase has all of them and they are
 * few. */
enum { kKnownSpans = 3 };
typedef struct known_spans {
  conv_axis h;
  size_t count; /* 0: they are not known */
  conv_span all[kKnownSpans];
} known_spans;

static conv_span taps_at(const conv_axis* x, size_t position) {
  conv_span result = {position, position + 1, 0, 0};
  ptrdiff_t at = x->first + (ptrdiff_t)position * x->move;
  for (size_t tap = 0; tap < x->taps; ++tap, at += x->tap_move) {
    if (at < 0 || at >= (ptrdiff_t)x->extent) continue;
    if (result.taps++ == 0) result.tap = tap;
  }
  return result;
}

/* The span that begins at `position`. */
static conv_span span_at(const conv_axis* x, size_t position) {
  conv_span result = taps_at(x, position);
  for (; result.end < x->count; ++result.end) {
    const conv_span next = taps_at(x, result.end);
    if (next.tap != result.tap || next.taps != result.taps) break;
  }
  return result;
}

PT_APART void find_spans(const conv_work* c, known_spans* known) {
  known->count = 0;
  if (conv_phases_along(c) > 1) return;
  known->h = PT_NAME(pt_conv_columns)(c, 0);
  for (size_t at = 0; at < known->h.count; at = known->all[known->count++].end) {
    if (known->count == kKnownSpans) {
      known->count = 0;
      return;
    }
    known->all[known->count] = span_at(&known->h, at);
  }
}

PT_APART void run_rows(const conv_work* c, const known_spans* known, const conv_axis* v, const conv_span* down) {
  const size_t phases = conv_phases_along(c);
  for (size_t at = 0; at < known->count; ++at) PT_NAME(pt_conv_rectangle)(c, v, &known->h, down, &known->all[at]);
  for (size_t phase = 0; known->count == 0 && phase < phases; ++phase) {
    const conv_axis h = PT_NAME(pt_conv_columns)(c, phase);
    for (conv_span along = {0, 0, 0, 0}; along.end < h.count;) {
      along = span_at(&h, along.end);
      PT_NAME(pt_conv_rectangle)(c, v, &h, down, &along);
    }
  }
}

/* Strips (one image row of a few channels, or a few rows of one channel where they are contiguous) are computed in
 * the scratch and passed on from there. */
PT_APART void finish_rows(conv_work* c, const known_spans* known, const conv_axis* v, const conv_span* down,
                          const pt_finish* finish) {
  const pt_real* source = c->source;
  const size_t planes = conv_planes(c), most = c->rows == 1 && v->step == 1 ? PT_COMPACT_ROWS : 1;
  conv_span one = *down;
  c->made = finish->scratch;
  for (; one.begin < down->end; one.begin = one.end) {
    const size_t height = down->end - one.begin < most ? down->end - one.begin : most;
    one.end = one.begin + height, c->origin = (one.begin * v->step + v->phase) * c->width;
    c->c_row = height * c->width;
    for (c->plane = 0; c->plane < planes; ++c->plane) {
      c->planes = c->plane + 1, c->source = source + c->plane * conv_plane_size(c);
      for (c->row = 0; c->row < c->rows; c->row += c->part) {
        c->part = c->rows - c->row < PT_COMPACT_ROWS ? c->rows - c->row : PT_COMPACT_ROWS;
        run_rows(c, known, v, &one);
        for (size_t row = 0; row < c->part; ++row)
          finish->take(finish->context, c->plane, c->row + row, c->origin, c->c_row, c->made + row * c->c_row);
      }
    }
  }
  c->source = source;
}

static void run(conv_work* c, const pt_finish* finish) {
  const size_t phases = conv_phases_down(c);
  known_spans known;
  find_spans(c, &known);
  for (size_t phase = 0; phase < phases; ++phase) {
    const conv_axis v = PT_NAME(pt_conv_rows)(c, phase);
    for (conv_span down = {0, 0, 0, 0}; down.end < v.count;) {
      down = span_at(&v, down.end);
      if (finish != NULL)
        finish_rows(c, &known, &v, &down, finish);
      else
        run_rows(c, &known, &v, &down);
    }
  }
}

pt_status PT_NAME(pt_conv2d_compact)(const pt_call* call) {
  conv_work c = PT_NAME(pt_conv2d_work)(call);
  run(&c, NULL);
  if (call->input_count > 2 && !pt_is_unfinished(call)) PT_NAME(pt_add_bias)
  (c.made, call->inputs[2].data, c.s.samples, c.s.groups * c.rows, c.height * c.width);
  return PT_OK;
}

void PT_NAME(pt_conv2d_compact_finish)(const pt_call* call, const pt_finish* finish) {
  conv_work c = PT_NAME(pt_conv2d_work)(call);
  run(&c, finish);
}

void PT_NAME(pt_conv2d_dx_compact_finish)(const pt_call* call, const pt_finish* finish) {
  conv_work c = PT_NAME(pt_conv2d_dx_work)(call);
  run(&c, finish);
}

pt_status PT_NAME(pt_conv2d_dx_compact)(const pt_call* call) {
  PT_NAME(pt_conv2d_dx_compact_finish)(call, NULL);
  return PT_OK;
}
