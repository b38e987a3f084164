/* F(4, 3): points 0, 1, -1, 2, -2 and infinity. */
#include "kernels/portable/winograd_lines.h"

PT_INLINE void source_line(const pt_real* d, size_t step, pt_real* out, size_t to) {
  const pt_real d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
  const pt_real even = d4 - 4 * d2, odd = d3 - 4 * d1, even2 = d4 - d2, odd2 = 2 * (d3 - d1);
  out[0] = (4 * d0 - 5 * d2) + d4;
  out[to] = even + odd;
  out[2 * to] = even - odd;
  out[3 * to] = even2 + odd2;
  out[4 * to] = even2 - odd2;
  out[5 * to] = (4 * d1 - 5 * d3) + d5;
}
PT_INLINE void weights_line(const pt_real* d, size_t step, pt_real* out, size_t to) {
  const pt_real d0 = d[0], d1 = d[step], d2 = d[2 * step], sixth = (pt_real)(1.0 / 6);
  const pt_real even = (d0 + d2) * -sixth, odd = d1 * sixth, even2 = d0 * (pt_real)(1.0 / 24) + d2 * sixth,
                odd2 = d1 * (pt_real)(1.0 / 12);
  out[0] = d0 * (pt_real)0.25;
  out[to] = even - odd;
  out[2 * to] = even + odd;
  out[3 * to] = even2 + odd2;
  out[4 * to] = even2 - odd2;
  out[5 * to] = d2;
}
PT_INLINE void made_line(const pt_real* d, size_t step, pt_real* out, size_t to) {
  const pt_real d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
  const pt_real sum = d1 + d2, apart = d1 - d2, sum2 = d3 + d4, apart2 = d3 - d4;
  out[0] = d[0] + (sum + sum2);
  out[to] = apart + 2 * apart2;
  out[2 * to] = sum + 4 * sum2;
  out[3 * to] = (apart + 8 * apart2) + d[5 * step];
}
PT_INLINE void gradient_line(const pt_real* d, size_t step, pt_real* out, size_t to) {
  const pt_real d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
  const pt_real even = d0 + d2, odd = d1 + d3, even2 = d0 + 4 * d2, odd2 = 2 * d1 + 8 * d3;
  out[0] = d0;
  out[to] = even + odd;
  out[2 * to] = even - odd;
  out[3 * to] = even2 + odd2;
  out[4 * to] = even2 - odd2;
  out[5 * to] = d3;
}
PT_INLINE void back_line(const pt_real* d, size_t step, pt_real* out, size_t to) {
  const pt_real d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], sixth = (pt_real)(1.0 / 6);
  const pt_real sum = (d1 + d2) * sixth, sum2 = d3 + d4;
  out[0] = (d[0] * (pt_real)0.25 - sum) + sum2 * (pt_real)(1.0 / 24);
  out[to] = (d2 - d1) * sixth + (d3 - d4) * (pt_real)(1.0 / 12);
  out[2 * to] = (sum2 * sixth - sum) + d[5 * step];
}

PT_TRANSFORM(source)
PT_TRANSFORM(weights)
PT_TRANSFORM(made)
PT_TRANSFORM(gradient)
PT_TRANSFORM(back)

const pt_winograd PT_NAME(pt_winograd4) = {4, source, weights, made, gradient, back};
