#include <string.h>

#include "runtime/plan_bytes.h"

static const char* name_at(const pt_plan* plan, const uint8_t* field) {
  return (const char*)plan->bytes + plan->names_at + pt_load_u32(field);
}

int32_t pt_plan_program(const pt_plan* plan, const char* name) {
  uint32_t program;
  for (program = 0; program < plan->program_count; ++program) {
    const uint8_t* record = plan->bytes + plan->programs_at + (size_t)program * PT_PROGRAM_SIZE;
    if (strcmp(name_at(plan, record + PT_PROGRAM_NAME), name) == 0) return (int32_t)program;
  }
  return -1;
}

size_t pt_plan_staging(const pt_plan* plan, uint32_t program) {
  const uint8_t* record = plan->bytes + plan->programs_at + (size_t)program * PT_PROGRAM_SIZE;
  const uint32_t at = program < plan->program_count ? pt_load_u32(record + PT_PROGRAM_STAGING) : PT_NOWHERE;
  return at == PT_NOWHERE ? SIZE_MAX : (size_t)at * plan->align_bytes;
}

int32_t pt_plan_tensor(const pt_plan* plan, const char* name) {
  uint32_t tensor;
  if (name[0] == 0) return -1; /* tensors that no one looks up share the empty name */
  for (tensor = 0; tensor < plan->tensor_count; ++tensor)
    if (strcmp(name_at(plan, pt_tensor_record(plan, tensor) + PT_TENSOR_NAME), name) == 0) return (int32_t)tensor;
  return -1;
}

pt_status pt_plan_tensor_info(const pt_plan* plan, uint32_t tensor, pt_tensor_info* info) {
  const uint8_t* record;
  pt_tensor type;
  if (plan == NULL || info == NULL || tensor >= plan->tensor_count) return PT_E_ARGUMENT;
  record = pt_tensor_record(plan, tensor);
  if (!pt_decode_type(plan, pt_load_u32(record + PT_TENSOR_TYPE), &type)) return PT_E_PLAN;
  info->name = name_at(plan, record + PT_TENSOR_NAME);
  info->bytes = (uint64_t)pt_load_u32(record + PT_TENSOR_UNITS) * plan->align_bytes;
  info->payload = pt_type_elements(&type) * pt_dtype_size(type.dtype);
  info->home = record[PT_TENSOR_HOME];
  info->ram_at = info->home == PT_HOME_RAM ? (uint64_t)pt_load_u32(record + PT_TENSOR_RAM) * plan->align_bytes : 0;
  info->dtype = type.dtype;
  info->rank = type.rank;
  memcpy(info->dims, type.dims, sizeof type.dims);
  return PT_OK;
}
