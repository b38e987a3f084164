/* Layouts in blocks of channels, for kernels that compute on whole vectors of them.
 *
 * A tensor in another layout is another tensor: its extents are those of its memory, row-major, so that whatever works
 * element by element, joins, splits or sums whole blocks needs to know nothing of layouts. With b channels a block and
 * an upper-case letter for a dimension counted in blocks (rounded up, padded):
 *
 *   plain     [N, C, H, W] or [O, I, R, S]    as everywhere else
 *   nchwc     [N, C, H, W, c]                 images
 *   oihw_io   [O, I, R, S, i, o]              weights: forward, and the gradient of the weight
 *   oihw_oi   [O, I, R, S, o, i]              weights: the gradient of the image
 *   iohw_oi   [I, O, R, S, o, i]              the same, for kernels of 1 x 1
 *   ohwi_o    [O, R, S, i, o], i not blocked  weights of few input channels; depthwise ones (i = 1)
 *
 * The padding holds zeros: whoever writes a tensor in blocks writes them too.
 */
#pragma once

#include "pantoum/pantoum.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pt_layout {
  PT_LAYOUT_PLAIN,
  PT_LAYOUT_NCHWC,
  PT_LAYOUT_OIHW_IO,
  PT_LAYOUT_OIHW_OI,
  PT_LAYOUT_IOHW_OI,
  PT_LAYOUT_OHWI_O,
  PT_LAYOUT_COUNT
} pt_layout;

/* What an operand of a blocked op means: its extents as a plain tensor, and where its elements lie. */
typedef struct pt_arranged {
  pt_tensor plain; /* logical extents; data is the operand's */
  pt_layout layout;
  uint32_t block;
} pt_arranged;

/* The extents in memory of a tensor of rank 4. Writes at most PT_MAX_RANK extents to `dims`; returns their number, 0
 * for a layout or block (1 to 64) that does not exist. */
uint8_t pt_layout_dims(const uint32_t logical[4], pt_layout layout, uint32_t block, uint32_t* dims);

/* How the operands (inputs, then outputs) of an op with the suffix _nchwc, or of a reorder, lie: one entry each.
 * Returns 1, or 0 where extents and attributes do not belong together. `op` is a pt_op. */
int pt_arrange(uint16_t op, const pt_tensor* operands, unsigned inputs, unsigned outputs, const int64_t* ints,
               pt_arranged* arranged);

/* The op that an op with the suffix _nchwc computes; the op itself otherwise. */
uint16_t pt_plain_op(uint16_t op);

#ifdef __cplusplus
}
#endif
