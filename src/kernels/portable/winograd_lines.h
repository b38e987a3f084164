/* Makes transforms of many lines (winograd.h) of NAME_line, which transforms one. */
#ifndef PANTOUM_KERNELS_PORTABLE_WINOGRAD_LINES_H
#define PANTOUM_KERNELS_PORTABLE_WINOGRAD_LINES_H

#include "kernels/portable/winograd.h"

#if defined(__GNUC__)
#define PT_LINE static inline __attribute__((always_inline))
#else
#define PT_LINE static inline
#endif

/* For a loop: what is made is never what is read. clang has a word for it, too, and warns where a loop stays as it is. */
#if defined(__GNUC__) && !defined(__clang__)
#define PT_NO_OVERLAP _Pragma("GCC ivdep")
#else
#define PT_NO_OVERLAP
#endif

/* Lines side by side, and tiles along a row, have loops of their own, which vectorize. */
#define PT_TRANSFORM(name)                                                                                        \
  static void name(size_t count, const pt_real* restrict d, pt_lines from, pt_real* restrict out, pt_lines to) {  \
    if (from.move == 1 && to.move == 1) {                                                                         \
      PT_NO_OVERLAP for (size_t i = 0; i < count; ++i) name##_line(d + i, from.step, out + i, to.step);           \
    } else if (from.step == 1 && to.move == 1) {                                                                  \
      PT_NO_OVERLAP for (size_t i = 0; i < count; ++i) name##_line(d + i * from.move, 1, out + i, to.step);       \
    } else {                                                                                                      \
      for (size_t i = 0; i < count; ++i, d += from.move, out += to.move) name##_line(d, from.step, out, to.step); \
    }                                                                                                             \
  }

#endif
