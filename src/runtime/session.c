#include "runtime/session.h"

#include <string.h>

enum { PT_LEAST_ALIGN = 8 };

static size_t tables_at(void) {
  return (sizeof(pt_session) + 15) / 16 * 16;
}

static size_t plain_bytes(const pt_plan* plan) {
  return tables_at() + (size_t)plan->tensor_count * (sizeof(uint32_t) + 1) + (size_t)plan->op_count * sizeof(uint16_t);
}

size_t pt_session_bytes(const pt_plan* plan) {
  if (!pt_has_engines(plan)) return plain_bytes(plan);
  return (plain_bytes(plan) + 15) / 16 * 16 + pt_engine_bytes(plan);
}

static int is_aligned(const void* address, size_t align) {
  return (uintptr_t)address % align == 0;
}

static pt_status check_memory(const pt_plan* plan, const void* memory, const void* arena, const void* rom) {
  const void* places[2];
  unsigned place;
  if (memory == NULL || !is_aligned(memory, 16) || (arena == NULL && plan->arena_bytes != 0)) return PT_E_ARGUMENT;
  if (rom == NULL && plan->rom_bytes != 0) return PT_E_ARGUMENT;
  places[0] = arena;
  places[1] = rom;
  for (place = 0; place < 2; ++place)
    if (!is_aligned(places[place], plan->align_bytes) || !is_aligned(places[place], PT_LEAST_ALIGN))
      return PT_E_ARGUMENT;
  return PT_OK;
}

/* Replays where tensors are, for every program. */
static pt_status check_programs(pt_session* session) {
  uint32_t program, instructions;
  for (program = 0; program < session->plan.program_count; ++program) {
    pt_code code = pt_program_code(&session->plan, program, &instructions);
    pt_residency_start(session);
    for (; instructions > 0; --instructions) {
      pt_step step;
      pt_op_view view;
      pt_status status = pt_decode_step(&session->plan, &code, &step, &view);
      if (status == PT_OK) status = pt_residency_step(session, &step, &view);
      if (status != PT_OK) return status;
    }
    if (pt_residency_end(session) != PT_OK) return PT_E_PLAN;
  }
  return PT_OK;
}

/* Fills the session but for its kernels; nothing of the plan was replayed yet. */
static pt_status make(const pt_plan* plan, void* memory, void* arena, const void* rom, const pt_pager* pager) {
  pt_session* made = (pt_session*)memory;
  const pt_status status = check_memory(plan, memory, arena, rom);
  if (status != PT_OK) return status;
  if (plan->storage_bytes != 0 && pager == NULL) return PT_E_ARGUMENT;
  memset(made, 0, pt_session_bytes(plan));
  made->plan = *plan;
  made->arena = (uint8_t*)arena;
  made->rom = (const uint8_t*)rom;
  made->has_pager = pager != NULL;
  if (pager != NULL) made->pager = *pager;
  made->ram = (uint32_t*)(void*)((uint8_t*)memory + tables_at());
  made->kernel_of = (uint16_t*)(void*)(made->ram + plan->tensor_count);
  made->flags = (uint8_t*)(made->kernel_of + plan->op_count);
  return PT_OK;
}

pt_status pt_session_open(pt_session** session, const pt_plan* plan, void* memory, void* arena, const void* rom,
                          const pt_kernel_table* kernels, const pt_pager* pager, const pt_pool* pool) {
  pt_session* made = (pt_session*)memory;
  pt_status status;
  if (session == NULL || plan == NULL || kernels == NULL || kernels->count > UINT16_MAX) return PT_E_ARGUMENT;
  if (pt_has_engines(plan)) return PT_E_ARGUMENT;
  status = make(plan, memory, arena, rom, pager);
  if (status != PT_OK) return status;
  made->kernels = *kernels;
  made->pool = pool;
  status = pt_bind_kernels(made);
  if (status == PT_OK) status = check_programs(made);
  if (status == PT_OK) *session = made;
  return status;
}

#if PT_MAX_ENGINES > 1
static int are_crews(const pt_engines* engines) {
  uint32_t crew;
  if (engines == NULL || engines->crews == NULL) return 0;
  if (engines->run == NULL || engines->set == NULL || engines->get == NULL) return 0;
  if (engines->wait == NULL) return 0;
  for (crew = 0; crew < engines->crew_count; ++crew)
    if (engines->crews[crew].kernels == NULL || engines->crews[crew].kernels->count > UINT16_MAX) return 0;
  return 1;
}

pt_status pt_session_open_engines(pt_session** session, const pt_plan* plan, void* memory, void* arena, const void* rom,
                                  const pt_engines* engines, const pt_pager* pager) {
  pt_session* made = (pt_session*)memory;
  void* more;
  pt_status status;
  if (session == NULL || plan == NULL || !are_crews(engines) || !pt_has_engines(plan)) return PT_E_ARGUMENT;
  status = make(plan, memory, arena, rom, pager);
  if (status != PT_OK) return status;
  made->engines = *engines;
  more = (uint8_t*)memory + (plain_bytes(plan) + 15) / 16 * 16;
  pt_engine_tables(made, more);
  status = pt_bind_kernels(made);
  if (status == PT_OK) status = check_programs(made);
  if (status == PT_OK) status = pt_check_waits(made, (uint8_t*)more + (pt_engine_bytes(plan) - pt_waits_bytes(plan)));
  if (status == PT_OK) *session = made;
  return status;
}
#endif

void pt_session_counters(const pt_session* session, pt_counters* counters) {
  *counters = session->counters;
}

void pt_session_observe(pt_session* session, void (*observer)(void* context, const pt_event* event), void* context) {
  session->observer = observer;
  session->observer_context = context;
}
