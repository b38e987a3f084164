/* Many time steps of an LSTM or a GRU, with each step's product computed by the kernels of matmul: the reference, and
 * the algorithm for small processors. */
#include "kernels/portable/kernels.h"
#include "kernels/portable/recurrent.h"

static void prepare_nothing(const pt_step_weight* weight) {
  (void)weight;
}

static pt_tensor matrix(const pt_real* data, size_t rows, size_t columns) {
  pt_tensor made = {.data = (pt_real*)(uintptr_t)data, .rank = 2, .dtype = PT_REAL_DTYPE};
  made.dims[0] = (uint32_t)rows, made.dims[1] = (uint32_t)columns;
  return made;
}

static void by_kernel(pt_status (*kernel)(const pt_call*), const pt_step_weight* weight, const pt_real* a, pt_real* c,
                      size_t rows) {
  const pt_tensor inputs[2] = {matrix(a, rows, weight->k), *weight->r};
  pt_tensor output = matrix(c, rows, weight->n);
  const int64_t ints[2] = {0, weight->transposed};
  pt_call product = *weight->call;
  product.inputs = inputs, product.input_count = 2;
  product.outputs = &output, product.output_count = 1;
  product.ints = ints, product.int_count = 2;
  product.pool = NULL, product.workspace = NULL;
  (void)kernel(&product);
}

static void by_reference(const pt_step_weight* weight, const pt_real* a, pt_real* c, size_t rows) {
  by_kernel(PT_NAME(pt_matmul_reference), weight, a, c, rows);
}
static void by_compact(const pt_step_weight* weight, const pt_real* a, pt_real* c, size_t rows) {
  by_kernel(PT_NAME(pt_matmul_compact), weight, a, c, rows);
}

static const pt_step_product reference = {prepare_nothing, by_reference}, compact = {prepare_nothing, by_compact};

#define PT_SEQUENCE(op, kind)                                          \
  pt_status PT_NAME(pt_##op##_reference)(const pt_call* call) {        \
    return PT_NAME(pt_sequence_run)(call, kind, &reference);           \
  }                                                                    \
  pt_status PT_NAME(pt_##op##_compact)(const pt_call* call) {          \
    return PT_NAME(pt_sequence_run)(call, kind, &compact);             \
  }                                                                    \
  size_t PT_NAME(pt_##op##_workspace)(const pt_call* call) {           \
    return PT_NAME(pt_sequence_scratch)(call, kind) * sizeof(pt_real); \
  }
PT_SEQUENCE(lstm_sequence, PT_LSTM_FORWARD)
PT_SEQUENCE(lstm_sequence_grad, PT_LSTM_BACKWARD)
PT_SEQUENCE(gru_sequence, PT_GRU_FORWARD)
PT_SEQUENCE(gru_sequence_grad, PT_GRU_BACKWARD)
