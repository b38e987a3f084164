#include "ir/gradient_rules.h"

namespace pantoum::ir {

void sum_to_input(Backward& back, size_t input, ValueId gradient) {
  const Shape shape = back.builder.type(back.op.inputs[input]).shape;
  back.d_inputs[input] = back.builder.sum_to(gradient, shape);
}

}  // namespace pantoum::ir
