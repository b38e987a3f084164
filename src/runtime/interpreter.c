#include "runtime/session.h"

/* Waits for what this compute reads that still arrives, and for every transfer on the bytes that it writes. The inputs'
 * places are in the operands; residency may have moved on already. */
static pt_status settle_operands(pt_session* session, const pt_step* step, const pt_op_view* view) {
  const uint32_t align = session->plan.align_bytes;
  unsigned operand;
  pt_status status = PT_OK;
  for (operand = 0; operand < view->input_count && status == PT_OK; ++operand) {
    const uint32_t tensor = view->tensors[operand];
    if (session->ram[tensor] != PT_NOWHERE && !pt_is_streamed(view, operand))
      status = pt_settle(session, session->ram[tensor], pt_tensor_units(&session->plan, tensor), 1);
  }
  for (operand = 0; operand < view->output_count && status == PT_OK; ++operand) {
    const uint32_t tensor = view->tensors[view->input_count + operand];
    if (pt_is_streamed(view, view->input_count + operand)) continue;
    status = pt_settle(session, step->at[operand], pt_tensor_units(&session->plan, tensor), 0);
  }
  if (status == PT_OK && view->workspace_bytes != 0)
    status = pt_settle(session, step->workspace_at, (uint32_t)((view->workspace_bytes + align - 1) / align), 0);
  return status;
}

pt_status pt_run_compute(pt_session* session, const pt_step* step, pt_op_view* view, const pt_scalars* scalars) {
  unsigned output;
  pt_status status = PT_OK;
  if (session->flight_count != 0) status = settle_operands(session, step, view);
  pt_point_operands(session, view);
  if (status == PT_OK) status = pt_residency_step(session, step, view);
  if (status != PT_OK) return status;
  for (output = 0; output < view->output_count; ++output)
    view->operands[view->input_count + output].data =
        step->at[output] == PT_NOWHERE ? NULL : session->arena + (size_t)step->at[output] * session->plan.align_bytes;
  status = pt_is_sliced(view) ? pt_compute_in_slices(session, step, view, scalars)
                              : pt_compute(session, step, view, scalars);
  if (status == PT_OK) ++session->counters.computes;
  return status;
}

static pt_status run_step(pt_session* session, const pt_step* step, pt_op_view* view, const pt_scalars* scalars) {
  pt_status status;
  if (step->kind == PT_DO_COMPUTE) return pt_run_compute(session, step, view, scalars);
  status = pt_residency_step(session, step, view);
  if (status != PT_OK || step->kind == PT_DO_FREE) return status;
  return pt_transfer(session, step->kind == PT_DO_PAGE_OUT, step->subject, session->ram[step->subject]);
}

void pt_tell(const pt_session* session, uint32_t instruction, const pt_step* step, const pt_op_view* view) {
  pt_event event;
  if (session->observer == NULL) return;
  event.instruction = instruction;
  event.kind = step->kind;
  event.engines = step->kind == PT_DO_COMPUTE ? view->engines : 0;
  event.subject = step->subject;
  session->observer(session->observer_context, &event);
}

static pt_status run_program(pt_session* session, uint32_t program, const pt_scalars* scalars) {
  uint32_t instruction, instructions;
  pt_code code = pt_program_code(&session->plan, program, &instructions);
  for (instruction = 0; instruction < instructions; ++instruction) {
    pt_step step;
    pt_op_view view;
    pt_status status = pt_decode_step(&session->plan, &code, &step, &view);
    if (status == PT_OK) status = run_step(session, &step, &view, scalars);
    if (status != PT_OK) return status;
    pt_tell(session, instruction, &step, &view);
  }
  return PT_OK;
}

pt_status pt_run(pt_session* session, uint32_t program, const pt_scalars* scalars) {
  pt_status status, settled;
  if (session == NULL || scalars == NULL || program >= session->plan.program_count) return PT_E_ARGUMENT;
  if (session->failed || session->busy) return PT_E_STATE;
  session->busy = 1;
  pt_residency_start(session);
#if PT_MAX_ENGINES > 1
  status = session->engines.crews != NULL ? pt_run_engines(session, program, scalars)
                                          : run_program(session, program, scalars);
#else
  status = run_program(session, program, scalars);
#endif
  settled = pt_settle_all(session);
  session->busy = 0;
  if (status == PT_OK) status = settled;
  if (status != PT_OK) {
    session->failed = 1;
    return status;
  }
  pt_residency_swap(session);
  ++session->counters.steps;
  return PT_OK;
}
