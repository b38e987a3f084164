// Random graphs that a substitution fits, and near misses that it must leave alone.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "testing/gradient_cases.h"

namespace pantoum::rewrite {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

struct Sample {
  explicit Sample(uint32_t seed) : random(seed), c(graph, seed) {}

  ir::Graph graph;
  std::mt19937 random;
  autodiff::CaseBuilder c;

  int64_t between(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(random); }
  bool flip() { return between(0, 1) == 1; }
  int64_t extent() { return between(2, 6); }
  Shape shape(size_t rank) {
    Shape all;
    for (size_t d = 0; d < rank; ++d) all.push_back(extent());
    return all;
  }
  ValueId parameter(Shape of) { return c.parameter(std::move(of)); }
  ValueId constant(Shape of, float number) {
    const ir::TensorType type{ir::DType::kF32, of};
    return c.builder.constant_f32("constant", std::move(of),
                                  std::vector<float>(static_cast<size_t>(type.elements()), number));
  }
  ValueId op(Kind kind, std::vector<ValueId> inputs, ir::Attrs attrs = {}, std::vector<ir::TensorType> given = {}) {
    return c.op(kind, std::move(inputs), std::move(attrs), std::move(given));
  }
  Shape shape_of(ValueId value) { return c.builder.type(value).shape; }
  ir::TensorType type_of(ValueId value) { return c.builder.type(value); }
  ValueId reshape(ValueId x, Shape to) { return op(Kind::k_alias, {x}, {}, {{type_of(x).dtype, std::move(to)}}); }
  ValueId scale(ValueId x, double a, double b = 0) { return op(Kind::k_scale, {x}, {{}, {a, b}}); }
  // What keeps a value from standing at the edge of the graph: an op of its own.
  ValueId made(Shape of) { return op(Kind::k_tanh, {parameter(std::move(of))}); }

  // A pointwise op of one number each.
  struct Unary {
    Kind kind;
    ir::Attrs attrs;
  };
  Unary unary() {
    const Unary all[] = {{Kind::k_relu, {}},
                         {Kind::k_tanh, {}},
                         {Kind::k_sigmoid, {}},
                         {Kind::k_gelu, {{0}, {}}},
                         {Kind::k_scale, {{}, {2, 1}}},
                         {Kind::k_abs, {}},
                         {Kind::k_leaky_relu, {{}, {0.1}}},
                         {Kind::k_exp, {}},
                         {Kind::k_clip, {{}, {-0.5, 0.7}}}};
    return all[static_cast<size_t>(between(0, 8))];
  }
  ValueId op(const Unary& of, ValueId x) { return op(of.kind, {x}, of.attrs); }
  // Of two tensors of one shape, or of one and a single number.
  Kind binary() {
    const Kind all[] = {Kind::k_add, Kind::k_sub, Kind::k_mul, Kind::k_maximum, Kind::k_minimum};
    return all[static_cast<size_t>(between(0, 4))];
  }
  std::vector<int64_t> permutation(size_t rank) {  // none that keeps all
    std::vector<int64_t> perm;
    for (size_t d = 0; d < rank; ++d) perm.push_back(static_cast<int64_t>(d));
    const std::vector<int64_t> same = perm;
    do std::shuffle(perm.begin(), perm.end(), random);
    while (perm == same);
    return perm;
  }
  ValueId transpose(ValueId x, std::vector<int64_t> perm) { return op(Kind::k_transpose, {x}, {std::move(perm), {}}); }
  ValueId matmul(ValueId a, ValueId b, int64_t trans_a = 0, int64_t trans_b = 0) {
    return op(Kind::k_matmul, {a, b}, {{trans_a, trans_b}, {}});
  }
  // A matrix of m rows and k columns, stored the other way round if `turned`.
  ValueId matrix(int64_t m, int64_t k, bool turned) { return parameter(turned ? Shape{k, m} : Shape{m, k}); }

  // Strides, padding, dilation of two or three dimensions of space for a kernel of up to 3 on an image of 6 or more.
  std::vector<int64_t> conv_attrs(size_t spatial, int64_t groups = 1) {
    std::vector<int64_t> ints;
    for (size_t d = 0; d < spatial; ++d) ints.push_back(between(1, 2));
    for (size_t d = 0; d < 2 * spatial; ++d) ints.push_back(between(0, 1));
    for (size_t d = 0; d < spatial; ++d) ints.push_back(between(1, 2));
    ints.push_back(groups);
    return ints;
  }
  Shape image(size_t spatial, int64_t channels) {
    Shape all{between(1, 3), channels};
    for (size_t d = 0; d < spatial; ++d) all.push_back(between(6, 8));
    return all;
  }
  Shape kernel(size_t spatial, int64_t outputs, int64_t channels) {
    Shape all{outputs, channels};
    for (size_t d = 0; d < spatial; ++d) all.push_back(between(1, 3));
    return all;
  }
  ValueId conv(ValueId x, ValueId w, const std::vector<int64_t>& ints) {
    return op(shape_of(x).size() == 5 ? Kind::k_conv3d : Kind::k_conv2d, {x, w}, {ints, {}});
  }
};

inline ValueId concat(Sample& s, std::vector<ValueId> parts, int64_t axis) {
  return s.op(Kind::k_concat, std::move(parts), {{axis}, {}});
}

inline std::vector<ValueId> split(Sample& s, ValueId x, int64_t axis, const std::vector<int64_t>& extents) {
  std::vector<ir::TensorType> types;
  for (const int64_t extent : extents) {
    types.push_back(s.type_of(x));
    types.back().shape[static_cast<size_t>(axis)] = extent;
  }
  return s.c.ops(Kind::k_split, {x}, {{axis}, {}}, types);
}

// Ends in an op that is no kin of what the rules look for.
inline ValueId end(Sample& s, ValueId x) {
  return s.op(Kind::k_softplus, {x});
}

using Build = std::function<ValueId(Sample&)>;

struct RuleCase {
  const char* rule;
  Build fits;                 // the model's output; the rule fits at some op of the forward graph
  std::vector<Build> misses;  // it fits nowhere
};

[[nodiscard]] std::vector<RuleCase> bit_rule_cases();
[[nodiscard]] std::vector<RuleCase> value_rule_cases();
[[nodiscard]] std::vector<RuleCase> inference_rule_cases();

}  // namespace pantoum::rewrite
