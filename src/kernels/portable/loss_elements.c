#include "kernels/portable/kernels.h"
#include "kernels/portable/lanes.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/parts.h"
#include "kernels/portable/real_math.h"

/* Losses by element: TERM is what a prediction p and its target t add to the sum, SLOPE its derivative by p, both
 * with one number of the loss's own. The loss is the sum over a divisor, as a rule the number of elements: of the whole where the call is of a slice. */
typedef struct elements {
  const pt_real *pred, *target;
  pt_real* out;
  pt_real number, inverse;
  size_t count, whole;
} elements;

static elements describe(const pt_call* call, pt_real number, double divisor) {
  elements e = {call->inputs[0].data, call->inputs[1].data, call->outputs[0].data, number, 0, 0, 0};
  e.count = pt_elements(&call->inputs[0]);
  e.whole = call->whole_extent != 0 ? call->whole_extent : e.count;
  if (divisor == 0) divisor = (double)e.whole;
  e.inverse = divisor > 0 ? 1 / (pt_real)divisor : 0;
  return e;
}

/* A sum over a whole number of elements is divided, as a mean is everywhere here. */
static pt_real over(pt_real sum, const elements* e, double divisor) {
  if (divisor == 0) divisor = (double)e->whole;
  return divisor > 0 ? sum / (pt_real)divisor : 0;
}

static pt_real size_of(pt_real x) {
  return x < 0 ? -x : x;
}
static pt_real sign_of(pt_real x) {
  return x > 0 ? 1 : x < 0 ? -1 : x; /* 0 and NaN stay */
}

/* NUMBER and DIVISOR (0: the number of elements) are expressions in `call`, TERM and SLOPE in p, t and `number`. */
#define PT_ELEMENT_LOSS(name, NUMBER, DIVISOR, TERM, SLOPE)                          \
  static pt_real name##_term(pt_real p, pt_real t, pt_real number) {                 \
    (void)number;                                                                    \
    return TERM;                                                                     \
  }                                                                                  \
  static pt_real name##_slope(pt_real p, pt_real t, pt_real number) {                \
    (void)p, (void)number;                                                           \
    return SLOPE;                                                                    \
  }                                                                                  \
  pt_status PT_NAME(pt_##name)(const pt_call* call) {                                \
    const elements e = describe(call, NUMBER, DIVISOR);                              \
    pt_lanes lanes = pt_lanes_begun(pt_goes_on(call), call->workspace);              \
    PT_LANES_ADD(lanes, e.count, name##_term(e.pred[at], e.target[at], e.number));   \
    if (pt_is_unfinished(call))                                                      \
      *(pt_lanes*)call->workspace = lanes;                                           \
    else                                                                             \
      *e.out = over(pt_lanes_total(&lanes), &e, DIVISOR);                            \
    return PT_OK;                                                                    \
  }                                                                                  \
  static void name##_slopes(void* arg, size_t begin, size_t end) {                   \
    const elements* e = arg;                                                         \
    for (size_t at = begin; at < end; ++at)                                          \
      e->out[at] = e->inverse * name##_slope(e->pred[at], e->target[at], e->number); \
  }                                                                                  \
  pt_status PT_NAME(pt_##name##_grad)(const pt_call* call) {                         \
    elements e = describe(call, NUMBER, DIVISOR);                                    \
    return PT_NAME(pt_parallel)(call, e.count, e.count, name##_slopes, &e);          \
  }

PT_ELEMENT_LOSS(mse, 0, 0, (p - t) * (p - t), 2 * (p - t))
PT_ELEMENT_LOSS(l1, 0, 0, size_of(p - t), sign_of(p - t))

static pt_real smooth_l1(pt_real d, pt_real beta) {
  return d < beta ? (pt_real)0.5 * d * d / beta : d - (pt_real)0.5 * beta;
}
PT_ELEMENT_LOSS(smooth_l1, (pt_real)call->reals[0], 0, smooth_l1(size_of(p - t), number),
                size_of(p - t) < number ? (p - t) / number : sign_of(p - t))

/* max(p, 0) - p t + log(1 + e^-|p|): no exponential overflows. */
static pt_real tail(pt_real x) {
  return (pt_real)pt_log(1 + pt_exp(-(double)size_of(x)));
}
PT_ELEMENT_LOSS(bce_with_logits, 0, 0, (p > 0 ? p : 0) - p * t + tail(p), pt_real_sigmoid(p) - t)

/* t (log t - p), 0 log 0 being 0 */
PT_ELEMENT_LOSS(kl_div, 0, call->reals[0], (t == 0 ? 0 : t * (pt_real)pt_log((double)t)) - t * p, -t)
