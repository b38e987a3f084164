// Where the substitutions that take pointwise ops past ops that move elements fit, and near misses.
#include "testing/moving_ops.h"

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
ValueId raised_transpose(Sample& s) {
  const Shape shape = s.shape(3);
  return end(s, s.transpose(pointwise_of_two(s, s.made(shape), s.made(shape)), s.permutation(3)));
}
ValueId sunk_reshape(Sample& s) {
  const Shape shape = s.shape(3), to{shape[0] * shape[1], shape[2]};
  return end(s, pointwise_of_two(s, s.reshape(s.made(shape), to), s.reshape(s.made(shape), to)));
}
ValueId raised_reshape(Sample& s) {
  const Shape shape = s.shape(3), to{shape[0], shape[1] * shape[2]};
  return end(s, s.reshape(pointwise_of_two(s, s.made(shape), s.made(shape)), to));
}

ValueId sunk_concat(Sample& s) {
  const auto axis = static_cast<size_t>(s.between(0, 2));
  const Shape like = s.shape(3);
  const std::vector<int64_t> extents = s.shape(static_cast<size_t>(s.between(2, 4)));
  const auto joined = [&] { return concat(s, parts(s, like, axis, extents), static_cast<int64_t>(axis)); };
  const ValueId a = joined(), b = joined();
  return end(s, pointwise_of_two(s, a, b));
}

ValueId raised_concat(Sample& s) {
  const auto axis = static_cast<size_t>(s.between(0, 2));
  const Shape like = s.shape(3);
  const auto f = s.unary();
  const Kind of_two = s.binary();
  const ValueId number = s.constant({}, 0.3F);
  const int64_t form = s.between(0, 2);
  std::vector<ValueId> all;
  for (const int64_t extent : s.shape(static_cast<size_t>(s.between(2, 4)))) {
    Shape shape = like;
    shape[axis] = extent;
    all.push_back(form == 0   ? s.op(f, s.made(shape))
                  : form == 1 ? s.op(of_two, {number, s.made(shape)})
                              : s.op(of_two, {s.made(shape), s.made(shape)}));
  }
  return end(s, concat(s, all, static_cast<int64_t>(axis)));
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

ValueId raised_split(Sample& s) {
  const Shape shape{s.extent(), 7, s.extent()};
  const auto pieces = split(s, pointwise_of_two(s, s.made(shape), s.made(shape)), 1, {2, 1, 4});
  return concat(s, {end(s, pieces[1]), pieces[0], pieces[2]}, 1);
}

ValueId picked(Sample& s) {
  const Shape shape{7, 6};
  const ValueId y = pointwise_of_two(s, s.made(shape), s.made(shape));
  if (s.flip()) return end(s, sliced(s, y, s.between(0, 1), 4, 2, s.flip() ? -2 : 1));
  return end(s, s.op(Kind::k_gather, {y, indices(s, 3, 6)}, {{1}, {}}));
}

ValueId repeated_rows(Sample& s) {
  const ValueId rows = indices(s, 9, 4);
  const auto gathered = [&] { return s.op(Kind::k_gather, {s.made({4, 3}), rows}, {{0}, {}}); };
  const ValueId a = gathered(), b = gathered();
  return end(s, pointwise_of_two(s, a, b));
}

}  // namespace

// why: a table, one case for each rule.
std::vector<RuleCase> push_rule_cases() {
  const Build broadcast = [](Sample& s) {  // a row over a transposed matrix
    return s.op(Kind::k_add, {s.transpose(s.made({3, 4}), {1, 0}), s.made({3})});
  };
  return {
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
      {"raise-transpose",
       raised_transpose,
       {[](Sample& s) {
          const ValueId y = s.op(Kind::k_relu, {s.made({3, 4})});
          return s.matmul(s.transpose(y, {1, 0}), y);
        },
        [](Sample& s) {
          return s.transpose(s.op(Kind::k_dropout, {s.made({3, 4})}, {{3}, {0.5}}), {1, 0});
        },
        [](Sample& s) {
          return s.transpose(s.op(Kind::k_add, {s.made({3, 4}), s.made({4})}), {1, 0});
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
      {"raise-reshape",
       raised_reshape,
       {[](Sample& s) {
          return s.reshape(s.op(Kind::k_softmax, {s.made({3, 4})}, {{1}, {}}), {12});
        },
        [](Sample& s) {
          return s.reshape(s.op(Kind::k_add, {s.made({3, 4}), s.made({4})}), {12});
        }}},
      {"sink-concat",
       sunk_concat,
       {[](Sample& s) {
          return s.op(Kind::k_add,
                      {concat(s, parts(s, {3, 1}, 1, {2, 3}), 1), concat(s, parts(s, {3, 1}, 1, {3, 2}), 1)});
        },
        [](Sample& s) {
          return s.op(Kind::k_add, {concat(s, parts(s, {3, 1}, 1, {2, 3}), 1), s.made({3, 5})});
        }}},
      {"raise-concat",
       raised_concat,
       {[](Sample& s) {
          return concat(s, {s.op(Kind::k_relu, {s.made({3, 2})}), s.op(Kind::k_tanh, {s.made({3, 2})})}, 1);
        },
        [](Sample& s) {
          return concat(s, {s.scale(s.made({3, 2}), 2), s.scale(s.made({3, 2}), 3)}, 1);
        },
        [](Sample& s) {
          const auto part = [&] {
            return s.op(Kind::k_add, {s.op(Kind::k_softmax, {s.made({3, 2})}, {{1}, {}}), s.parameter({2})});
          };
          const ValueId a = part(), b = part();
          return concat(s, {a, b}, 1);
        },
        [](Sample& s) {
          const ValueId y = s.op(Kind::k_relu, {s.made({3, 2})});
          return concat(s, {y, y}, 1);
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
      {"raise-split",
       raised_split,
       {[](Sample& s) {
          const auto a = split(s, s.op(Kind::k_add, {s.made({3, 4}), s.made({4})}), 1, {2, 2});
          return s.op(Kind::k_mul, {a[0], a[1]});
        },
        [](Sample& s) {
          const auto a = split(s, s.op(Kind::k_softmax, {s.made({3, 4})}, {{1}, {}}), 1, {2, 2});
          return s.op(Kind::k_mul, {a[0], a[1]});
        }}},
      {"select-first",
       picked,
       {[](Sample& s) {
          return s.op(Kind::k_gather, {s.op(Kind::k_relu, {s.made({3, 4})}), indices(s, 3, 3)}, {{0}, {}});
        },
        [](Sample& s) {
          const ValueId y = s.op(Kind::k_relu, {s.made({3, 4})});
          return s.op(Kind::k_add, {y, sliced(s, y, 0, 1, 1)});
        }}},
      {"select-last",
       repeated_rows,
       {[](Sample& s) {
          return s.op(Kind::k_relu, {s.op(Kind::k_gather, {s.made({5, 4}), indices(s, 3, 3)}, {{0}, {}})});
        },
        [](Sample& s) {
          const auto gathered = [&] { return s.op(Kind::k_gather, {s.made({2, 3}), indices(s, 5, 2)}, {{0}, {}}); };
          const ValueId a = gathered(), b = gathered();
          return s.op(Kind::k_add, {a, b});
        }}},
  };
}

}  // namespace pantoum::rewrite
