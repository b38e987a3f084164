// Where the substitutions of products and convolutions fit, and near misses.
#include "testing/rule_sample.h"

namespace pantoum::rewrite {
namespace {

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

ValueId chain(Sample& s) {  // the given order takes more in each
  const bool ta = s.flip(), tb = s.flip(), tc = s.flip();
  const ValueId wide = s.matrix(6, 5, ta), middle = s.matrix(5, 6, tb);
  const ValueId narrow = s.c.frozen(tc ? Shape{1, 6} : Shape{6, 1});  // else its gradient reads the inner product
  if (s.flip()) return s.matmul(s.matmul(wide, middle, ta, tb), narrow, 0, tc);
  // narrow' (middle' wide')
  const ValueId inner = s.matmul(wide, middle, ta, tb);
  if (s.flip()) return s.matmul(narrow, inner, !tc, 1);
  return with_bias(s, narrow, s.matmul(middle, wide, !tb, !ta), s.parameter({6}), !tc, 0);
}

ValueId sharing_left(Sample& s) {
  const bool ta = s.flip(), tb = s.flip();
  const int64_t m = s.extent(), k = s.extent(), n = s.extent(), other = s.extent();
  const ValueId a = s.matrix(m, k, ta), b = s.matrix(k, n, tb), c = s.matrix(k, other, tb);
  if (s.flip())
    return both(s, with_bias(s, a, b, s.parameter({n}), ta, tb), with_bias(s, a, c, s.parameter({other}), ta, tb));
  return both(s, s.matmul(a, b, ta, tb), s.matmul(a, c, ta, tb));
}

ValueId sharing_right(Sample& s) {
  const bool ta = s.flip(), tb = s.flip();
  const int64_t m = s.extent(), k = s.extent(), n = s.extent(), other = s.extent();
  const ValueId a = s.matrix(m, k, ta), c = s.matrix(other, k, ta), b = s.matrix(k, n, tb);
  if (s.flip()) {
    const ValueId bias = s.parameter({n});
    return both(s, with_bias(s, a, b, bias, ta, tb), with_bias(s, c, b, bias, ta, tb));
  }
  return both(s, s.matmul(a, b, ta, tb), s.matmul(c, b, ta, tb));
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

ValueId image_gradients(Sample& s) {
  const int64_t outputs = s.extent();
  const ValueId dy = s.made(gradient_shape(outputs));
  return both(s, dx(s, dy, s.parameter({outputs, s.extent(), 3, 2})),
              dx(s, dy, s.parameter({outputs, s.extent(), 3, 2})));
}

ValueId weight_gradients(Sample& s) {
  const ValueId x = s.made({2, s.extent(), 6, 6}), dy = s.made(gradient_shape(s.extent()));
  if (s.flip()) return both(s, dw(s, x, dy), dw(s, x, s.made(gradient_shape(s.extent()))));
  return both(s, dw(s, x, dy), dw(s, s.made({2, s.extent(), 6, 6}), dy));
}

ValueId sum_of_products(Sample& s) {
  const bool ta = s.flip(), tb = s.flip();
  const int64_t m = s.extent(), n = s.extent(), k = s.extent(), other = s.extent();
  const ValueId first = s.matmul(s.matrix(m, k, ta), s.matrix(k, n, tb), ta, tb);
  const ValueId c = s.matrix(m, other, ta), d = s.matrix(other, n, tb);
  return sum(s, first, s.flip() ? s.matmul(c, d, ta, tb) : with_bias(s, c, d, s.parameter({n}), ta, tb));
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

ValueId factored(Sample& s) {
  const Kind kind = s.flip() ? Kind::k_add : Kind::k_sub;
  const ValueId a = s.made({3, 4}), b = s.made({4, 5}), c = s.made({4, 5});
  switch (s.between(0, 4)) {
    case 0:
      return s.op(kind, {s.matmul(a, b), s.matmul(a, c)});
    case 1:
      return s.op(kind, {s.matmul(b, a, 1, 1), s.matmul(c, a, 1, 1)});
    case 2:
      return s.op(kind, {s.op(Kind::k_mul, {b, c}), s.op(Kind::k_mul, {s.made({4, 5}), b})});
    case 3: {
      const ValueId x = s.made({2, 2, 6, 6});
      return s.op(kind, {s.conv(x, s.parameter({3, 2, 3, 2}), plain()), s.conv(x, s.parameter({3, 2, 3, 2}), plain())});
    }
    default: {
      const ValueId w = s.parameter({3, 2, 3, 2});
      return s.op(kind, {dx(s, s.made(gradient_shape(3)), w), dx(s, s.made(gradient_shape(3)), w)});
    }
  }
}

ValueId minus_or_scaled(Sample& s, ValueId x) {
  return s.flip() ? s.scale(x, 1.7) : s.op(Kind::k_neg, {x});
}

// why: a table, one case for each rule.
std::vector<RuleCase> product_cases() {
  return {
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
      {"reassociate-product",
       chain,
       {[](Sample& s) {
          return s.matmul(s.made({6, 5}), s.matmul(s.made({5, 6}), s.made({6, 1})));
        },
        [](Sample& s) {
          return s.matmul(s.matmul(s.made({4, 4}), s.made({4, 4})), s.made({4, 4}));
        },
        [](Sample& s) {
          return s.matmul(with_bias(s, s.made({6, 5}), s.made({5, 6}), s.parameter({6}), 0, 0), s.made({6, 1}));
        },
        [](Sample& s) {
          const ValueId inner = s.matmul(s.made({6, 5}), s.made({5, 6}));
          return s.op(Kind::k_add, {inner, s.matmul(inner, s.made({6, 1}))});
        }}},
      {"merge-products",
       sharing_left,
       {[](Sample& s) {  // the second needs the first
          const ValueId a = s.made({3, 3}), y = s.matmul(a, s.parameter({3, 3}));
          return s.matmul(a, y);
        },
        [](Sample& s) {
          const ValueId a = s.made({3, 3});
          return both(s, s.matmul(a, s.parameter({3, 3})), s.matmul(a, s.parameter({3, 3}), 1, 0));
        },
        [](Sample& s) {
          const ValueId a = s.made({3, 3});
          return both(s, s.matmul(a, s.parameter({3, 3})),
                      with_bias(s, a, s.parameter({3, 3}), s.parameter({3}), 0, 0));
        },
        [](Sample& s) {
          const ValueId a = s.made({3, 3});
          return both(s, s.matmul(a, s.parameter({3, 4})), s.matmul(a, s.parameter({2, 3, 4})));
        }}},
      {"merge-product-rows",
       sharing_right,
       {[](Sample& s) {
          const ValueId b = s.parameter({3, 3});
          return s.matmul(s.matmul(s.made({2, 3}), b), b);
        },
        [](Sample& s) {
          const ValueId b = s.parameter({3, 3});
          return both(s, with_bias(s, s.made({2, 3}), b, s.parameter({3}), 0, 0),
                      with_bias(s, s.made({2, 3}), b, s.parameter({3}), 0, 0));
        }}},
      {"accumulate-products",
       sum_of_products,
       {[](Sample& s) {
          return sum(s, with_bias(s, s.made({3, 2}), s.made({2, 4}), s.parameter({4}), 0, 0),
                     with_bias(s, s.made({3, 2}), s.made({2, 4}), s.parameter({4}), 0, 0));
        },
        [](Sample& s) {
          return sum(s, s.matmul(s.made({3, 2}), s.made({2, 4})), s.matmul(s.made({1, 2}), s.made({2, 4})));
        },
        [](Sample& s) {
          return sum(s, s.matmul(s.made({3, 2}), s.made({2, 3})), s.matmul(s.made({3, 2}), s.made({3, 2}), 0, 1));
        },
        [](Sample& s) {
          const ValueId y = s.matmul(s.made({3, 2}), s.made({2, 3}));
          return sum(s, y, y);
        }}},
      {"factor-sum",
       factored,
       {[](Sample& s) {
          return sum(s, s.matmul(s.made({3, 4}), s.made({4, 5})), s.matmul(s.made({3, 4}), s.made({4, 5})));
        },
        [](Sample& s) {
          const ValueId a = s.made({3, 3});
          return sum(s, s.matmul(a, s.made({3, 3})), s.matmul(s.made({3, 3}), a));
        },
        [](Sample& s) {
          const ValueId a = s.made({3, 3});
          return sum(s, s.op(Kind::k_mul, {a, s.made({3})}), s.op(Kind::k_mul, {a, s.made({3})}));
        },
        [](Sample& s) {
          const ValueId a = s.made({3, 3}), y = s.op(Kind::k_mul, {a, s.made({3, 3})});
          return s.op(Kind::k_mul, {y, sum(s, y, s.op(Kind::k_mul, {a, s.made({3, 3})}))});
        }}},
      {"scale-into-product",
       [](Sample& s) {
         if (s.flip()) return minus_or_scaled(s, s.matmul(s.made({6, 2}), s.made({2, 5})));
         return minus_or_scaled(s, s.conv(s.made({2, 2, 6, 6}), s.parameter({3, 2, 3, 2}), plain()));
       },
       {[](Sample& s) {
          return s.scale(s.matmul(s.made({2, 6}), s.made({6, 2})), 2);
        },
        [](Sample& s) {
          return s.scale(s.matmul(s.made({6, 2}), s.made({2, 6})), 2, 1);
        },
        [](Sample& s) {
          return s.scale(s.matmul(s.made({6, 2}), s.made({2, 6})), 1e12);
        }}},
      {"scale-out-of-product",
       [](Sample& s) {
         const ValueId a = minus_or_scaled(s, s.made({2, 6}));
         const ValueId fixed = s.c.frozen({6, 3});  // else its gradient reads the scaled factor
         return s.flip() ? s.matmul(a, fixed) : s.matmul(fixed, a, 1, 1);
       },
       {[](Sample& s) {
          return s.matmul(s.scale(s.made({6, 2}), 2), s.made({2, 6}));
        },
        [](Sample& s) {
          return s.matmul(s.scale(s.made({2, 6}), 2, 1), s.made({6, 2}));
        },
        [](Sample& s) {
          const ValueId a = s.scale(s.made({2, 6}), 2);
          return s.matmul(a, a, 0, 1);
        }}},
  };
}

// why: a table, one case for each rule.
std::vector<RuleCase> convolution_cases() {
  return {
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
      {"merge-input-gradients",
       image_gradients,
       {[](Sample& s) {
          const ValueId dy = s.made(gradient_shape(4));
          return both(s, dx(s, dy, s.parameter({4, 1, 3, 2}), 2), dx(s, dy, s.parameter({4, 1, 3, 2}), 2));
        },
        [](Sample& s) {
          return both(s, dx(s, s.made(gradient_shape(3)), s.parameter({3, 2, 3, 2})),
                      dx(s, s.made(gradient_shape(3)), s.parameter({3, 2, 3, 2})));
        }}},
      {"merge-weight-gradients", weight_gradients, {[](Sample& s) {
         return both(s, dw(s, s.made({2, 2, 6, 6}), s.made(gradient_shape(3))),
                     dw(s, s.made({2, 2, 6, 6}), s.made(gradient_shape(3))));
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

}  // namespace

std::vector<RuleCase> bilinear_rule_cases() {
  std::vector<RuleCase> all = product_cases();
  for (auto& one : convolution_cases()) all.push_back(std::move(one));
  return all;
}

}  // namespace pantoum::rewrite
