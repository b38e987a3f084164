#include "kernels/portable/conv2d_shift.h"

#include <string.h>

#include "kernels/portable/gemm.h"
#include "kernels/portable/tiles.h"

enum { kRows = 8, kColumns = 32, kThinColumns = 128 }; /* the thin tile has one row */
enum { kMostRows = 64, kFewImages = 8, kWide = 16 };
static const double kLowStrip = 1.05; /* work of low strips over the least */

#if defined(__GNUC__)
#define PT_ALIGNED __attribute__((aligned(64))) /* as vectors are read */
#else
#define PT_ALIGNED
#endif

typedef struct strips {
  const pt_shifted* c;
  pt_tiles tiles;
  size_t padded_width, halo; /* rows of a strip beyond its outputs */
  size_t rows, per_image;    /* output rows of a strip; strips of an image */
  size_t planes;             /* source planes held at once */
  size_t tile_rows, tile_columns;
  int by_rows; /* tiles lie in one row of outputs, and make no others */
  double work; /* of an image */
} strips;

/* Are outputs accumulated in a scratch? */
static int is_apart(const pt_shifted* c) {
  return c->finish != NULL && c->finish->scratch != NULL;
}

static size_t plane_size(const strips* s, size_t rows) {
  return (rows + s->halo) * s->padded_width;
}

static size_t scratch_of_strip(const strips* s) {
  return s->c->outputs * s->rows * s->c->out_width;
}

static size_t columns_of_tiles(const strips* s, size_t columns) {
  if (s->tile_rows == kRows) return pt_tile_columns(&s->tiles, columns);
  return (columns + s->tile_columns - 1) / s->tile_columns * s->tile_columns;
}

/* Work per output row of strips of `rows`: tiles (columns beyond the image are wasted) and copies (the halo is copied
 * twice). 0: they do not fit. */
static double work_of(const strips* s, size_t rows, size_t* planes) {
  const pt_shifted* c = s->c;
  const size_t taps = c->kernel_h * c->kernel_w;
  const size_t all_rows = (c->outputs + s->tile_rows - 1) / s->tile_rows * s->tile_rows;
  const size_t size = plane_size(s, rows),
               columns = s->by_rows ? rows * c->out_width : (rows - 1) * s->padded_width + c->out_width;
  if (size + s->tile_columns > PT_SHIFT_IMAGE) return 0;
  *planes = pt_least(c->planes, pt_least((PT_SHIFT_IMAGE - s->tile_columns) / size, PT_SHIFT_TAPS / taps));
  const double chunks = (double)((c->planes + *planes - 1) / *planes),
               tile = (double)(columns_of_tiles(s, columns) * all_rows);
  return (tile * (double)(c->planes * taps) / 8 + tile * chunks + (double)(c->planes * size)) / (double)rows;
}

/* The strip height of least work. With a finish and few images, whose scratch would be as large as the images, the
 * lowest strip that takes little more work. */
static void choose_strips(strips* s) {
  const pt_shifted* c = s->c;
  const size_t most = pt_least(c->out_height, kMostRows);
  size_t planes = 0;
  double best = 0;
  for (size_t rows = 1; rows <= most; ++rows) {
    const double work = work_of(s, rows, &planes);
    if (work == 0) break;
    if (s->rows != 0 && work >= best) continue;
    best = work, s->rows = rows, s->planes = planes;
  }
  if (s->rows == 0) return;
  const int low = is_apart(c) && c->images < kFewImages;
  for (size_t rows = 1; low && rows < s->rows; ++rows)
    if (work_of(s, rows, &planes) <= best * kLowStrip) s->rows = rows, s->planes = planes;
  s->per_image = (c->out_height + s->rows - 1) / s->rows;
  s->work = best * (double)c->out_height;
}

static strips describe(const pt_shifted* c) {
  strips s;
  memset(&s, 0, sizeof s);
  s.c = c;
  s.tiles = PT_NAME(pt_tiles_here)();
  s.padded_width = c->out_width + (c->kernel_w - 1) * c->dilation_w;
  s.halo = (c->kernel_h - 1) * c->dilation_h;
  s.tile_rows = c->outputs < 4 ? 1 : kRows;
  s.tile_columns = c->outputs < 4 ? kThinColumns : kColumns;
  s.by_rows = s.tile_rows == kRows && c->out_width % (s.tiles.unit < kWide ? kWide : s.tiles.unit) == 0;
  if (c->kernel_h * c->kernel_w <= PT_SHIFT_TAPS) choose_strips(&s);
  return s;
}

/* Copies source planes [plane0, plane0 + planes) of a strip that begins at output row `row0`, with zeros around. */
static void fill_image(const strips* s, const pt_real* source, size_t plane0, size_t planes, size_t row0, size_t rows,
                       pt_real* image) {
  const pt_shifted* c = s->c;
  const ptrdiff_t width = (ptrdiff_t)c->width, padded = (ptrdiff_t)s->padded_width;
  ptrdiff_t from = c->left < 0        ? 0
                   : c->left < padded ? c->left
                                      : padded; /* the first column of the row that lies on the source */
  ptrdiff_t to = c->left + width < padded ? c->left + width : padded;
  if (to < from) to = from;
  const ptrdiff_t first = (ptrdiff_t)row0 - c->top;
  const size_t lines = rows + s->halo, size = lines * s->padded_width;
  const int as_it_is = from == 0 && to == padded && width == padded && first >= 0 && (size_t)first + lines <= c->height;
  for (size_t plane = 0; as_it_is && plane < planes; ++plane, image += size)
    memcpy(image, source + ((plane0 + plane) * c->height + (size_t)first) * c->width, size * sizeof(pt_real));
  for (size_t plane = 0; !as_it_is && plane < planes; ++plane) {
    for (size_t row = 0; row < lines; ++row, image += padded) {
      const ptrdiff_t at = first + (ptrdiff_t)row;
      if (at < 0 || at >= (ptrdiff_t)c->height) {
        memset(image, 0, (size_t)padded * sizeof(pt_real));
        continue;
      }
      const pt_real* line = source + ((plane0 + plane) * c->height + (size_t)at) * c->width;
      for (ptrdiff_t column = 0; column < from; ++column) image[column] = 0;
      if (to > from) memcpy(image + from, line + (from - c->left), (size_t)(to - from) * sizeof(pt_real));
      for (ptrdiff_t column = to; column < padded; ++column) image[column] = 0;
    }
  }
  memset(image, 0, s->tile_columns * sizeof(pt_real)); /* what tiles read beyond the end */
}

static void tap_offsets(const strips* s, size_t planes, size_t rows, size_t* a_at, size_t* b_at) {
  const pt_shifted* c = s->c;
  for (size_t plane = 0; plane < planes; ++plane) {
    for (size_t r = 0; r < c->kernel_h; ++r) {
      for (size_t q = 0; q < c->kernel_w; ++q) {
        const size_t down = c->from_end ? c->kernel_h - 1 - r : r, right = c->from_end ? c->kernel_w - 1 - q : q;
        *a_at++ = plane * c->a_plane + r * c->kernel_w + q;
        *b_at++ = plane * plane_size(s, rows) + down * c->dilation_h * s->padded_width + right * c->dilation_w;
      }
    }
  }
}

/* Where the outputs of a strip are accumulated; those of one plane are contiguous. */
typedef struct target {
  pt_real* y;
  size_t plane;
} target;

static target target_of(const strips* s, size_t image, size_t row0, size_t share) {
  const pt_shifted* c = s->c;
  const size_t positions = c->out_height * c->out_width;
  if (is_apart(c)) return (target){c->finish->scratch + share * scratch_of_strip(s), s->rows * c->out_width};
  return (target){c->y + image * c->outputs * positions + row0 * c->out_width, positions};
}

typedef struct run { /* [at, at + length) of a tile's row are outputs [to, to + length) of a strip's plane */
  size_t at, to, length;
} run;

/* The columns of the tile that begins at `column0` of a strip's outputs: flattened rows of the padded width. */
typedef struct panel {
  size_t column0, columns;
} panel;

/* The tile that follows the one that ends at column `at`; no columns behind the last. */
static panel next_panel(const strips* s, size_t rows, size_t at) {
  const size_t padded = s->padded_width, width = s->c->out_width, end = (rows - 1) * padded + width;
  if (s->by_rows && at % padded >= width) at += padded - at % padded;
  const size_t last = s->by_rows ? at / padded * padded + width : end;
  return (panel){at, at < end ? pt_least(s->tile_columns, last - at) : 0};
}

/* The outputs among the columns of a panel. Rows that follow each other without a gap are as one. */
static size_t output_runs(const strips* s, panel of, run* runs) {
  const int whole = s->padded_width == s->c->out_width;
  const size_t padded = s->padded_width, width = s->c->out_width, column1 = of.column0 + of.columns;
  size_t count = 0;
  for (size_t column = of.column0; column < column1;) {
    const size_t row = column / padded, q = column % padded,
                 end = whole ? column1 : pt_least((row + 1) * padded, column1);
    if (q < width) {
      runs[count].at = column - of.column0;
      runs[count].to = row * width + q;
      runs[count++].length = whole ? end - column : pt_least(width - q, end - column);
    }
    column = end;
  }
  return count;
}

/* Computes one panel of columns for all outputs: continues the sums in y, or starts them with +0; the last chunk adds the
 * bias. Outputs that lie side by side are summed where they are. */
static void run_panel(const strips* s, size_t image, target to, size_t plane0, size_t count, const size_t* a_at,
                      const size_t* b_at, const pt_real* from, const run* runs, size_t run_count, int last) {
  const pt_shifted* c = s->c;
  const size_t height = s->tile_rows, columns = runs[run_count - 1].at + runs[run_count - 1].length;
  const pt_tile tile = height == 1 ? s->tiles.of_1x128 : s->tiles.of_8x32;
  const pt_real* first = c->a + image % c->groups * c->a_image + plane0 * c->a_plane;
  const pt_real* bias = last && c->bias != NULL ? c->bias + image % c->groups * c->outputs : NULL;
  const int goes_on = plane0 > 0 || c->goes_on,
            whole = runs[0].length == columns && height > 1 && columns % s->tiles.unit == 0;
  pt_real acc[kRows * kColumns];
  for (size_t m0 = 0; m0 < c->outputs; m0 += height) {
    const size_t rows = pt_least(height, c->outputs - m0);
    const int in_place = whole && rows == kRows;
    pt_real* y = to.y + m0 * to.plane;
    pt_real* sums = in_place ? y + runs[0].to : acc;
    const size_t sums_row = in_place ? to.plane : s->tile_columns;
    const pt_real* a[kRows];
    for (size_t row = 0; row < kRows; ++row)
      a[row] = first + (m0 + pt_least(row, rows - 1)) * c->a_row; /* rows beyond the last are not stored */
    if (!in_place) memset(acc, 0, sizeof acc);
    for (size_t row = 0; in_place && !goes_on && row < rows; ++row) pt_zero_row(sums + row * sums_row, columns);
    for (size_t row = 0; goes_on && !in_place && row < rows; ++row)
      for (size_t i = 0; i < run_count; ++i)
        memcpy(acc + row * sums_row + runs[i].at, y + row * to.plane + runs[i].to, runs[i].length * sizeof(pt_real));
    tile(a, a_at, from, b_at, count, sums, sums_row, rows, columns);
    for (size_t row = 0; row < rows && (bias != NULL || !in_place); ++row) {
      if (bias != NULL)
        for (size_t column = 0; column < columns; ++column) sums[row * sums_row + column] += bias[m0 + row];
      for (size_t i = 0; !in_place && i < run_count; ++i)
        memcpy(y + row * to.plane + runs[i].to, acc + row * sums_row + runs[i].at, runs[i].length * sizeof(pt_real));
    }
  }
}

static void finish_strip(const pt_shifted* c, size_t image, size_t row0, size_t rows, target from) {
  for (size_t output = 0; c->finish != NULL && output < c->outputs; ++output)
    c->finish->take(c->finish->context, image, output, row0 * c->out_width, rows * c->out_width,
                    from.y + output * from.plane);
}

static void run_strips(void* arg, size_t share, size_t begin, size_t end) {
  const strips* s = arg;
  const pt_shifted* c = s->c;
  const size_t taps = c->kernel_h * c->kernel_w;
  PT_ALIGNED pt_real image[PT_SHIFT_IMAGE];
  size_t a_at[PT_SHIFT_TAPS], b_at[PT_SHIFT_TAPS];
  for (size_t job = begin; job < end; ++job) {
    const size_t index = job / s->per_image, row0 = job % s->per_image * s->rows,
                 rows = pt_least(s->rows, c->out_height - row0);
    const pt_real* source = c->source + index * c->planes * c->height * c->width;
    const target to = target_of(s, index, row0, share);
    for (size_t plane0 = 0; plane0 < c->planes; plane0 += s->planes) {
      const size_t planes = pt_least(s->planes, c->planes - plane0);
      fill_image(s, source, plane0, planes, row0, rows, image);
      tap_offsets(s, planes, rows, a_at, b_at);
      for (panel at = next_panel(s, rows, 0); at.columns > 0; at = next_panel(s, rows, at.column0 + at.columns)) {
        run runs[kThinColumns];
        const size_t run_count = output_runs(s, at, runs);
        if (run_count > 0)
          run_panel(s, index, to, plane0, planes * taps, a_at, b_at, image + at.column0, runs, run_count,
                    plane0 + planes == c->planes);
      }
    }
    finish_strip(c, index, row0, rows, to);
  }
}

double PT_NAME(pt_shifted_work)(const pt_shifted* c) {
  return c->planes > 0 ? describe(c).work : 0;
}

size_t PT_NAME(pt_shifted_scratch)(const pt_shifted* c, const pt_pool* pool) {
  const strips s = describe(c);
  return pt_shares(pool, c->images * s.per_image) * scratch_of_strip(&s);
}

void PT_NAME(pt_shifted_run)(const pt_shifted* c, const pt_pool* pool) {
  strips s = describe(c);
  PT_NAME(pt_split_shares)(pool, c->images * s.per_image, run_strips, &s);
}
