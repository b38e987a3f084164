/* The rows of the portable kernels' table. Code that needs something of each row defines
 *
 * PT_KERNEL_ROW(op, dtype, algorithm, algorithm's name, numerics, function, workspace's function)
 *
 * and writes PT_KERNEL_ROWS. Functions are named without the suffix of their precision. An operator's line in
 * operators.h says which rows it has: KERNELS there is PT_ROWS_KERNELS here. */
#pragma once

#include "kernels/portable/operators.h"

/* Algorithms of products. "blocked" is for processors with caches and a stack of tens of KiB, "compact" for those without, which have
 * faster ones for a workspace. */
enum { PT_BLOCKED = 1, PT_COMPACT = 2, PT_COMPACT_WHOLE = 3, PT_SHIFT_COMPACT = 4 };
/* Winograd's convolutions (winograd.h): fewer multiplications, other bits. Algorithms from PT_FIRST_OTHER on are offered
 * beside the first, which says the class of numerics that plans keep to. */
enum {
  PT_FIRST_OTHER = 16,
  PT_WINOGRAD4_COMPACT = PT_FIRST_OTHER,
  PT_WINOGRAD4_COMPACT_WHOLE,
  PT_WINOGRAD4,
  PT_WINOGRAD_COMPACT,
  PT_WINOGRAD_COMPACT_WHOLE,
  PT_WINOGRAD
};

/* A kernel that is its own reference: one algorithm, one class of numerics. */
#define PT_ROW(op, dtype, function) PT_KERNEL_ROW(op, dtype, 0, "reference", "fixed", pt_##function, pt_no_workspace)
#define PT_ROWS_NONE(op)
#define PT_ROWS_REAL(op) PT_ROW(op, PT_REAL_DTYPE, op)
#define PT_ROWS_OWN_WORKSPACE(op) \
  PT_KERNEL_ROW(op, PT_REAL_DTYPE, 0, "reference", "fixed", pt_##op, pt_##op##_workspace)
/* A sum of one number, which lies in the workspace between the calls of parts. */
#define PT_ROWS_SUM(op) PT_KERNEL_ROW(op, PT_REAL_DTYPE, 0, "reference", "fixed", pt_##op, pt_sum_workspace)
#define PT_ROWS_BYTES(op) PT_ROW(op, PT_U8, op)
#define PT_ROWS_POSITIONS(op) PT_ROW(op, PT_I64, op)
#define PT_ROWS_TRUTH(op) PT_ROW(op, PT_BOOL, op)

/* Integers, by one function for all of their types. */
#define PT_INTEGER_ROWS(op, function) \
  PT_ROW(op, PT_I64, function) PT_ROW(op, PT_I32, function) PT_ROW(op, PT_U8, function)
#define PT_ROWS_INTEGER(op) PT_INTEGER_ROWS(op, op)
#define PT_ROWS_BITS(op) PT_INTEGER_ROWS(op, op) PT_ROW(op, PT_BOOL, op)
#define PT_ROWS_NUMBER(op) PT_ROWS_REAL(op) PT_INTEGER_ROWS(op, integer_##op)
#define PT_ROWS_ORDERED(op) PT_ROWS_NUMBER(op) PT_ROW(op, PT_BOOL, integer_##op)
#define PT_ROWS_SCATTER(op) PT_ROWS_REAL(op) PT_ROWS_BITS(op)

/* Elements that move, by their size: under the first type that has it (find.c). */
#define PT_MOVE_ROWS(op, function) PT_ROW(op, PT_F32, function) PT_ROW(op, PT_I64, function) PT_ROW(op, PT_U8, function)
#define PT_ROWS_MOVE(op) PT_MOVE_ROWS(op, op)
#define PT_ROWS_SPLIT(op) PT_MOVE_ROWS(op, split_op)
#define PT_ROWS_EXPAND(op) PT_ROWS_REAL(op) PT_INTEGER_ROWS(op, expand_copy) PT_ROW(op, PT_BOOL, expand_copy)
#define PT_ROWS_CAST(op) PT_ROW(op, PT_F32, op) PT_ROW(op, PT_F64, op) PT_ROWS_BITS(op)

/* Products: three ways to the same bits. */
#define PT_THREE_ROWS(op, numerics, workspace, blocked_workspace, compact_workspace)             \
  PT_KERNEL_ROW(op, PT_REAL_DTYPE, 0, "reference", numerics, pt_##op##_reference, workspace)     \
  PT_KERNEL_ROW(op, PT_REAL_DTYPE, 1, "blocked", numerics, pt_##op##_blocked, blocked_workspace) \
  PT_KERNEL_ROW(op, PT_REAL_DTYPE, 2, "compact", numerics, pt_##op##_compact, compact_workspace)
#define PT_ROWS_PRODUCT(op) PT_THREE_ROWS(op, "ascending", pt_no_workspace, pt_no_workspace, pt_no_workspace)
/* A product with what follows it, and attention (a row of scores at a time, a block of them, four rows): each way has its own workspace. */
#define PT_OWN_ROWS(op, numerics) \
  PT_THREE_ROWS(op, numerics, pt_##op##_reference_workspace, pt_##op##_blocked_workspace, pt_##op##_compact_workspace)
#define PT_ROWS_ACT(op) PT_OWN_ROWS(op, "ascending")
#define PT_ROWS_ATTENTION(op) PT_OWN_ROWS(op, "fixed")
/* Convolutions of few channels by a padded strip of the image in the workspace (conv2d_shift_compact.c). */
#define PT_SHIFT_ROW(op)                                                                     \
  PT_KERNEL_ROW(op, PT_REAL_DTYPE, 4, "shift_compact", "ascending", pt_##op##_shift_compact, \
                pt_##op##_shift_compact_workspace)
#define PT_WINOGRAD_ROW(op, algorithm, name, numerics) \
  PT_KERNEL_ROW(op, PT_REAL_DTYPE, algorithm, #name, numerics, pt_##op##_##name, pt_##op##_##name##_workspace)
#define PT_WINOGRAD_ROWS(op)                                    \
  PT_WINOGRAD_ROW(op, 16, winograd4_compact, "winograd4")       \
  PT_WINOGRAD_ROW(op, 17, winograd4_compact_whole, "winograd4") \
  PT_WINOGRAD_ROW(op, 18, winograd4, "winograd4")               \
  PT_WINOGRAD_ROW(op, 19, winograd_compact, "winograd")         \
  PT_WINOGRAD_ROW(op, 20, winograd_compact_whole, "winograd")   \
  PT_WINOGRAD_ROW(op, 21, winograd, "winograd")
#define PT_ROWS_CONV(op) PT_ROWS_PRODUCT(op) PT_SHIFT_ROW(op) PT_WINOGRAD_ROWS(op)
#define PT_ROWS_CONV_DW(op) PT_ROWS_PRODUCT(op) PT_WINOGRAD_ROWS(op)
#define PT_ROWS_CONV_ACT(op) PT_ROWS_ACT(op) PT_SHIFT_ROW(op) PT_WINOGRAD_ROWS(op)
#define PT_ROWS_CONV_DZ(op)                                                                             \
  PT_THREE_ROWS(op, "ascending", pt_##op##_workspace, pt_##op##_workspace, pt_##op##_compact_workspace) \
  PT_SHIFT_ROW(op) PT_WINOGRAD_ROWS(op)
/* The reference goes row by row and takes no stack: it is also what small processors run. */
#define PT_ROWS_VOLUME(op)                                                                            \
  PT_KERNEL_ROW(op, PT_REAL_DTYPE, 0, "reference", "ascending", pt_##op##_reference, pt_no_workspace) \
  PT_KERNEL_ROW(op, PT_REAL_DTYPE, 1, "blocked", "ascending", pt_##op##_blocked, pt_no_workspace)

/* Each way computes its products like the product of the same name; "blocked" packs the weight once for all steps. */
#define PT_ROWS_SEQUENCE(op) \
  PT_THREE_ROWS(op, "fixed", pt_##op##_workspace, pt_##op##_blocked_workspace, pt_##op##_workspace)

/* A strip of the gradient at a time; or the whole of it in the workspace. */
#define PT_ROWS_UPDATE(op)                                                                                \
  PT_KERNEL_ROW(op, PT_REAL_DTYPE, 0, "reference", "fixed", pt_##op##_reference, pt_##op##_workspace)     \
  PT_KERNEL_ROW(op, PT_REAL_DTYPE, 2, "compact", "fixed", pt_##op##_compact, pt_##op##_compact_workspace) \
  PT_KERNEL_ROW(op, PT_REAL_DTYPE, 3, "compact_whole", "fixed", pt_##op##_compact_whole, pt_##op##_workspace)

/* "reference" computes by the plain kernels, "blocked" works on blocks where they lie. */
#define PT_ROWS_BLOCKS(op)  \
  PT_ROWS_OWN_WORKSPACE(op) \
  PT_KERNEL_ROW(op, PT_REAL_DTYPE, 1, "blocked", "fixed", pt_##op##_blocked, pt_norm_blocks_workspace)

#define PT_ROWS_OF(op, least_in, most_in, least_out, most_out, ints, reals, dtypes, rule, kernels) PT_ROWS_##kernels(op)
#define PT_KERNEL_ROWS PT_ALL_OPERATORS(PT_ROWS_OF)
