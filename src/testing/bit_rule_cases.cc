// Where the substitutions that keep every bit fit, and near misses.
#include "testing/rule_sample.h"

namespace pantoum::rewrite {
namespace {

ValueId pointwise_of_two(Sample& s, ValueId a, ValueId b) {
  if (s.flip()) return s.op(s.unary(), a);
  if (s.flip()) return s.op(s.binary(), {a, s.constant({}, 0.7F)});
  return s.op(s.binary(), {a, b});
}

ValueId sunk_transpose(Sample& s) {
  const Shape shape = s.shape(3);
  const auto perm = s.permutation(3);
  return end(s, pointwise_of_two(s, s.transpose(s.made(shape), perm), s.transpose(s.made(shape), perm)));
}

ValueId sunk_reshape(Sample& s) {
  const Shape shape = s.shape(3), to{shape[0] * shape[1], shape[2]};
  return end(s, pointwise_of_two(s, s.reshape(s.made(shape), to), s.reshape(s.made(shape), to)));
}

ValueId sunk_split(Sample& s) {
  const Shape shape{s.extent(), 7, s.extent()};
  const auto a = split(s, s.made(shape), 1, {2, 1, 4}), b = split(s, s.made(shape), 1, {2, 1, 4});
  const bool one = s.flip();
  const auto f = s.unary();
  const Kind of_two = s.binary();
  std::vector<ValueId> all;
  for (size_t piece : {2u, 0u, 1u}) all.push_back(one ? s.op(f, a[piece]) : s.op(of_two, {a[piece], b[piece]}));
  return concat(s, {end(s, all[1]), end(s, all[0]), all[2]}, 1);
}

}  // namespace

std::vector<RuleCase> bit_rule_cases() {
  const Build broadcast = [](Sample& s) {  // a row over a transposed matrix
    return s.op(Kind::k_add, {s.transpose(s.made({3, 4}), {1, 0}), s.made({3})});
  };
  return {
      {"merge-equal-ops",
       [](Sample& s) {
         const ValueId a = s.parameter({3, 3}), b = s.parameter({3, 3});
         const auto twice = [&] { return s.flip() ? s.matmul(a, b) : s.op(Kind::k_exp, {a}); };
         ValueId sum = twice();
         for (int more = 0; more < 2; ++more) sum = s.op(Kind::k_add, {sum, twice()});
         return end(s, sum);
       },
       {[](Sample& s) {
          const ValueId a = s.parameter({3, 3}), b = s.parameter({3, 3});
          return s.op(Kind::k_mul, {s.op(Kind::k_add, {a, b}), s.op(Kind::k_add, {b, a})});
        },
        [](Sample& s) {
          const ValueId a = s.parameter({3, 3});
          const ValueId drawn = s.op(Kind::k_dropout, {a}, {{7}, {0.5}}),
                        again = s.op(Kind::k_dropout, {a}, {{7}, {0.5}});
          return s.op(Kind::k_mul, {drawn, again});
        },
        [](Sample& s) {
          const ValueId a = s.parameter({3, 3});
          return s.op(Kind::k_mul, {s.scale(a, 2), s.scale(a, 2.5)});
        },
        [](Sample& s) {
          const ValueId a = s.parameter({6});
          return s.op(Kind::k_mul, {s.reshape(a, {3, 2}), s.reshape(a, {3, 1, 2})});
        }}},
      {"merge-transposes",
       [](Sample& s) {
         return end(s, s.transpose(s.transpose(s.made(s.shape(4)), s.permutation(4)), s.permutation(4)));
       },
       {[](Sample& s) {
         return s.transpose(s.op(Kind::k_relu, {s.transpose(s.made({2, 3}), {1, 0})}), {1, 0});
       }}},
      {"merge-reshapes",
       [](Sample& s) {
         const int64_t a = s.extent(), b = s.extent();
         return end(s, s.reshape(s.reshape(s.made({a, b}), {a * b}), s.flip() ? Shape{a, b} : Shape{b, 1, a}));
       },
       {[](Sample& s) {
         return s.reshape(s.op(Kind::k_relu, {s.reshape(s.made({2, 3}), {6})}), {3, 2});
       }}},
      {"sink-transpose",
       sunk_transpose,
       {broadcast,
        [](Sample& s) {
          return s.op(Kind::k_add, {s.transpose(s.made({3, 3}), {1, 0}), s.made({3, 3})});
        },
        [](Sample& s) {
          return s.op(Kind::k_dropout, {s.transpose(s.made({3, 4}), {1, 0})}, {{3}, {0.5}});
        },
        [](Sample& s) {
          return s.op(Kind::k_softmax, {s.transpose(s.made({3, 4}), {1, 0})}, {{1}, {}});
        }}},
      {"sink-reshape",
       sunk_reshape,
       {[](Sample& s) {
          return s.op(Kind::k_add, {s.reshape(s.made({3, 4}), {12}), s.reshape(s.made({2, 6}), {12})});
        },
        [](Sample& s) {
          return s.op(Kind::k_add, {s.made({3, 4}), s.reshape(s.made({4}), {1, 4})});
        },
        [](Sample& s) {
          return s.op(Kind::k_softmax, {s.reshape(s.made({3, 4}), {4, 3})}, {{1}, {}});
        }}},
      {"sink-split",
       sunk_split,
       {[](Sample& s) {
          const auto a = split(s, s.made({3, 4}), 1, {2, 2});
          return concat(s, {s.op(Kind::k_relu, {a[0]}), s.op(Kind::k_exp, {a[1]})}, 1);
        },
        [](Sample& s) {
          const auto a = split(s, s.made({3, 4}), 1, {2, 2});
          return s.op(Kind::k_mul, {a[0], a[1]});
        },
        [](Sample& s) {
          const auto a = split(s, s.made({3, 4}), 1, {2, 2});
          return concat(s, {s.op(Kind::k_relu, {a[0]}), a[1]}, 1);
        }}},
  };
}

}  // namespace pantoum::rewrite
