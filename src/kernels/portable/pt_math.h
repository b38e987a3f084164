/* Transcendental functions from + - * / and sqrt alone, so that every processor gives the same bits. All are computed
 * in double: errors stay under 2e-15 relative (erf: absolute), and under one unit in the last place once rounded to
 * float. NaN and infinities pass through. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double pt_from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint64_t pt_to_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* 2^k for -1022 <= k <= 1023 */
static inline double pt_power_of_two(int k) {
  return pt_from_bits((uint64_t)(k + 1023) << 52);
}

/* x = k ln 2 + r, |r| <= ln 2 / 2; a Taylor polynomial of degree 13 of e^r; scaled in two steps so that denormals come
 * out. */
static inline double pt_exp(double x) {
  if (x != x) return x;
  if (x > 709.782712893384) return pt_from_bits(0x7ff0000000000000u);
  if (x < -745.2) return 0;
  const double rounded = x * 1.4426950408889634 + 6755399441055744.0;
  const double k = rounded - 6755399441055744.0;
  const double r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const int whole = (int)k, half = whole / 2;
  return p * pt_power_of_two(half) * pt_power_of_two(whole - half);
}

/* x = 2^k m, sqrt(1/2) <= m < sqrt(2); log m = 2 atanh((m - 1) / (m + 1)) by its series. */
static inline double pt_log(double x) {
  if (x != x) return x;
  if (x == 0) return -pt_from_bits(0x7ff0000000000000u);
  if (x < 0) return pt_from_bits(0x7ff8000000000000u);
  int k = 0;
  if (x < 2.2250738585072014e-308) {
    x *= 18014398509481984.0; /* 2^54 */
    k = -54;
  }
  uint64_t bits = pt_to_bits(x);
  if (bits == 0x7ff0000000000000u) return x;
  k += (int)(bits >> 52) - 1023;
  double m = pt_from_bits((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    k += 1;
  }
  const double s = (m - 1) / (m + 1), z = s * s;
  double p = 1.0 / 23.0;
  p = p * z + 1.0 / 21.0;
  p = p * z + 1.0 / 19.0;
  p = p * z + 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  const double dk = (double)k;
  return dk * 0.693147180369123816490 + (2 * s + (2 * s * z * p + dk * 1.90821492927058770002e-10));
}

/* e^x - 1 and log(1 + x) for x near 0 too, after Kahan: the rounding of 1 + x divides itself out. */
static inline double pt_expm1(double x) {
  const double power = pt_exp(x);
  if (power == 1) return x;
  if (power - 1 == -1 || power > 1e300) return power - 1;
  return (power - 1) * x / pt_log(power);
}
static inline double pt_log1p(double x) {
  const double whole = 1 + x;
  return whole == 1 ? x : pt_log(whole) * x / (whole - 1);
}

static inline double pt_softplus(double x) {
  return x > 0 ? x + pt_log1p(pt_exp(-x)) : pt_log1p(pt_exp(x));
}

/* sin(x + turns * pi / 2): x = k pi / 2 + r, |r| <= pi / 4, in three parts of 33 bits whose products with k are exact
 * up to |x| of 1.6 million; beyond, the error grows as the distance between floats does; from 2^52 on x counts as 0. */
static inline double pt_sin_turned(double x, int turns) {
  if (!(x - x == 0)) return x - x;
  if (x >= 4503599627370496.0 || x <= -4503599627370496.0) x = 0;
  const double rounded = x * 0.63661977236758134 + 6755399441055744.0;
  const double k = rounded - 6755399441055744.0;
  const double r = ((x - k * 1.57079632673412561417) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21;
  const double z = r * r;
  const int quarter = (int)(((int64_t)k + turns) & 3);
  double p;
  if (quarter & 1) {
    p = 1.0 / 20922789888000.0;
    p = p * z - 1.0 / 87178291200.0;
    p = p * z + 1.0 / 479001600.0;
    p = p * z - 1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    p = p * z - 0.5;
    p = p * z + 1.0;
  } else {
    p = 1.0 / 355687428096000.0;
    p = p * z - 1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    p = r + r * z * p;
  }
  return quarter & 2 ? -p : p;
}
static inline double pt_sin(double x) {
  return pt_sin_turned(x, 0);
}
static inline double pt_cos(double x) {
  return pt_sin_turned(x, 1);
}

static inline double pt_sigmoid(double x) {
  if (x >= 0) return 1 / (1 + pt_exp(-x));
  const double e = pt_exp(x);
  return e / (1 + e);
}

/* Near 0 the series, else 1 - 2 / (e^2x + 1). */
static inline double pt_tanh(double x) {
  const double a = x < 0 ? -x : x;
  if (a < 0.1) {
    const double z = x * x;
    double p = -929569.0 / 638512875.0;
    p = p * z + 21844.0 / 6081075.0;
    p = p * z - 1382.0 / 155925.0;
    p = p * z + 62.0 / 2835.0;
    p = p * z - 17.0 / 315.0;
    p = p * z + 2.0 / 15.0;
    p = p * z - 1.0 / 3.0;
    return x + x * z * p;
  }
  const double t = a > 22 ? 1 : 1 - 2 / (pt_exp(2 * a) + 1);
  return x < 0 ? -t : x != x ? x : t;
}

/* x is brought to |t| <= 7/16 by atan(x) = atan(c) + atan((x - c) / (1 + c x)) with c = 1/2, 1, 3/2 or infinity, whose
 * arc tangents stand in two parts; then an odd polynomial. Intervals and coefficients are those of Sun's fdlibm. */
static inline double pt_atan(double x) {
  const double a = x < 0 ? -x : x;
  if (x != x) return x;
  double high = 0, low = 0, t = a;
  if (a >= 2.4375) {
    high = 1.57079632679489655800, low = 6.12323399573676603587e-17, t = -1 / a;
  } else if (a >= 1.1875) {
    high = 9.82793723247329054082e-01, low = 1.39033110312309984516e-17, t = (a - 1.5) / (1 + 1.5 * a);
  } else if (a >= 0.6875) {
    high = 7.85398163397448278999e-01, low = 3.06161699786838301793e-17, t = (a - 1) / (a + 1);
  } else if (a >= 0.4375) {
    high = 4.63647609000806093515e-01, low = 2.26987774529616870924e-17, t = (2 * a - 1) / (2 + a);
  }
  const double z = t * t;
  double p = 1.62858201153657823623e-02;
  p = p * z - 3.65315727442169155270e-02;
  p = p * z + 4.97687799461593236017e-02;
  p = p * z - 5.83357013379057348645e-02;
  p = p * z + 6.66107313738753120669e-02;
  p = p * z - 7.69187620504482999495e-02;
  p = p * z + 9.09088713343650656196e-02;
  p = p * z - 1.11111104054623557880e-01;
  p = p * z + 1.42857142725034663711e-01;
  p = p * z - 1.99999999998764832476e-01;
  p = p * z + 3.33333333333329318027e-01;
  const double y = high - ((t * (z * p) - low) - t);
  return x < 0 ? -y : x == 0 ? x : y;
}
/* Beyond 1 the root is of a negative number: NaN. At 1 it is 0, and the arc tangent that of infinity. */
static inline double pt_asin(double x) {
  return pt_atan(x / sqrt((1 - x) * (1 + x)));
}
static inline double pt_acos(double x) {
  return 2 * pt_atan(sqrt((1 - x) / (1 + x)));
}

/* From 2^28 on the 1 under the root is lost, and the square may overflow. */
static inline double pt_asinh(double x) {
  const double a = x < 0 ? -x : x;
  if (x != x || x == 0) return x;
  const double y = a >= 268435456.0 ? pt_log(a) + 0.693147180559945309417 : pt_log1p(a + a * a / (1 + sqrt(a * a + 1)));
  return x < 0 ? -y : y;
}
static inline double pt_acosh(double x) {
  if (!(x >= 1)) return pt_from_bits(0x7ff8000000000000u);
  const double above = x - 1;
  return x >= 268435456.0 ? pt_log(x) + 0.693147180559945309417 : pt_log1p(above + sqrt(above * (above + 2)));
}
static inline double pt_atanh(double x) {
  const double a = x < 0 ? -x : x;
  if (!(a <= 1)) return pt_from_bits(0x7ff8000000000000u);
  if (a == 1) return x * pt_from_bits(0x7ff0000000000000u);
  if (x == 0) return x;
  const double y = 0.5 * pt_log1p(2 * a / (1 - a));
  return x < 0 ? -y : y;
}

/* Below 3: (2 / sqrt pi) e^(-x^2) times the sum of 2^n x^(2n+1) / (2n+1)!!, whose terms are all positive. From 3 on 1 -
 * erfc by its continued fraction. */
static inline double pt_erf(double x) {
  const double a = x < 0 ? -x : x;
  if (x != x) return x;
  double value = 1;
  if (a < 3) {
    const double z = 2 * a * a;
    double term = a, sum = a;
    for (int n = 1; n < 80; ++n) {
      term *= z / (double)(2 * n + 1);
      sum += term;
      if (term < sum * 1e-17) break;
    }
    value = 1.1283791670955126 * pt_exp(-a * a) * sum;
  } else if (a < 6) {
    double f = a;
    for (int n = 60; n > 0; --n) f = a + 0.5 * (double)n / f;
    value = 1 - 0.5641895835477563 * pt_exp(-a * a) / f;
  }
  return x < 0 ? -value : value;
}

/* Whole exponents up to 64 by multiplication; others through exp and log. Negative bases take whole exponents alone. */
static inline double pt_pow(double a, double b) {
  if (b == 0) return 1;
  const double size = b < 0 ? -b : b;
  if (size <= 64 && size == (double)(int)size) {
    double result = 1, square = a;
    for (int n = (int)size; n > 0; n >>= 1) {
      if (n & 1) result *= square;
      square *= square;
    }
    return b < 0 ? 1 / result : result;
  }
  if (a == 0) return b > 0 ? 0 : pt_from_bits(0x7ff0000000000000u);
  if (a < 0) return pt_from_bits(0x7ff8000000000000u);
  return pt_exp(b * pt_log(a));
}
