// The formulas of portable/unary.c as functions, for what finishes a product.
#define PT_UNARY_LOOP(name, weight, expression) \
  static float f_##name(float x, float p, float q, float r) { return (float)(expression); }
#define PT_GRADIENT_LOOP(name, weight, expression) \
  static float f_##name(float dy, float x, float p, float q, float r) { return (float)(expression); }
#define PT_UNARY PT_UNARY_LOOP
#define PT_GRADIENT PT_GRADIENT_LOOP
