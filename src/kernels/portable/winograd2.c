/* F(2, 3): points 0, 1, -1 and infinity. */
#include "kernels/portable/winograd_lines.h"

PT_INLINE void source_line(const pt_real* d, size_t step, pt_real* out, size_t to) {
  const pt_real d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
  out[0] = d0 - d2;
  out[to] = d1 + d2;
  out[2 * to] = d2 - d1;
  out[3 * to] = d1 - d3;
}
PT_INLINE void weights_line(const pt_real* d, size_t step, pt_real* out, size_t to) {
  const pt_real d0 = d[0], d1 = d[step], d2 = d[2 * step], sum = d0 + d2;
  out[0] = d0;
  out[to] = (sum + d1) * (pt_real)0.5;
  out[2 * to] = (sum - d1) * (pt_real)0.5;
  out[3 * to] = d2;
}
PT_INLINE void made_line(const pt_real* d, size_t step, pt_real* out, size_t to) {
  const pt_real d1 = d[step], d2 = d[2 * step];
  out[0] = d[0] + (d1 + d2);
  out[to] = (d1 - d2) - d[3 * step];
}
PT_INLINE void gradient_line(const pt_real* d, size_t step, pt_real* out, size_t to) {
  const pt_real d0 = d[0], d1 = d[step];
  out[0] = d0;
  out[to] = d0 + d1;
  out[2 * to] = d0 - d1;
  out[3 * to] = -d1;
}
PT_INLINE void back_line(const pt_real* d, size_t step, pt_real* out, size_t to) {
  const pt_real d1 = d[step], d2 = d[2 * step], half = (d1 + d2) * (pt_real)0.5;
  out[0] = d[0] + half;
  out[to] = (d1 - d2) * (pt_real)0.5;
  out[2 * to] = half + d[3 * step];
}

PT_TRANSFORM(source)
PT_TRANSFORM(weights)
PT_TRANSFORM(made)
PT_TRANSFORM(gradient)
PT_TRANSFORM(back)

const pt_winograd PT_NAME(pt_winograd2) = {2, source, weights, made, gradient, back};
