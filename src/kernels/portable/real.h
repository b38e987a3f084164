/* The element type of the portable kernels: float, or double when built for reference runs. */
#pragma once

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

/* PT_APART: a function that is not inlined, so that other paths of its caller do not pay for its registers and its
 * stack. PT_INLINE: a function that is always inlined. */
#if defined(__GNUC__)
#define PT_APART static __attribute__((noinline))
#define PT_INLINE static inline __attribute__((always_inline))
#else
#define PT_APART static
#define PT_INLINE static inline
#endif

/* A constant outside functions: OpenCL C keeps it in an address space of its own. */
#define PT_CONSTANT static const

/* Stands before a loop in which no iteration reads what another one writes. clang has no such pragma. */
#if defined(__GNUC__) && !defined(__clang__)
#define PT_IVDEP _Pragma("GCC ivdep")
#else
#define PT_IVDEP
#endif

/* Stands before a short loop that moves elements one by one. */
#if defined(__GNUC__) && !defined(__clang__)
#define PT_UNROLLED _Pragma("GCC unroll 4")
#else
#define PT_UNROLLED
#endif

/* Functions for the wider vectors of x86-64; the processor is asked before they are called. */
#if defined(__GNUC__) && defined(__x86_64__)
#define PT_HAS_AVX
#define PT_AVX2 __attribute__((target("avx2")))
#ifdef __clang__
#define PT_AVX512 __attribute__((target("avx512f")))
#else
#define PT_AVX512 __attribute__((target("avx512f,prefer-vector-width=512")))
#endif
#endif

static inline size_t pt_least(size_t a, size_t b) {
  return a < b ? a : b;
}
