/* Makes transforms of many lines (winograd.h) of NAME_line, which transforms one. */
#pragma once

#include "kernels/portable/winograd.h"

/* Lines side by side, and tiles along a row, have loops of their own, which vectorize. */
#define PT_TRANSFORM(name)                                                                                        \
  static void name(size_t count, const pt_real* restrict d, pt_lines from, pt_real* restrict out, pt_lines to) {  \
    if (from.move == 1 && to.move == 1) {                                                                         \
      PT_IVDEP for (size_t i = 0; i < count; ++i) name##_line(d + i, from.step, out + i, to.step);                \
    } else if (from.step == 1 && to.move == 1) {                                                                  \
      PT_IVDEP for (size_t i = 0; i < count; ++i) name##_line(d + i * from.move, 1, out + i, to.step);            \
    } else {                                                                                                      \
      for (size_t i = 0; i < count; ++i, d += from.move, out += to.move) name##_line(d, from.step, out, to.step); \
    }                                                                                                             \
  }
