#include <string.h>

#include "runtime/plan_bytes.h"

/* Programs first, then tensors. */
static const char* name_of(const pt_plan* plan, uint64_t number) {
  const uint32_t begin = pt_load_u32(plan->bytes + PT_AT_NAMES);
  const uint8_t* names = plan->bytes + begin;
  const uint32_t at = begin == 0 ? 0 : pt_load_u32(names + number * PT_NAME_SIZE);
  return at == 0 ? "" : (const char*)names + at;
}

static const char* tensor_name(const pt_plan* plan, uint32_t tensor) {
  return name_of(plan, (uint64_t)plan->program_count + tensor);
}

int32_t pt_plan_program(const pt_plan* plan, const char* name) {
  uint32_t program;
  for (program = 0; program < plan->program_count; ++program)
    if (strcmp(name_of(plan, program), name) == 0) return (int32_t)program;
  return -1;
}

size_t pt_plan_staging(const pt_plan* plan, uint32_t program) {
  const uint32_t at =
      program < plan->program_count ? pt_load_u32(pt_program_record(plan, program) + PT_PROGRAM_STAGING) : PT_NOWHERE;
  return at == PT_NOWHERE ? SIZE_MAX : (size_t)at * plan->align_bytes;
}

int32_t pt_plan_tensor(const pt_plan* plan, const char* name) {
  uint32_t tensor;
  if (name[0] == 0) return -1; /* tensors that no one looks up share the empty name */
  for (tensor = 0; tensor < plan->tensor_count; ++tensor)
    if (strcmp(tensor_name(plan, tensor), name) == 0) return (int32_t)tensor;
  return -1;
}

pt_status pt_plan_tensor_info(const pt_plan* plan, uint32_t tensor, pt_tensor_info* info) {
  pt_tensor type;
  if (plan == NULL || info == NULL || tensor >= plan->tensor_count) return PT_E_ARGUMENT;
  if (!pt_tensor_type(plan, tensor, &type)) return PT_E_PLAN;
  info->name = tensor_name(plan, tensor);
  info->bytes = (uint64_t)pt_tensor_units(plan, tensor) * plan->align_bytes;
  info->payload = pt_type_elements(&type) * pt_dtype_size(type.dtype);
  info->home = pt_tensor_home(plan, tensor);
  info->ram_at = info->home == PT_HOME_RAM ? (uint64_t)pt_tensor_place(plan, tensor) * plan->align_bytes : 0;
  info->dtype = type.dtype;
  info->rank = type.rank;
  memcpy(info->dims, type.dims, sizeof type.dims);
  return PT_OK;
}
