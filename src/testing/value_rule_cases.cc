// Where the substitutions that keep values, but not every bit, fit, and near misses; products and convolutions are in
// bilinear_rule_cases.cc.
#include "testing/moving_ops.h"

namespace pantoum::rewrite {
namespace {

ValueId closed(Sample& s, ValueId x) {
  return s.op(Kind::k_softplus, {x});
}

ValueId reduced(Sample& s, Kind kind, ValueId x, int64_t mask) {
  return s.op(kind, {x}, {{mask}, {}});
}

ValueId expanded(Sample& s, ValueId x, double a, Shape to) {
  return s.op(Kind::k_expand, {x}, {{}, {a}}, {{ir::DType::kF32, std::move(to)}});
}

ValueId scaled_twice(Sample& s) {
  const ValueId x = s.made({3, 1});
  switch (s.between(0, 4)) {
    case 0:
      return s.scale(s.scale(x, 1.5, 0.25), -0.7, 2);
    case 1:
      return s.op(Kind::k_neg, {s.scale(x, 1.5, 0.25)});
    case 2:
      return s.scale(s.op(Kind::k_neg, {x}), 0.3, 1);
    case 3:
      return expanded(s, s.scale(x, 3), 0.5, {2, 3, 4});
    default:
      return s.scale(expanded(s, x, 0.5, {3, 4}), 3);
  }
}

ValueId sum_of_copies(Sample& s) {
  const Kind kind = s.flip() ? Kind::k_reduce_sum : Kind::k_reduce_mean;
  switch (s.between(0, 3)) {
    case 0:
      return closed(s, reduced(s, kind, expanded(s, s.made({4}), 0.5, {3, 4}), 0b01));
    case 1:
      return closed(s, reduced(s, kind, expanded(s, s.made({3, 1}), 2, {5, 3, 4}), 0b110));
    case 2:
      return closed(s, reduced(s, kind, expanded(s, s.made({1, 3}), 2, {4, 3}), 0b11));
    default:
      return closed(s, reduced(s, kind, expanded(s, s.made({2, 1}), 0.25, {3, 2, 4}), 0b100));
  }
}

ValueId outer_sum(Sample& s) {
  const int64_t m = s.extent(), k = s.extent(), n = s.extent(), batch = s.extent();
  switch (s.between(0, 3)) {
    case 0:
      return closed(s,
                    reduced(s, Kind::k_reduce_sum, s.op(Kind::k_mul, {s.made({m, k, 1}), s.made({1, k, n})}), 0b010));
    case 1:
      return closed(s, reduced(s, Kind::k_reduce_sum, s.op(Kind::k_mul, {s.made({k, n}), s.made({m, k, 1})}), 0b010));
    case 2:
      return closed(
          s, reduced(s, Kind::k_reduce_sum, s.op(Kind::k_mul, {s.made({batch, m, k, 1}), s.made({k, n})}), 0b0100));
    default:
      return closed(s, reduced(s, Kind::k_reduce_sum,
                               s.op(Kind::k_mul, {s.made({batch, m, k, 1}), s.made({batch, 1, k, n})}), 0b0100));
  }
}

// x is made first, c last, and the sum begins with the wrong pair.
ValueId sum_out_of_order(Sample& s) {
  const Shape shape = s.shape(2);
  const ValueId x = s.made(shape), b = s.made(shape), c = s.made(shape);
  const ValueId inner = s.op(Kind::k_add, s.flip() ? std::vector{b, c} : std::vector{c, b});
  return closed(s, s.op(Kind::k_add, s.flip() ? std::vector{x, inner} : std::vector{inner, x}));
}

// An image with zeros around it.
ValueId padded(Sample& s, ValueId x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
               int64_t step = 1) {
  ir::TensorType type = s.type_of(x);
  ir::Attrs attrs;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    type.shape[d] = before[d] + (type.shape[d] - 1) * step + 1 + after[d];
    attrs.ints.insert(attrs.ints.end(), {before[d], step});
  }
  return s.op(Kind::k_slice_grad, {x}, attrs, {type});
}

ValueId conv_of_padded(Sample& s) {
  const size_t spatial = s.flip() ? 2 : 3;
  std::vector<int64_t> before{0, 0}, after{0, 0};
  for (size_t d = 0; d < spatial; ++d) {
    before.push_back(s.between(0, 2));
    after.push_back(s.between(0, 2));
  }
  const ValueId x = padded(s, s.made(s.image(spatial, 2)), before, after);
  return s.conv(x, s.parameter(s.kernel(spatial, 3, 2)), s.conv_attrs(spatial));
}

ValueId crop_of_transposed(Sample& s) {
  const ValueId w = s.parameter({3, 2, 3, 3}), dy = s.made({2, 3, 5, 5});
  const ValueId x =
      s.op(Kind::k_conv2d_dx, {dy, w}, {{1, 1, 0, 0, 0, 0, 1, 1, 1}, {}}, {{ir::DType::kF32, {2, 2, 7, 7}}});
  const int64_t top = s.between(0, 1), left = s.between(0, 2);
  return s.op(Kind::k_slice, {x}, {{0, 1, 0, 1, top, 1, left, 1}, {}}, {{ir::DType::kF32, {2, 2, 5, 4}}});
}

ValueId biased(Sample& s) {
  const auto added = [&](ValueId y, ValueId bias) {
    return s.op(Kind::k_add, s.flip() ? std::vector{y, bias} : std::vector{bias, y});
  };
  const int64_t n = s.extent();
  switch (s.between(0, 3)) {
    case 0:
      return added(s.matmul(s.made({3, 4}), s.parameter({4, n})), s.parameter({n}));
    case 1:
      return added(s.matmul(s.made({2, 3, 4}), s.parameter({n, 4}), 0, 1), s.made({n}));
    case 2:
      return added(s.conv(s.made(s.image(2, 2)), s.parameter(s.kernel(2, n, 2)), s.conv_attrs(2)),
                   s.parameter({n, 1, 1}));
    default:
      return added(s.conv(s.made(s.image(3, 2)), s.parameter(s.kernel(3, n, 2)), s.conv_attrs(3)),
                   s.parameter({1, n, 1, 1, 1}));
  }
}

// Norms of the pieces of an image: y, and mean and variance, all read.
ValueId norms_of_pieces(Sample& s, int64_t axis, double other_eps) {
  const int64_t image_axes = s.between(0, 2);
  Shape shape{3, 6};
  for (int64_t d = 0; d < image_axes; ++d) shape.push_back(s.extent());
  const auto pieces =
      split(s, s.made(shape), axis, axis == 1 ? std::vector<int64_t>{3, 1, 2} : std::vector<int64_t>{2, 1});
  std::vector<ValueId> normed;
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    const int64_t channels = s.shape_of(pieces[piece])[1];
    const double eps = piece == 1 ? other_eps : 1e-3;
    const auto made =
        s.c.ops(Kind::k_batch_norm, {pieces[piece], s.parameter({channels}), s.parameter({channels})}, {{}, {eps}});
    normed.push_back(s.op(Kind::k_relu, {made[0]}));
  }
  return concat(s, {normed.rbegin(), normed.rend()}, axis);
}

ValueId stored_norms_of_pieces(Sample& s) {
  const auto pieces = split(s, s.made({2, 5, 3}), 1, {2, 3});
  std::vector<ValueId> normed;
  for (const ValueId piece : pieces) {
    const Shape channels{s.shape_of(piece)[1]};
    normed.push_back(
        s.op(Kind::k_batch_norm_eval,
             {piece, s.parameter(channels), s.parameter(channels), s.parameter(channels), s.c.positive(channels)},
             {{}, {1e-3}}));
  }
  return concat(s, {closed(s, normed[0]), normed[1]}, 1);
}

ValueId sums_of_pieces(Sample& s) {
  const Kind kind = s.flip() ? Kind::k_reduce_sum : s.flip() ? Kind::k_reduce_mean : Kind::k_reduce_max;
  const auto pieces = split(s, s.made({2, 6, 3, 4}), 1, {3, 1, 2});
  const int64_t mask = s.flip() ? 0b1101 : 0b1000;
  const int64_t axis = mask == 0b1101 ? 0 : 1;
  std::vector<ValueId> sums;
  sums.reserve(pieces.size());
  for (const ValueId piece : pieces) sums.push_back(reduced(s, kind, piece, mask));
  return concat(s, {closed(s, sums[2]), sums[0], sums[1]}, axis);
}

// why: a table, one case for each rule.
std::vector<RuleCase> reduction_cases() {
  return {
      {"mean-as-sum",
       [](Sample& s) { return closed(s, reduced(s, Kind::k_reduce_mean, s.made(s.shape(3)), s.between(1, 6))); },
       {[](Sample& s) {
         return reduced(s, Kind::k_reduce_sum, s.made({3, 4}), 1);
       }}},
      {"sum-of-expand",
       sum_of_copies,
       {[](Sample& s) {
          return reduced(s, Kind::k_reduce_sum, expanded(s, s.made({4}), 2, {3, 4}), 0b10);
        },
        [](Sample& s) {
          return reduced(s, Kind::k_reduce_max, expanded(s, s.made({4}), 2, {3, 4}), 0b01);
        }}},
      {"reduce-first",
       [](Sample& s) {
         const ValueId x = s.made({3, 4, 2});
         if (s.flip()) return closed(s, reduced(s, Kind::k_reduce_mean, s.scale(x, 1.5, 0.5), s.between(1, 6)));
         return closed(
             s, reduced(s, Kind::k_reduce_sum, s.flip() ? s.scale(x, -3) : s.op(Kind::k_neg, {x}), s.between(1, 6)));
       },
       {[](Sample& s) {
          return reduced(s, Kind::k_reduce_sum, s.scale(s.made({3, 4}), 2, 1), 1);
        },
        [](Sample& s) {
          return reduced(s, Kind::k_reduce_sum, s.scale(s.made({1, 4}), 2), 1);
        },
        [](Sample& s) {
          const ValueId y = s.scale(s.made({3, 4}), 2);
          return s.op(Kind::k_add, {y, reduced(s, Kind::k_reduce_sum, y, 1)});
        }}},
      {"merge-batch-norms",
       [](Sample& s) { return s.between(0, 3) == 0 ? stored_norms_of_pieces(s) : norms_of_pieces(s, 1, 1e-3); },
       {[](Sample& s) { return norms_of_pieces(s, 0, 1e-3); }, [](Sample& s) { return norms_of_pieces(s, 1, 2e-3); },
        [](Sample& s) {
          const auto pieces = split(s, s.made({3, 4}), 1, {2, 2});
          const auto made = s.c.ops(Kind::k_batch_norm, {pieces[0], s.parameter({2}), s.parameter({2})}, {{}, {1e-3}});
          return concat(s, {made[0], pieces[1]}, 1);
        }}},
      {"sum-of-pieces",
       sums_of_pieces,
       {[](Sample& s) {
          const auto pieces = split(s, s.made({2, 6}), 1, {3, 3});
          return s.op(Kind::k_mul,
                      {reduced(s, Kind::k_reduce_sum, pieces[0], 2), reduced(s, Kind::k_reduce_sum, pieces[1], 2)});
        },
        [](Sample& s) {
          const auto pieces = split(s, s.made({2, 6}), 1, {3, 3});
          return s.op(Kind::k_mul,
                      {reduced(s, Kind::k_reduce_sum, pieces[0], 1), reduced(s, Kind::k_reduce_max, pieces[1], 1)});
        },
        [](Sample& s) {
          const auto pieces = split(s, s.made({2, 6}), 1, {3, 3});
          return s.op(Kind::k_mul, {reduced(s, Kind::k_reduce_sum, pieces[0], 1), pieces[1]});
        }}},
      {"reduce-through-transpose",
       [](Sample& s) {
         const Kind kind = s.flip() ? Kind::k_reduce_sum : s.flip() ? Kind::k_reduce_mean : Kind::k_reduce_max;
         const ValueId x = s.made(s.shape(3));
         return closed(s, s.flip() ? reduced(s, kind, s.transpose(x, {2, 0, 1}), 0b001)
                                   : reduced(s, kind, s.transpose(x, {1, 2, 0}), 0b110));
       },
       {[](Sample& s) {
          return reduced(s, Kind::k_reduce_sum, s.transpose(s.made({2, 3, 4}), {2, 1, 0}), 0b001);
        },
        [](Sample& s) {
          return s.op(Kind::k_softmax, {s.transpose(s.made({2, 3}), {1, 0})}, {{1}, {}});
        }}},
      {"sum-of-outer",
       outer_sum,
       {[](Sample& s) {
          return reduced(s, Kind::k_reduce_sum, s.op(Kind::k_mul, {s.made({2, 3, 1}), s.made({1, 3, 4})}), 0b100);
        },
        [](Sample& s) {
          return reduced(s, Kind::k_reduce_sum, s.op(Kind::k_mul, {s.made({2, 3, 4}), s.made({1, 3, 4})}), 0b010);
        },
        [](Sample& s) {
          return reduced(s, Kind::k_reduce_sum, s.op(Kind::k_mul, {s.made({2, 3, 1}), s.made({2, 3, 4})}), 0b010);
        },
        [](Sample& s) {
          return reduced(s, Kind::k_reduce_sum, s.op(Kind::k_mul, {s.made({2, 1, 1}), s.made({1, 3, 4})}), 0b010);
        },
        [](Sample& s) {
          return reduced(s, Kind::k_reduce_mean, s.op(Kind::k_mul, {s.made({2, 3, 1}), s.made({1, 3, 4})}), 0b010);
        }}},
  };
}

// why: a table, one case for each rule.
std::vector<RuleCase> sum_cases() {
  return {
      {"drop-zero-terms",
       [](Sample& s) {
         const ValueId x = s.made(s.shape(2));
         if (s.flip()) return closed(s, s.scale(x, 1, 0.0));
         return closed(s, s.flip() ? s.op(Kind::k_add, {s.constant({}, 0.0F), x})
                                   : s.op(Kind::k_sub, {x, s.constant({}, -0.0F)}));
       },
       {[](Sample& s) {
          return s.op(Kind::k_sub, {s.constant({}, 0.0F), s.made({3})});
        },
        [](Sample& s) {
          return s.op(Kind::k_add, {s.made({3}), s.constant({2, 3}, 0.0F)});
        },
        [](Sample& s) { return s.scale(s.made({3}), 1, 1e-30); }}},
      {"merge-scales",
       scaled_twice,
       {[](Sample& s) { return s.op(Kind::k_neg, {s.op(Kind::k_neg, {s.made({3})})}); },
        [](Sample& s) { return s.scale(s.scale(s.made({3}), 1e20), 1e20); },
        [](Sample& s) {
          return expanded(s, s.scale(s.made({3}), 2, 1), 2, {2, 3});
        }}},
      {"reassociate-sum",
       sum_out_of_order,
       {[](Sample& s) {
          const ValueId a = s.made({3}), b = s.made({3}), c = s.made({3});
          return s.op(Kind::k_add, {s.op(Kind::k_add, {a, b}), c});
        },
        [](Sample& s) {
          const ValueId x = s.made({3}), b = s.made({3}), c = s.made({3});
          const ValueId inner = s.op(Kind::k_add, {b, c});
          return s.op(Kind::k_mul, {inner, s.op(Kind::k_add, {x, inner})});
        },
        [](Sample& s) {
          const ValueId x = s.made({2, 3}), b = s.made({3}), c = s.made({3});
          return s.op(Kind::k_add, {x, s.op(Kind::k_add, {b, c})});
        }}},
      {"fold-pads",
       [](Sample& s) { return s.flip() ? crop_of_transposed(s) : conv_of_padded(s); },
       {[](Sample& s) {
          const ValueId x = padded(s, s.made({2, 2, 4, 4}), {0, 1, 0, 0}, {0, 0, 0, 0});
          return s.conv(x, s.parameter({2, 3, 2, 2}), {1, 1, 0, 0, 0, 0, 1, 1, 1});
        },
        [](Sample& s) {
          const ValueId x = padded(s, s.made({1, 1, 3, 3}), {0, 0, 1, 0}, {0, 0, 0, 1}, 2);
          return s.conv(x, s.parameter({2, 1, 2, 2}), {1, 1, 0, 0, 0, 0, 1, 1, 1});
        }}},
      {"fold-bias",
       biased,
       {[](Sample& s) {
          return s.op(Kind::k_add, {s.matmul(s.made({3, 3}), s.parameter({3, 3})), s.parameter({3, 1})});
        },
        [](Sample& s) {
          return s.op(
              Kind::k_add,
              {s.conv(s.made({2, 2, 4, 4}), s.parameter({4, 2, 1, 1}), {1, 1, 0, 0, 0, 0, 1, 1, 1}), s.parameter({4})});
        },
        [](Sample& s) {
          const ValueId y = s.matmul(s.made({3, 3}), s.parameter({3, 3}));
          return s.op(Kind::k_mul, {y, s.op(Kind::k_add, {y, s.parameter({3})})});
        },
        [](Sample& s) {
          const ValueId y = s.op(Kind::k_matmul, {s.made({3, 3}), s.parameter({3, 3}), s.parameter({3})}, {{0, 0}, {}});
          return s.op(Kind::k_add, {y, s.parameter({3})});
        }}},
  };
}

}  // namespace

std::vector<RuleCase> value_rule_cases() {
  std::vector<RuleCase> all = reduction_cases();
  for (auto& one : sum_cases()) all.push_back(std::move(one));
  return all;
}

}  // namespace pantoum::rewrite
