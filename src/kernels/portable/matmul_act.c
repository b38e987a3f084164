#include "kernels/portable/compact.h"
#include "kernels/portable/epilogue.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/matmul.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/parts.h"

/* Passes a product's result to the steps that follow it (epilogue.h). The product's kernel adds the bias. */
typedef struct matmul_epilogue {
  pt_epilogue rest;
  size_t m, n;
} matmul_epilogue;

static void take(const void* context, size_t batch, size_t row, size_t column, size_t count, const pt_real* made) {
  const matmul_epilogue* e = context;
  PT_NAME(pt_epilogue_take)(&e->rest, (batch * e->m + row) * e->n + column, count, made, NULL);
}

/* A product of a call that is one of matmul. */
typedef pt_status (*multiply)(const pt_call* call, const pt_finish* finish);

static pt_status finish_by(const pt_call* call, multiply product, pt_real* scratch) {
  matmul_epilogue e;
  const pt_finish finish = {take, &e, call->terms == PT_ALL_TERMS ? scratch : NULL};
  const pt_status status = PT_NAME(pt_epilogue_of)(call, &e.rest);
  pt_call own = *call;
  if (status != PT_OK) return status;
  e.m = matmul_dim(&call->outputs[0], 1), e.n = matmul_dim(&call->outputs[0], 0);
  own.input_count = pt_product_inputs(call), own.int_count = PT_MATMUL_ATTRS, own.real_count = 0;
  return product(&own, pt_is_unfinished(call) ? NULL : &finish);
}

/* A result that is complete. */
typedef struct whole {
  const pt_finish* finish;
  const pt_real* made;
} whole;

static void finish_elements(void* arg, size_t begin, size_t end) {
  const whole* w = arg;
  w->finish->take(w->finish->context, 0, 0, begin, end - begin, w->made + begin);
}

static void finish_all(const pt_call* call, const pt_finish* finish, const pt_real* made) {
  whole w = {finish, made};
  PT_NAME(pt_split)(call->pool, pt_elements(&call->outputs[0]), finish_elements, &w);
}

/* The reference computes the whole product in the workspace, parts of it in the output, then the steps that follow. */
static pt_status multiply_apart(const pt_call* call, const pt_finish* finish) {
  return pt_finish_whole(call, finish, PT_NAME(pt_matmul_reference), finish_all);
}

pt_status PT_NAME(pt_matmul_act_reference)(const pt_call* call) {
  return finish_by(call, multiply_apart, call->workspace);
}
size_t PT_NAME(pt_matmul_act_reference_workspace)(const pt_call* call) {
  return call->terms == PT_ALL_TERMS ? pt_elements(&call->outputs[0]) * sizeof(pt_real) : 0;
}

pt_status PT_NAME(pt_matmul_act_blocked)(const pt_call* call) {
  return finish_by(call, PT_NAME(pt_matmul_fast), pt_act_lies_over(call) ? call->workspace : NULL);
}
size_t PT_NAME(pt_matmul_act_blocked_workspace)(const pt_call* call) {
  return pt_act_may_lie_over(call) ? PT_NAME(pt_matmul_scratch)(call) * sizeof(pt_real) : 0;
}

/* Computes in strips if the result is written over the tensor that is added to it; otherwise computes the whole output, then
 * passes over it once. */
static pt_status multiply_compact(const pt_call* call, const pt_finish* finish) {
  if (finish != NULL && finish->scratch != NULL) {
    PT_NAME(pt_matmul_compact_finish)(call, finish);
    return PT_OK;
  }
  return pt_finish_whole(call, finish, PT_NAME(pt_matmul_compact), finish_all);
}

pt_status PT_NAME(pt_matmul_act_compact)(const pt_call* call) {
  return finish_by(call, multiply_compact, pt_act_lies_over(call) ? call->workspace : NULL);
}
size_t PT_NAME(pt_matmul_act_compact_workspace)(const pt_call* call) {
  return pt_act_may_lie_over(call) ? PT_NAME(pt_matmul_compact_scratch)(call) * sizeof(pt_real) : 0;
}
