// Where the substitutions that keep values, but not every bit, fit, and near misses.
#include "testing/rule_sample.h"

namespace pantoum::rewrite {
namespace {

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

ValueId sum(Sample& s, ValueId a, ValueId b) {
  return s.op(Kind::k_add, {a, b});
}
// Both values as one output, of any shapes.
ValueId both(Sample& s, ValueId a, ValueId b) {
  const auto flat = [&](ValueId x) { return s.op(Kind::k_softplus, {s.reshape(x, {s.type_of(x).elements()})}); };
  return s.op(Kind::k_concat, {flat(a), flat(b)}, {{0}, {}});
}

ValueId with_bias(Sample& s, ValueId a, ValueId b, ValueId bias, int64_t ta, int64_t tb) {
  return s.op(Kind::k_matmul, {a, b, bias}, {{ta, tb}, {}});
}

ValueId turned_factor(Sample& s) {
  const int64_t m = s.extent(), k = s.extent(), n = s.extent(), batch = s.extent();
  if (s.flip()) return s.matmul(s.transpose(s.made({k, m}), {1, 0}), s.made({n, k}), 0, 1);
  if (s.flip()) return s.matmul(s.made({k, m}), s.transpose(s.parameter({n, k}), {1, 0}), 1, 0);
  return s.matmul(s.transpose(s.made({batch, k, m}), {0, 2, 1}), s.transpose(s.made({batch, n, k}), {0, 2, 1}));
}

ValueId turned_product(Sample& s) {
  const bool ta = s.flip(), tb = s.flip();
  const int64_t m = s.extent(), k = s.extent(), n = s.extent(), batch = s.extent();
  if (s.flip()) return s.transpose(s.matmul(s.matrix(m, k, ta), s.matrix(k, n, tb), ta, tb), {1, 0});
  return s.transpose(s.matmul(s.made({batch, m, k}), s.made({k, n})), {0, 2, 1});
}

ValueId two_convs(Sample& s, bool biased) {
  const size_t spatial = s.flip() ? 2 : 3;
  const auto ints = s.conv_attrs(spatial);
  const ValueId x = s.made(s.image(spatial, 3));
  Shape kernel = s.kernel(spatial, s.extent(), 3);
  const auto conv = [&] {
    kernel[0] = s.extent();
    const ValueId w = s.parameter(kernel);
    if (!biased) return s.conv(x, w, ints);
    return s.op(spatial == 3 ? Kind::k_conv3d : Kind::k_conv2d, {x, w, s.parameter({kernel[0]})}, {ints, {}});
  };
  const ValueId a = conv(), b = conv();
  return both(s, a, b);
}

ValueId one_weight(Sample& s) {
  const size_t spatial = s.flip() ? 2 : 3;
  const auto ints = s.conv_attrs(spatial);
  Shape image = s.image(spatial, 3);
  const ValueId w = s.parameter(s.kernel(spatial, s.extent(), 3)), x = s.made(image);
  image[0] = s.extent();
  return both(s, s.conv(x, w, ints), s.conv(s.made(image), w, ints));
}

constexpr int64_t kPlain[] = {1, 1, 1, 0, 0, 1, 1, 1, 1};
std::vector<int64_t> plain(int64_t groups = 1) {
  std::vector<int64_t> ints(std::begin(kPlain), std::end(kPlain));
  ints.back() = groups;
  return ints;
}

// Gradients as ops of the forward graph: of an image [2, channels, 6, 6] and a weight [outputs, channels, 3, 2].
ValueId dx(Sample& s, ValueId dy, ValueId w, int64_t groups = 1) {
  const Shape y = s.shape_of(dy), weight = s.shape_of(w);
  return s.op(Kind::k_conv2d_dx, {dy, w}, {plain(groups), {}}, {{ir::DType::kF32, {y[0], weight[1] * groups, 6, 6}}});
}
ValueId dw(Sample& s, ValueId x, ValueId dy) {
  return s.op(Kind::k_conv2d_dw, {x, dy}, {plain(), {}},
              {{ir::DType::kF32, {s.shape_of(dy)[1], s.shape_of(x)[1], 3, 2}}});
}
Shape gradient_shape(int64_t outputs) {
  return {2, outputs, 5, 6};
}

ValueId sum_of_convolutions(Sample& s) {
  const int64_t form = s.between(0, 2), outputs = s.extent(), channels = s.extent();
  if (form == 0) {
    const auto conv = [&] {
      const int64_t own = s.extent();
      return s.conv(s.made({2, own, 6, 6}), s.parameter({outputs, own, 3, 2}), plain());
    };
    const ValueId a = conv(), b = conv();
    return sum(s, a, b);
  }
  const auto gradient = [&] {
    const int64_t own = s.extent();
    if (form == 1) return dx(s, s.made(gradient_shape(own)), s.parameter({own, channels, 3, 2}));
    return dw(s, s.made({own, channels, 6, 6}), s.made({own, outputs, 5, 6}));
  };
  const ValueId a = gradient(), b = gradient();
  return sum(s, a, b);
}

}  // namespace

std::vector<RuleCase> value_rule_cases() {
  return {
      {"drop-zero-terms",
       [](Sample& s) {
         const ValueId x = s.made(s.shape(2));
         if (s.flip()) return end(s, s.scale(x, 1, 0.0));
         return end(s, s.flip() ? s.op(Kind::k_add, {s.constant({}, 0.0F), x})
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
       {[](Sample& s) { return s.scale(s.scale(s.made({3}), 1e20), 1e20); },
        [](Sample& s) {
          return expanded(s, s.scale(s.made({3}), 2, 1), 2, {2, 3});
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
      {"transpose-into-product",
       turned_factor,
       {[](Sample& s) {
          return s.matmul(s.transpose(s.made({2, 3, 4}), {1, 0, 2}), s.made({4, 5}));
        },
        [](Sample& s) {
          return s.op(Kind::k_relu, {s.transpose(s.made({3, 4}), {1, 0})});
        }}},
      {"transpose-of-product",
       turned_product,
       {[](Sample& s) {
          return s.transpose(with_bias(s, s.made({3, 4}), s.made({4, 5}), s.parameter({5}), 0, 0), {1, 0});
        },
        [](Sample& s) {
          return s.transpose(s.matmul(s.made({2, 3, 4}), s.made({4, 5})), {1, 0, 2});
        },
        [](Sample& s) {
          const ValueId y = s.matmul(s.made({3, 4}), s.made({4, 3}));
          return s.op(Kind::k_mul, {y, s.transpose(y, {1, 0})});
        }}},
      {"merge-convolutions",
       [](Sample& s) { return two_convs(s, s.flip()); },
       {[](Sample& s) {
          const ValueId x = s.made({2, 4, 6, 6});
          return both(s, s.conv(x, s.parameter({4, 2, 3, 2}), plain(2)),
                      s.conv(x, s.parameter({4, 2, 3, 2}), plain(2)));
        },
        [](Sample& s) {
          const ValueId x = s.made({2, 2, 6, 6});
          return both(s, s.conv(x, s.parameter({4, 2, 3, 2}), plain()), s.conv(x, s.parameter({4, 2, 2, 2}), plain()));
        },
        [](Sample& s) {
          const ValueId x = s.made({2, 2, 6, 6});
          return both(s, s.conv(x, s.parameter({4, 2, 3, 2}), plain()),
                      s.conv(x, s.parameter({4, 2, 3, 2}), {2, 1, 1, 0, 0, 1, 1, 1, 1}));
        }}},
      {"merge-convolution-batches",
       one_weight,
       {[](Sample& s) {
          const ValueId w = s.parameter({2, 2, 3, 2});
          return both(s, s.conv(s.made({2, 2, 6, 6}), w, plain()), s.conv(s.made({2, 2, 5, 6}), w, plain()));
        },
        [](Sample& s) {  // the second needs the first
          const ValueId w = s.parameter({2, 2, 1, 1});
          return s.conv(s.conv(s.made({2, 2, 6, 6}), w, {1, 1, 0, 0, 0, 0, 1, 1, 1}), w, {1, 1, 0, 0, 0, 0, 1, 1, 1});
        }}},
      {"accumulate-convolutions",
       sum_of_convolutions,
       {[](Sample& s) {
          return sum(s, s.conv(s.made({2, 4, 6, 6}), s.parameter({4, 2, 3, 2}), plain(2)),
                     s.conv(s.made({2, 4, 6, 6}), s.parameter({4, 2, 3, 2}), plain(2)));
        },
        [](Sample& s) {
          return sum(s, s.conv(s.made({2, 2, 6, 6}), s.parameter({4, 2, 1, 1}), {1, 1, 0, 0, 0, 0, 1, 1, 1}),
                     s.conv(s.made({2, 2, 6, 6}), s.parameter({4, 2, 3, 3}), {1, 1, 1, 1, 1, 1, 1, 1, 1}));
        },
        [](Sample& s) {
          return sum(s, s.matmul(s.made({3, 2}), s.made({2, 4})), s.matmul(s.made({3, 2}), s.made({2, 4})));
        }}},
  };
}

}  // namespace pantoum::rewrite
