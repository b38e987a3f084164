/* What each operator asks of its operands: counts, dtypes, shapes, attributes, as include/pantoum/ops.h documents them.
 * A kernel may rely on all of it; it checks itself only what depends on data (indices, labels). */
#ifndef PANTOUM_RUNTIME_OP_SHAPES_H
#define PANTOUM_RUNTIME_OP_SHAPES_H

#include "runtime/plan_bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The dtype of the kernel's key: that of the first output, except for count_correct. The op has operands. */
uint8_t pt_key_dtype(const pt_op_view* view);
/* PT_E_PLAN for an op that does not exist, has no kernel (alias), or whose operands or attributes break its rule. */
pt_status pt_check_op(const pt_op_view* view);
/* The input that the op uses as indices or labels, -1: none. No output may share its bytes. */
int pt_index_input(uint16_t op);

#ifdef __cplusplus
}
#endif

#endif
