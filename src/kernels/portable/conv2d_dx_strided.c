#include "kernels/portable/conv2d_dx_strided.h"

#include <string.h>

#include "kernels/portable/conv2d_panel.h"

/* With a stride, a position of the image reads only some of the kernel: the positions that read the same ones, a phase,
 * are one product without the zeros between the outputs. m = channels, n = the phase's positions, k = (o, r, s) over the
 * phase's part of the kernel. */
enum { kSlab = 64 }; /* channels of a job, whose sums lie on the stack */

/* The positions first, first + stride, ..; position i multiplies output i + shift - tap * tap_shift by kernel element
 * tap0 + tap * tap_step. */
typedef struct axis {
  size_t first, count, tap0, tap_step, taps;
  ptrdiff_t shift, tap_shift;
} axis;

typedef struct strided {
  conv2d c;
  size_t slab, slabs; /* channels of a job; jobs of a batch */
  int has_gaps;       /* positions that no output reads */
} strided;

typedef struct phase {
  const conv2d* c;
  size_t batch, channel0;
  axis down, along;
} phase;

static axis axis_of(size_t first, size_t extent, ptrdiff_t stride, ptrdiff_t pad, ptrdiff_t dilation, size_t kernel) {
  axis of = {first, first < extent ? (extent - first + (size_t)stride - 1) / (size_t)stride : 0, 0, 1, 0, 0, 0};
  for (size_t tap = 0; tap < kernel; ++tap) {
    const ptrdiff_t from = (ptrdiff_t)first + pad - (ptrdiff_t)tap * dilation;
    if (from % stride != 0) continue;
    if (of.taps == 0) of.tap0 = tap, of.shift = from / stride;
    if (of.taps == 1) of.tap_step = tap - of.tap0, of.tap_shift = of.shift - from / stride;
    ++of.taps;
  }
  return of;
}

static int has_gaps(ptrdiff_t stride, ptrdiff_t pad, ptrdiff_t dilation, size_t kernel) {
  for (ptrdiff_t first = 0; first < stride; ++first)
    if (axis_of((size_t)first, 0, stride, pad, dilation, kernel).taps == 0) return 1;
  return 0;
}

static const pt_real* weights_of(const void* context, size_t batch) {
  const phase* p = context;
  const conv_shape* s = &p->c->s;
  (void)batch;
  return conv_w(p->c, p->batch) + p->channel0 * s->kernel_h * s->kernel_w;
}

static void offsets_of(const void* context, size_t k0, size_t count, size_t* offsets) {
  const phase* p = context;
  const conv_shape* s = &p->c->s;
  const size_t taps = p->down.taps * p->along.taps;
  for (size_t kk = 0; kk < count; ++kk) {
    const size_t output = (k0 + kk) / taps, r = (k0 + kk) % taps / p->along.taps, q = (k0 + kk) % p->along.taps;
    offsets[kk] = (output * s->channels * s->kernel_h + p->down.tap0 + r * p->down.tap_step) * s->kernel_w +
                  p->along.tap0 + q * p->along.tap_step;
  }
}

static void pack_b(const void* context, size_t batch, size_t k0, size_t count, size_t n0, size_t columns,
                   pt_real* panel) {
  const phase* p = context;
  const conv_shape* s = &p->c->s;
  const pt_real* dy = conv_y(p->c, p->batch);
  const size_t taps = p->down.taps * p->along.taps;
  conv_run runs[PT_GEMM_NR];
  const size_t run_count = conv_runs(n0, columns, p->along.count, runs);
  (void)batch;
  for (size_t kk = 0; kk < count; ++kk, panel += PT_GEMM_NR) {
    const size_t k = k0 + kk;
    const pt_real* plane = dy + k / taps * s->out_height * s->out_width;
    const ptrdiff_t down = p->down.shift - (ptrdiff_t)(k % taps / p->along.taps) * p->down.tap_shift,
                    right = p->along.shift - (ptrdiff_t)(k % p->along.taps) * p->along.tap_shift;
    for (size_t run = 0; run < run_count; ++run) {
      const ptrdiff_t row = (ptrdiff_t)runs[run].row + down;
      const int inside = row >= 0 && row < (ptrdiff_t)s->out_height;
      conv_copy_run(panel + runs[run].at, (ptrdiff_t)runs[run].length, 0, 1,
                    plane + (inside ? (size_t)row * s->out_width : 0), (ptrdiff_t)runs[run].column + right, 1,
                    inside ? (ptrdiff_t)s->out_width : 0);
    }
    for (size_t at = columns; at < PT_GEMM_NR; ++at) panel[at] = 0;
  }
}

/* Puts sums where their positions are. */
static void take(const void* context, size_t batch, size_t row, size_t column, size_t count, const pt_real* made) {
  const phase* p = context;
  const conv_shape* s = &p->c->s;
  const size_t step = (size_t)s->stride_w;
  pt_real* x = conv_x(p->c, p->batch) + (p->channel0 + row) * s->height * s->width;
  conv_run runs[PT_GEMM_NB];
  const size_t run_count = conv_runs(column, count, p->along.count, runs);
  (void)batch;
  for (size_t run = 0; run < run_count; ++run) {
    const conv_run* of = &runs[run];
    pt_real* to = x + (p->down.first + of->row * (size_t)s->stride_h) * s->width + p->along.first + of->column * step;
    if (step == 2) { /* a number that the compiler knows takes fewer instructions */
      PT_UNROLLED
      for (size_t at = 0; at < of->length; ++at) to[at * 2] = made[at];
    } else {
      for (size_t at = 0; at < of->length; ++at) to[at * step] = made[at];
    }
    made += of->length;
  }
}

static void make_phase(phase* p, size_t channels, pt_real* sums) {
  const conv_shape* s = &p->c->s;
  const pt_finish finish = {take, p, sums};
  const pt_product product = {1,
                              channels,
                              p->down.count * p->along.count,
                              s->outputs * p->down.taps * p->along.taps,
                              p,
                              weights_of,
                              s->kernel_h * s->kernel_w,
                              offsets_of,
                              pack_b,
                              NULL,
                              0,
                              NULL,
                              0,
                              &finish,
                              PT_ALL_TERMS};
  PT_NAME(pt_product_run)(&product, NULL);
}

static void run_jobs(void* arg, size_t begin, size_t end) {
  const strided* of = arg;
  const conv_shape* s = &of->c.s;
  pt_real sums[kSlab * PT_GEMM_NB];
  phase p = {&of->c, 0, 0, {0}, {0}};
  for (size_t job = begin; job < end; ++job) {
    p.batch = job / of->slabs, p.channel0 = job % of->slabs * of->slab;
    const size_t channels = pt_least(of->slab, s->channels - p.channel0), plane = s->height * s->width;
    if (of->has_gaps) memset(conv_x(of, p.batch) + p.channel0 * plane, 0, channels * plane * sizeof(pt_real));
    for (ptrdiff_t row = 0; row < s->stride_h; ++row) {
      p.down = axis_of((size_t)row, s->height, s->stride_h, s->pad_top, s->dilation_h, s->kernel_h);
      for (ptrdiff_t column = 0; column < s->stride_w; ++column) {
        p.along = axis_of((size_t)column, s->width, s->stride_w, s->pad_left, s->dilation_w, s->kernel_w);
        if (p.down.taps * p.along.taps > 0) make_phase(&p, channels, sums);
      }
    }
  }
}

void PT_NAME(pt_conv2d_dx_strided)(const pt_call* call) {
  strided of = {conv2d_of(&call->outputs[0], &call->inputs[1], &call->inputs[0], call), 0, 0, 0};
  const size_t batches = of.c.s.samples * of.c.s.groups, channels = of.c.s.channels,
               threads = call->pool != NULL ? call->pool->threads : 1;
  size_t slab = kSlab;
  while (slab > PT_GEMM_MR && threads > 1 && batches * ((channels + slab - 1) / slab) < 2 * threads) slab /= 2;
  of.has_gaps = has_gaps(of.c.s.stride_h, of.c.s.pad_top, of.c.s.dilation_h, of.c.s.kernel_h) ||
                has_gaps(of.c.s.stride_w, of.c.s.pad_left, of.c.s.dilation_w, of.c.s.kernel_w);
  of.slab = slab, of.slabs = (channels + slab - 1) / slab;
  PT_NAME(pt_split)(call->pool, batches * of.slabs, run_jobs, &of);
}
