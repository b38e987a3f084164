// GFLOP/s of the portable products on one thread, and how many times faster "blocked" is than "reference".
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "pantoum/pantoum.h"

namespace {

struct Case {
  const char* name;
  pt_op op;
  std::vector<std::vector<uint32_t>> inputs;
  std::vector<uint32_t> output;
  std::vector<int64_t> ints;
  double flops;
};

double seconds(const Case& c, uint16_t algorithm, double least_s) {
  std::vector<std::vector<float>> memory;
  std::vector<pt_tensor> operands;
  const auto add = [&](const std::vector<uint32_t>& dims) {
    size_t count = 1;
    pt_tensor tensor{};
    for (size_t dim = 0; dim < dims.size(); ++dim) count *= tensor.dims[dim] = dims[dim];
    memory.emplace_back(count, 0.5F);
    tensor.data = memory.back().data();
    tensor.rank = static_cast<uint8_t>(dims.size());
    operands.push_back(tensor);
  };
  for (const auto& dims : c.inputs) add(dims);
  add(c.output);
  pt_call call{};
  call.inputs = operands.data();
  call.outputs = &operands.back();
  call.ints = c.ints.data();
  call.input_count = static_cast<uint16_t>(c.inputs.size());
  call.output_count = 1;
  const pt_kernel* kernel = pt_kernel_find(pt_portable_kernels(), static_cast<uint16_t>(c.op), PT_F32, algorithm, 0);
  double best = 1e30, total = 0;
  while (total < least_s) {
    const auto begin = std::chrono::steady_clock::now();
    kernel->submit(&call);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = took < best ? took : best;
    total += took;
  }
  return best;
}

Case conv(const char* name, pt_op op, uint32_t n, uint32_t c, uint32_t size, uint32_t o, uint32_t kernel,
          int64_t groups = 1) {
  const int64_t pad = kernel / 2;
  const std::vector<uint32_t> x{n, c, size, size}, w{o, c / static_cast<uint32_t>(groups), kernel, kernel},
      y{n, o, size, size};
  const std::vector<int64_t> ints{1, 1, pad, pad, pad, pad, 1, 1, groups};
  const double flops = 2.0 * n * o * size * size * c / static_cast<double>(groups) * kernel * kernel;
  if (op == PT_OP_conv2d_dx) return {name, op, {y, w}, x, ints, flops};
  if (op == PT_OP_conv2d_dw) return {name, op, {x, y}, w, ints, flops};
  return {name, op, {x, w}, y, ints, flops};
}

Case volume(const char* name, pt_op op, uint32_t n, uint32_t c, uint32_t size, uint32_t o, uint32_t kernel) {
  const int64_t pad = kernel / 2;
  const std::vector<uint32_t> x{n, c, size, size, size}, w{o, c, kernel, kernel, kernel}, y{n, o, size, size, size};
  const std::vector<int64_t> ints{1, 1, 1, pad, pad, pad, pad, pad, pad, 1, 1, 1, 1};
  const double flops = 2.0 * n * o * c * std::pow(size, 3) * std::pow(kernel, 3);
  if (op == PT_OP_conv3d_dx) return {name, op, {y, w}, x, ints, flops};
  if (op == PT_OP_conv3d_dw) return {name, op, {x, y}, w, ints, flops};
  return {name, op, {x, w}, y, ints, flops};
}

}  // namespace

int main() {
  const std::vector<Case> cases{
      {"matmul 512 x 512 x 512", PT_OP_matmul, {{512, 512}, {512, 512}}, {512, 512}, {0, 0}, 2.0 * 512 * 512 * 512},
      {"matmul 512^3, A transposed", PT_OP_matmul, {{512, 512}, {512, 512}}, {512, 512}, {1, 0}, 2.0 * 512 * 512 * 512},
      {"matmul 512^3, B transposed", PT_OP_matmul, {{512, 512}, {512, 512}}, {512, 512}, {0, 1}, 2.0 * 512 * 512 * 512},
      conv("conv 64->64 32x32 3x3 b8", PT_OP_conv2d, 8, 64, 32, 64, 3),
      conv("conv dx", PT_OP_conv2d_dx, 8, 64, 32, 64, 3),
      conv("conv dw", PT_OP_conv2d_dw, 8, 64, 32, 64, 3),
      conv("conv 16->32 14x14 3x3 b128", PT_OP_conv2d, 128, 16, 14, 32, 3),
      conv("conv dx", PT_OP_conv2d_dx, 128, 16, 14, 32, 3),
      conv("conv dw", PT_OP_conv2d_dw, 128, 16, 14, 32, 3),
      conv("conv 1->16 28x28 3x3 b128", PT_OP_conv2d, 128, 1, 28, 16, 3),
      conv("conv dw", PT_OP_conv2d_dw, 128, 1, 28, 16, 3),
      conv("conv 64->256 16x16 1x1 b8", PT_OP_conv2d, 8, 64, 16, 256, 1),
      conv("depthwise 64 32x32 3x3 b8", PT_OP_conv2d, 8, 64, 32, 64, 3, 64),
      volume("volume 32->32 16^3 3^3 b2", PT_OP_conv3d, 2, 32, 16, 32, 3),
      volume("volume dx", PT_OP_conv3d_dx, 2, 32, 16, 32, 3),
      volume("volume dw", PT_OP_conv3d_dw, 2, 32, 16, 32, 3)};
  std::printf("%-30s %10s %12s\n", "one thread, float32", "GFLOP/s", "x reference");
  for (const Case& c : cases) {
    const double blocked = seconds(c, 1, 0.2), reference = seconds(c, 0, 0.05);
    std::printf("%-30s %10.1f %12.1f\n", c.name, c.flops / blocked * 1e-9, reference / blocked);
  }
  return 0;
}
