/* Pooling and resizing of images. */
#include "runtime/op_rules.h"

static int pool(pt_op_use* use) {
  return pt_pool_dims(use, in(use, 0), pt_make(use, NULL));
}
static int max_pool_grad(pt_op_use* use) {
  pt_tensor y;
  return pt_pool_dims(use, in(use, 1), &y) && pt_want_dims(use, in(use, 0), &y, PT_TEXT("the output's gradient")) &&
         pt_make_all(use, in(use, 1), 1);
}
static int avg_pool_grad(pt_op_use* use) {
  pt_tensor y;
  return pt_want_given(use) && pt_pool_dims(use, given(use, 0), &y) &&
         pt_want_dims(use, in(use, 0), &y, PT_TEXT("the output's gradient"));
}

/* `y` becomes the shape of a pool of `image`: [N, C, H, W], or [N, C, H, W, c] in blocks of channels. A byte has to hold
 * the number of a window's tap. */
static int taps_dims(pt_op_use* use, const pt_tensor* image, pt_tensor* y) {
  pt_tensor x = *image;
  const int64_t height = use->ints[PT_POOL_KERNEL_H], width = use->ints[PT_POOL_KERNEL_W];
  if (height < 1 || height > 255 || width < 1 || width > 255 || height * width > 255)
    return PT_REFUSE(use, "its window does not have 1 to 255 taps");
  if (image->rank == 5) x.rank = 4;
  if (!pt_pool_dims(use, &x, y)) return 0;
  y->rank = image->rank; /* the block's extent is copied with the image's */
  return 1;
}
static int max_pool_taps(pt_op_use* use) {
  return taps_dims(use, in(use, 0), pt_make(use, NULL));
}
static int max_pool_grad_taps(pt_op_use* use) {
  pt_tensor y;
  return pt_want_given(use) && taps_dims(use, given(use, 0), &y) &&
         pt_want_dims(use, in(use, 0), &y, PT_TEXT("the output's gradient")) &&
         pt_want_dims(use, in(use, 1), &y, PT_TEXT("the taps"));
}

static int resizes(pt_op_use* use, const pt_tensor* x, const pt_tensor* y) {
  const int64_t* ints = use->ints;
  unsigned scale;
  if (!pt_want_rank(use, x, 4, PT_TEXT("the image")) || !pt_want_rank(use, y, 4, PT_TEXT("the resized image")))
    return 0;
  if (x->dims[0] != y->dims[0] || x->dims[1] != y->dims[1])
    return PT_REFUSE(use, "samples and channels must stay as they are");
  if (ints[PT_RESIZE_LINEAR] < 0 || ints[PT_RESIZE_LINEAR] > 1 || ints[PT_RESIZE_COORDINATES] < 0 ||
      ints[PT_RESIZE_COORDINATES] >= PT_RESIZE_COORDINATE_COUNT || ints[PT_RESIZE_ROUNDING] < 0 ||
      ints[PT_RESIZE_ROUNDING] >= PT_RESIZE_ROUNDING_COUNT)
    return PT_REFUSE(use, "its mode, coordinates or rounding is unknown");
  for (scale = 0; scale < 2; ++scale)
    if (!(use->reals[scale] > 1e-9 && use->reals[scale] < 1e9)) /* true of a NaN */
      return PT_REFUSE(use, "a scale is out of range");
  return 1;
}
static int resize(pt_op_use* use) {
  return pt_want_given(use) && resizes(use, in(use, 0), given(use, 0));
}
static int resize_grad(pt_op_use* use) {
  return pt_want_given(use) && resizes(use, given(use, 0), in(use, 0));
}

PT_FAMILY(pt_image_records, PT_IMAGE_OPERATORS)
