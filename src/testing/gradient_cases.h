// Small random graphs, one for each operator and each way to use it. The tests of gradients and of in-place operation run them.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "testing/series_cases.h"

namespace pantoum::autodiff {

inline ir::TensorType f32(ir::Shape shape) {
  return {ir::DType::kF32, std::move(shape)};
}

inline void append_attention_cases(std::vector<GradientCase>& cases) {
  using ir::Kind;
  const auto attention = [&](std::string name, ir::Shape q, ir::Shape k, ir::Shape v, std::vector<int64_t> ints,
                             std::vector<ir::Shape> masks) {
    cases.push_back({std::move(name), [=](CaseBuilder& c) {
                       std::vector<ir::ValueId> inputs{c.parameter(q), c.parameter(k), c.parameter(v)};
                       size_t mask = 0;
                       for (size_t step = PT_ATTENTION_STEP; step < ints.size(); ++step) {
                         if (ints[step] == PT_STEP_NONE || ints[step] == PT_STEP_SCALE) continue;
                         ir::ValueId made = c.frozen(masks.at(mask++));
                         if (ints[step] != PT_STEP_ADD)
                           made = c.op(Kind::k_compare, {made, c.frozen({1})}, {{PT_COMPARE_LESS}, {}});
                         inputs.push_back(made);
                       }
                       return c.op(Kind::k_attention, inputs, {ints, {0.7, -0.8, 0.9}});
                     }});
  };
  attention("attention", {2, 3, 4}, {2, 5, 4}, {2, 5, 2}, {0, 0, 0, 0, 0, 0}, {});
  attention("attention, scaled and masked", {2, 2, 3, 4}, {2, 2, 5, 4}, {2, 2, 5, 3}, {0, 0, 0, 1, 2, 0},
            {{2, 1, 1, 5}});
  attention("attention, filled, then scaled, of q' k' v'", {2, 4, 3}, {2, 4, 5}, {2, 2, 5}, {1, 1, 1, 4, 1, 2},
            {{3, 5}, {2, 3, 1}});
  attention("attention that keeps, over k'", {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {0, 1, 0, 3, 0, 0}, {{3, 3, 3}});
}

inline void append_product_cases(std::vector<GradientCase>& cases) {
  using ir::Kind;
  const auto matmul = [&](std::string name, ir::Shape a, ir::Shape b, int64_t trans_a, int64_t trans_b,
                          int64_t bias = 0) {
    cases.push_back({std::move(name), [=](CaseBuilder& c) {
                       std::vector<ir::ValueId> inputs{c.parameter(a), c.parameter(b)};
                       if (bias != 0) inputs.push_back(c.parameter({bias}));
                       return c.op(Kind::k_matmul, inputs, {{trans_a, trans_b}, {}});
                     }});
  };
  matmul("matmul", {2, 3}, {3, 4}, 0, 0);
  matmul("matmul with bias", {2, 3}, {3, 4}, 0, 0, 4);
  matmul("matmul a'", {3, 2}, {3, 4}, 1, 0);
  matmul("matmul b'", {2, 3}, {4, 3}, 0, 1, 4);
  matmul("matmul a' b'", {3, 2}, {4, 3}, 1, 1);
  matmul("matmul of a batch with one weight", {2, 3, 4}, {4, 5}, 0, 0, 5);
  matmul("matmul of a batch with one weight b'", {2, 2, 3, 4}, {5, 4}, 0, 1);
  matmul("matmul of a transposed batch with one weight", {2, 4, 3}, {4, 5}, 1, 0);
  matmul("matmul of one matrix with a batch", {3, 4}, {2, 4, 5}, 0, 0);
  matmul("matmul with broadcast batches", {2, 1, 3, 4}, {3, 4, 2}, 0, 0);
  matmul("matmul with broadcast batches a' b'", {1, 2, 4, 3}, {2, 1, 5, 4}, 1, 1, 5);

  const auto conv = [&](std::string name, ir::Shape x, ir::Shape w, std::vector<int64_t> attrs, bool bias) {
    cases.push_back({std::move(name), [=](CaseBuilder& c) {
                       std::vector<ir::ValueId> inputs{c.parameter(x), c.parameter(w)};
                       if (bias) inputs.push_back(c.parameter({w[0]}));
                       return c.op(x.size() == 5 ? Kind::k_conv3d : Kind::k_conv2d, inputs, {attrs, {}});
                     }});
  };
  conv("conv2d", {2, 3, 5, 4}, {4, 3, 3, 2}, {1, 1, 0, 0, 0, 0, 1, 1, 1}, true);
  conv("conv2d with stride and uneven pads", {2, 2, 6, 5}, {3, 2, 3, 3}, {2, 3, 1, 0, 2, 1, 1, 1, 1}, true);
  conv("conv2d with dilation", {1, 2, 7, 6}, {2, 2, 3, 2}, {1, 1, 1, 1, 1, 1, 2, 3, 1}, false);
  conv("conv2d in groups", {2, 4, 4, 4}, {6, 2, 3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 2}, true);
  conv("conv2d depthwise", {2, 3, 5, 5}, {3, 1, 3, 3}, {2, 2, 1, 1, 1, 1, 1, 1, 3}, false);
  conv("conv2d 1x1", {2, 5, 3, 3}, {4, 5, 1, 1}, {1, 1, 0, 0, 0, 0, 1, 1, 1}, false);
  conv("conv3d", {2, 2, 3, 4, 3}, {3, 2, 2, 3, 2}, {1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1}, true);
  conv("conv3d with strides, uneven pads and dilation", {1, 2, 5, 4, 6}, {2, 2, 2, 3, 2},
       {2, 3, 1, 0, 1, 2, 1, 2, 0, 2, 1, 3, 1}, true);
  conv("conv3d in groups", {2, 4, 3, 3, 3}, {6, 2, 2, 2, 2}, {1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2}, true);
  conv("conv3d depthwise", {2, 3, 3, 4, 4}, {3, 1, 3, 3, 3}, {2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3}, false);
}

// Appends one case or more for each operator of this kind.
inline void append_elementwise_cases(std::vector<GradientCase>& cases) {
  using ir::Kind;
  for (const Kind kind :
       {Kind::k_add, Kind::k_sub, Kind::k_mul, Kind::k_div, Kind::k_pow, Kind::k_maximum, Kind::k_minimum}) {
    const std::string name = ir::name_of(kind);
    const auto both = [&](const char* how, ir::Shape a, ir::Shape b) {
      cases.push_back({name + how, [=](CaseBuilder& c) {
                         const ir::ValueId left = kind == Kind::k_pow ? c.positive(a) : c.parameter(a);
                         return c.op(kind, {left, c.parameter(b)});
                       }});
    };
    both("", {2, 3}, {2, 3});
    both(" with a scalar", {2, 3}, {});
    both(" with broadcasting both ways", {2, 1, 3}, {4, 1});
    cases.push_back({name + " with itself", [=](CaseBuilder& c) {
                       const ir::ValueId x = c.positive({2, 3});
                       return c.op(kind, {x, x});
                     }});
  }
  const auto unary = [&](Kind kind, ir::Attrs attrs, bool positive) {
    cases.push_back({ir::name_of(kind), [=](CaseBuilder& c) {
                       return c.op(kind, {positive ? c.positive({3, 5}) : c.parameter({3, 5})}, attrs);
                     }});
  };
  for (const Kind kind : {Kind::k_relu, Kind::k_sigmoid, Kind::k_tanh, Kind::k_erf, Kind::k_exp, Kind::k_neg,
                          Kind::k_abs, Kind::k_sin, Kind::k_cos, Kind::k_softplus}) {
    unary(kind, {}, false);
  }
  unary(Kind::k_sqrt, {}, true);
  unary(Kind::k_log, {}, true);
  unary(Kind::k_leaky_relu, {{}, {0.1}}, false);
  unary(Kind::k_gelu, {{0}, {}}, false);
  unary(Kind::k_gelu, {{1}, {}}, false);
  unary(Kind::k_scale, {{}, {-1.5, 0.25}}, false);
  unary(Kind::k_dropout, {{7}, {0.4}}, false);
  unary(Kind::k_elu, {{}, {1.05, 1.7, 0.8}}, false);
  unary(Kind::k_clip, {{}, {-0.75, 0.8}}, false);
  unary(Kind::k_hard_sigmoid, {{}, {0.7, 0.4}}, false);
  unary(Kind::k_hard_sigmoid, {{}, {-0.7, 0.4}}, false);
  unary(Kind::k_hard_sigmoid, {{}, {0, 0.4}}, false);
  unary(Kind::k_hard_swish, {}, false);
  cases.push_back({"hard_swish beyond its bends", [](CaseBuilder& c) {
                     const ir::ValueId wide = c.op(Kind::k_scale, {c.parameter({3, 5})}, {{}, {4, 0}});
                     return c.op(Kind::k_hard_swish, {wide});
                   }});
  for (int64_t function = 0; function < PT_ARC_COUNT; ++function) {
    cases.push_back({"arc " + std::to_string(function), [=](CaseBuilder& c) {
                       const double shift = function == PT_ARC_COSH ? 2.5 : 0, by = shift > 0 ? 1 : 0.6;
                       const ir::ValueId within = c.op(Kind::k_scale, {c.parameter({3, 5})}, {{}, {by, shift}});
                       return c.op(Kind::k_arc, {within}, {{function}, {}});
                     }});
  }
  // Differences of a step say nothing of its slope: what is stepped here does not move.
  cases.push_back({"round_to", [](CaseBuilder& c) {
                     const ir::ValueId x = c.parameter({3, 5});
                     return c.op(Kind::k_mul, {x, c.op(Kind::k_round_to, {c.op(Kind::k_sign, {x})}, {{0}, {}})});
                   }});
  for (const Kind kind : {Kind::k_sign, Kind::k_round}) {
    cases.push_back({ir::name_of(kind), [=](CaseBuilder& c) {
                       const ir::ValueId x = c.parameter({3, 5});
                       const ir::Attrs attrs = kind == Kind::k_round ? ir::Attrs{{1}, {}} : ir::Attrs{};
                       return c.op(Kind::k_mul, {x, c.op(kind, {x}, attrs)});
                     }});
  }
  cases.push_back({"where", [](CaseBuilder& c) {
                     const ir::ValueId a = c.parameter({2, 1, 3}), b = c.parameter({4, 1});
                     const ir::ValueId which = c.op(Kind::k_compare, {a, b}, {{PT_COMPARE_LESS}, {}});
                     return c.op(Kind::k_where, {which, a, b});
                   }});
  cases.push_back({"cast", [](CaseBuilder& c) {
                     const ir::ValueId x = c.parameter({3, 2});
                     return c.op(Kind::k_cast, {x}, {}, {c.builder.type(x)});
                   }});
  for (const Kind kind : {Kind::k_softmax, Kind::k_log_softmax}) {
    for (const int64_t axis : {0, 1, 2}) {
      cases.push_back({ir::name_of(kind) + std::string(" over axis ") + std::to_string(axis), [=](CaseBuilder& c) {
                         return c.op(kind, {c.parameter({2, 3, 4})}, {{axis}, {}});
                       }});
    }
  }
}

inline void append_transposed_cases(std::vector<GradientCase>& cases) {
  using ir::Kind;
  const auto transposed = [&](std::string name, ir::Shape x, ir::Shape w, std::vector<int64_t> attrs, ir::Shape y) {
    cases.push_back({std::move(name), [=](CaseBuilder& c) {
                       const Kind kind = x.size() == 5 ? Kind::k_conv3d_dx : Kind::k_conv2d_dx;
                       return c.op(kind, {c.parameter(x), c.parameter(w)}, {attrs, {}}, {f32(y)});
                     }});
  };
  transposed("transposed convolution", {2, 3, 3, 4}, {3, 2, 2, 2}, {2, 2, 0, 0, 0, 0, 1, 1, 1}, {2, 2, 6, 8});
  transposed("transposed convolution in groups", {1, 4, 3, 3}, {4, 1, 3, 3}, {2, 2, 1, 1, 1, 1, 1, 1, 2}, {1, 2, 6, 6});
  transposed("transposed convolution of volumes", {1, 4, 2, 3, 2}, {4, 1, 2, 3, 2},
             {2, 2, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 2}, {1, 2, 4, 6, 3});
  const auto resize = [&](const char* name, ir::Shape x, ir::Shape y, std::vector<int64_t> attrs) {
    cases.push_back({name, [=](CaseBuilder& c) {
                       const auto scale = [&](size_t d) {
                         return static_cast<double>(y[d]) / static_cast<double>(x[d]);
                       };
                       return c.op(Kind::k_resize, {c.parameter(x)}, {attrs, {scale(2), scale(3)}}, {f32(y)});
                     }});
  };
  for (const int64_t coordinates : {PT_RESIZE_HALF_PIXEL, PT_RESIZE_ASYMMETRIC, PT_RESIZE_ALIGN_CORNERS}) {
    resize("linear resize up", {2, 1, 2, 3}, {2, 1, 5, 6}, {1, coordinates, 0});
    resize("linear resize down", {1, 2, 5, 6}, {1, 2, 3, 4}, {1, coordinates, 0});
    resize("nearest resize", {1, 2, 3, 4}, {1, 2, 7, 2}, {0, coordinates, PT_RESIZE_FLOOR});
  }
}

inline void append_normalization_cases(std::vector<GradientCase>& cases) {
  using ir::Kind;
  for (const ir::Shape& shape : {ir::Shape{5, 3}, ir::Shape{3, 2, 4, 3}}) {
    cases.push_back({"batch_norm of " + ir::to_text(shape), [=](CaseBuilder& c) {
                       const ir::Shape channels{shape[1]};
                       return c.ops(Kind::k_batch_norm,
                                    {c.parameter(shape), c.parameter(channels), c.parameter(channels)},
                                    {{}, {1e-2}})[0];
                     }});
  }
  for (const ir::Attrs& attrs : {ir::Attrs{{PT_OP_relu}, {1e-2, 0, 0}}, ir::Attrs{{PT_OP_leaky_relu}, {1e-2, 0.2, 0}},
                                 ir::Attrs{{PT_OP_clip}, {1e-2, -0.2, 0.4}}}) {
    cases.push_back(
        {std::string("batch_norm_act with ") + ir::name_of(static_cast<Kind>(attrs.ints[0])), [=](CaseBuilder& c) {
           return c.ops(Kind::k_batch_norm_act, {c.parameter({3, 2, 4, 3}), c.parameter({2}), c.parameter({2})},
                        attrs)[0];
         }});
  }
  for (const ir::Shape& shape : {ir::Shape{5, 3}, ir::Shape{3, 2, 4, 3}}) {
    cases.push_back(
        {"batch_norm_eval of " + ir::to_text(shape), [=](CaseBuilder& c) {
           const ir::Shape channels{shape[1]};
           const ir::ValueId variance = c.op(Kind::k_exp, {c.frozen(channels)});
           return c.op(Kind::k_batch_norm_eval,
                       {c.parameter(shape), c.parameter(channels), c.parameter(channels), c.frozen(channels), variance},
                       {{}, {1e-2}});
         }});
  }
  for (const int64_t axis : {1, 2}) {
    cases.push_back({"layer_norm from axis " + std::to_string(axis), [=](CaseBuilder& c) {
                       const ir::Shape shape{3, 2, 5}, rows(shape.begin() + axis, shape.end());
                       return c.ops(Kind::k_layer_norm, {c.parameter(shape), c.parameter(rows), c.parameter(rows)},
                                    {{axis}, {1e-2}})[0];
                     }});
  }
  const auto pool = [&](Kind kind, const char* how, std::vector<int64_t> attrs) {
    cases.push_back({ir::name_of(kind) + std::string(how), [=](CaseBuilder& c) {
                       return c.op(kind, {c.parameter({2, 2, 6, 5})}, {attrs, {}});
                     }});
  };
  for (const Kind kind : {Kind::k_max_pool, Kind::k_avg_pool}) {
    pool(kind, "", {2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 0});
    pool(kind, " overlapping with uneven pads", {3, 3, 2, 1, 1, 0, 0, 2, 1, 1, 0});
    pool(kind, " with dilation", {2, 2, 1, 2, 1, 1, 1, 1, 2, 3, 0});
  }
  pool(Kind::k_avg_pool, " counting the pads", {3, 3, 2, 1, 1, 0, 0, 2, 1, 1, 1});
}

// Sequences of one weight's products, whose gradients are stacked; and cells whose states are used later.
inline void append_recurrent_cases(std::vector<GradientCase>& cases) {
  using ir::Kind;
  const auto shared = [&](const char* name, bool transposed, ir::Shape w) {
    cases.push_back({name, [=](CaseBuilder& c) {
                       const ir::ValueId weight = c.parameter(w), bias = c.parameter({5});
                       ir::ValueId h = c.parameter({2, 5});
                       for (int step = 0; step < 3; ++step)
                         h = c.op(Kind::k_tanh, {c.op(Kind::k_matmul, {h, weight, bias}, {{0, transposed}, {}})});
                       return h;
                     }});
  };
  shared("matmul with one weight in every step", false, {5, 5});
  shared("matmul with one transposed weight in every step", true, {5, 5});
  const auto lstm = [&](const char* name, int which, std::vector<int64_t> blocks = {0, 1, 2, 3}) {
    cases.push_back({name, [=](CaseBuilder& c) {
                       const ir::ValueId z = c.parameter({2, 12}), p = c.parameter({2, 12});
                       auto state = c.ops(Kind::k_lstm_cell, {z, p, c.parameter({2, 3})}, {blocks, {}});
                       if (which == 2)
                         state = c.ops(Kind::k_lstm_cell, {c.parameter({2, 12}), p, state[1]}, {blocks, {}});
                       return which == 1 ? state[1] : c.op(Kind::k_mul, {state[0], state[1]});
                     }});
  };
  lstm("lstm_cell", 0);
  lstm("lstm_cell of whose states the inner alone is used", 1);
  lstm("lstm_cell after lstm_cell", 2);
  lstm("lstm_cell after lstm_cell, its gates as PyTorch has them", 2, {0, 3, 1, 2});
  const auto gru = [&](const char* name, std::vector<int64_t> blocks) {
    cases.push_back({name, [=](CaseBuilder& c) {
                       const ir::ValueId p = c.parameter({2, 9}), h = c.parameter({2, 3});
                       const auto first = c.ops(Kind::k_gru_cell, {c.parameter({2, 9}), p, h}, {blocks, {}});
                       return c.ops(Kind::k_gru_cell, {c.parameter({2, 9}), p, first[0]}, {blocks, {}})[0];
                     }});
  };
  gru("gru_cell after gru_cell", {0, 1, 2});
  gru("gru_cell after gru_cell, its gates as PyTorch has them", {1, 0, 2});
}

// Appends one case or more for each operator of this kind.
inline void append_movement_cases(std::vector<GradientCase>& cases) {
  using ir::Kind;
  for (const Kind kind : {Kind::k_reduce_sum, Kind::k_reduce_mean}) {
    for (const int64_t mask : {0b010, 0b101, 0b111, 0b000}) {
      cases.push_back({ir::name_of(kind) + std::string(" with mask ") + std::to_string(mask), [=](CaseBuilder& c) {
                         return c.op(kind, {c.parameter({2, 3, 4})}, {{mask}, {}});
                       }});
    }
  }
  for (const int64_t mask : {0b010, 0b101, 0b111}) {
    cases.push_back({"reduce_max with mask " + std::to_string(mask), [=](CaseBuilder& c) {
                       return c.op(Kind::k_reduce_max, {c.parameter({2, 3, 4})}, {{mask}, {}});
                     }});
  }
  for (const int64_t exclusive : {0, 1}) {
    for (const int64_t from_end : {0, 1}) {
      cases.push_back({"cumsum", [=](CaseBuilder& c) {
                         return c.op(Kind::k_cumsum, {c.parameter({2, 3, 2})}, {{1, exclusive, from_end}, {}});
                       }});
    }
  }
  cases.push_back({"padding with zeros", [](CaseBuilder& c) {
                     return c.op(Kind::k_slice_grad, {c.parameter({2, 3})}, {{1, 1, 0, 2}, {}}, {f32({4, 6})});
                   }});
  cases.push_back({"gather_elements, some twice", [](CaseBuilder& c) {
                     const ir::ValueId which = c.builder.constant_i64("indices", {2, 3}, {1, 3, -4, 1, 0, 2});
                     return c.op(Kind::k_gather_elements, {c.parameter({4, 3}), which}, {{0}, {}});
                   }});
  cases.push_back({"expand", [](CaseBuilder& c) {
                     return c.op(Kind::k_expand, {c.parameter({3, 1})}, {{}, {0.5}}, {f32({2, 3, 4})});
                   }});
  cases.push_back({"transpose", [](CaseBuilder& c) {
                     return c.op(Kind::k_transpose, {c.parameter({2, 3, 4})}, {{2, 0, 1}, {}});
                   }});
  cases.push_back(
      {"concat", [](CaseBuilder& c) {
         return c.op(Kind::k_concat, {c.parameter({2, 3}), c.parameter({2, 1}), c.parameter({2, 2})}, {{1}, {}});
       }});
  cases.push_back(
      {"concat with a frozen part", [](CaseBuilder& c) {
         return c.op(Kind::k_concat, {c.frozen({2, 3}), c.parameter({1, 3}), c.parameter({2, 3})}, {{0}, {}});
       }});
  cases.push_back(
      {"split", [](CaseBuilder& c) {
         const auto parts = c.ops(Kind::k_split, {c.parameter({2, 5})}, {{1}, {}}, {f32({2, 2}), f32({2, 3})});
         const ir::ValueId first = c.op(Kind::k_exp, {parts[0]});
         return c.op(Kind::k_concat, {parts[1], first}, {{1}, {}});
       }});
  cases.push_back({"split with an unused part", [](CaseBuilder& c) {
                     const auto parts = c.ops(Kind::k_split, {c.parameter({4, 2})}, {{0}, {}},
                                              {f32({1, 2}), f32({2, 2}), f32({1, 2})});
                     return c.op(Kind::k_mul, {parts[2], parts[0]});
                   }});
  cases.push_back({"slice", [](CaseBuilder& c) {
                     return c.op(Kind::k_slice, {c.parameter({5, 6})}, {{1, 2, 5, -2}, {}}, {f32({2, 3})});
                   }});
  const auto gather = [&](const char* name, int64_t axis, ir::Shape indices, std::vector<int64_t> picked) {
    cases.push_back({name, [=](CaseBuilder& c) {
                       const ir::ValueId which = c.builder.constant_i64("indices", indices, picked);
                       return c.op(Kind::k_gather, {c.parameter({4, 3}), which}, {{axis}, {}});
                     }});
  };
  gather("gather of rows, some twice", 0, {2, 2}, {1, 3, 1, -4});
  gather("gather of columns", 1, {2}, {2, -1});
  gather("gather of one row", 0, {}, {2});
  cases.push_back({"alias", [](CaseBuilder& c) {
                     const ir::ValueId x = c.parameter({2, 6});
                     return c.op(Kind::k_exp, {c.op(Kind::k_alias, {x}, {}, {f32({3, 4})})});
                   }});
}

// Some elements twice, none of two updates equal but where a case wants it.
inline void append_scatter_cases(std::vector<GradientCase>& cases) {
  using ir::Kind;
  const auto scatter = [&](std::string name, int64_t reduction, ir::Shape indices, std::vector<int64_t> at,
                           ir::Shape updates) {
    cases.push_back({std::move(name), [=](CaseBuilder& c) {
                       const ir::ValueId which = c.builder.constant_i64("indices", indices, at);
                       const ir::ValueId x = c.op(Kind::k_exp, {c.parameter({4, 3})});
                       return c.op(Kind::k_scatter_elements, {x, which, c.parameter(updates)}, {{0, reduction}, {}});
                     }});
  };
  for (const int64_t reduction : {PT_SCATTER_LAST, PT_SCATTER_ADD, PT_SCATTER_MUL, PT_SCATTER_MAX, PT_SCATTER_MIN}) {
    const std::string name = "scatter_elements with reduction " + std::to_string(reduction);
    scatter(name, reduction, {3, 2}, {1, 3, -3, 1, 1, 2}, {3, 2});
    scatter(name + " by rows", reduction, {3}, {1, -1, 1}, {3, 3});
  }
  cases.push_back({"scatter_elements of products with zeros", [](CaseBuilder& c) {
                     const ir::ValueId which = c.builder.constant_i64("indices", {4}, {0, 0, 1, 1});
                     const ir::ValueId x = c.parameter({3}), u = c.parameter({4});
                     const ir::ValueId once = c.builder.constant_f32("once", {4}, {1, 0, 1, 1});
                     const ir::ValueId first = c.builder.constant_f32("first", {3}, {0, 1, 1});
                     const ir::ValueId low = c.op(Kind::k_mul, {x, first}), some = c.op(Kind::k_mul, {u, once});
                     return c.op(Kind::k_scatter_elements, {low, which, some}, {{0, PT_SCATTER_MUL}, {}});
                   }});
  cases.push_back(
      {"random numbers take no gradient", [](CaseBuilder& c) {
         const ir::ValueId noise = c.op(Kind::k_random, {}, {{5, PT_RANDOM_NORMAL}, {0.5, 2}}, {f32({3, 5})});
         return c.op(Kind::k_mul, {c.parameter({3, 5}), noise});
       }});
  for (const int64_t largest : {0, 1}) {
    cases.push_back({"top_k " + std::to_string(largest), [=](CaseBuilder& c) {
                       const ir::ValueId x = c.parameter({3, 5, 2});
                       const ir::ValueId where = c.op(Kind::k_top_k, {x}, {{1, 3, largest}, {}});
                       return c.op(Kind::k_gather_elements, {x, where}, {{1}, {}});
                     }});
  }
}

inline void append_loss_cases(std::vector<GradientCase>& cases) {
  using ir::Kind;
  const auto logits = [&](const char* name, ir::Shape shape, LossTerm term) {
    cases.push_back({name,
                     [=](CaseBuilder& c) {
                       return c.op(Kind::k_scale, {c.parameter(shape)}, {{}, {2, 0}});
                     },
                     std::move(term)});
  };
  logits("cross_entropy", {5, 3}, {});
  logits("cross_entropy of an image", {2, 3, 2, 2}, {});
  logits("cross_entropy with smoothed labels", {2, 3, 2, 2}, {.smoothing = 0.2});
  logits("cross_entropy without a class", {5, 3}, {.smoothing = 0.2, .ignore_index = 1});
  logits("cross_entropy of a part", {5, 3}, {.weight = 0.3});
  logits("cross_entropy with probabilities", {2, 3, 2, 2}, {.name = "soft_cross_entropy", .smoothing = 0.1});
  logits("nll", {2, 3, 2}, {.name = "nll", .ignore_index = 2});
  logits("cross_entropy with the classes last", {2, 4, 3}, {.smoothing = 0.1, .ignore_index = 2, .classes_last = true});
  logits("cross_entropy with probabilities, classes last", {2, 4, 3},
         {.name = "soft_cross_entropy", .classes_last = true});
  const std::vector<double> weights = {0.5, 2, 1};
  logits("cross_entropy with class weights", {5, 3}, {.class_weights = weights});
  logits("cross_entropy with class weights of an image, smoothed", {2, 3, 2, 2}, {.smoothing = 0.2, .ignore_index = 1, .class_weights = weights});
  logits("cross_entropy with class weights, classes last", {2, 4, 3}, {.weight = 0.3, .classes_last = true, .class_weights = weights});
  logits("cross_entropy with probabilities and class weights", {2, 3, 4}, {.name = "soft_cross_entropy", .smoothing = 0.1, .class_weights = weights});
  logits("nll with class weights", {2, 3, 2}, {.name = "nll", .ignore_index = 2, .class_weights = weights});
  logits("cross_entropy, the batch second", {4, 2, 3}, {.classes_last = true, .batch_axis = 1});
  logits("cross_entropy, the batch last", {3, 2, 4}, {.class_weights = weights, .batch_axis = 2});
  logits("mse, the batch second", {4, 2, 3}, {.name = "mse", .batch_axis = 1});
  logits("l1", {4, 3}, {.name = "l1", .weight = 2});
  logits("smooth_l1", {4, 3}, {.name = "smooth_l1", .beta = 1.5});
  logits("bce_with_logits", {4, 3}, {.name = "bce_with_logits"});
  logits("kl_div", {4, 3}, {.name = "kl_div"});
  logits("kl_div by sample", {4, 3}, {.name = "kl_div", .mean_of_batch = true});
  for (const Kind kind : {Kind::k_l1, Kind::k_smooth_l1}) {
    cases.push_back({ir::name_of(kind) + std::string(" inside a model"), [=](CaseBuilder& c) {
                       const ir::Attrs attrs = kind == Kind::k_l1 ? ir::Attrs{} : ir::Attrs{{}, {0.7}};
                       const ir::ValueId error = c.op(kind, {c.parameter({2, 3}), c.parameter({2, 3})}, attrs);
                       return c.op(Kind::k_scale, {error}, {{}, {3, 1}});
                     }});
  }
  cases.push_back({"cross_entropy behind a softmax over the last axis",
                   [](CaseBuilder& c) {
                     return c.op(Kind::k_softmax, {c.parameter({2, 3, 4})}, {{2}, {}});
                   },
                   {"cross_entropy"}});
  cases.push_back({"mse inside a model", [](CaseBuilder& c) {
                     const ir::ValueId error = c.op(Kind::k_mse, {c.parameter({2, 3}), c.parameter({2, 3})});
                     return c.op(Kind::k_scale, {error}, {{}, {3, 1}});
                   }});
  cases.push_back({"cross_entropy inside a model", [](CaseBuilder& c) {
                     const ir::ValueId labels = c.builder.constant_i64("targets", {3}, {1, -1, 0});
                     const ir::ValueId error = c.op(Kind::k_cross_entropy, {c.parameter({3, 2}), labels}, {{-1}, {0}});
                     return c.op(Kind::k_scale, {error}, {{}, {3, 1}});
                   }});
}

inline std::vector<GradientCase> gradient_cases() {
  std::vector<GradientCase> cases;
  for (const auto append :
       {append_product_cases, append_attention_cases, append_elementwise_cases, append_transposed_cases,
        append_normalization_cases, append_recurrent_cases, append_lstm_series_cases, append_gru_series_cases,
        append_movement_cases, append_scatter_cases, append_loss_cases})
    append(cases);
  return cases;
}

// The forward graph of a case, in f32.
inline ir::Graph forward_of(const GradientCase& which) {
  ir::Graph graph;
  graph.name = which.name;
  CaseBuilder builder(graph, 1234);
  graph.outputs = {which.build(builder)};
  if (builder.builder.error()) graph.notes.push_back(builder.builder.error()->message);
  return graph;
}

}  // namespace pantoum::autodiff
