#include "kernels/portable/layout.h"

/* Compiled into the float library alone: extents are the same for every element type. */
#ifndef PT_REAL_DOUBLE

static uint32_t blocks(uint32_t extent, uint32_t block) {
  return extent / block + (extent % block != 0);
}

uint8_t pt_layout_dims(const uint32_t logical[4], pt_layout layout, uint32_t block, uint32_t* dims) {
  uint32_t o, i;
  if (layout != PT_LAYOUT_PLAIN && (block < 1 || block > 64)) return 0;
  o = layout == PT_LAYOUT_PLAIN ? 0 : blocks(logical[0], block);
  i = layout == PT_LAYOUT_PLAIN ? 0 : blocks(logical[1], block);
  dims[2] = logical[2], dims[3] = logical[3];
  dims[4] = dims[5] = block;
  switch (layout) {
    case PT_LAYOUT_PLAIN:
      dims[0] = logical[0], dims[1] = logical[1];
      return 4;
    case PT_LAYOUT_NCHWC:
      dims[0] = logical[0], dims[1] = i;
      return 5;
    case PT_LAYOUT_OIHW_IO:
    case PT_LAYOUT_OIHW_OI:
      dims[0] = o, dims[1] = i;
      return 6;
    case PT_LAYOUT_IOHW_OI:
      dims[0] = i, dims[1] = o;
      return 6;
    case PT_LAYOUT_OHWI_O:
      dims[0] = o, dims[1] = logical[2], dims[2] = logical[3], dims[3] = logical[1];
      return 5;
    default:
      return 0;
  }
}

static int same_extents(const pt_tensor* tensor, const uint32_t* dims, uint8_t rank) {
  uint8_t d;
  if (rank == 0 || tensor->rank != rank) return 0;
  for (d = 0; d < rank; ++d)
    if (tensor->dims[d] != dims[d]) return 0;
  return 1;
}

/* Describes an operand in the plain layout. */
static void arrange_plain(const pt_tensor* operand, pt_arranged* arranged) {
  arranged->plain = *operand;
  arranged->layout = PT_LAYOUT_PLAIN;
  arranged->block = 1;
}

static int arrange_as(const pt_tensor* operand, const uint32_t logical[4], pt_layout layout, uint32_t block,
                      pt_arranged* arranged) {
  uint32_t dims[PT_MAX_RANK];
  unsigned d;
  if (!same_extents(operand, dims, pt_layout_dims(logical, layout, block, dims))) return 0;
  arrange_plain(operand, arranged);
  arranged->plain.rank = 4;
  for (d = 0; d < 4; ++d) arranged->plain.dims[d] = logical[d];
  arranged->layout = layout;
  arranged->block = block;
  return 1;
}

/* An image of `channels`; plain ones where `may_be_plain`. */
static int arrange_image(const pt_tensor* operand, uint32_t channels, uint32_t block, int may_be_plain,
                         pt_arranged* arranged) {
  const uint32_t logical[4] = {operand->dims[0], channels, operand->dims[2], operand->dims[3]};
  if (may_be_plain && operand->rank == 4) return arrange_as(operand, logical, PT_LAYOUT_PLAIN, 1, arranged);
  return operand->rank == 5 && arrange_as(operand, logical, PT_LAYOUT_NCHWC, block, arranged);
}

static uint32_t block_of(const pt_tensor* image) {
  return image->rank == 5 ? image->dims[4] : 0;
}

static int arrange_weight(const pt_tensor* operand, const int64_t* ints, uint32_t block, pt_arranged* arranged) {
  const int64_t layout = ints[PT_CONV_NCHWC_WEIGHT], groups = ints[PT_CONV_GROUPS];
  const int few = layout == PT_LAYOUT_OHWI_O;
  const int64_t outputs = ints[PT_CONV_NCHWC_OUTPUTS], channels = ints[PT_CONV_NCHWC_CHANNELS];
  uint32_t logical[4];
  if (layout < PT_LAYOUT_OIHW_IO || layout >= PT_LAYOUT_COUNT || groups < 1 || channels % groups != 0) return 0;
  if (operand->rank != (few ? 5 : 6)) return 0;
  logical[0] = (uint32_t)outputs, logical[1] = (uint32_t)(channels / groups);
  logical[2] = operand->dims[few ? 1 : 2], logical[3] = operand->dims[few ? 2 : 3];
  if (groups > 1 && !few && (outputs / groups % block != 0 || channels / groups % block != 0)) return 0;
  return arrange_as(operand, logical, (pt_layout)layout, block, arranged);
}

/* Operands of a convolution: an image and a weight (or two images), and the other image. The block is that of dY or
 * Y. */
static int arrange_conv(uint16_t op, const pt_tensor* operands, unsigned inputs, const int64_t* ints,
                        pt_arranged* arranged) {
  const unsigned x = op == PT_OP_conv2d_dx_nchwc ? inputs : 0,
                 y = op == PT_OP_conv2d_dx_nchwc   ? 0
                     : op == PT_OP_conv2d_dw_nchwc ? 1
                                                   : inputs,
                 w = op == PT_OP_conv2d_dw_nchwc ? inputs : 1;
  const int with_residual =
      op == PT_OP_conv2d_act_nchwc && ints[PT_CONV_NCHWC_ATTRS + PT_EPILOGUE_RESIDUAL] != PT_RESIDUAL_NONE;
  const int64_t channels = ints[PT_CONV_NCHWC_CHANNELS], outputs = ints[PT_CONV_NCHWC_OUTPUTS];
  const uint32_t block = block_of(&operands[y]);
  if (block == 0 || channels < 1 || channels > INT32_MAX || outputs < 1 || outputs > INT32_MAX) return 0;
  if (!arrange_image(&operands[x], (uint32_t)channels, block, op != PT_OP_conv2d_dx_nchwc, &arranged[x])) return 0;
  if (!arrange_image(&operands[y], (uint32_t)outputs, block, 0, &arranged[y])) return 0;
  if (with_residual && !arrange_image(&operands[inputs - 1], (uint32_t)outputs, block, 0, &arranged[inputs - 1]))
    return 0;
  if (inputs > (with_residual ? 4u : 3u)) return 0;
  if (inputs == (with_residual ? 4u : 3u)) arrange_plain(&operands[2], &arranged[2]);
  return arrange_weight(&operands[w], ints, block, &arranged[w]);
}

/* The first `images` operands and the first output are images; the rest are vectors, the first of which counts the
 * channels. */
static int arrange_norm(const pt_tensor* operands, unsigned images, unsigned inputs, unsigned outputs,
                        pt_arranged* arranged) {
  const uint32_t block = block_of(&operands[0]), channels = operands[images].dims[0];
  unsigned operand;
  if (operands[images].rank != 1 || block == 0) return 0;
  for (operand = 0; operand < inputs + outputs; ++operand) {
    if (operand >= images && operand != inputs)
      arrange_plain(&operands[operand], &arranged[operand]);
    else if (!arrange_image(&operands[operand], channels, block, 0, &arranged[operand]))
      return 0;
  }
  return 1;
}

/* Operands of a pool: channels are independent, those of the padding too. */
static int arrange_pool(const pt_tensor* operands, unsigned count, pt_arranged* arranged) {
  const uint32_t block = block_of(&operands[0]);
  unsigned operand;
  if (block == 0 || block > 64 || operands[0].dims[1] > INT32_MAX / 64) return 0;
  for (operand = 0; operand < count; ++operand)
    if (!arrange_image(&operands[operand], operands[0].dims[1] * block, block, 0, &arranged[operand])) return 0;
  return 1;
}

/* Operands of a reorder: the plain side gives the extents, the other side the block. */
static int arrange_reorder(const pt_tensor* operands, const int64_t* ints, pt_arranged* arranged) {
  const unsigned plain = ints[0] == PT_LAYOUT_PLAIN ? 0 : 1;
  const int64_t layout = ints[1 - plain];
  const pt_tensor* other = &operands[1 - plain];
  if (ints[plain] != PT_LAYOUT_PLAIN || layout <= PT_LAYOUT_PLAIN || layout >= PT_LAYOUT_COUNT) return 0;
  if (operands[plain].rank != 4 || other->rank < 5) return 0;
  return arrange_as(&operands[plain], operands[plain].dims, PT_LAYOUT_PLAIN, 1, &arranged[plain]) &&
         arrange_as(other, operands[plain].dims, (pt_layout)layout, other->dims[other->rank - 1], &arranged[1 - plain]);
}

int pt_arrange(uint16_t op, const pt_tensor* operands, unsigned inputs, unsigned outputs, const int64_t* ints,
               pt_arranged* arranged) {
  switch (op) {
    case PT_OP_reorder:
      return arrange_reorder(operands, ints, arranged);
    case PT_OP_conv2d_nchwc:
    case PT_OP_conv2d_dx_nchwc:
    case PT_OP_conv2d_dw_nchwc:
    case PT_OP_conv2d_act_nchwc:
      return arrange_conv(op, operands, inputs, ints, arranged);
    case PT_OP_batch_norm_nchwc:
    case PT_OP_batch_norm_eval_nchwc:
    case PT_OP_batch_norm_act_nchwc:
    case PT_OP_batch_norm_act_eval_nchwc:
      return arrange_norm(operands, 1, inputs, outputs, arranged);
    case PT_OP_batch_norm_grad_nchwc:
    case PT_OP_batch_norm_act_grad_nchwc:
      return arrange_norm(operands, 2, inputs, outputs, arranged);
    case PT_OP_max_pool_nchwc:
    case PT_OP_max_pool_grad_nchwc:
    case PT_OP_avg_pool_nchwc:
    case PT_OP_avg_pool_grad_nchwc:
      return arrange_pool(operands, inputs + outputs, arranged);
    default:
      return 0;
  }
}

uint16_t pt_plain_op(uint16_t op) {
  switch (op) {
#define PT_PLAIN(name)       \
  case PT_OP_##name##_nchwc: \
    return PT_OP_##name;
    PT_PLAIN(conv2d)
    PT_PLAIN(conv2d_dx)
    PT_PLAIN(conv2d_dw)
    PT_PLAIN(conv2d_act)
    PT_PLAIN(batch_norm)
    PT_PLAIN(batch_norm_grad)
    PT_PLAIN(batch_norm_eval)
    PT_PLAIN(batch_norm_act)
    PT_PLAIN(batch_norm_act_grad)
    PT_PLAIN(batch_norm_act_eval)
    PT_PLAIN(max_pool)
    PT_PLAIN(max_pool_grad)
    PT_PLAIN(avg_pool)
    PT_PLAIN(avg_pool_grad)
#undef PT_PLAIN
    default:
      return op;
  }
}

#else
typedef int pt_layouts_are_in_the_float_library;
#endif
