/* conv2d and conv2d_dx of few channels, computed on strips of the source's rows that are padded with zeros in the
 * workspace. All positions of a strip read all kernel elements at the same offsets, where the direct algorithm cuts
 * the image into pieces along its edges. Products with the padding's zeros are added: the same bits for finite
 * weights.
 *
 * Workspace: the strip, then, where a finish has a scratch, PT_COMPACT_ROWS channels of a strip's result. */
#include <string.h>

#include "kernels/portable/conv2d.h"
#include "kernels/portable/conv2d_work.h"
#include "kernels/portable/kernels.h"

enum { kStrip = 2048 }; /* elements that a strip aims at; what one row reads is the least */

/* What positions of all phases read of the source: the first position of each reads [low, low + reach], the next one
 * reads further on. */
typedef struct sight {
  ptrdiff_t low, reach;
} sight;

typedef struct strips {
  sight down, along;
  size_t rows;                /* rows computed by a strip: a multiple of the number of phases */
  size_t height, pitch;       /* of the strip */
  size_t before, from, count; /* of a strip's row: zeros, then the source's elements [from, from + count), then zeros */
} strips;

/* Phases beyond the result's extent have no position. */
static sight look(const conv_work* c, int down, size_t phases) {
  const size_t made = down ? c->height : c->width;
  ptrdiff_t low = PTRDIFF_MAX, high = PTRDIFF_MIN;
  for (size_t phase = 0; phase < phases && phase < made; ++phase) {
    const conv_axis x = down ? PT_NAME(pt_conv_rows)(c, phase) : PT_NAME(pt_conv_columns)(c, phase);
    const ptrdiff_t last = x.first + ((ptrdiff_t)x.taps - 1) * x.tap_move;
    if (x.taps == 0) continue;
    if (x.first < low) low = x.first;
    if (last < low) low = last;
    if (x.first > high) high = x.first;
    if (last > high) high = last;
  }
  return low <= high ? (sight){low, high - low} : (sight){0, 0};
}

/* What `count` positions of every phase read. */
static size_t seen(const sight* s, size_t count) {
  return count + (size_t)s->reach;
}

static strips strips_of(const conv_work* c) {
  const size_t down = conv_phases_down(c), along = conv_phases_along(c);
  const size_t all = (c->height + down - 1) / down; /* turns of the phases */
  strips s;
  memset(&s, 0, sizeof s);
  s.down = look(c, 1, down), s.along = look(c, 0, along);
  s.pitch = seen(&s.along, (c->width + along - 1) / along);
  size_t turns = all;
  while (turns > 1 && c->reduced * s.pitch * seen(&s.down, turns) > kStrip) --turns;
  turns = (all + (all + turns - 1) / turns - 1) / ((all + turns - 1) / turns); /* strips of one height, nearly */
  s.rows = turns * down, s.height = seen(&s.down, turns);
  s.before = s.along.low < 0 ? pt_least((size_t)-s.along.low, s.pitch) : 0;
  s.from = s.along.low > 0 ? pt_least((size_t)s.along.low, c->source_width) : 0;
  s.count = pt_least(c->source_width - s.from, s.pitch - s.before);
  return s;
}

/* Copies four elements at a time: runs are short, and a small processor's memset and memcpy copy byte by byte. */
static inline void put_zeros(pt_real* to, size_t count) {
  for (; count >= 4; count -= 4, to += 4) to[0] = 0, to[1] = 0, to[2] = 0, to[3] = 0;
  if (count > 2) to[2] = 0;
  if (count > 1) to[1] = 0;
  if (count > 0) to[0] = 0;
}
static inline void put_copy(pt_real* to, const pt_real* from, size_t count) {
  for (; count >= 4; count -= 4, to += 4, from += 4) {
    const pt_real a = from[0], b = from[1], c = from[2], d = from[3];
    to[0] = a, to[1] = b, to[2] = c, to[3] = d;
  }
  if (count > 2) to[2] = from[2];
  if (count > 1) to[1] = from[1];
  if (count > 0) to[0] = from[0];
}

/* Rows `top` and on of every channel of one plane. */
PT_APART void fill(const conv_work* c, const strips* s, const pt_real* source, ptrdiff_t top, pt_real* strip) {
  const size_t before = s->before, after = before + s->count, width = c->source_width, pitch = s->pitch;
  for (size_t channel = 0; channel < c->reduced; ++channel, source += c->source_height * width) {
    ptrdiff_t row = top;
    for (size_t left = s->height; left > 0; --left, ++row, strip += pitch) {
      if (row < 0 || row >= (ptrdiff_t)c->source_height) {
        put_zeros(strip, pitch);
        continue;
      }
      if (before > 0) put_zeros(strip, before);
      put_copy(strip + before, source + (size_t)row * width + s->from, s->count);
      if (after < pitch) put_zeros(strip + after, pitch - after);
    }
  }
}

/* Rows [0, rows) of a strip, all phases, of the channels of `c`. */
static void multiply(const conv_work* c, const strips* s, size_t rows) {
  const size_t down = conv_phases_down(c), along = conv_phases_along(c);
  for (size_t row = 0; row < down && row < rows; ++row) {
    conv_axis v = PT_NAME(pt_conv_rows)(c, row);
    const conv_span tall = {0, (rows - row + down - 1) / down, 0, v.taps};
    v.first -= s->down.low;
    for (size_t column = 0; column < along && column < c->width; ++column) {
      conv_axis h = PT_NAME(pt_conv_columns)(c, column);
      const conv_span wide = {0, (c->width - column + along - 1) / along, 0, h.taps};
      h.first -= s->along.low;
      PT_NAME(pt_conv_rectangle)(c, &v, &h, &tall, &wide);
    }
  }
}

/* A strip's result goes to the output or, where the finish has a scratch, in parts to `scratch`. */
static void make_strip(conv_work* c, const strips* s, size_t first_row, size_t rows, pt_real* y,
                       const pt_finish* finish, pt_real* scratch) {
  const int apart = finish != NULL && finish->scratch != NULL;
  const size_t positions = rows * c->width, first = first_row * c->width, plane = c->height * c->width;
  c->c_row = apart ? positions : plane;
  for (c->row = 0; c->row < c->rows; c->row += c->part) {
    c->part = apart ? pt_least(c->rows - c->row, PT_COMPACT_ROWS) : c->rows;
    c->made = apart ? scratch : y + (c->plane * c->rows + c->row) * plane + first;
    multiply(c, s, rows);
    for (size_t row = 0; finish != NULL && row < c->part; ++row)
      finish->take(finish->context, c->plane, c->row + row, first, positions, c->made + row * c->c_row);
  }
}

static void run(const conv_work* c, const pt_call* call, const pt_finish* finish) {
  const strips s = strips_of(c);
  const pt_real* source = c->source;
  pt_real *strip = call->workspace, *scratch = strip + c->reduced * s.height * s.pitch;
  conv_work in = *c;
  in.source = strip, in.source_height = s.height, in.source_width = s.pitch;
  for (in.plane = 0; in.plane < c->planes; ++in.plane, source += conv_plane_size(c)) {
    in.planes = in.plane + 1;
    for (size_t row = 0; row < c->height; row += s.rows) {
      fill(c, &s, source, s.down.low + (ptrdiff_t)(row / conv_phases_down(c)), strip);
      make_strip(&in, &s, row, pt_least(s.rows, c->height - row), c->made, finish, scratch);
    }
  }
}

/* Does any of `made` positions read outside the source? */
static int has_edges(const sight* s, size_t made, size_t extent) {
  return s->low < 0 || s->low + (ptrdiff_t)seen(s, made) > (ptrdiff_t)extent;
}

/* Size of the workspace in bytes; `apart`: a finish has a scratch. PT_NO_KERNEL for many channels, whose products
 * with zeros cost more than the pieces along the edges, and for strides, unless the direct algorithm would compute dX
 * row by row for a finish. */
static size_t bytes_of(const conv_work* c, int apart) {
  const int strided = c->s.stride_h > 1 || c->s.stride_w > 1;
  if (c->rows >= PT_FEW_CHANNELS || c->reduced >= PT_FEW_CHANNELS) return PT_NO_KERNEL;
  if (c->reduced == 0 || c->height == 0 || c->width == 0) return PT_NO_KERNEL;
  if (strided && !(c->backward && apart)) return PT_NO_KERNEL;
  const strips s = strips_of(c);
  if (!strided && !has_edges(&s.down, c->height, c->source_height) && !has_edges(&s.along, c->width, c->source_width))
    return PT_NO_KERNEL;
  /* The padding may make a strip larger than the address space. */
  const size_t most = SIZE_MAX / sizeof(pt_real) / 2;
  if (s.pitch > most / c->reduced / s.height) return PT_NO_KERNEL;
  const size_t made = apart ? pt_least(c->rows, PT_COMPACT_ROWS) * (pt_least(s.rows, c->height) * c->width) : 0;
  return (c->reduced * s.height * s.pitch + made) * sizeof(pt_real);
}

size_t PT_NAME(pt_conv2d_shift_compact_workspace)(const pt_call* call) {
  const conv_work c = PT_NAME(pt_conv2d_work)(call);
  return bytes_of(&c, 0);
}
pt_status PT_NAME(pt_conv2d_shift_compact)(const pt_call* call) {
  const conv_work c = PT_NAME(pt_conv2d_work)(call);
  if (bytes_of(&c, 0) == PT_NO_KERNEL) return PT_E_KERNEL;
  run(&c, call, NULL);
  if (call->input_count > 2)
    PT_NAME(pt_add_bias)(c.made, call->inputs[2].data, c.s.samples, c.s.groups * c.rows, c.height * c.width);
  return PT_OK;
}

size_t PT_NAME(pt_conv2d_dx_shift_compact_workspace)(const pt_call* call) {
  const conv_work c = PT_NAME(pt_conv2d_dx_work)(call);
  return bytes_of(&c, 0);
}
pt_status PT_NAME(pt_conv2d_dx_shift_compact)(const pt_call* call) {
  const conv_work c = PT_NAME(pt_conv2d_dx_work)(call);
  if (bytes_of(&c, 0) == PT_NO_KERNEL) return PT_E_KERNEL;
  run(&c, call, NULL);
  return PT_OK;
}

/* Passes dX to an activation's gradient. */
static void through(const pt_call* call, const pt_finish* finish) {
  const conv_work c = PT_NAME(pt_conv2d_dx_work)(call);
  run(&c, call, finish);
}
size_t PT_NAME(pt_conv2d_dz_shift_compact_workspace)(const pt_call* call) {
  const conv_work c = PT_NAME(pt_conv2d_dx_work)(call);
  return bytes_of(&c, 1);
}
pt_status PT_NAME(pt_conv2d_dz_shift_compact)(const pt_call* call) {
  if (PT_NAME(pt_conv2d_dz_shift_compact_workspace)(call) == PT_NO_KERNEL) return PT_E_KERNEL;
  return PT_NAME(pt_conv2d_through)(call, through);
}

/* Passes a convolution's result to the steps that follow it; it is not accumulated in Y where Y lies over the tensor
 * that is added. */
static pt_status convolve(const pt_call* call, const pt_finish* finish) {
  const conv_work c = PT_NAME(pt_conv2d_work)(call);
  run(&c, call, finish);
  return PT_OK;
}
size_t PT_NAME(pt_conv2d_act_shift_compact_workspace)(const pt_call* call) {
  const conv_work c = PT_NAME(pt_conv2d_work)(call);
  return bytes_of(&c, pt_act_may_lie_over(call));
}
pt_status PT_NAME(pt_conv2d_act_shift_compact)(const pt_call* call) {
  if (PT_NAME(pt_conv2d_act_shift_compact_workspace)(call) == PT_NO_KERNEL) return PT_E_KERNEL;
  return PT_NAME(pt_conv2d_act_by)(call, convolve, pt_act_lies_over(call) ? call->workspace : NULL);
}
