/* Extents of sliding windows: convolutions and pools. */
#pragma once

#include "runtime/op_shapes.h"

/* Each writes the shape that the windows give to `y`, and returns 1; or refuses the use.
 * X[N,C,H,W] and W[O,C/g,R,S], or X[N,C,D,H,W] and W of as many (spatial 3), under the use's [PT_CONV_*] or [PT_CONV3D_*]. */
int pt_conv_dims(pt_op_use* use, const pt_tensor* x, const pt_tensor* w, unsigned spatial, pt_tensor* y);
/* X[N,C,H,W] under [PT_POOL_*]; every window holds at least one element of the image. */
int pt_pool_dims(pt_op_use* use, const pt_tensor* x, pt_tensor* y);
