#include "kernels/portable/update_rows.h"

#include <string.h>

#include "kernels/portable/indices.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/update_group.h"

/* The positions are sorted by row first, so that the parts of a row's gradient stand together, and the rows of two
 * threads are never the same: workspace for twice as many. */
enum { kBlock = 64 };

typedef struct rows {
  const pt_tensor* indices;
  size_t first, extent, whole; /* rows of the table: this call's first, this call's, all */
  size_t inner, count;
  const uint32_t* order; /* positions by row, those of one row ascending */
  const pt_real* dy;
  int decays;
  pt_row_update update;
  const void* context;
} rows;

/* Of the call's rows. */
static size_t row_at(const rows* r, size_t place) {
  return pt_row_of(r->indices, r->order[place], r->whole) - r->first;
}

/* Writes the positions that name the call's rows; returns how many. */
static size_t find_positions(const rows* r, uint32_t* positions) {
  const size_t all = pt_elements(r->indices);
  size_t count = 0;
  for (size_t at = 0; at < all; ++at) {
    const size_t row = pt_row_of(r->indices, at, r->whole);
    if (row >= r->first && row - r->first < r->extent) positions[count++] = (uint32_t)at;
  }
  return count;
}

/* Stable merge sort of the positions in `from`, from below; returns which of the two buffers holds the answer. */
static uint32_t* sort_by_row(const pt_tensor* indices, size_t extent, size_t count, uint32_t* from, uint32_t* to) {
  for (size_t run = 1; run < count; run *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * run) {
      const size_t middle = begin + run < count ? begin + run : count,
                   end = middle + run < count ? middle + run : count;
      size_t a = begin, b = middle;
      for (size_t at = begin; at < end; ++at) {
        const int second =
            a == middle || (b < end && pt_row_of(indices, from[b], extent) < pt_row_of(indices, from[a], extent));
        to[at] = second ? from[b++] : from[a++];
      }
    }
    uint32_t* const other = from;
    from = to;
    to = other;
  }
  return from;
}

/* Updates one row; `begin` to `end` are its places in the order. */
static void update_row(const rows* r, size_t begin, size_t end) {
  const size_t at = row_at(r, begin) * r->inner;
  for (size_t first = 0; first < r->inner; first += kBlock) {
    const size_t columns = r->inner - first < kBlock ? r->inner - first : kBlock;
    pt_real sum[kBlock] = {0};
    for (size_t place = begin; place < end; ++place) {
      const pt_real* dy = r->dy + r->order[place] * r->inner + first;
      for (size_t column = 0; column < columns; ++column) sum[column] += dy[column];
    }
    r->update(r->context, at + first, columns, sum);
  }
}

/* Rows from `row` to `end` that no position reads. */
static void decay_rows(const rows* r, size_t row, size_t end) {
  static const pt_real zeros[kBlock];
  const size_t last = end * r->inner;
  if (!r->decays) return;
  for (size_t at = row * r->inner; at < last; at += kBlock)
    r->update(r->context, at, last - at < kBlock ? last - at : kBlock, zeros);
}

/* Splits the order into pieces. A piece that begins within a row leaves that row to the piece before it. A row that is
 * read takes those before it along that are not; the last one also those behind it. */
static void update_places(void* arg, size_t begin, size_t end) {
  const rows* r = arg;
  while (begin < end && begin > 0 && row_at(r, begin) == row_at(r, begin - 1)) ++begin;
  while (begin < end) {
    const size_t row = row_at(r, begin);
    size_t next = begin + 1;
    while (next < r->count && row_at(r, next) == row) ++next;
    decay_rows(r, begin == 0 ? 0 : row_at(r, begin - 1) + 1, row);
    update_row(r, begin, next);
    if (next == r->count) decay_rows(r, row + 1, r->extent);
    begin = next;
  }
}

size_t PT_NAME(pt_by_row_workspace)(const pt_call* call) {
  return 2 * sizeof(uint32_t) * pt_elements(&call->inputs[1]);
}

pt_status PT_NAME(pt_by_row)(const pt_call* call, int decays, pt_row_update update, const void* context) {
  const pt_tensor* w = &call->inputs[0];
  uint32_t* workspace = call->workspace;
  rows r = {.indices = &call->inputs[1],
            .first = call->slice_begin,
            .extent = w->dims[0],
            .whole = call->whole_extent != 0 ? call->whole_extent : w->dims[0],
            .inner = pt_extent(w, 1, w->rank),
            .dy = call->inputs[2].data,
            .decays = decays,
            .update = update,
            .context = context};
  const pt_status status = pt_check_indices(r.indices, (int64_t)r.whole);
  if (status != PT_OK) return status;
  r.count = find_positions(&r, workspace);
  r.order = sort_by_row(r.indices, r.whole, r.count, workspace, workspace + pt_elements(r.indices));
  for (unsigned output = 0; output < call->output_count; ++output) {
    const pt_tensor *from = &call->inputs[output == 0 ? 0 : output + 2], *to = &call->outputs[output];
    if (to->data != from->data) memcpy(to->data, from->data, pt_elements(w) * sizeof(pt_real));
  }
  if (r.count == 0) decay_rows(&r, 0, r.extent);
  return PT_NAME(pt_parallel)(call, r.count, r.count * r.inner, update_places, &r);
}

/* ---- plain SGD: bit for bit what gather_grad and sgd give ---- */

typedef struct sgd {
  const pt_real* w;
  pt_real *out, lr, decay;
} sgd;

static void sgd_row(const void* context, size_t at, size_t count, const pt_real* gradient) {
  const sgd* u = context;
  const pt_real* w = u->w + at;
  pt_real* out = u->out + at;
  for (size_t column = 0; column < count; ++column)
    out[column] = w[column] - u->lr * (gradient[column] + u->decay * w[column]);
}

size_t PT_NAME(pt_sgd_rows_workspace)(const pt_call* call) {
  return PT_NAME(pt_by_row_workspace)(call);
}

pt_status PT_NAME(pt_sgd_rows)(const pt_call* call) {
  const pt_group group = pt_group_of(call, 0, 0);
  const sgd u = {call->inputs[0].data, call->outputs[0].data, (pt_real)group.lr, (pt_real)group.weight_decay};
  return PT_NAME(pt_by_row)(call, u.decay != 0, sgd_row, &u);
}
