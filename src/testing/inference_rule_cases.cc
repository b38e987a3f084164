// Where the substitutions of inference fit, and near misses.
#include "testing/rule_sample.h"

namespace pantoum::rewrite {
namespace {

// A product of fixed weights on what an input makes.
ValueId product(Sample& s, int64_t channels) {
  const bool biased = s.flip();
  std::vector<ValueId> inputs;
  const int64_t form = s.between(0, 2);
  const bool turned = s.flip();
  const size_t spatial = form == 1 ? 2 : 3;
  if (form == 0) {
    inputs = {s.c.builder.input("x", {ir::DType::kF32, {3, 4}}), s.matrix(4, channels, turned)};
  } else {
    Shape kernel = s.kernel(spatial, channels, 2);
    inputs = {s.c.builder.input("x", {ir::DType::kF32, s.image(spatial, 2)}), s.parameter(kernel)};
  }
  if (biased) inputs.push_back(s.parameter({channels}));
  if (form == 0) return s.op(Kind::k_matmul, inputs, {{0, turned}, {}});
  return s.op(form == 1 ? Kind::k_conv2d : Kind::k_conv3d, inputs, {s.conv_attrs(spatial), {}});
}

ValueId normed(Sample& s, ValueId x, int64_t channels) {
  return s.op(Kind::k_batch_norm_eval,
              {x, s.parameter({channels}), s.parameter({channels}), s.parameter({channels}), s.c.positive({channels})},
              {{}, {1e-3}});
}

Shape over_channels(Sample& s, ValueId y, int64_t channels) {
  Shape shape(s.shape_of(y).size() - 1, 1);
  if (shape.size() == 1) return {channels};
  shape[0] = channels;
  if (s.flip()) shape.insert(shape.begin(), 1);
  return shape;
}

ValueId scaled(Sample& s) {
  const int64_t channels = s.extent();
  const ValueId y = product(s, channels);
  const ValueId operand = s.flip() ? s.parameter(over_channels(s, y, channels)) : s.constant({}, 0.7F);
  switch (s.between(0, 4)) {
    case 0:
      return s.scale(y, 1.5, s.flip() ? 0.25 : 0);
    case 1:
      return s.op(Kind::k_mul, {operand, y});
    case 2:
      return s.op(Kind::k_mul, {y, operand});
    case 3:
      return s.op(Kind::k_sub, {y, operand});
    default:
      return s.op(Kind::k_add, {y, operand});
  }
}

}  // namespace

// why: a table, one case for each rule.
std::vector<RuleCase> inference_rule_cases() {
  const std::vector<int64_t> plain{1, 1, 0, 0, 0, 0, 1, 1, 1}, around{1, 1, 1, 1, 1, 1, 1, 1, 1};
  return {
      {"fold-parameters",
       [](Sample& s) {
         const ValueId w = s.op(s.unary(), s.parameter({3, 4}));
         return s.matmul(s.c.builder.input("x", {ir::DType::kF32, {2, 3}}), s.flip() ? w : s.scale(w, 2, 1));
       },
       {[](Sample& s) {
          return s.op(Kind::k_relu, {s.c.builder.input("x", {ir::DType::kF32, {2, 3}})});
        },
        [](Sample& s) {
          return s.op(Kind::k_mul, {s.c.builder.input("x", {ir::DType::kF32, {2, 3}}),
                                    s.op(Kind::k_dropout, {s.parameter({2, 3})}, {{1}, {0.5}})});
        }}},
      {"fold-batch-norm",
       [](Sample& s) {
         const int64_t channels = s.extent();
         return normed(s, product(s, channels), channels);
       },
       {[](Sample& s) {
          const ValueId y = product(s, 3);
          return s.op(Kind::k_add, {normed(s, y, 3), y});
        },
        [](Sample& s) { return normed(s, s.op(Kind::k_relu, {product(s, 3)}), 3); },
        [](Sample& s) {  // channels of a batch of matrices are no columns
          const ValueId x = s.c.builder.input("x", {ir::DType::kF32, {2, 3, 4}});
          return normed(s, s.matmul(x, s.parameter({4, 3})), 3);
        },
        [](Sample& s) {  // a weight that an input makes
          const ValueId x = s.c.builder.input("x", {ir::DType::kF32, {3, 3}});
          return normed(s, s.matmul(x, s.op(Kind::k_relu, {x})), 3);
        }}},
      {"fold-scale-shift",
       scaled,
       {[](Sample& s) {
          return s.op(Kind::k_sub, {s.constant({}, 1), product(s, 3)});
        },
        [](Sample& s) {
          const ValueId x = s.c.builder.input("x", {ir::DType::kF32, {3, 4}});
          return s.op(Kind::k_mul, {s.matmul(x, s.parameter({4, 3})), s.parameter({3, 1})});
        },
        [](Sample& s) {
          const ValueId x = s.c.builder.input("x", {ir::DType::kF32, {3, 4}});
          return s.op(Kind::k_add, {s.matmul(x, s.parameter({4, 3})), s.parameter({2, 3, 3})});
        },
        [](Sample& s) {
          const ValueId y = product(s, 3);
          return s.op(Kind::k_add, {s.scale(y, 2), y});
        }}},
  };
}

}  // namespace pantoum::rewrite
