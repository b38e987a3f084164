/* Updates of the rows of an embedding table that a batch read, without the table's gradient: w I dY states.. -> w' states'.. */
#ifndef PANTOUM_KERNELS_PORTABLE_UPDATE_ROWS_H
#define PANTOUM_KERNELS_PORTABLE_UPDATE_ROWS_H

#include "kernels/portable/real.h"
#include "pantoum/pantoum.h"

/* Updates `count` elements of the table and of its states from element `at` on by their gradient. */
typedef void (*pt_row_update)(const void* context, size_t at, size_t count, const pt_real* gradient);

/* Calls `update` for every row that the indices name, a block of columns at a time. A row's gradient is the sum of its
 * parts in ascending position from +0, as gather_grad has it. Other rows stay as they are; with `decays` they are
 * updated too, by a gradient of 0. The call's tables may be some rows of the whole (pt_call.slice_begin); its indices
 * and dY are whole. PT_E_DATA: an index is beyond the table. */
pt_status PT_NAME(pt_by_row)(const pt_call* call, int decays, pt_row_update update, const void* context);

/* For the order of the positions by row. */
size_t PT_NAME(pt_by_row_workspace)(const pt_call* call);

#endif
