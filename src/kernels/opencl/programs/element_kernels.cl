// A kernel for each formula of portable/unary.c, and the formula as a function.
#define PT_UNARY_LOOP(name, weight, expression)                                                  \
  static float f_##name(float x, float p, float q, float r) { return (float)(expression); }      \
  kernel void op_##name(ARGS) {                                                                  \
    ITEM;                                                                                        \
    OUT(0)[e] = f_##name(IN(0)[e], c.reals[0], c.reals[1], c.reals[2]);                          \
  }
#define PT_GRADIENT_LOOP(name, weight, expression)                                                        \
  static float f_##name(float dy, float x, float p, float q, float r) { return (float)(expression); }     \
  kernel void op_##name(ARGS) {                                                                           \
    ITEM;                                                                                                 \
    OUT(0)[e] = f_##name(IN(0)[e], IN(1)[e], c.reals[0], c.reals[1], c.reals[2]);                         \
  }
#define PT_UNARY PT_UNARY_LOOP
#define PT_GRADIENT PT_GRADIENT_LOOP
