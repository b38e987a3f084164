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

// A kernel of 1x1 to 3x1 beside one of 3x3 on the same positions.
ValueId smaller_kernel(Sample& s) {
  const int64_t rows = s.between(1, 3), dilation = s.between(1, 2), more = (3 - rows) * dilation,
                stride = s.between(1, 2);
  const int64_t before = s.between(0, 3 - rows) * dilation;
  const ValueId x = s.c.builder.input("x", {ir::DType::kF32, {2, 2, 8, 8}});
  const std::vector<int64_t> large{stride, 1, 2 * dilation, 1, 2 * dilation, 1, dilation, 1, 1};
  const std::vector<int64_t> small{stride, 1, 2 * dilation - before, 0, 2 * dilation - (more - before), 0, dilation,
                                   1,      1};
  const ValueId a = s.conv(x, s.parameter({3, 2, rows, 1}), small), b = s.conv(x, s.parameter({4, 2, 3, 3}), large);
  return s.op(Kind::k_concat, {a, b}, {{1}, {}});
}

}  // namespace

// why: a table, one case for each rule.
std::vector<RuleCase> inference_rule_cases() {
  const std::vector<int64_t> plain{1, 1, 0, 0, 0, 0, 1, 1, 1}, around{1, 1, 1, 1, 1, 1, 1, 1, 1};
  return {
      {"drop-dropout",
       [](Sample& s) {
         return s.op(Kind::k_relu, {s.op(Kind::k_dropout, {s.made(s.shape(2))}, {{s.between(0, 9)}, {0.0}})});
       },
       {[](Sample& s) { return s.op(Kind::k_relu, {s.made({2})}); }}},
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
      {"enlarge-kernel",
       smaller_kernel,
       {[=](Sample& s) {  // other positions
          const ValueId x = s.c.builder.input("x", {ir::DType::kF32, {2, 2, 8, 8}});
          return s.op(Kind::k_add,
                      {s.op(Kind::k_reduce_sum, {s.conv(x, s.parameter({3, 2, 1, 1}), around)}, {{15}, {}}),
                       s.op(Kind::k_reduce_sum, {s.conv(x, s.parameter({3, 2, 3, 3}), around)}, {{15}, {}})});
        },
        [=](Sample& s) {  // larger one way and smaller the other
          const ValueId x = s.c.builder.input("x", {ir::DType::kF32, {2, 2, 8, 8}});
          return s.op(Kind::k_add, {s.conv(x, s.parameter({3, 2, 3, 1}), {1, 1, 1, 0, 1, 0, 1, 1, 1}),
                                    s.conv(x, s.parameter({3, 2, 1, 3}), {1, 1, 0, 1, 0, 1, 1, 1, 1})});
        },
        [=](Sample& s) {  // groups
          const ValueId x = s.c.builder.input("x", {ir::DType::kF32, {2, 2, 8, 8}});
          return s.op(Kind::k_add, {s.conv(x, s.parameter({4, 1, 1, 1}), {1, 1, 0, 0, 0, 0, 1, 1, 2}),
                                    s.conv(x, s.parameter({4, 1, 3, 3}), {1, 1, 1, 1, 1, 1, 1, 1, 2})});
        },
        [=](Sample& s) {  // alone
          return s.conv(s.c.builder.input("x", {ir::DType::kF32, {2, 2, 8, 8}}), s.parameter({4, 2, 1, 1}), plain);
        }}},
  };
}

}  // namespace pantoum::rewrite
