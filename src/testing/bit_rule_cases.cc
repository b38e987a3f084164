// Where the substitutions that keep every bit fit, and near misses.
#include "testing/moving_ops.h"

namespace pantoum::rewrite {
namespace {

ValueId identity(Sample& s) {
  const Shape shape = s.shape(3);
  const ValueId x = s.made(shape);
  const ir::TensorType type = s.type_of(x);
  switch (s.between(0, 12)) {
    case 0:
      return end(s, s.op(Kind::k_mul, {s.constant({}, 1), x}));
    case 1:
      return end(s, s.op(Kind::k_mul, {x, s.constant({shape[2]}, 1)}));
    case 2:
      return end(s, s.op(Kind::k_div, {x, s.constant({}, 1)}));
    case 3:
      return end(s, s.op(Kind::k_sub, {x, s.constant(shape, 0.0F)}));
    case 4:
      return end(s, s.op(Kind::k_add, {s.constant({}, -0.0F), x}));
    case 5:
      return end(s, s.scale(x, 1, -0.0));
    case 6:
      return end(s, s.op(Kind::k_cast, {x}, {}, {type}));
    case 7:
      return end(s, s.reshape(x, shape));
    case 8:
      return end(s, s.transpose(x, {0, 1, 2}));
    case 9:
      return end(s, s.op(Kind::k_slice, {x}, whole_slice(shape), {type}));
    case 10:
      return end(s, concat(s, {x}, 1));
    case 11:
      return end(s, s.op(Kind::k_expand, {x}, {{}, {1}}, {type}));
    default:
      return end(s, s.op(Kind::k_add, {s.op(Kind::k_exp, {x}), s.constant({}, 0)}));
  }
}

ValueId repeated(Sample& s) {
  const ValueId x = s.made(s.shape(2));
  const Sample::Unary all[] = {{Kind::k_relu, {}},
                               {Kind::k_abs, {}},
                               {Kind::k_neg, {}},
                               {Kind::k_clip, {{}, {-0.4, 0.5}}},
                               {Kind::k_round_to, {{0}, {}}}};
  const auto& f = all[static_cast<size_t>(s.between(0, 4))];
  return end(s, s.op(f, s.op(f, x)));
}

// f may write over x, which g reads later.
ValueId overwriting(Sample& s) {
  const Shape shape = s.shape(2);
  const ValueId x = s.made(shape);
  const ValueId f = s.op(s.unary(), x), g = s.op(Kind::k_softplus, {x}), h = s.op(s.unary(), g);
  return s.op(Kind::k_mul, {f, h});
}

// Made of constants, and added to what trains.
ValueId constants(Sample& s) {
  const Shape shape = s.shape(2), turned{shape[1], shape[0]};
  std::vector<float> numbers;
  for (int64_t at = 0; at < shape[0] * shape[1]; ++at) numbers.push_back(static_cast<float>(s.between(-9, 9)) / 7);
  const ValueId a = s.c.builder.constant_f32("a", shape, numbers);
  const ValueId folded = s.flip()   ? s.op(s.binary(), {a, s.constant({}, 0.3F)})
                         : s.flip() ? s.op(Kind::k_relu, {a})
                                    : s.transpose(a, {1, 0});
  return end(s, s.op(Kind::k_add, {s.made(s.shape_of(folded)), folded}));
}

// why: a table, one case for each rule.
std::vector<RuleCase> move_cases() {
  return {
      {"merge-transposes",
       [](Sample& s) {
         return end(s, s.transpose(s.transpose(s.made(s.shape(4)), s.permutation(4)), s.permutation(4)));
       },
       {[](Sample& s) {
         return s.transpose(s.op(Kind::k_relu, {s.transpose(s.made({2, 3}), {1, 0})}), {1, 0});
       }}},
      {"transpose-as-reshape",
       [](Sample& s) {
         return end(s, s.transpose(s.made({s.extent(), 1, s.extent(), 1}), {1, 0, 3, 2}));
       },
       {[](Sample& s) {
          return s.transpose(s.made({2, 1, 3}), {2, 1, 0});
        },
        [](Sample& s) {
          return s.transpose(s.made({2, 3}), {0, 1});
        }}},
      {"merge-reshapes",
       [](Sample& s) {
         const int64_t a = s.extent(), b = s.extent();
         return end(s, s.reshape(s.reshape(s.made({a, b}), {a * b}), s.flip() ? Shape{a, b} : Shape{b, 1, a}));
       },
       {[](Sample& s) {
         return s.reshape(s.op(Kind::k_relu, {s.reshape(s.made({2, 3}), {6})}), {3, 2});
       }}},
      {"cancel-concat",
       [](Sample& s) {
         const auto pieces = split(s, concat(s, parts(s, {3, 1}, 1, {2, 3, 1}), 1), 1,
                                   s.flip() ? std::vector<int64_t>{2, 4} : std::vector<int64_t>{2, 3, 1});
         return concat(s, {end(s, pieces[0]), pieces[1]}, 1);
       },
       {[](Sample& s) {
          const auto pieces = split(s, concat(s, parts(s, {3, 1}, 1, {2, 3}), 1), 1, {3, 2});
          return concat(s, {pieces[0], end(s, pieces[1])}, 1);
        },
        [](Sample& s) {
          const auto pieces = split(s, concat(s, parts(s, {4, 2}, 0, {2, 2}), 0), 1, {1, 1});
          return concat(s, {pieces[0], end(s, pieces[1])}, 1);
        }}},
      {"cancel-split",
       [](Sample& s) {
         return end(s, concat(s, split(s, s.made({4, 6}), 1, {1, 2, 3}), 1));
       },
       {[](Sample& s) {
          const auto pieces = split(s, s.made({4, 6}), 1, {3, 3});
          return concat(s, {pieces[1], pieces[0]}, 1);
        },
        [](Sample& s) {
          return concat(s, split(s, s.made({4, 6}), 1, {3, 3}), 0);
        },
        [](Sample& s) {
          const auto pieces = split(s, s.made({4, 6}), 1, {2, 2, 2});
          return concat(s, {pieces[0], pieces[1]}, 1);
        }}},
      {"slice-of-concat",
       [](Sample& s) {
         const ValueId joined = concat(s, parts(s, {5, 1}, 1, {3, 4, 2}), 1);
         return end(s, s.flip() ? sliced(s, joined, 1, 6, 2, -2) : sliced(s, joined, 1, s.between(3, 5), 2));
       },
       {[](Sample& s) {
          return sliced(s, concat(s, parts(s, {5, 1}, 1, {3, 4}), 1), 1, 2, 2);
        },
        [](Sample& s) {
          return sliced(s, concat(s, parts(s, {5, 1}, 1, {3, 4}), 1), 1, 5, 2, -4);
        },
        [](Sample& s) {
          return sliced(s, concat(s, parts(s, {5, 1}, 1, {3, 4}), 1), 0, 1, 2);
        }}},
      {"merge-slices",
       [](Sample& s) {
         const int64_t axis = s.between(0, 1);
         return end(s, sliced(s, sliced(s, s.made({9, 9}), axis, 8, 4, -2), s.between(0, 1), 3, 2, -1));
       },
       {[](Sample& s) {
         return sliced(s, s.op(Kind::k_relu, {sliced(s, s.made({9, 9}), 0, 1, 5)}), 1, 2, 3);
       }}},
      {"merge-concats",
       [](Sample& s) {
         const ValueId inner = concat(s, parts(s, {3, 1}, 1, {2, 3}), 1);
         return end(s, concat(s, {s.made({3, 1}), inner, s.made({3, 2})}, 1));
       },
       {[](Sample& s) {
          const ValueId inner = concat(s, parts(s, {2, 2}, 0, {2, 2}), 0);
          return concat(s, {s.made({4, 1}), inner}, 1);
        },
        [](Sample& s) {
          const ValueId inner = concat(s, parts(s, {3, 1}, 1, {2, 3}), 1);
          return concat(s, {inner, inner}, 1);
        }}},
      {"merge-splits",
       [](Sample& s) {
         const auto outer = split(s, s.made({3, 8}), 1, {2, 5, 1});
         const auto inner = split(s, outer[1], 1, {4, 1});
         return concat(s, {outer[0], end(s, inner[1]), inner[0], outer[2]}, 1);
       },
       {[](Sample& s) {
         const auto outer = split(s, s.made({4, 8}), 1, {4, 4});
         const auto inner = split(s, outer[1], 0, {2, 2});
         return concat(s, {concat(s, {inner[1], end(s, inner[0])}, 0), outer[0]}, 1);
       }}},
  };
}

// why: a table, one case for each rule.
std::vector<RuleCase> drop_cases() {
  return {
      {"drop-dead-code",
       [](Sample& s) {
         const ValueId x = s.made(s.shape(2));
         s.op(s.unary(), s.op(s.unary(), x));
         return end(s, x);
       },
       {[](Sample& s) { return end(s, s.made(s.shape(2))); }}},
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
      {"drop-identities",
       identity,
       {[](Sample& s) {
          return s.op(Kind::k_add, {s.made({3, 2}), s.constant({}, 0.0F)});
        },
        [](Sample& s) {
          return s.op(Kind::k_sub, {s.made({3, 2}), s.constant({}, -0.0F)});
        },
        [](Sample& s) {
          return s.op(Kind::k_sub, {s.constant({}, 0.0F), s.made({3, 2})});
        },
        [](Sample& s) {
          return s.op(Kind::k_div, {s.constant({}, 1), s.parameter({3, 2})});
        },
        [](Sample& s) {
          return s.op(Kind::k_mul, {s.made({3}), s.constant({2, 3}, 1)});
        },
        [](Sample& s) {
          return s.op(Kind::k_mul, {s.made({2}), s.c.builder.constant_f32("k", {2}, {1, 2})});
        },
        [](Sample& s) {
          return s.scale(s.made({3, 2}), 1, 0.0);
        },
        [](Sample& s) {
          return sliced(s, s.made({3, 2}), 0, 2, 3, -1);
        },
        [](Sample& s) {
          return s.transpose(s.made({3, 3}), {1, 0});
        },
        [](Sample& s) {
          return s.op(Kind::k_expand, {s.made({3})}, {{}, {2}}, {{ir::DType::kF32, {3}}});
        }}},
      {"drop-repeats",
       repeated,
       {[](Sample& s) {
          const ValueId once = s.op(Kind::k_clip, {s.made({4})}, {{}, {-1, 1}});
          return s.op(Kind::k_clip, {once}, {{}, {-0.5, 1}});
        },
        [](Sample& s) {  // limits the wrong way round
          const ir::Attrs limits{{}, {0.5, -0.4}};
          return s.op(Kind::k_clip, {s.op(Kind::k_clip, {s.made({4})}, limits)}, limits);
        },
        [](Sample& s) { return s.op(Kind::k_tanh, {s.op(Kind::k_tanh, {s.made({4})})}); },
        [](Sample& s) { return s.op(Kind::k_relu, {s.op(Kind::k_abs, {s.made({4})})}); }}},
      {"overwrite-last",
       overwriting,
       {[](Sample& s) {
          const ValueId x = s.made({3, 2}), y = s.op(Kind::k_relu, {x});
          return s.op(Kind::k_mul, {y, x});
        },
        [](Sample& s) {
          const ValueId x = s.parameter({3, 2}), y = s.op(Kind::k_relu, {x}), z = s.op(Kind::k_abs, {x});
          return s.op(Kind::k_mul, {y, z});
        }}},
      {"fold-constants",
       constants,
       {[](Sample& s) {
          return s.op(Kind::k_add, {s.made({2}), s.op(Kind::k_exp, {s.constant({2}, 2)})});
        },
        [](Sample& s) {
          return s.op(Kind::k_add, {s.parameter({2}), s.constant({}, 2)});
        }}},
  };
}

}  // namespace

std::vector<RuleCase> bit_rule_cases() {
  std::vector<RuleCase> all = drop_cases();
  for (const auto& more : {move_cases(), push_rule_cases()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace pantoum::rewrite
