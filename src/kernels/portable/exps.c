#include "kernels/portable/exps.h"

/* The differences are stored separately, so that no store can change a later load: compilers then vectorize in-place
 * calls too. */
PT_INLINE void exps_of_columns(const pt_real* x, const pt_real* top, pt_real* e) {
  pt_real below[PT_COLUMNS];
  for (size_t column = 0; column < PT_COLUMNS; ++column) below[column] = x[column] - top[column];
  for (size_t column = 0; column < PT_COLUMNS; ++column) e[column] = pt_real_exp(below[column]);
}

PT_INLINE void exps_of_row(const pt_real* x, size_t count, pt_real top, pt_real* e) {
  pt_real tops[PT_COLUMNS];
  for (size_t column = 0; column < PT_COLUMNS; ++column) tops[column] = top;
  for (; count >= PT_COLUMNS; x += PT_COLUMNS, e += PT_COLUMNS, count -= PT_COLUMNS) exps_of_columns(x, tops, e);
  for (size_t at = 0; at < count; ++at) e[at] = pt_real_exp(x[at] - top);
}

#define PT_EXP_FORMS(name, target)                                                         \
  target static void row_##name(const pt_real* x, size_t count, pt_real top, pt_real* e) { \
    exps_of_row(x, count, top, e);                                                         \
  }                                                                                        \
  target static void columns_##name(const pt_real* x, const pt_real* top, pt_real* e) {    \
    exps_of_columns(x, top, e);                                                            \
  }
PT_EXP_FORMS(plain, )
#ifdef PT_HAS_AVX
PT_EXP_FORMS(avx2, PT_AVX2)
PT_EXP_FORMS(avx512, __attribute__((target("avx512f"))))
#endif

pt_exps PT_NAME(pt_exps_here)(void) {
  pt_exps here = {row_plain, columns_plain};
#ifdef PT_HAS_AVX
  if (__builtin_cpu_supports("avx2")) here = (pt_exps){row_avx2, columns_avx2};
  if (__builtin_cpu_supports("avx512f")) here = (pt_exps){row_avx512, columns_avx512};
#endif
  return here;
}
