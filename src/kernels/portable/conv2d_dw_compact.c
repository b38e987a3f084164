#include "kernels/portable/compact.h"
#include "kernels/portable/conv2d_shape.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parts.h"

/* One product for each kernel element: rows are output channels, columns are input channels, and k runs over the
 * output positions whose input lies inside the image. */

/* Channels of one group: `outputs` from `output` on, `channels` from `channel` on, their elements row by row. */
typedef struct part {
  size_t group, output, outputs, channel, channels;
  pt_real* made;
} part;

PT_APART void run_tap(const conv_shape* s, const pt_call* call, const part* p, size_t r, size_t q) {
  const ptrdiff_t plane = (ptrdiff_t)(s->height * s->width), made = (ptrdiff_t)(s->out_height * s->out_width),
                  taps = (ptrdiff_t)(s->kernel_h * s->kernel_w), width = (ptrdiff_t)s->width,
                  out_width = (ptrdiff_t)s->out_width;
  const conv_range rows = conv_inside(s->out_height, s->height, conv_input_row(s, 0, r), s->stride_h),
                   columns = conv_inside(s->out_width, s->width, conv_input_column(s, 0, q), s->stride_w);
  const pt_real *x = call->inputs[0].data, *dy = call->inputs[1].data;
  pt_nest nest = {p->outputs,
                  p->channels,
                  {s->samples, rows.count, columns.count},
                  {(ptrdiff_t)(s->groups * s->outputs) * made, out_width, 1},
                  {(ptrdiff_t)(s->groups * s->channels) * plane, s->stride_h * width, s->stride_w},
                  made,
                  plane,
                  (ptrdiff_t)p->channels * taps,
                  taps,
                  pt_goes_on(call)};
  x += (ptrdiff_t)(p->group * s->channels + p->channel) * plane + conv_input_row(s, rows.begin, r) * width +
       conv_input_column(s, columns.begin, q);
  dy += (ptrdiff_t)(p->group * s->outputs + p->output) * made + (ptrdiff_t)rows.begin * out_width +
        (ptrdiff_t)columns.begin;
  PT_NAME(pt_nest_run)(&nest, dy, x, p->made + (ptrdiff_t)(r * s->kernel_w + q));
}

/* Depthwise: up to three kernel elements of a row share their loads of dY in the columns that all of them read. The
 * columns before and after are computed for one element at a time. */
enum { kFew = 4, kTaps = 3 };

typedef struct piece {
  size_t tap, first, count; /* columns of dY */
  ptrdiff_t from;           /* in the line of X */
} piece;
typedef struct pieces {
  size_t count;
  piece all[kTaps];
} pieces;

static void add_piece(const conv_shape* s, pieces* to, size_t q, size_t tap, size_t first, size_t end) {
  if (first < end) to->all[to->count++] = (piece){tap, first, end - first, conv_input_column(s, first, q + tap)};
}

static void add_pieces(const pieces* p, const pt_real* dy, const pt_real* line, ptrdiff_t move, pt_real* sums) {
  for (const piece *at = p->all, *end = at + p->count; at < end; ++at) {
    const pt_real *d = dy + at->first, *x = line + at->from;
    pt_real sum = sums[at->tap];
    for (size_t left = at->count; left > 0; --left, x += move) sum += *d++ * *x;
    sums[at->tap] = sum;
  }
}
static void add_three(const pt_real* dy, const pt_real* x, ptrdiff_t move, ptrdiff_t tap, size_t count, pt_real* sums) {
  pt_real sum0 = sums[0], sum1 = sums[1], sum2 = sums[2];
  if (move == 1 && tap == 1) {
    pt_real x0 = x[0], x1 = x[1];
    for (; count >= 2; count -= 2, x += 2, dy += 2) {
      const pt_real d0 = dy[0], d1 = dy[1], x2 = x[2], x3 = x[3];
      sum0 += d0 * x0, sum1 += d0 * x1, sum2 += d0 * x2;
      sum0 += d1 * x1, sum1 += d1 * x2, sum2 += d1 * x3;
      x0 = x2, x1 = x3;
    }
  }
  for (; count > 0; --count, x += move, ++dy) {
    const pt_real d = *dy;
    sum0 += d * x[0], sum1 += d * x[tap], sum2 += d * x[2 * tap];
  }
  sums[0] = sum0, sums[1] = sum1, sums[2] = sum2;
}

/* The columns that elements q .. q + taps of a kernel's row have in common, and those that they do not. */
typedef struct columns {
  size_t q, taps, begin, count;
  pieces before, after;
} columns;

PT_APART void find_columns(const conv_shape* s, size_t q, size_t taps, columns* c) {
  c->q = q, c->taps = taps, c->begin = 0, c->before.count = 0, c->after.count = 0;
  conv_range each[kTaps];
  size_t end = taps < kTaps ? 0 : s->out_width;
  for (size_t tap = 0; tap < taps; ++tap) {
    each[tap] = conv_inside(s->out_width, s->width, conv_input_column(s, 0, q + tap), s->stride_w);
    if (each[tap].begin > c->begin) c->begin = each[tap].begin;
    if (each[tap].begin + each[tap].count < end) end = each[tap].begin + each[tap].count;
  }
  if (end < c->begin) end = c->begin;
  c->count = end - c->begin;
  for (size_t tap = 0; tap < taps; ++tap) {
    const size_t first = each[tap].begin, last = first + each[tap].count;
    add_piece(s, &c->before, q, tap, first, last < c->begin ? last : c->begin);
    add_piece(s, &c->after, q, tap, first > end ? first : end, last);
  }
}

/* Kernel elements (r, q) .. (r, q + taps) of one output and one channel, whose planes of the first sample are given. */
PT_APART void run_columns(const conv_shape* s, const columns* c, const pt_real* x, const pt_real* dy, size_t r,
                          int goes_on, pt_real* made) {
  const conv_range rows = conv_inside(s->out_height, s->height, conv_input_row(s, 0, r), s->stride_h);
  const ptrdiff_t down = s->stride_h * (ptrdiff_t)s->width, at = conv_input_column(s, c->begin, c->q),
                  first = conv_input_row(s, rows.begin, r) * (ptrdiff_t)s->width;
  pt_real sums[kTaps] = {0, 0, 0};
  for (size_t tap = 0; goes_on && tap < c->taps; ++tap) sums[tap] = made[tap];
  for (size_t sample = 0; sample < s->samples; ++sample) {
    const pt_real* d = dy + (sample * s->groups * s->outputs * s->out_height + rows.begin) * s->out_width;
    const pt_real* line = x + (ptrdiff_t)(sample * s->groups * s->channels * s->height * s->width) + first;
    for (size_t row = rows.count; row > 0; --row, d += s->out_width, line += down) {
      add_pieces(&c->before, d, line, s->stride_w, sums);
      if (c->count > 0) add_three(d + c->begin, line + at, s->stride_w, s->dilation_w, c->count, sums);
      add_pieces(&c->after, d, line, s->stride_w, sums);
    }
  }
  for (size_t tap = 0; tap < c->taps; ++tap) made[tap] = sums[tap];
}

PT_APART void run_few(const conv_shape* s, const pt_call* call, const part* p) {
  const pt_real *x = call->inputs[0].data, *dy = call->inputs[1].data;
  const size_t width = s->kernel_w, taps = s->kernel_h * width;
  x += (p->group * s->channels + p->channel) * s->height * s->width;
  dy += (p->group * s->outputs + p->output) * s->out_height * s->out_width;
  for (size_t q = 0; q < width; q += kTaps) {
    columns c;
    find_columns(s, q, width - q < kTaps ? width - q : kTaps, &c);
    for (size_t pair = 0; pair < p->outputs * p->channels; ++pair) {
      const size_t output = pair / p->channels, channel = pair % p->channels;
      for (size_t r = 0; r < s->kernel_h; ++r)
        run_columns(s, &c, x + channel * s->height * s->width, dy + output * s->out_height * s->out_width, r,
                    pt_goes_on(call), p->made + pair * taps + r * width + q);
    }
  }
}

static void run_part(const conv_shape* s, const pt_call* call, const part* p) {
  if (p->outputs < kFew && p->channels < kFew) {
    run_few(s, call, p);
    return;
  }
  for (size_t r = 0; r < s->kernel_h; ++r)
    for (size_t q = 0; q < s->kernel_w; ++q) run_tap(s, call, p, r, q);
}

static conv_shape shape_of(const pt_call* call) {
  return conv_shape_of(&call->inputs[0], &call->outputs[0], &call->inputs[1], call->ints);
}

static size_t group_elements(const conv_shape* s) {
  return s->outputs * s->channels * s->kernel_h * s->kernel_w;
}

pt_status PT_NAME(pt_conv2d_dw_compact)(const pt_call* call) {
  const conv_shape s = shape_of(call);
  part all = {0, 0, s.outputs, 0, s.channels, call->outputs[0].data};
  for (; all.group < s.groups; ++all.group, all.made += group_elements(&s)) run_part(&s, call, &all);
  return PT_OK;
}

/* ---- strip by strip ---- */

enum { kColumns = 72, kStrip = 4 * kColumns };

static size_t at_least_four(size_t count, size_t most) {
  const size_t fours = count < 4 ? 4 : count / 4 * 4;
  return fours < most ? fours : most;
}
static size_t strip_channels(const conv_shape* s) {
  return at_least_four(kColumns / (s->kernel_h * s->kernel_w), s->channels);
}
static size_t strip_outputs(const conv_shape* s) {
  return at_least_four(kStrip / (strip_channels(s) * s->kernel_h * s->kernel_w), s->outputs);
}
/* 0: not even one group. */
static size_t strip_groups(const conv_shape* s) {
  const size_t groups = kStrip / group_elements(s);
  return groups < s->groups ? groups : s->groups;
}

size_t PT_NAME(pt_conv2d_dw_compact_scratch)(const pt_call* call) {
  const conv_shape s = shape_of(call);
  const size_t groups = strip_groups(&s);
  if (groups > 0) return groups * group_elements(&s);
  return strip_outputs(&s) * strip_channels(&s) * s.kernel_h * s.kernel_w;
}

static void groups_at_once(const conv_shape* s, const pt_call* call, const pt_finish* finish) {
  const size_t elements = group_elements(s), most = strip_groups(s);
  part each = {0, 0, s->outputs, 0, s->channels, finish->scratch};
  for (size_t first = 0; first < s->groups; first = each.group) {
    const size_t end = first + most < s->groups ? first + most : s->groups;
    for (each.made = finish->scratch; each.group < end; ++each.group, each.made += elements) run_part(s, call, &each);
    finish->take(finish->context, 0, 0, first * elements, (end - first) * elements, finish->scratch);
  }
}

static void part_of_group(const conv_shape* s, const pt_call* call, const pt_finish* finish, const part* p) {
  const size_t taps = s->kernel_h * s->kernel_w, count = p->channels * taps;
  run_part(s, call, p);
  for (size_t output = 0; output < p->outputs; ++output) {
    const size_t row = p->group * s->outputs + p->output + output;
    finish->take(finish->context, 0, 0, (row * s->channels + p->channel) * taps, count,
                 finish->scratch + output * count);
  }
}

void PT_NAME(pt_conv2d_dw_compact_finish)(const pt_call* call, const pt_finish* finish) {
  const conv_shape s = shape_of(call);
  const size_t outputs = strip_outputs(&s), channels = strip_channels(&s);
  part p = {0, 0, 0, 0, 0, finish->scratch};
  if (strip_groups(&s) > 0) {
    groups_at_once(&s, call, finish);
    return;
  }
  for (; p.group < s.groups; ++p.group)
    for (p.output = 0; p.output < s.outputs; p.output += outputs)
      for (p.channel = 0; p.channel < s.channels; p.channel += channels) {
        p.outputs = outputs < s.outputs - p.output ? outputs : s.outputs - p.output;
        p.channels = channels < s.channels - p.channel ? channels : s.channels - p.channel;
        part_of_group(&s, call, finish, &p);
      }
}
