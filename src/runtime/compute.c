#include "kernels/portable/pool_part.h"
#include "runtime/session.h"
#include "runtime/slices.h"

void pt_point_operands(const pt_session* session, pt_op_view* view) {
  const uint32_t align = session->plan.align_bytes;
  unsigned operand;
  for (operand = 0; operand < (unsigned)view->input_count + view->output_count; ++operand) {
    const uint32_t tensor = view->tensors[operand], at = session->ram[tensor];
    if (pt_tensor_home(&session->plan, tensor) == PT_HOME_ROM) { /* inputs alone, which kernels only read */
      const uintptr_t address = (uintptr_t)session->rom + (size_t)pt_tensor_place(&session->plan, tensor) * align;
      view->operands[operand].data = (void*)address;
    } else {
      view->operands[operand].data = at == PT_NOWHERE ? NULL : session->arena + (size_t)at * align;
    }
  }
}

pt_call pt_call_of(const pt_op_view* view, const pt_pool* pool) {
  pt_call call;
  call.inputs = view->operands;
  call.outputs = view->operands + view->input_count;
  call.ints = view->ints;
  call.reals = view->reals;
  call.input_count = view->input_count;
  call.output_count = view->output_count;
  call.int_count = view->int_count;
  call.real_count = view->real_count;
  call.workspace = NULL;
  call.scalars = NULL;
  call.pool = pool;
  call.terms = PT_ALL_TERMS;
  call.slice_begin = call.whole_extent = 0;
  return call;
}

pt_status pt_compute(const pt_session* session, const pt_step* step, const pt_op_view* view,
                     const pt_scalars* scalars) {
  const pt_kernel* kernel = &session->kernels.kernels[session->kernel_of[step->subject]];
  pt_pool_part part;
  pt_call call = pt_call_of(view, pt_take_pool(&part, session->pool, view->threads));
  pt_status status;
  call.scalars = scalars;
  if (view->workspace_bytes != 0)
    call.workspace = session->arena + (size_t)step->workspace_at * session->plan.align_bytes;
  status = kernel->submit(&call);
  return status == PT_OK && kernel->wait != NULL ? kernel->wait(&call) : status;
}

/* The bytes of workspace that the op needs. */
static pt_status workspace_of(const pt_session* session, const pt_op_view* view, const pt_kernel* kernel,
                              uint64_t* needed) {
  static const pt_scalars scalars = {1, 0, 0, NULL, 0};
  pt_pool_part part;
  const pt_pool* pool = pt_take_pool(&part, session->pool, view->threads);
  pt_call call;
  size_t bytes;
  *needed = 0;
  if (pt_is_sliced(view)) {
    pt_loop loop;
    const pt_status status = pt_loop_open(&loop, view, session->plan.align_bytes, kernel, pool);
    *needed = loop.workspace_bytes;
    return status;
  }
  if (kernel->workspace_bytes == NULL) return PT_OK;
  call = pt_call_of(view, pool);
  call.scalars = &scalars;
  bytes = kernel->workspace_bytes(&call);
  *needed = bytes;
  return bytes == PT_NO_KERNEL ? PT_E_KERNEL : PT_OK;
}

pt_status pt_bind_kernels(pt_session* session) {
  uint32_t op;
  pt_status status;
  for (op = 0; op < session->plan.op_count; ++op) {
    const pt_kernel* kernel;
    pt_op_view view;
    uint64_t needed;
    if (pt_decode_op(&session->plan, op, &view) != PT_OK) return PT_E_PLAN;
    status = pt_take_crew(session, view.engines);
    if (status != PT_OK) return status;
    kernel = pt_kernel_find(&session->kernels, view.op, view.dtype, view.algorithm, view.engine);
    if (kernel == NULL) return PT_E_KERNEL;
    session->kernel_of[op] = (uint16_t)(kernel - session->kernels.kernels);
    status = workspace_of(session, &view, kernel, &needed);
    if (status != PT_OK) return status;
    if (needed > view.workspace_bytes) return PT_E_PLAN;
  }
  return PT_OK;
}
