#include "kernels/portable/winograd.h"

#include <string.h>

#include "kernels/portable/gemm.h"

enum { kMostSide = 6, kLeastChannels = 2 };

/* Tiles of a strip go to `source` (position, plane, tile); the transformed weights of `rows` outputs are (position,
 * plane, row), their sums (position, row, tile). */
typedef struct plan {
  const pt_shifted* c;
  const pt_winograd_form* form;
  pt_winograd_grid grid;
  size_t side, positions;
  size_t rows, blocks;         /* outputs of a block; blocks of a group */
  size_t tiles, strip, strips; /* of a group */
  size_t source_size, sums_size, lines_size, block_size;
  size_t whole_size, share_size; /* elements of the workspace: for all, and for each share */
  pt_real* workspace;
} plan;

static plan plan_of(const pt_shifted* c, const pt_winograd_form* form) {
  const size_t m = form->of->m;
  plan p;
  p.c = c, p.form = form, p.workspace = NULL;
  p.grid = (pt_winograd_grid){(c->out_height + m - 1) / m, (c->out_width + m - 1) / m, c->groups, 0};
  p.side = m + 2, p.positions = p.side * p.side;
  p.rows = pt_winograd_rows(form), p.blocks = (c->outputs + p.rows - 1) / p.rows;
  p.tiles = c->images / c->groups * p.grid.down * p.grid.along;
  p.strip = pt_winograd_strip(&form->cut, p.positions, c->planes, p.tiles);
  p.strips = (p.tiles + p.strip - 1) / p.strip;
  p.source_size = p.positions * c->planes * p.strip;
  p.block_size = p.positions * c->planes * p.rows;
  p.sums_size = p.positions * p.rows * p.strip;
  p.lines_size = 2 * p.side * (m * p.strip + 2);
  p.whole_size = form->cut.is_whole ? c->groups * p.blocks * p.block_size : 0;
  p.share_size = p.source_size + p.sums_size + p.lines_size + (form->cut.is_whole ? 0 : p.block_size);
  return p;
}

static int fits(const pt_shifted* c) {
  return c->kernel_h == 3 && c->kernel_w == 3 && c->dilation_h == 1 && c->dilation_w == 1 &&
         c->planes >= kLeastChannels && c->outputs >= kLeastChannels && c->images > 0 && c->out_height > 0 &&
         c->out_width > 0;
}

void PT_NAME(pt_winograd_copy_line)(pt_real* to, size_t length, const pt_real* from, ptrdiff_t first, size_t width) {
  const ptrdiff_t all = (ptrdiff_t)length;
  ptrdiff_t begin = first < 0 ? -first : 0, end = (ptrdiff_t)width - first;
  if (end > all) end = all;
  if (end < 0) end = 0;
  if (begin > end) begin = end;
  for (ptrdiff_t i = 0; i < begin; ++i) to[i] = 0;
  for (ptrdiff_t i = begin; i < end; ++i) to[i] = from[first + i];
  for (ptrdiff_t i = end; i < all; ++i) to[i] = 0;
}

void PT_NAME(pt_winograd_source_tiles)(const pt_winograd* of, const pt_winograd_source* source,
                                       const pt_winograd_run_of* run, pt_real* scratch, pt_real* out, pt_lines to) {
  const size_t m = of->m, n = m + 2, width = m * run->length + 2;
  const ptrdiff_t row0 = (ptrdiff_t)(run->row * m) - source->top, first = (ptrdiff_t)(run->column * m) - source->left;
  pt_real* turned = scratch + n * width;
  for (size_t i = 0; i < n; ++i) {
    const ptrdiff_t row = row0 + (ptrdiff_t)i;
    const int inside = row >= 0 && row < (ptrdiff_t)source->height;
    PT_NAME(pt_winograd_copy_line)
    (scratch + i * width, width, source->plane + (inside ? (size_t)row * source->width : 0), first,
     inside ? source->width : 0);
  }
  of->source(width, scratch, (pt_lines){1, width}, turned, (pt_lines){1, width});
  for (size_t i = 0; i < n; ++i)
    of->source(run->length, turned + i * width, (pt_lines){m, 1}, out + i * n * to.step, to);
}

/* 4 rows and 4 columns, in registers. */
PT_APART void add_4x4(const pt_real* a, const pt_real* b, size_t b_step, size_t count, pt_real* acc, size_t row) {
  pt_real *c0 = acc, *c1 = c0 + row, *c2 = c1 + row, *c3 = c2 + row;
  pt_real s00 = c0[0], s01 = c0[1], s02 = c0[2], s03 = c0[3], s10 = c1[0], s11 = c1[1], s12 = c1[2], s13 = c1[3],
          s20 = c2[0], s21 = c2[1], s22 = c2[2], s23 = c2[3], s30 = c3[0], s31 = c3[1], s32 = c3[2], s33 = c3[3];
  for (; count > 0; --count, a += 4, b += b_step) {
    const pt_real b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
    pt_real left = a[0];
    s00 += left * b0, s01 += left * b1, s02 += left * b2, s03 += left * b3;
    left = a[1];
    s10 += left * b0, s11 += left * b1, s12 += left * b2, s13 += left * b3;
    left = a[2];
    s20 += left * b0, s21 += left * b1, s22 += left * b2, s23 += left * b3;
    left = a[3];
    s30 += left * b0, s31 += left * b1, s32 += left * b2, s33 += left * b3;
  }
  c0[0] = s00, c0[1] = s01, c0[2] = s02, c0[3] = s03;
  c1[0] = s10, c1[1] = s11, c1[2] = s12, c1[3] = s13;
  c2[0] = s20, c2[1] = s21, c2[2] = s22, c2[3] = s23;
  c3[0] = s30, c3[1] = s31, c3[2] = s32, c3[3] = s33;
}

void PT_NAME(pt_winograd_add)(const pt_winograd_form* form, const pt_winograd_sums* s, const pt_real* a,
                              const pt_real* b, pt_real* acc) {
  const size_t columns = s->columns;
  if (!form->cut.has_vectors) {
    for (size_t column = 0; column < columns; column += 4)
      add_4x4(a, b + column, columns, s->count, acc + column, columns);
    return;
  }
  const pt_tile tile = columns == 8 ? form->tiles.of_8x8 : columns == 16 ? form->tiles.of_8x16 : form->tiles.of_8x32;
  const pt_real* rows[8];
  size_t a_at[PT_WINOGRAD_CHUNK], b_at[PT_WINOGRAD_CHUNK];
  for (size_t kk = 0; kk < pt_least(PT_WINOGRAD_CHUNK, s->count); ++kk) a_at[kk] = kk * 8, b_at[kk] = kk * columns;
  for (size_t k = 0; k < s->count; k += PT_WINOGRAD_CHUNK) {
    for (size_t row = 0; row < 8; ++row) rows[row] = a + k * 8 + row;
    tile(rows, a_at, b + k * columns, b_at, pt_least(PT_WINOGRAD_CHUNK, s->count - k), acc, columns, 8, columns);
  }
}

/* The transformed weights of one block; rows beyond the last output are 0. */
static void fill_block(const plan* p, size_t group, size_t block, pt_real* made) {
  const pt_shifted* c = p->c;
  const size_t n = p->side, plane_step = p->rows, step = c->planes * p->rows;
  const size_t outputs = pt_least(p->rows, c->outputs - block * p->rows);
  const pt_winograd* of = p->form->of;
  if (outputs < p->rows) memset(made, 0, p->block_size * sizeof(pt_real));
  for (size_t row = 0; row < outputs; ++row) {
    for (size_t plane = 0; plane < c->planes; ++plane) {
      const pt_real* w = c->a + group * c->a_image + (block * p->rows + row) * c->a_row + plane * c->a_plane;
      pt_real turned[9], columns[3 * kMostSide];
      if (c->from_end) {
        for (size_t tap = 0; tap < 9; ++tap) turned[tap] = w[8 - tap];
        w = turned;
      }
      of->weights(3, w, (pt_lines){1, 3}, columns, (pt_lines){1, 3});
      of->weights(n, columns, (pt_lines){3, 1}, made + plane * plane_step + row, (pt_lines){n * step, step});
    }
  }
}

static void fill_source(const plan* p, const pt_winograd_grid* grid, size_t tile0, size_t count, pt_real* lines,
                        pt_real* made) {
  const pt_shifted* c = p->c;
  for (size_t at = 0; at < count;) {
    const pt_winograd_run_of run = pt_winograd_run_at(grid, tile0 + at, count - at, at);
    for (size_t plane = 0; plane < c->planes; ++plane) {
      const pt_winograd_source source = {c->source + (run.image * c->planes + plane) * c->height * c->width, c->height,
                                         c->width, c->top, c->left};
      PT_NAME(pt_winograd_source_tiles)
      (p->form->of, &source, &run, lines, made + plane * p->strip + at, (pt_lines){1, c->planes * p->strip});
    }
    at += run.length;
  }
  if (count < p->strip)
    for (size_t line = 0; line < p->positions * c->planes; ++line)
      memset(made + line * p->strip + count, 0, (p->strip - count) * sizeof(pt_real));
}

/* Transforms the sums of one output channel's strip by At and writes them to the image. */
static void store_output(const plan* p, const pt_winograd_grid* grid, size_t output, size_t tile0, size_t count,
                         const pt_real* sums, pt_real* half) {
  const pt_shifted* c = p->c;
  const pt_winograd* of = p->form->of;
  const size_t n = p->side, m = of->m, step = p->rows * p->strip;
  const pt_real bias = c->bias != NULL ? c->bias[grid->group * c->outputs + output] : 0;
  for (size_t j = 0; j < n; ++j)
    of->made(count, sums + j * step, (pt_lines){1, n * step}, half + j * p->strip, (pt_lines){1, n * p->strip});
  for (size_t at = 0; at < count;) {
    const pt_winograd_run_of run = pt_winograd_run_at(grid, tile0 + at, count - at, at);
    pt_real* y = c->y + (run.image * c->outputs + output) * c->out_height * c->out_width;
    const size_t columns = pt_least(m * run.length, c->out_width - run.column * m);
    for (size_t i = 0; i < m && run.row * m + i < c->out_height; ++i) {
      const pt_real* from = half + i * n * p->strip + at;
      const size_t first = (run.row * m + i) * c->out_width + run.column * m;
      pt_real* to = c->finish != NULL ? half + m * n * p->strip : y + first;
      const size_t full = columns / m;
      of->made(full, from, (pt_lines){1, p->strip}, to, (pt_lines){m, 1});
      if (full < run.length) {
        pt_real last[4];
        of->made(1, from + full, (pt_lines){1, p->strip}, last, (pt_lines){m, 1});
        memcpy(to + full * m, last, (columns - full * m) * sizeof(pt_real));
      }
      if (c->bias != NULL)
        for (size_t column = 0; column < columns; ++column) to[column] += bias;
      if (c->finish != NULL) c->finish->take(c->finish->context, run.image, output, first, columns, to);
    }
    at += run.length;
  }
}

static void run_strips(void* arg, size_t share, size_t begin, size_t end) {
  const plan* p = arg;
  const pt_shifted* c = p->c;
  pt_real *source = p->workspace + p->whole_size + share * p->share_size, *sums = source + p->source_size,
          *lines = sums + p->sums_size, *own = lines + p->lines_size;
  const pt_winograd_sums size = {p->strip, c->planes};
  for (size_t job = begin; job < end; ++job) {
    const size_t group = job / p->strips, tile0 = job % p->strips * p->strip,
                 count = pt_least(p->strip, p->tiles - tile0);
    const pt_winograd_grid grid = {p->grid.down, p->grid.along, c->groups, group};
    fill_source(p, &grid, tile0, count, lines, source);
    for (size_t block = 0; block < p->blocks; ++block) {
      const pt_real* weights = own;
      if (p->form->cut.is_whole)
        weights = p->workspace + (group * p->blocks + block) * p->block_size;
      else
        fill_block(p, group, block, own);
      memset(sums, 0, p->sums_size * sizeof(pt_real));
      for (size_t position = 0; position < p->positions; ++position) PT_NAME(pt_winograd_add)
      (p->form, &size, weights + position * c->planes * p->rows, source + position * c->planes * p->strip,
       sums + position * p->rows * p->strip);
      for (size_t row = 0; row < pt_least(p->rows, c->outputs - block * p->rows); ++row)
        store_output(p, &grid, block * p->rows + row, tile0, count, sums + row * p->strip, lines);
    }
  }
}

static void fill_weights(void* arg, size_t begin, size_t end) {
  const plan* p = arg;
  for (size_t at = begin; at < end; ++at)
    fill_block(p, at / p->blocks, at % p->blocks, p->workspace + at * p->block_size);
}

size_t PT_NAME(pt_winograd_workspace)(const pt_shifted* c, const pt_winograd_form* form, const pt_pool* pool) {
  if (!fits(c)) return PT_NO_KERNEL;
  const plan p = plan_of(c, form);
  return (p.whole_size + pt_shares(pool, c->groups * p.strips) * p.share_size) * sizeof(pt_real);
}

pt_status PT_NAME(pt_winograd_run)(const pt_shifted* c, const pt_winograd_form* form, const pt_pool* pool,
                                   void* workspace) {
  if (!fits(c)) return PT_E_KERNEL;
  plan p = plan_of(c, form);
  p.workspace = workspace;
  if (form->cut.is_whole) PT_NAME(pt_split)(pool, c->groups * p.blocks, fill_weights, &p);
  PT_NAME(pt_split_shares)(pool, c->groups * p.strips, run_strips, &p);
  return PT_OK;
}
