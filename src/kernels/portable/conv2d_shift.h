/* Convolutions of stride 1 without im2col: over an image padded with zeros, the inputs of a kernel element are the
 * image itself, shifted.
 *
 * Y[m, p, q] = sum over k = (plane, r, s) of A[m, k] S[plane, p - top + r_step * r', q - left + s_step * s'], where r'
 * is r, or counted from the kernel's end (gradients). A strip of output rows is computed at the padded width, so that
 * its columns are contiguous in the padded image; the columns between the rows are thrown away. Order of additions:
 * ascending k from +0. Stack: about PT_SHIFT_IMAGE elements and 6 KiB. */
#pragma once

#include "kernels/portable/gemm.h"

enum { PT_SHIFT_IMAGE = 8192, PT_SHIFT_TAPS = 256 };

typedef struct pt_shifted {
  size_t images, groups;                 /* images: samples * groups; A and the bias repeat with period `groups` */
  size_t outputs, out_height, out_width; /* of one image */
  size_t planes, height, width;          /* of one image of the source */
  size_t kernel_h, kernel_w, dilation_h, dilation_w;
  ptrdiff_t top, left;
  int from_end;                     /* kernel elements are counted from the end */
  const pt_real *a, *source, *bias; /* bias: one per output, or NULL */
  pt_real* y;
  size_t a_image, a_row, a_plane; /* strides of A: group, m, plane; r and s are contiguous */
  const pt_finish* finish;        /* NULL: elements go to y; else in batches by image, rows by output; without
                              scratch they grow in y */
  int goes_on;                    /* sums begin with what y holds */
} pt_shifted;

/* Of one image, as pt_product_work counts; 0: of a shape that the strips do not hold. */
double PT_NAME(pt_shifted_work)(const pt_shifted* c);
/* Elements of scratch for a finish. */
size_t PT_NAME(pt_shifted_scratch)(const pt_shifted* c, const pt_pool* pool);
void PT_NAME(pt_shifted_run)(const pt_shifted* c, const pt_pool* pool);
