#include <string.h>

#include "kernels/portable/indices.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/parts.h"

/* Y[.., i.., ..] = X[.., I[i], ..] along an axis. Every index is checked before anything is written. */
pt_status PT_NAME(pt_gather)(const pt_call* call) {
  const pt_tensor *x = &call->inputs[0], *indices = &call->inputs[1], *y = &call->outputs[0];
  const size_t axis = (size_t)call->ints[0], extent = x->dims[axis];
  const pt_status status = pt_check_indices(indices, (int64_t)extent);
  if (status != PT_OK) return status;
  const size_t outer = pt_extent(x, 0, axis), bytes = pt_extent(x, axis + 1, x->rank) * pt_element_size(x->dtype),
               count = pt_elements(indices);
  char* to = y->data;
  for (size_t index = 0; index < outer; ++index)
    for (size_t at = 0; at < count; ++at, to += bytes)
      memcpy(to, (const char*)x->data + (index * extent + pt_row_of(indices, at, extent)) * bytes, bytes);
  return PT_OK;
}

/* dX may be some rows of the whole: those of others are left out. */
pt_status PT_NAME(pt_gather_grad)(const pt_call* call) {
  const pt_tensor *dy = &call->inputs[0], *indices = &call->inputs[1], *dx = &call->outputs[0];
  const size_t axis = (size_t)call->ints[0], extent = dx->dims[axis], first = call->slice_begin,
               whole = call->whole_extent != 0 ? call->whole_extent : extent;
  const pt_status status = pt_check_indices(indices, (int64_t)whole);
  if (status != PT_OK) return status;
  const size_t outer = pt_extent(dx, 0, axis), inner = pt_extent(dx, axis + 1, dx->rank), count = pt_elements(indices);
  const pt_real* from = dy->data;
  if (!pt_goes_on(call)) memset(dx->data, 0, pt_elements(dx) * sizeof(pt_real));
  for (size_t index = 0; index < outer; ++index) {
    for (size_t at = 0; at < count; ++at, from += inner) {
      const size_t row = pt_row_of(indices, at, whole);
      if (row < first || row - first >= extent) continue;
      pt_real* to = (pt_real*)dx->data + (index * extent + row - first) * inner;
      for (size_t element = 0; element < inner; ++element) to[element] += from[element];
    }
  }
  return PT_OK;
}

/* Y[i.., j, k..] = X[i.., I[i.., j, k..], k..] along an axis: where X has the element of every index. */
typedef struct elements {
  const pt_tensor *x, *indices;
  size_t axis, extent;
} elements;

static elements describe(const pt_call* call, const pt_tensor* x) {
  elements e = {x, &call->inputs[1], (size_t)call->ints[0], x->dims[call->ints[0]]};
  return e;
}

static size_t source_of(const elements* e, size_t at) {
  size_t rest = at, source = 0, step = 1;
  for (size_t dim = e->x->rank; dim-- > 0;) {
    const size_t own = rest % e->indices->dims[dim];
    source += (dim == e->axis ? pt_row_of(e->indices, at, e->extent) : own) * step;
    rest /= e->indices->dims[dim];
    step *= e->x->dims[dim];
  }
  return source;
}

pt_status PT_NAME(pt_gather_elements)(const pt_call* call) {
  const elements e = describe(call, &call->inputs[0]);
  const pt_status status = pt_check_indices(e.indices, (int64_t)e.extent);
  if (status != PT_OK) return status;
  const size_t count = pt_elements(e.indices), bytes = pt_element_size(e.x->dtype);
  char* to = call->outputs[0].data;
  for (size_t at = 0; at < count; ++at, to += bytes)
    memcpy(to, (const char*)e.x->data + source_of(&e, at) * bytes, bytes);
  return PT_OK;
}

pt_status PT_NAME(pt_gather_elements_grad)(const pt_call* call) {
  const elements e = describe(call, &call->outputs[0]);
  const pt_status status = pt_check_indices(e.indices, (int64_t)e.extent);
  if (status != PT_OK) return status;
  const size_t count = pt_elements(e.indices);
  const pt_real* dy = call->inputs[0].data;
  pt_real* dx = call->outputs[0].data;
  memset(dx, 0, pt_elements(e.x) * sizeof(pt_real));
  for (size_t at = 0; at < count; ++at) dx[source_of(&e, at)] += dy[at];
  return PT_OK;
}
