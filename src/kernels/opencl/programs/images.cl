// Pooling of images. A gradient's element takes from its windows in their ascending order.
typedef struct {
  long height, width, out_height, out_width, kernel_h, kernel_w, stride_h, stride_w, top, left, bottom, right, dilation_h, dilation_w;
} Pool;
typedef struct {  // kernel taps [row_begin, row_end) x [column_begin, column_end) that lie on the image
  long top, left, row_begin, row_end, column_begin, column_end;
} Window;

static Pool pool_of(const Parameters* c, uint image, uint made) {
  const Pool p = {c->dims[image][2], c->dims[image][3], c->dims[made][2], c->dims[made][3],
                  c->ints[PT_POOL_KERNEL_H], c->ints[PT_POOL_KERNEL_W], c->ints[PT_POOL_STRIDE_H], c->ints[PT_POOL_STRIDE_W],
                  c->ints[PT_POOL_PAD_TOP], c->ints[PT_POOL_PAD_LEFT], c->ints[PT_POOL_PAD_BOTTOM], c->ints[PT_POOL_PAD_RIGHT],
                  c->ints[PT_POOL_DILATION_H], c->ints[PT_POOL_DILATION_W]};
  return p;
}
static Window window_of(const Pool* p, long row, long column) {
  Window w = {row * p->stride_h - p->top, column * p->stride_w - p->left, 0, p->kernel_h, 0, p->kernel_w};
  while (w.row_begin < w.row_end && w.top + w.row_begin * p->dilation_h < 0) ++w.row_begin;
  while (w.row_end > w.row_begin && w.top + (w.row_end - 1) * p->dilation_h >= p->height) --w.row_end;
  while (w.column_begin < w.column_end && w.left + w.column_begin * p->dilation_w < 0) ++w.column_begin;
  while (w.column_end > w.column_begin && w.left + (w.column_end - 1) * p->dilation_w >= p->width) --w.column_end;
  return w;
}
// The first window along an axis that may have a position, and the last.
static long first_window(long at, long before, long taps, long dilation, long stride) {
  const long least = at + before - (taps - 1) * dilation;
  return least <= 0 ? 0 : (least + stride - 1) / stride;
}
static long last_window(long at, long before, long stride, long count) {
  const long most = (at + before) / stride;
  return most < count ? most : count - 1;
}

// The tap of the first maximum (NaN wins), and its offset in the plane; -1: the window has nothing of the image.
static long first_maximum(const Pool* p, global const float* x, long row, long column, size_t step, long* tap) {
  const Window w = window_of(p, row, column);
  float most = 0;
  long best = -1;
  *tap = 255;
  for (long r = w.row_begin; r < w.row_end; ++r)
    for (long k = w.column_begin; k < w.column_end; ++k) {
      const long at = (w.top + r * p->dilation_h) * p->width + w.left + k * p->dilation_w;
      const float value = x[(size_t)at * step];
      if (best >= 0 && !(value > most) && !(value != value && most == most)) continue;
      best = at;
      most = value;
      *tap = r * p->kernel_w + k;
    }
  return best;
}
static float divisor_of(const Parameters* c, const Pool* p, const Window* w) {
  if (c->ints[PT_POOL_COUNT_INCLUDE_PAD] == 0)
    return (float)((w->row_end - w->row_begin) * (w->column_end - w->column_begin));
  long rows = 0, columns = 0;
  for (long r = 0; r < p->kernel_h; ++r) rows += w->top + r * p->dilation_h < p->height + p->bottom;
  for (long k = 0; k < p->kernel_w; ++k) columns += w->left + k * p->dilation_w < p->width + p->right;
  return (float)(rows * columns);
}

kernel void op_max_pool(ARGS) {
  ITEM;
  const Pool p = pool_of(&c, 0, kInputs);
  const long area = p.out_height * p.out_width, at = e % area;
  global const float* x = IN(0) + e / area * p.height * p.width;
  long tap;
  const long best = first_maximum(&p, x, at / p.out_width, at % p.out_width, 1, &tap);
  OUT(0)[e] = best >= 0 ? x[best] : -FLT_MAX;
}

kernel void op_avg_pool(ARGS) {
  ITEM;
  const Pool p = pool_of(&c, 0, kInputs);
  const long area = p.out_height * p.out_width, at = e % area;
  global const float* x = IN(0) + e / area * p.height * p.width;
  const Window w = window_of(&p, at / p.out_width, at % p.out_width);
  const float count = divisor_of(&c, &p, &w);
  float sum = 0;
  for (long r = w.row_begin; r < w.row_end; ++r)
    for (long k = w.column_begin; k < w.column_end; ++k) sum += x[(w.top + r * p.dilation_h) * p.width + w.left + k * p.dilation_w];
  OUT(0)[e] = count > 0 ? sum / count : 0;
}

// Images in blocks of channels (rank 5) are planes whose neighbours lie `step` elements apart.
static size_t step_of(const Parameters* c, uint image) {
  return c->rank[image] == 5 ? c->dims[image][4] : 1;
}
kernel void op_max_pool_taps(ARGS) {
  ITEM;
  const Pool p = pool_of(&c, 0, kInputs);
  const size_t step = step_of(&c, 0), area = p.out_height * p.out_width;
  const size_t at = e / step % area, plane = e / step / area;
  long tap;
  first_maximum(&p, IN(0) + plane * p.height * p.width * step + e % step, at / p.out_width, at % p.out_width, step, &tap);
  OUT_OF(uchar, 0)[e] = (uchar)tap;
}

// The rest is what a window of row r and column k, whose offset among the outputs is `from`, adds to `sum`.
#define GRADIENT(step, ...)                                                                                             \
  const Pool p = pool_of(&c, kInputs, 0);                                                                               \
  const size_t apart = (step), area = p.height * p.width;                                                               \
  const long place = e / apart % area, row = place / p.width, column = place % p.width;                                 \
  const size_t plane = e / apart / area, made = plane * p.out_height * p.out_width * apart + e % apart;                 \
  const size_t image = plane * area * apart + e % apart;                                                                \
  const long last_r = last_window(row, p.top, p.stride_h, p.out_height);                                                \
  const long last_k = last_window(column, p.left, p.stride_w, p.out_width);                                             \
  float sum = 0;                                                                                                        \
  for (long r = first_window(row, p.top, p.kernel_h, p.dilation_h, p.stride_h); r <= last_r; ++r)                       \
    for (long k = first_window(column, p.left, p.kernel_w, p.dilation_w, p.stride_w); k <= last_k; ++k) {               \
      const size_t from = made + (r * p.out_width + k) * apart;                                                         \
      __VA_ARGS__;                                                                                                       \
    }                                                                                                                   \
  OUT(0)[e] = sum

kernel void op_max_pool_grad(ARGS) {
  ITEM;
  long tap;
  GRADIENT(1, if (first_maximum(&p, IN(1) + image, r, k, 1, &tap) == place) sum += IN(0)[from]);
}
kernel void op_max_pool_grad_taps(ARGS) {
  ITEM;
  GRADIENT(step_of(&c, kInputs), {
    const long tap = IN_OF(uchar, 1)[from];
    const long y = r * p.stride_h - p.top + tap / p.kernel_w * p.dilation_h;
    const long x = k * p.stride_w - p.left + tap % p.kernel_w * p.dilation_w;
    if (tap != 255 && y == row && x == column) sum += IN(0)[from];
  });
}
kernel void op_avg_pool_grad(ARGS) {
  ITEM;
  GRADIENT(1, {
    const Window w = window_of(&p, r, k);
    const long y = row - w.top, x = column - w.left;
    const float count = divisor_of(&c, &p, &w);
    if (y >= 0 && x >= 0 && y % p.dilation_h == 0 && x % p.dilation_w == 0 && y / p.dilation_h < p.kernel_h &&
        x / p.dilation_w < p.kernel_w && count > 0)
      sum += IN(0)[from] / count;
  });
}
