/* The element type of the portable kernels: float, or double when built for reference runs. */
#ifndef PANTOUM_KERNELS_PORTABLE_REAL_H
#define PANTOUM_KERNELS_PORTABLE_REAL_H

#include "pantoum/pantoum.h"

#ifdef PT_REAL_DOUBLE
typedef double pt_real;
#define PT_REAL_DTYPE PT_F64
/* Every symbol that is not static gets its precision as a suffix, so that both builds can be linked into one program.
 */
#define PT_NAME(name) name##_f64
#else
typedef float pt_real;
#define PT_REAL_DTYPE PT_F32
#define PT_NAME(name) name##_f32
#endif

/* A function that is not inlined: other paths of its caller do not pay for its registers and its stack. */
#if defined(__GNUC__)
#define PT_APART static __attribute__((noinline))
#else
#define PT_APART static
#endif

#endif
