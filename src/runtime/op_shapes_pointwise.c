/* Element by element, and the bits that stand for an activation in backward. */
#include "runtime/op_rules.h"

/* The first input is the gradient of what the inputs broadcast to. */
static int broadcast_grad(pt_op_use* use) {
  return pt_broadcast_all(use) && pt_want_dims(use, in(use, 0), &use->made[0], PT_TEXT("the output's gradient"));
}

static int compare(pt_op_use* use) {
  return pt_want_below(use, 0, PT_COMPARE_COUNT, PT_TEXT("the relation {} is unknown")) && pt_broadcast_all(use);
}

static int mod(pt_op_use* use) {
  return pt_want_below(use, 0, 2, PT_TEXT("a flag must be 0 or 1, not {}")) && pt_broadcast_all(use);
}

static int bitwise(pt_op_use* use) {
  const int64_t operation = use->ints[0];
  if (!pt_want_below(use, 0, PT_BITWISE_COUNT, PT_TEXT("the operation {} is unknown"))) return 0;
  if ((operation == PT_BITWISE_SHIFT_LEFT || operation == PT_BITWISE_SHIFT_RIGHT) && use->dtype != PT_U8)
    return PT_REFUSE(use, "only unsigned integers are shifted");
  return pt_broadcast_all(use);
}

static int gelu(pt_op_use* use) {
  return pt_want_below(use, 0, 2, PT_TEXT("the approximation {} is unknown")) && pt_same(use);
}
static int rounds(pt_op_use* use) {
  return pt_want_below(use, 0, 3, PT_TEXT("the way of rounding {} is unknown")) && pt_same(use);
}
static int arc(pt_op_use* use) {
  return pt_want_below(use, 0, PT_ARC_COUNT, PT_TEXT("the function {} is unknown")) && pt_same(use);
}
static int round_to(pt_op_use* use) {
  return pt_want_below(use, 0, PT_ROUND_TO_COUNT, PT_TEXT("the type {} is unknown")) && pt_same(use);
}
static int cast(pt_op_use* use) {
  return pt_want_given(use) && pt_want_dims(use, given(use, 0), in(use, 0), PT_TEXT("the output"));
}

static int has_op_key(pt_op_use* use) {
  return pt_want_below(use, 0, (int64_t)UINT32_MAX + 1, PT_TEXT("the op key {} does not fit 32 bits"));
}

/* Notes reals in place of integers. */
static int refuse_reals(pt_op_use* use, const char* text) {
  pt_refuse(use, text, 0, 0);
  if (use->problem != NULL)
    use->problem->numbers[0] = use->reals[0], use->problem->numbers[1] = use->reals[use->real_count - 1];
  return 0;
}

static int dropout(pt_op_use* use) {
  if (!(use->reals[0] >= 0 && use->reals[0] < 1)) /* true of a NaN */
    return refuse_reals(use, PT_TEXT("the share to drop must be 0 or more and below 1, not {}"));
  return has_op_key(use) && pt_same(use);
}

static int random_numbers(pt_op_use* use) {
  const double a = use->reals[0], b = use->reals[1];
  if (!has_op_key(use) || !pt_want_below(use, 1, PT_RANDOM_COUNT, PT_TEXT("there is no distribution {}"))) return 0;
  if (a - a != 0 || b - b != 0) return PT_REFUSE(use, "its parameters must be finite");
  if (use->ints[1] == PT_RANDOM_UNIFORM && b < a) return refuse_reals(use, PT_TEXT("nothing lies between {} and {}"));
  return use->ints[1] != PT_RANDOM_NORMAL || b >= 0 ||
         refuse_reals(use, PT_TEXT("the mean is {}, and {} is no deviation"));
}

/* Bytes that hold a bit for every element. */
static uint64_t bytes_of_bits(const pt_tensor* x) {
  return (pt_type_elements(x) + 7) / 8;
}
static int sign_bits(pt_op_use* use) {
  const uint64_t bytes = bytes_of_bits(in(use, 0));
  pt_tensor* bits = pt_make(use, NULL);
  if (!pt_want_extent(use, bytes)) return 0;
  bits->rank = 1;
  bits->dims[0] = (uint32_t)bytes;
  return 1;
}
static int grad_bits(pt_op_use* use) {
  return pt_want_vector(use, in(use, 1), bytes_of_bits(in(use, 0)), PT_TEXT("the signs")) &&
         pt_make_all(use, in(use, 0), 1);
}

PT_FAMILY(pt_pointwise_records, PT_POINTWISE_OPERATORS)
