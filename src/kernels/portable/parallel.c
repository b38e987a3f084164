#include "kernels/portable/parallel.h"

#include "kernels/portable/gemm.h"

enum { kLeastWork = 1 << 14 }; /* below it waking threads costs more than it brings */

pt_status PT_NAME(pt_parallel)(const pt_call* call, size_t count, size_t work, pt_body body, void* arg) {
  PT_NAME(pt_split)(work < kLeastWork ? NULL : call->pool, count, body, arg);
  return PT_OK;
}
