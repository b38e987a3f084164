// One sound use of every operator that has a kernel: for tests of the shape rules, and as seeds for the fuzzer.
#pragma once

#include <cstdint>
#include <vector>

#include "artifact/binary_plan.h"

namespace pantoum::runtime_test {

struct OpCase {
  ir::Kind kind{};
  std::vector<ir::TensorType> inputs, outputs;
  ir::Attrs attrs;
  uint64_t workspace = 0;
};

inline std::vector<OpCase> op_cases() {
  using enum ir::Kind;
  using enum ir::DType;
  const auto f = [](ir::Shape shape) { return ir::TensorType{kF32, std::move(shape)}; };
  const auto i = [](ir::Shape shape) { return ir::TensorType{kI64, std::move(shape)}; };
  const auto b = [](ir::Shape shape) { return ir::TensorType{kBool, std::move(shape)}; };
  const auto image = f({2, 4, 5, 6});
  const std::vector<int64_t> conv = {2, 1, 1, 0, 1, 2, 1, 2, 2};        // strides, pads, dilations, groups
  const std::vector<int64_t> pool = {3, 2, 2, 1, 1, 0, 0, 1, 1, 2, 1};  // kernel, strides, pads, dilations, count
  const auto conv_y = f({2, 6, 3, 4}), conv_w = f({6, 2, 3, 3}), pool_y = f({2, 4, 2, 5}), c = f({4});
  std::vector<OpCase> cases = {
      {k_matmul, {f({3, 1, 4, 5}), f({2, 5, 7}), f({7})}, {f({3, 2, 4, 7})}, {{0, 0}, {}}},
      {k_matmul, {f({5, 4}), f({7, 5})}, {f({4, 7})}, {{1, 1}, {}}},
      {k_conv2d, {image, conv_w, f({6})}, {conv_y}, {conv, {}}},
      {k_conv2d_dx, {conv_y, conv_w}, {image}, {conv, {}}},
      {k_conv2d_dw, {image, conv_y}, {conv_w}, {conv, {}}},
      {k_pow_grad, {f({2, 3}), f({3}), f({2, 1})}, {f({2, 3})}, {}},
      {k_gelu, {image}, {image}, {{1}, {}}},
      {k_gelu_grad, {image, image}, {image}, {{0}, {}}},
      {k_leaky_relu, {image}, {image}, {{}, {0.1}}},
      {k_leaky_relu_grad, {image, image}, {image}, {{}, {0.1}}},
      {k_scale, {image}, {image}, {{}, {2, 1}}},
      {k_cast, {i({3, 4})}, {f({3, 4})}, {}},
      {k_batch_norm, {image, c, c}, {image, c, c}, {{}, {1e-5}}},
      {k_batch_norm_grad, {image, image, c, c, c}, {image, c, c}, {{}, {1e-5}}},
      {k_batch_norm_stats, {c, c, c, c}, {c, c}, {{60}, {0.9}}},
      {k_batch_norm_eval, {image, c, c, c, c}, {image}, {{}, {1e-5}}},
      {k_layer_norm, {f({2, 3, 4}), f({4}), f({4})}, {f({2, 3, 4}), f({2, 3}), f({2, 3})}, {{2}, {1e-5}}},
      {k_layer_norm_grad,
       {f({2, 3, 4}), f({2, 3, 4}), f({4}), f({2, 3}), f({2, 3})},
       {f({2, 3, 4}), f({4}), f({4})},
       {{2}, {}}},
      {k_max_pool, {image}, {pool_y}, {pool, {}}},
      {k_max_pool_grad, {pool_y, image}, {image}, {pool, {}}},
      {k_avg_pool, {image}, {pool_y}, {pool, {}}},
      {k_avg_pool_grad, {pool_y}, {image}, {pool, {}}},
      {k_reduce_sum, {f({2, 3, 4})}, {f({3})}, {{5}, {}}},
      {k_reduce_mean, {f({2, 3, 4})}, {f({})}, {{7}, {}}},
      {k_expand, {f({3, 1})}, {f({2, 3, 4})}, {{}, {0.5}}},
      {k_transpose, {i({2, 3, 4})}, {i({4, 2, 3})}, {{2, 0, 1}, {}}},
      {k_concat, {f({2, 3}), f({2, 1}), f({2, 4})}, {f({2, 8})}, {{1}, {}}},
      {k_split, {f({2, 8})}, {f({2, 3}), f({2, 1}), f({2, 4})}, {{1}, {}}},
      {k_slice, {f({7, 8})}, {f({3, 3})}, {{1, 2, 7, -3}, {}}},
      {k_slice_grad, {f({3, 3})}, {f({7, 8})}, {{1, 2, 7, -3}, {}}},
      {k_gather, {f({7, 8, 2}), i({3, 2})}, {f({7, 3, 2, 2})}, {{1}, {}}},
      {k_gather_grad, {f({7, 3, 2, 2}), i({3, 2})}, {f({7, 8, 2})}, {{1}, {}}},
      {k_dropout, {image}, {image}, {{3}, {0.25}}},
      {k_cross_entropy, {f({2, 5, 3}), i({2, 3})}, {f({})}, {}},
      {k_cross_entropy_grad, {f({2, 5, 3}), i({2, 3})}, {f({2, 5, 3})}, {}},
      {k_count_correct, {f({2, 5}), i({2})}, {f({2})}, {}},
      {k_mse, {image, image}, {f({})}, {}},
      {k_mse_grad, {image, image}, {image}, {}},
      {k_sgd, {image, image, image}, {image, image}, {{1}, {0.9, 1e-4}}},
      {k_sgd, {image, image}, {image}, {{0}, {0, 0}}},
      {k_adam, {image, image, image, image}, {image, image, image}, {{}, {0.9, 0.999, 1e-8, 0}}},
      {k_compare, {f({2, 1, 4}), f({3, 1})}, {b({2, 3, 4})}, {{PT_COMPARE_LESS}, {}}},
      {k_where, {b({3, 1}), f({2, 1, 4}), f({})}, {f({2, 3, 4})}, {}},
      {k_maximum_grad, {f({2, 3}), f({3}), f({2, 1})}, {f({2, 3})}, {}},
      {k_round, {image}, {image}, {{2}, {}}},
      {k_elu, {image}, {image}, {{}, {1, 1, 1}}},
      {k_elu_grad, {image, image}, {image}, {{}, {1, 1, 1}}},
      {k_clip, {image}, {image}, {{}, {0, 6}}},
      {k_clip_grad, {image, image}, {image}, {{}, {0, 6}}},
      {k_resize, {image}, {f({2, 4, 10, 9})}, {{1, 0, 0}, {2, 1.5}}},
      {k_resize_grad, {f({2, 4, 10, 9})}, {image}, {{0, 1, 2}, {2, 1.5}}},
      {k_reduce_max, {f({2, 3, 4})}, {f({3})}, {{5}, {}}},
      {k_reduce_max_grad, {f({3}), f({2, 3, 4}), f({3})}, {f({2, 3, 4})}, {{5}, {}}},
      {k_arg_max, {f({2, 3, 4})}, {i({2, 4})}, {{1}, {}}},
      {k_cumsum, {f({2, 3, 4})}, {f({2, 3, 4})}, {{1, 0, 1}, {}}},
      {k_gather_elements, {f({7, 8}), i({3, 8})}, {f({3, 8})}, {{0}, {}}},
      {k_gather_elements_grad, {f({3, 8}), i({3, 8})}, {f({7, 8})}, {{0}, {}}},
      {k_sgd_rows, {f({7, 8}), i({3, 2}), f({3, 2, 8})}, {f({7, 8})}, {}, 256},
  };
  for (const ir::Kind kind : {k_add, k_sub, k_mul, k_div, k_pow, k_maximum, k_minimum})
    cases.push_back({kind, {f({2, 1, 4}), f({3, 1})}, {f({2, 3, 4})}, {}});
  for (const ir::Kind kind :
       {k_relu, k_sigmoid, k_tanh, k_erf, k_sqrt, k_exp, k_log, k_neg, k_abs, k_sign, k_sin, k_cos, k_softplus})
    cases.push_back({kind, {image}, {image}, {}});
  for (const ir::Kind kind : {k_relu_grad, k_sigmoid_grad, k_tanh_grad, k_erf_grad, k_sqrt_grad, k_softplus_grad})
    cases.push_back({kind, {image, image}, {image}, {}});
  for (const ir::Kind kind : {k_softmax, k_log_softmax})
    cases.push_back({kind, {f({2, 3, 4})}, {f({2, 3, 4})}, {{1}, {}}});
  for (const ir::Kind kind : {k_softmax_grad, k_log_softmax_grad})
    cases.push_back({kind, {f({2, 3, 4}), f({2, 3, 4})}, {f({2, 3, 4})}, {{1}, {}}});
  return cases;
}

// A plan of one program that computes the op once. Its inputs live in RAM, its outputs beside them; every tensor has
// `slack` bytes more than its type, so that operands may be declared larger than they should be.
inline artifact::BinaryPlan plan_of(const OpCase& of, uint64_t slack = 0) {
  constexpr uint32_t kUnit = 64;
  artifact::BinaryPlan plan;
  plan.align_bytes = kUnit;
  artifact::BinaryOp op;
  op.kind = of.kind;
  op.attrs = of.attrs;
  artifact::BinaryInstruction compute;
  for (const bool is_output : {false, true}) {
    for (const ir::TensorType& type : is_output ? of.outputs : of.inputs) {
      artifact::BinaryTensor tensor;
      tensor.type = type;
      auto payload = static_cast<uint64_t>(ir::size_of(type.dtype));
      for (const int64_t dim : type.shape) payload *= static_cast<uint64_t>(dim);
      tensor.bytes = (payload + slack + kUnit - 1) / kUnit * kUnit;
      if (is_output) {
        compute.at.push_back(plan.arena_bytes);
      } else {
        tensor.home = cost::Home::kRam;
        tensor.ram_at = static_cast<int64_t>(plan.arena_bytes);
      }
      plan.arena_bytes += tensor.bytes;
      (is_output ? op.outputs : op.inputs).push_back({static_cast<uint32_t>(plan.tensors.size()), type});
      plan.tensors.push_back(tensor);
    }
  }
  op.workspace_bytes = of.workspace;
  compute.workspace_at = plan.arena_bytes;
  plan.arena_bytes += of.workspace;
  plan.ops.push_back(op);
  plan.programs.push_back({"train", {compute}});
  return plan;
}

}  // namespace pantoum::runtime_test
