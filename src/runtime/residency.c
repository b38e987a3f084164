#include "runtime/op_shapes.h"
#include "runtime/session.h"
#include "runtime/slices.h"

static uint32_t units_of(const pt_session* session, uint32_t tensor) {
  return pt_tensor_units(&session->plan, tensor);
}

static int is_rom(const pt_session* session, uint32_t tensor) {
  return pt_tensor_home(&session->plan, tensor) == PT_HOME_ROM;
}

uint32_t pt_slot(const pt_session* session, uint32_t tensor) {
  if ((session->flags[tensor] & PT_SWAPPED) != 0) tensor = pt_tensor_pair(&session->plan, tensor);
  return pt_tensor_slot(&session->plan, tensor);
}

void pt_residency_start(pt_session* session) {
  uint32_t tensor;
  for (tensor = 0; tensor < session->plan.tensor_count; ++tensor) {
    const uint32_t what = pt_tensor_what(&session->plan, tensor); /* each run computes successors again */
    session->ram[tensor] = pt_lives_in(what, PT_HOME_RAM) ? pt_tensor_place(&session->plan, tensor) : PT_NOWHERE;
    session->flags[tensor] &= (uint8_t)~PT_STORED;
    if (pt_lives_in(what, PT_HOME_AUX)) session->flags[tensor] |= PT_STORED;
  }
}

/* An offset of the arena (or of rom, by the same rule) suits elements of this dtype. */
static int suits(const pt_session* session, uint32_t at, uint8_t dtype) {
  return (at * session->plan.align_bytes & (pt_dtype_size(dtype) - 1)) == 0; /* the low bits survive the wrap */
}

/* Every input is somewhere that a kernel can read; one that is streamed is in storage. */
static pt_status check_inputs(const pt_session* session, const pt_op_view* view) {
  unsigned input;
  for (input = 0; input < view->input_count; ++input) {
    const uint32_t tensor = view->tensors[input];
    const uint32_t at = is_rom(session, tensor) ? pt_tensor_place(&session->plan, tensor) : session->ram[tensor];
    if (pt_is_streamed(view, input)) {
      if (!session->has_pager || (session->flags[tensor] & PT_STORED) == 0) return PT_E_PLAN;
      continue;
    }
    if (at == PT_NOWHERE || !suits(session, at, view->operands[input].dtype)) return PT_E_PLAN;
  }
  return PT_OK;
}

/* An output may share bytes with an input only by taking over all or the first of them; with indices never. */
static int may_take_over(const pt_session* session, const pt_op_view* view, unsigned input, unsigned output,
                         uint32_t at, uint32_t units) {
  const uint32_t tensor = view->tensors[input];
  if (is_rom(session, tensor) || pt_is_streamed(view, input)) return 1;
  if (!pt_overlap(at, units, session->ram[tensor], units_of(session, tensor))) return 1;
  if (pt_is_sliced(view) && !pt_slices_take_over(view, input, output)) return 0;
  return session->ram[tensor] == at && units_of(session, tensor) >= units && (int)input != pt_index_input(view->op);
}

/* A tensor that is streamed out has a slot and is nowhere yet. */
static pt_status check_streamed_out(const pt_session* session, const pt_op_view* view, unsigned output) {
  const uint32_t tensor = view->tensors[view->input_count + output];
  unsigned other;
  if (!session->has_pager || pt_slot(session, tensor) == PT_NOWHERE) return PT_E_PLAN;
  if (session->ram[tensor] != PT_NOWHERE || (session->flags[tensor] & PT_STORED) != 0) return PT_E_PLAN;
  for (other = 0; other < view->input_count + output; ++other)
    if (view->tensors[other] == tensor) return PT_E_PLAN;
  return PT_OK;
}

static pt_status check_outputs(const pt_session* session, const pt_step* step, const pt_op_view* view) {
  unsigned output, other;
  for (output = 0; output < view->output_count; ++output) {
    const uint32_t at = step->at[output], tensor = view->tensors[view->input_count + output];
    const uint32_t units = units_of(session, tensor);
    if (pt_is_streamed(view, view->input_count + output)) {
      if (check_streamed_out(session, view, output) != PT_OK) return PT_E_PLAN;
      continue;
    }
    if (!suits(session, at, view->operands[view->input_count + output].dtype)) return PT_E_PLAN;
    for (other = 0; other < view->input_count; ++other) {
      if (view->tensors[other] == tensor) return PT_E_PLAN;
      if (!may_take_over(session, view, other, output, at, units)) return PT_E_PLAN;
    }
    for (other = 0; other < output; ++other) {
      const uint32_t before = view->tensors[view->input_count + other];
      if (pt_is_streamed(view, view->input_count + other)) continue;
      if (before == tensor || pt_overlap(at, units, step->at[other], units_of(session, before))) return PT_E_PLAN;
    }
  }
  return PT_OK;
}

/* The workspace in units, rounded up. */
static uint32_t workspace_units(const pt_session* session, const pt_op_view* view) {
  const uint32_t align = session->plan.align_bytes;
  return (uint32_t)(view->workspace_bytes / align + (view->workspace_bytes % align != 0));
}

static pt_status check_workspace(const pt_session* session, const pt_step* step, const pt_op_view* view) {
  const uint32_t units = workspace_units(session, view);
  unsigned operand;
  if (view->workspace_bytes == 0) return PT_OK;
  if (!suits(session, step->workspace_at, view->dtype) || !suits(session, step->workspace_at, PT_I32)) return PT_E_PLAN;
  for (operand = 0; operand < (unsigned)view->input_count + view->output_count; ++operand) {
    const uint32_t tensor = view->tensors[operand];
    const uint32_t at = operand < view->input_count ? session->ram[tensor] : step->at[operand - view->input_count];
    if (pt_is_streamed(view, operand) || (operand < view->input_count && is_rom(session, tensor))) continue;
    if (pt_overlap(step->workspace_at, units, at, units_of(session, tensor))) return PT_E_PLAN;
  }
  return PT_OK;
}

static pt_status computed(pt_session* session, const pt_step* step, const pt_op_view* view) {
  unsigned input, output;
  if (check_inputs(session, view) != PT_OK || check_outputs(session, step, view) != PT_OK) return PT_E_PLAN;
  if (check_workspace(session, step, view) != PT_OK) return PT_E_PLAN;
  for (output = 0; output < view->output_count; ++output) {
    const uint32_t tensor = view->tensors[view->input_count + output];
    if (pt_is_streamed(view, view->input_count + output)) {
      session->flags[tensor] |= PT_STORED;
      continue;
    }
    for (input = 0; input < view->input_count; ++input) { /* what is overwritten is no longer there */
      const uint32_t source = view->tensors[input];
      if (session->ram[source] == step->at[output]) session->ram[source] = PT_NOWHERE;
    }
    session->ram[tensor] = step->at[output];
  }
  return PT_OK;
}

pt_status pt_residency_step(pt_session* session, const pt_step* step, const pt_op_view* view) {
  uint32_t* at = &session->ram[step->subject];
  switch (step->kind) {
    case PT_DO_COMPUTE:
      return computed(session, step, view);
    case PT_DO_PAGE_OUT:
      if (*at == PT_NOWHERE || !session->has_pager || pt_slot(session, step->subject) == PT_NOWHERE) return PT_E_PLAN;
      session->flags[step->subject] |= PT_STORED;
      return PT_OK;
    case PT_DO_PAGE_IN:
      if (*at != PT_NOWHERE || !session->has_pager) return PT_E_PLAN;
      if ((session->flags[step->subject] & PT_STORED) == 0) return PT_E_PLAN;
      *at = step->at[0];
      return PT_OK;
    default:
      if (*at == PT_NOWHERE) return PT_E_PLAN;
      *at = PT_NOWHERE;
      return PT_OK;
  }
}

pt_status pt_residency_end(const pt_session* session) {
  uint32_t tensor;
  for (tensor = 0; tensor < session->plan.tensor_count; ++tensor) {
    uint32_t pair, at;
    if (!pt_lives_in(pt_tensor_what(&session->plan, tensor), PT_HOME_RAM)) continue;
    pair = pt_tensor_pair(&session->plan, tensor);
    at = pt_tensor_place(&session->plan, tensor);
    if (pair == PT_NOWHERE) continue;
    if (session->ram[tensor] != at && session->ram[pair] != at) return PT_E_PLAN;
  }
  return PT_OK;
}

void pt_residency_swap(pt_session* session) {
  uint32_t tensor;
  for (tensor = 0; tensor < session->plan.tensor_count; ++tensor) {
    uint32_t pair;
    if (!pt_lives_in(pt_tensor_what(&session->plan, tensor), PT_HOME_AUX)) continue;
    pair = pt_tensor_pair(&session->plan, tensor);
    if (pair == PT_NOWHERE || (session->flags[pair] & PT_STORED) == 0) continue;
    session->flags[tensor] ^= PT_SWAPPED;
    session->flags[pair] ^= PT_SWAPPED;
  }
}
