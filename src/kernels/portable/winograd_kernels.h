/* PT_WINOGRAD_KERNELS(name, form_of) defines the kernels pt_OP_NAME of conv2d, conv2d_act, conv2d_dx, conv2d_dz and conv2d_dw, and the functions that
 * return the sizes of their workspaces. form_of() returns the form of Winograd's algorithm. */
#pragma once

#include "kernels/portable/conv2d.h"
#include "kernels/portable/conv2d_shifted.h"
#include "kernels/portable/kernels.h"
#include "kernels/portable/winograd.h"

#define PT_WINOGRAD_SHIFTED(op, name, form_of, shifted)                      \
  size_t PT_NAME(pt_##op##_##name##_workspace)(const pt_call* call) {        \
    const pt_winograd_form form = form_of();                                 \
    const pt_shifted c = shifted;                                            \
    if (!conv2d_is_dense(call)) return PT_NO_KERNEL;                         \
    return PT_NAME(pt_winograd_workspace)(&c, &form, call->pool);            \
  }                                                                          \
  pt_status PT_NAME(pt_##op##_##name)(const pt_call* call) {                 \
    const pt_winograd_form form = form_of();                                 \
    const pt_shifted c = shifted;                                            \
    if (!conv2d_is_dense(call)) return PT_E_KERNEL;                          \
    return PT_NAME(pt_winograd_run)(&c, &form, call->pool, call->workspace); \
  }

/* Defines the kernel of conv2d_dz, which computes dX as conv2d_dx does and applies an activation's gradient to dX. */
#define PT_WINOGRAD_THROUGH(name, form_of)                                                  \
  static void name##_of_dz(const pt_call* call, const pt_finish* finish) {                  \
    const pt_winograd_form form = form_of();                                                \
    const pt_shifted c = conv2d_dx_shifted(call, finish);                                   \
    (void)PT_NAME(pt_winograd_run)(&c, &form, call->pool, call->workspace);                 \
  }                                                                                         \
  size_t PT_NAME(pt_conv2d_dz_##name##_workspace)(const pt_call* call) {                    \
    return PT_NAME(pt_conv2d_dx_##name##_workspace)(call);                                  \
  }                                                                                         \
  pt_status PT_NAME(pt_conv2d_dz_##name)(const pt_call* call) {                             \
    if (PT_NAME(pt_conv2d_dx_##name##_workspace)(call) == PT_NO_KERNEL) return PT_E_KERNEL; \
    return PT_NAME(pt_conv2d_through)(call, name##_of_dz);                                  \
  }

/* Defines the kernel of conv2d_act, which applies the steps that follow a convolution to each line of the result and then writes the line to Y. */
#define PT_WINOGRAD_ACT(name, form_of)                                                       \
  static pt_status name##_of_act(const pt_call* call, const pt_finish* finish) {             \
    const pt_winograd_form form = form_of();                                                 \
    pt_shifted c = conv2d_shifted(call);                                                     \
    c.finish = finish;                                                                       \
    return PT_NAME(pt_winograd_run)(&c, &form, call->pool, call->workspace);                 \
  }                                                                                          \
  size_t PT_NAME(pt_conv2d_act_##name##_workspace)(const pt_call* call) {                    \
    pt_call own = *call;                                                                     \
    own.input_count = 2; /* the size of the workspace does not depend on a bias */           \
    return PT_NAME(pt_conv2d_##name##_workspace)(&own);                                      \
  }                                                                                          \
  pt_status PT_NAME(pt_conv2d_act_##name)(const pt_call* call) {                             \
    if (PT_NAME(pt_conv2d_act_##name##_workspace)(call) == PT_NO_KERNEL) return PT_E_KERNEL; \
    return PT_NAME(pt_conv2d_act_by)(call, name##_of_act, NULL);                             \
  }

#define PT_WINOGRAD_KERNELS(name, form_of)                                     \
  PT_WINOGRAD_SHIFTED(conv2d, name, form_of, conv2d_shifted(call))             \
  PT_WINOGRAD_SHIFTED(conv2d_dx, name, form_of, conv2d_dx_shifted(call, NULL)) \
  PT_WINOGRAD_ACT(name, form_of)                                               \
  PT_WINOGRAD_THROUGH(name, form_of)                                           \
  size_t PT_NAME(pt_conv2d_dw_##name##_workspace)(const pt_call* call) {       \
    const pt_winograd_form form = form_of();                                   \
    return PT_NAME(pt_winograd_dw_workspace)(call, &form);                     \
  }                                                                            \
  pt_status PT_NAME(pt_conv2d_dw_##name)(const pt_call* call) {                \
    const pt_winograd_form form = form_of();                                   \
    return PT_NAME(pt_winograd_dw_run)(call, &form);                           \
  }
