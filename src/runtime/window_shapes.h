/* Extents of sliding windows: convolutions and pools. */
#ifndef PANTOUM_RUNTIME_WINDOW_SHAPES_H
#define PANTOUM_RUNTIME_WINDOW_SHAPES_H

#include "pantoum/pantoum.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X[N,C,H,W], W[O,C/g,R,S] and Y[N,O,P,Q] belong together under [PT_CONV_*]; padded extents fit an int32_t. */
int pt_conv_fits(const pt_tensor* x, const pt_tensor* w, const pt_tensor* y, const int64_t* ints);
/* The same of volumes X[N,C,D,H,W] under [PT_CONV3D_*]. */
int pt_conv3d_fits(const pt_tensor* x, const pt_tensor* w, const pt_tensor* y, const int64_t* ints);
/* X[N,C,H,W] and Y[N,C,P,Q] under [PT_POOL_*]; every window begins inside the padded image and holds more than padding
 * unless dilated; the last may run over the end (ONNX's ceil_mode). */
int pt_pool_fits(const pt_tensor* x, const pt_tensor* y, const int64_t* ints);

#ifdef __cplusplus
}
#endif

#endif
