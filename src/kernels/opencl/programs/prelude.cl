// What every program begins with. PT_NO_DOUBLE: the device computes no doubles.
#ifndef PT_NO_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF

typedef float pt_real;
typedef long int64_t;
typedef int int32_t;
typedef uint uint32_t;
typedef ulong uint64_t;
typedef uchar uint8_t;
#define INT32_MIN INT_MIN
#define INT32_MAX INT_MAX
#define INT64_MIN LONG_MIN
#define INT64_MAX LONG_MAX
#define UINT8_MAX UCHAR_MAX
#define UINT32_C(value) value##u
#define PT_CONSTANT constant
#define half half_of  // a name of the portable sources, a type here
#define memcpy copy_bytes
static inline void copy_bytes(void* to, const void* from, size_t bytes) {
  for (size_t at = 0; at < bytes; ++at) ((char*)to)[at] = ((const char*)from)[at];
}

enum { kInputs = 6, kOutputs = 4, kSlots = 11, kLanes = 8 };
typedef struct {
  ulong items, at[kSlots];
  long ints[16], extra[4];
  uint dims[kInputs + kOutputs][6], rank[kInputs + kOutputs];
  float reals[16];
  uint inputs, outputs;
} Parameters;

// A kernel's parameters: the call, six inputs, four outputs, the workspace. Work item e; its function returns where e is one too many.
#define ARGS                                                                                                            \
  const Parameters c, global uchar *i0, global uchar *i1, global uchar *i2, global uchar *i3, global uchar *i4,         \
      global uchar *i5, global uchar *o0, global uchar *o1, global uchar *o2, global uchar *o3, global uchar *work
#define ITEM                           \
  const size_t e = get_global_id(0);   \
  if (e >= c.items) return
#define IN_OF(type, k) ((global const type*)(i##k + c.at[k]))
#define OUT_OF(type, k) ((global type*)(o##k + c.at[kInputs + k]))
#define IN(k) IN_OF(float, k)
#define OUT(k) OUT_OF(float, k)
#define WORK ((global float*)(work + c.at[kSlots - 1]))
#define HAS_IN(k) (c.inputs > k)

// The extents [first, last) of a slot, multiplied.
static inline size_t extent(const Parameters* c, uint slot, uint first, uint last) {
  size_t all = 1;
  for (uint dim = first; dim < last; ++dim) all *= c->dims[slot][dim];
  return all;
}
static inline size_t elements(const Parameters* c, uint slot) {
  return extent(c, slot, 0, c->rank[slot]);
}

// Where an operand that broadcasts to the shape of slot `like` has its element e.
static inline size_t spread(const Parameters* c, uint slot, size_t e, uint like) {
  size_t at = 0, step = 1;
  for (uint back = 1; back <= c->rank[like]; ++back) {
    const size_t whole = c->dims[like][c->rank[like] - back], here = e % whole;
    e /= whole;
    if (back > c->rank[slot]) continue;
    const size_t own = c->dims[slot][c->rank[slot] - back];
    if (own != 1) at += here * step;
    step *= own;
  }
  return at;
}

// A long sum that is no product: element i goes to lane i % 8, as in the portable kernels. TERM is an expression in `at`.
static inline float lanes_total(const float* s) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}
#define SUM(total, count, TERM)                                                             \
  float total;                                                                              \
  do {                                                                                      \
    float lanes[kLanes] = {0, 0, 0, 0, 0, 0, 0, 0};                                         \
    for (size_t at = 0; at < (count); ++at) lanes[at % kLanes] += (TERM);                   \
    total = lanes_total(lanes);                                                             \
  } while (0)
