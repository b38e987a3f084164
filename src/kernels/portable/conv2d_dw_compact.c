#include "kernels/portable/compact.h"
#include "kernels/portable/conv2d_shape.h"
#include "kernels/portable/products.h"

/* Per kernel element a product: rows are output channels, columns input channels, and k the output positions whose
 * input lies inside of the image. */

/* Channels of one group: `outputs` from `output` on, `channels` from `channel` on, their elements row by row. */
typedef struct part {
  size_t group, output, outputs, channel, channels;
  pt_real* made;
} part;

static void run_tap(const conv_shape* s, const pt_call* call, const part* p, size_t r, size_t q) {
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
                  taps};
  x += (ptrdiff_t)(p->group * s->channels + p->channel) * plane + conv_input_row(s, rows.begin, r) * width +
       conv_input_column(s, columns.begin, q);
  dy += (ptrdiff_t)(p->group * s->outputs + p->output) * made + (ptrdiff_t)rows.begin * out_width +
        (ptrdiff_t)columns.begin;
  PT_NAME(pt_nest_run)(&nest, dy, x, p->made + (ptrdiff_t)(r * s->kernel_w + q));
}

static void run_part(const conv_shape* s, const pt_call* call, const part* p) {
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
