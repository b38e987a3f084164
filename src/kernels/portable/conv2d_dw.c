#include <string.h>

#include "kernels/portable/conv2d_panel.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/tiles.h"

/* dW[o, c, r, s] = sum over (n, p, q) of dY[n, o, p, q] X[n, c, row, column]: a product per group with m = o, n = (c,
 * r, s), k = (n, p, q). */
static conv2d describe(const pt_call* call) {
  return conv2d_of(&call->inputs[0], &call->outputs[0], &call->inputs[1], call);
}

/* How many of `most` positions, whose inputs begin at column `source` and lie a stride apart, have an input. */
static ptrdiff_t inputs_from(const conv_shape* s, ptrdiff_t source, ptrdiff_t most) {
  const ptrdiff_t left = (ptrdiff_t)s->width - source;
  const ptrdiff_t inside = left <= 0 ? 0 : s->stride_w == 1 ? left : (left + s->stride_w - 1) / s->stride_w;
  return inside < most ? inside : most;
}

static void take_column(const pt_real* from, ptrdiff_t step, ptrdiff_t count, pt_real* to) {
  if (step == 1) {
    PT_UNROLLED
    for (ptrdiff_t at = 0; at < count; ++at) to[at * PT_GEMM_NR] = from[at];
  } else {
    PT_UNROLLED
    for (ptrdiff_t at = 0; at < count; ++at) to[at * PT_GEMM_NR] = from[at * step];
  }
}

/* Columns are weights (c, r, q), rows are output positions: each weight's inputs, run of positions after run. */
static void pack_b(const void* context, size_t batch, size_t k0, size_t count, size_t n0, size_t columns,
                   pt_real* panel) {
  const conv2d* c = context;
  const conv_shape* s = &c->s;
  const size_t plane_size = s->height * s->width, out_rows = k0 / s->out_width;
  conv_run runs[PT_GEMM_KC]; /* `row` counts output rows over all samples */
  const size_t run_count = conv_runs(k0 - out_rows * s->out_width, count, s->out_width, runs);
  size_t samples[PT_GEMM_KC];
  for (size_t run = 0; run < run_count; ++run) {
    samples[run] = (out_rows + runs[run].row) / s->out_height;
    runs[run].row = (out_rows + runs[run].row) % s->out_height;
  }
  conv_tap tap = conv_tap_at(s, n0);
  for (size_t column = 0; column < columns; ++column, conv_tap_next(s, &tap)) {
    const pt_real* plane = c->of.x + (batch * s->channels + tap.plane) * plane_size;
    for (size_t run = 0; run < run_count; ++run) {
      const ptrdiff_t in_row = conv_input_row(s, runs[run].row, tap.r), length = (ptrdiff_t)runs[run].length;
      const pt_real* from = plane + samples[run] * s->groups * s->channels * plane_size;
      pt_real* to = panel + runs[run].at * PT_GEMM_NR + column;
      ptrdiff_t at = 0, source = conv_input_column(s, runs[run].column, tap.q);
      if (in_row >= 0 && in_row < (ptrdiff_t)s->height) {
        for (; at < length && source < 0; ++at, source += s->stride_w) to[at * PT_GEMM_NR] = 0;
        const ptrdiff_t inside = inputs_from(s, source, length - at);
        take_column(from + in_row * (ptrdiff_t)s->width + source, s->stride_w, inside, to + at * PT_GEMM_NR);
        at += inside;
      }
      for (; at < length; ++at) to[at * PT_GEMM_NR] = 0;
    }
  }
  for (size_t column = columns; column < PT_GEMM_NR; ++column)
    for (size_t kk = 0; kk < count; ++kk) panel[kk * PT_GEMM_NR + column] = 0;
}

pt_status PT_NAME(pt_conv2d_dw_reference)(const pt_call* call) {
  return PT_NAME(pt_conv3d_dw_reference)(call);
}

/* Few outputs: the product is turned round. Rows are weights (c, r, q), read in place from a zero-padded strip of the
 * input; columns are output channels, whose gradients are transposed once per strip. The sums of a job stay on the
 * stack from the first sample to the last. Order of additions: ascending (n, p, q), as everywhere. */
enum { kTurnedSums = 2048, kTurnedImage = 6144, kTurnedGradients = 2048, kTurnedPositions = 256 };
/* From so many outputs on, the packed product takes less than the strips, which are packed anew for each 32 outputs. */
enum { kManyOutputs = 64 };

typedef struct turned {
  const conv2d* c;
  pt_tiles tiles;
  size_t padded_width, halo; /* a strip of `rows` output rows reads (rows - 1) * stride_h + 1 + halo input rows */
  size_t rows;
  size_t block, blocks;            /* output channels of a job; jobs of a group along them */
  size_t channels, channel_blocks; /* input channels of a job; jobs along them */
} turned;

static size_t strip_rows(const turned* t, size_t rows) {
  return (rows - 1) * (size_t)t->c->s.stride_h + 1 + t->halo;
}

/* Zero when the shape does not fit the buffers. */
static turned turn(const conv2d* c, size_t threads) {
  const conv_shape* s = &c->s;
  const size_t taps = s->kernel_h * s->kernel_w;
  turned t = {c,
              PT_NAME(pt_tiles_here)(),
              (s->out_width - 1) * (size_t)s->stride_w + 1 + (s->kernel_w - 1) * (size_t)s->dilation_w,
              (s->kernel_h - 1) * (size_t)s->dilation_h,
              0,
              s->outputs <= 8    ? 8
              : s->outputs <= 16 ? 16
                                 : 32,
              0,
              0,
              0};
  t.blocks = (s->outputs + t.block - 1) / t.block;
  if (s->out_width > kTurnedPositions || s->out_width * t.block > kTurnedGradients) return t;
  const size_t most = pt_least(kTurnedSums / t.block / taps, kTurnedImage / (t.padded_width * (t.halo + 1)));
  if (most == 0) return t;
  const size_t wanted = (threads > 1 ? 2 * threads : 1) / (s->groups * t.blocks) + 1; /* jobs for every thread */
  const size_t channels = pt_least(pt_least(most, s->channels), (s->channels + wanted - 1) / wanted);
  t.channel_blocks = (s->channels + channels - 1) / channels;
  t.channels = (s->channels + t.channel_blocks - 1) / t.channel_blocks;
  t.rows = pt_least(s->out_height, pt_least(kTurnedPositions, kTurnedGradients / t.block) / s->out_width);
  while (t.rows > 1 && strip_rows(&t, t.rows) * t.padded_width * t.channels > kTurnedImage) --t.rows;
  return t;
}

/* The strip's input rows of some channels of one sample, zeros around. */
static void fill_strip(const turned* t, const pt_real* x, size_t channels, size_t row0, size_t rows, pt_real* image) {
  const conv_shape* s = &t->c->s;
  const size_t lines = strip_rows(t, rows);
  const ptrdiff_t first = (ptrdiff_t)row0 * s->stride_h - s->pad_top;
  const int as_it_is =
      s->pad_left == 0 && t->padded_width == s->width && first >= 0 && (size_t)first + lines <= s->height;
  for (size_t channel = 0; as_it_is && channel < channels; ++channel, image += lines * s->width)
    memcpy(image, x + (channel * s->height + (size_t)first) * s->width, lines * s->width * sizeof(pt_real));
  for (size_t channel = 0; !as_it_is && channel < channels; ++channel) {
    for (size_t line = 0; line < lines; ++line, image += t->padded_width) {
      const ptrdiff_t row = first + (ptrdiff_t)line;
      const int inside = row >= 0 && row < (ptrdiff_t)s->height;
      conv_copy_run(image, (ptrdiff_t)t->padded_width, 0, 1,
                    x + (channel * s->height + (inside ? (size_t)row : 0)) * s->width, -s->pad_left, 1,
                    inside ? (ptrdiff_t)s->width : 0);
    }
  }
}

/* gradients[position][output] */
static void fill_gradients(const turned* t, const pt_real* dy, size_t outputs, size_t positions, pt_real* gradients) {
  const size_t plane = t->c->s.out_height * t->c->s.out_width, block = t->block;
  for (size_t output = 0; output < outputs; ++output, dy += plane) {
    PT_UNROLLED
    for (size_t position = 0; position < positions; ++position) gradients[position * block + output] = dy[position];
  }
}

/* Adds one strip to the sums of a job. */
static void add_strip(const turned* t, const pt_real* image, const pt_real* gradients, size_t channels, size_t outputs,
                      size_t rows, const size_t* a_at, const size_t* b_at, pt_real* sums) {
  const conv_shape* s = &t->c->s;
  const size_t taps = s->kernel_h * s->kernel_w, weights = channels * taps, lines = strip_rows(t, rows);
  const pt_tile tile = t->block == 8 ? t->tiles.of_8x8 : t->block == 16 ? t->tiles.of_8x16 : t->tiles.of_8x32;
  for (size_t weight = 0; weight < weights; weight += 8) {
    const pt_real* a[8];
    for (size_t row = 0; row < 8; ++row) {
      const conv_tap tap = conv_tap_at(s, pt_least(weight + row, weights - 1));
      a[row] =
          image + (tap.plane * lines + tap.r * (size_t)s->dilation_h) * t->padded_width + tap.q * (size_t)s->dilation_w;
    }
    tile(a, a_at, gradients, b_at, rows * s->out_width, sums + weight * t->block, t->block,
         pt_least(8, weights - weight), outputs);
  }
}

/* The weights of a job: `outputs` output channels from `output` on, counted over all groups, and `channels` input channels
 * from `channel` on. */
typedef struct weights {
  size_t output, outputs, channel, channels;
} weights;

static pt_real* weights_of(const turned* t, const weights* of, size_t output) {
  const conv_shape* s = &t->c->s;
  return t->c->of.w + ((of->output + output) * s->channels + of->channel) * s->kernel_h * s->kernel_w;
}

/* The sums begin with +0, or with what the weights hold. */
static void begin_sums(const turned* t, const weights* of, pt_real* sums, size_t bytes) {
  const size_t count = of->channels * t->c->s.kernel_h * t->c->s.kernel_w;
  memset(sums, 0, bytes);
  if ((t->c->of.terms & PT_GOES_ON) == 0) return;
  for (size_t output = 0; output < of->outputs; ++output)
    for (size_t weight = 0; weight < count; ++weight)
      sums[weight * t->block + output] = weights_of(t, of, output)[weight];
}

static void turned_jobs(void* arg, size_t begin, size_t end) {
  const turned* t = arg;
  const conv_shape* s = &t->c->s;
  const size_t taps = s->kernel_h * s->kernel_w, positions = s->out_height * s->out_width;
  pt_real sums[kTurnedSums + 7 * 32], image[kTurnedImage],
      gradients[kTurnedGradients]; /* the last tile has up to 7 rows too many */
  size_t a_at[kTurnedPositions], b_at[kTurnedPositions];
  for (size_t position = 0; position < t->rows * s->out_width; ++position) {
    a_at[position] =
        position / s->out_width * (size_t)s->stride_h * t->padded_width + position % s->out_width * (size_t)s->stride_w;
    b_at[position] = position * t->block;
  }
  for (size_t job = begin; job < end; ++job) {
    const size_t channel0 = job % t->channel_blocks * t->channels, rest = job / t->channel_blocks;
    const size_t output0 = rest % t->blocks * t->block, group = rest / t->blocks;
    const size_t channels = pt_least(t->channels, s->channels - channel0),
                 outputs = pt_least(t->block, s->outputs - output0);
    const weights made = {group * s->outputs + output0, outputs, channel0, channels};
    begin_sums(t, &made, sums, sizeof sums);
    memset(gradients, 0, sizeof gradients); /* of outputs beyond the last */
    for (size_t sample = 0; sample < s->samples; ++sample) {
      const size_t plane = sample * s->groups + group;
      const pt_real* x = t->c->of.x + (plane * s->channels + channel0) * s->height * s->width;
      const pt_real* dy = t->c->of.y + (plane * s->outputs + output0) * positions;
      for (size_t row0 = 0; row0 < s->out_height; row0 += t->rows) {
        const size_t rows = pt_least(t->rows, s->out_height - row0);
        fill_strip(t, x, channels, row0, rows, image);
        fill_gradients(t, dy + row0 * s->out_width, outputs, rows * s->out_width, gradients);
        add_strip(t, image, gradients, channels, outputs, rows, a_at, b_at, sums);
      }
    }
    for (size_t output = 0; output < outputs; ++output)
      for (size_t weight = 0; weight < channels * taps; ++weight)
        weights_of(t, &made, output)[weight] = sums[weight * t->block + output];
  }
}

pt_status PT_NAME(pt_conv2d_dw_blocked)(const pt_call* call) {
  const conv2d c = describe(call);
  const conv_shape* s = &c.s;
  if (s->samples == 0 || s->outputs == 0 || s->channels == 0 || s->out_height * s->out_width == 0)
    return PT_NAME(pt_conv2d_dw_reference)(call);
  const turned t = turn(&c, call->pool != NULL ? call->pool->threads : 1);
  if (t.rows > 0 && s->outputs < kManyOutputs) {
    PT_NAME(pt_split)(call->pool, s->groups * t.blocks * t.channel_blocks, turned_jobs, (void*)&t);
    return PT_OK;
  }
  if (s->outputs < 2) return PT_NAME(pt_conv2d_dw_reference)(call);
  const pt_product product = conv_dw_product(&c.of, pack_b);
  PT_NAME(pt_product_run)(&product, call->pool);
  return PT_OK;
}
