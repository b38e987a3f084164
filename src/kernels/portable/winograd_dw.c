#include <string.h>

#include "kernels/portable/conv2d_shape.h"
#include "kernels/portable/gemm.h"
#include "kernels/portable/winograd.h"

/* The gradient of a kernel: n x n sums over all tiles for every (output, channel). A job has a block of outputs and a
 * block of channels, whose sums stay in the workspace from the first tile to the last. */
enum { kMostSide = 6, kLeastChannels = 2 };

typedef struct plan {
  conv_shape s;
  const pt_winograd_form* form;
  const pt_real *x, *dy;
  pt_real* dw;
  size_t down, along, tiles, strip;
  size_t side, positions, rows;
  size_t outputs, output_blocks, channels, channel_blocks;  /* of a job; jobs of a group along them */
  size_t source_size, gradient_size, sums_size, share_size; /* elements */
  pt_real* workspace;
} plan;

static plan plan_of(const pt_call* call, const pt_winograd_form* form) {
  const pt_winograd_cut* cut = &form->cut;
  const size_t m = form->of->m;
  plan p;
  p.s = conv_shape_of(&call->inputs[0], &call->outputs[0], &call->inputs[1], call->ints);
  p.form = form;
  p.x = call->inputs[0].data, p.dy = call->inputs[1].data, p.dw = call->outputs[0].data;
  p.workspace = call->workspace;
  p.down = (p.s.out_height + m - 1) / m, p.along = (p.s.out_width + m - 1) / m;
  p.tiles = p.s.samples * p.down * p.along;
  p.side = m + 2, p.positions = p.side * p.side, p.rows = pt_winograd_rows(form);
  p.strip = pt_winograd_dw_strip(cut);
  p.outputs = pt_winograd_dw_outputs(cut, p.s.outputs), p.channels = pt_winograd_dw_channels(cut, p.s.channels);
  p.output_blocks = (p.s.outputs + p.outputs - 1) / p.outputs;
  p.channel_blocks = (p.s.channels + p.channels - 1) / p.channels;
  p.source_size = p.positions * p.strip * p.channels;
  p.gradient_size = p.positions * p.strip * p.outputs;
  p.sums_size = p.positions * p.outputs * p.channels;
  p.share_size = p.source_size + p.gradient_size + p.sums_size + 2 * p.side * (m * p.strip + 2);
  return p;
}

static int fits(const conv_shape* s) {
  return s->kernel_h == 3 && s->kernel_w == 3 && s->stride_h == 1 && s->stride_w == 1 && s->dilation_h == 1 &&
         s->dilation_w == 1 && s->channels >= kLeastChannels && s->outputs >= kLeastChannels && s->samples > 0 &&
         s->out_height > 0 && s->out_width > 0;
}

/* (position, tile, channel); channels beyond the last are 0. */
static void fill_source(const plan* p, const pt_winograd_run_of* run, size_t channel0, size_t channels, pt_real* lines,
                        pt_real* made) {
  const conv_shape* s = &p->s;
  for (size_t channel = 0; channel < channels; ++channel) {
    const pt_winograd_source source = {p->x + (run->image * s->channels + channel0 + channel) * s->height * s->width,
                                       s->height, s->width, s->pad_top, s->pad_left};
    PT_NAME(pt_winograd_source_tiles)
    (p->form->of, &source, run, lines, made + run->at * p->channels + channel,
     (pt_lines){p->channels, p->strip * p->channels});
  }
}

/* (position, block of rows, tile, row); outputs beyond the last are 0, and so is dY beyond the image. */
static void fill_gradient(const plan* p, const pt_winograd_run_of* run, size_t output0, size_t outputs, pt_real* lines,
                          pt_real* made) {
  const conv_shape* s = &p->s;
  const pt_winograd* of = p->form->of;
  const size_t m = of->m, n = p->side, width = m * run->length, step = p->strip * p->outputs;
  pt_real* turned = lines + m * width;
  for (size_t output = 0; output < outputs; ++output) {
    const pt_real* plane = p->dy + (run->image * s->outputs + output0 + output) * s->out_height * s->out_width;
    for (size_t i = 0; i < m; ++i) {
      const size_t row = run->row * m + i;
      const int inside = row < s->out_height;
      PT_NAME(pt_winograd_copy_line)
      (lines + i * width, width, plane + (inside ? row * s->out_width : 0), (ptrdiff_t)(run->column * m),
       inside ? s->out_width : 0);
    }
    of->gradient(width, lines, (pt_lines){1, width}, turned, (pt_lines){1, width});
    for (size_t i = 0; i < n; ++i)
      of->gradient(run->length, turned + i * width, (pt_lines){m, 1},
                   made + i * n * step + (output / p->rows * p->strip + run->at) * p->rows + output % p->rows,
                   (pt_lines){p->rows, step});
  }
}

static void add_strip(const plan* p, size_t count, size_t outputs, const pt_real* source, const pt_real* gradient,
                      pt_real* sums) {
  const pt_winograd_sums size = {p->channels, count};
  for (size_t position = 0; position < p->positions; ++position) {
    for (size_t output = 0; output < outputs; output += p->rows) PT_NAME(pt_winograd_add)
    (p->form, &size, gradient + (position * p->outputs + output) * p->strip, source + position * p->strip * p->channels,
     sums + (position * p->outputs + output) * p->channels);
  }
}

static void store_weights(const plan* p, size_t group, size_t output0, size_t channel0, const pt_real* sums) {
  const size_t n = p->side, step = p->outputs * p->channels;
  for (size_t output = 0; output < pt_least(p->outputs, p->s.outputs - output0); ++output)
    for (size_t channel = 0; channel < pt_least(p->channels, p->s.channels - channel0); ++channel) {
      pt_real rows[3 * kMostSide];
      p->form->of->back(n, sums + output * p->channels + channel, (pt_lines){step, n * step}, rows, (pt_lines){1, n});
      p->form->of->back(3, rows, (pt_lines){n, 1},
                        p->dw + ((group * p->s.outputs + output0 + output) * p->s.channels + channel0 + channel) * 9,
                        (pt_lines){3, 1});
    }
}

static void run_jobs(void* arg, size_t share, size_t begin, size_t end) {
  const plan* p = arg;
  pt_real *source = p->workspace + share * p->share_size, *gradient = source + p->source_size,
          *sums = gradient + p->gradient_size, *lines = sums + p->sums_size;
  for (size_t job = begin; job < end; ++job) {
    const size_t channel0 = job % p->channel_blocks * p->channels, rest = job / p->channel_blocks;
    const size_t output0 = rest % p->output_blocks * p->outputs, group = rest / p->output_blocks;
    const size_t channels = pt_least(p->channels, p->s.channels - channel0),
                 outputs = pt_least(p->outputs, p->s.outputs - output0);
    const pt_winograd_grid grid = {p->down, p->along, p->s.groups, group};
    memset(source, 0, (p->source_size + p->gradient_size + p->sums_size) * sizeof(pt_real));
    for (size_t tile0 = 0; tile0 < p->tiles; tile0 += p->strip) {
      const size_t count = pt_least(p->strip, p->tiles - tile0);
      for (size_t at = 0; at < count;) {
        const pt_winograd_run_of run = pt_winograd_run_at(&grid, tile0 + at, count - at, at);
        fill_source(p, &run, channel0, channels, lines, source);
        fill_gradient(p, &run, output0, outputs, lines, gradient);
        at += run.length;
      }
      add_strip(p, count, outputs, source, gradient, sums);
    }
    store_weights(p, group, output0, channel0, sums);
  }
}

static size_t jobs_of(const plan* p) {
  return p->s.groups * p->output_blocks * p->channel_blocks;
}

size_t PT_NAME(pt_winograd_dw_workspace)(const pt_call* call, const pt_winograd_form* form) {
  const plan p = plan_of(call, form);
  if (!fits(&p.s)) return PT_NO_KERNEL;
  return pt_shares(call->pool, jobs_of(&p)) * p.share_size * sizeof(pt_real);
}

pt_status PT_NAME(pt_winograd_dw_run)(const pt_call* call, const pt_winograd_form* form) {
  plan p = plan_of(call, form);
  if (!fits(&p.s)) return PT_E_KERNEL;
  PT_NAME(pt_split_shares)(call->pool, jobs_of(&p), run_jobs, &p);
  return PT_OK;
}
