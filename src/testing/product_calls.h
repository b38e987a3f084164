// Calls of products on random operands, by any algorithm and number of threads. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "pantoum/pantoum.h"

namespace product_test {

inline void run_on_threads(void* context, size_t count, void (*body)(void*, size_t, size_t), void* arg) {
  const size_t threads = *static_cast<uint32_t*>(context);
  std::vector<std::thread> team;
  for (size_t piece = 0; piece < threads; ++piece)
    team.emplace_back([=] {
      const size_t begin = count * piece / threads, end = count * (piece + 1) / threads;
      if (begin < end) body(arg, begin, end);
    });
  for (std::thread& thread : team) thread.join();
}

template <class Real>
struct Operand {
  std::vector<uint32_t> dims;
  std::vector<Real> data;
  [[nodiscard]] pt_tensor tensor() {
    pt_tensor t{};
    t.data = data.data();
    t.rank = static_cast<uint8_t>(dims.size());
    t.dtype = sizeof(Real) == 8 ? PT_F64 : PT_F32;
    for (size_t dim = 0; dim < dims.size(); ++dim) t.dims[dim] = dims[dim];
    return t;
  }
};

template <class Real>
Operand<Real> make(std::vector<uint32_t> dims, std::mt19937& random) {
  size_t count = 1;
  for (uint32_t dim : dims) count *= dim;
  Operand<Real> operand{dims, std::vector<Real>(count)};
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (Real& value : operand.data) value = static_cast<Real>(uniform(random));
  return operand;
}

template <class Real>
const pt_kernel_table* table() {
  return sizeof(Real) == 8 ? pt_portable_kernels_f64() : pt_portable_kernels();
}

template <class Real>
void submit(pt_op op, uint16_t algorithm, const std::vector<Operand<Real>*>& inputs, Operand<Real>& out,
            const std::vector<int64_t>& ints, const std::vector<double>& reals, uint32_t threads) {
  std::vector<pt_tensor> in;
  for (Operand<Real>* input : inputs) in.push_back(input->tensor());
  const pt_tensor y = out.tensor();
  const pt_pool pool{&threads, threads, run_on_threads};
  pt_call call{};
  call.inputs = in.data();
  call.outputs = &y;
  call.ints = ints.data();
  call.input_count = static_cast<uint16_t>(in.size());
  call.output_count = 1;
  call.int_count = static_cast<uint16_t>(ints.size());
  call.reals = reals.data();
  call.real_count = static_cast<uint16_t>(reals.size());
  call.pool = &pool;
  const pt_kernel* kernel = pt_kernel_find(table<Real>(), static_cast<uint16_t>(op), y.dtype, algorithm, 0);
  ASSERT_NE(kernel, nullptr);
  std::vector<Real> workspace(kernel->workspace_bytes ? kernel->workspace_bytes(&call) / sizeof(Real) : 0, Real(NAN));
  call.workspace = workspace.data();
  EXPECT_EQ(kernel->submit(&call), PT_OK);
}

template <class Real>
std::vector<Real> run(pt_op op, uint16_t algorithm, const std::vector<Operand<Real>*>& inputs,
                      const std::vector<uint32_t>& out_dims, const std::vector<int64_t>& ints, uint32_t threads = 1) {
  std::mt19937 random(9);
  Operand<Real> out = make<Real>(out_dims, random);
  submit(op, algorithm, inputs, out, ints, {}, threads);
  return out.data;
}

template <class Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0;
}

// A convolution's sizes and attributes, with the shapes of its operands.
struct ConvCase {
  uint32_t samples, channels, height, width, outputs, kernel_h, kernel_w;
  std::vector<int64_t> ints;
  [[nodiscard]] uint32_t extent(uint32_t size, uint32_t kernel, size_t axis) const {
    const int64_t pads = ints[PT_CONV_PAD_TOP + axis] + ints[PT_CONV_PAD_BOTTOM + axis];
    return static_cast<uint32_t>(
        (size + pads - ints[PT_CONV_DILATION_H + axis] * (kernel - 1) - 1) / ints[PT_CONV_STRIDE_H + axis] + 1);
  }
  [[nodiscard]] std::vector<uint32_t> x() const { return {samples, channels, height, width}; }
  [[nodiscard]] std::vector<uint32_t> w() const {
    return {outputs, channels / static_cast<uint32_t>(ints[PT_CONV_GROUPS]), kernel_h, kernel_w};
  }
  [[nodiscard]] std::vector<uint32_t> y() const {
    return {samples, outputs, extent(height, kernel_h, 0), extent(width, kernel_w, 1)};
  }
};

struct Way {
  uint16_t algorithm;
  uint32_t threads;
};
inline constexpr Way kFastWays[] = {{1, 1}, {1, 4}, {2, 1}, {2, 4}};

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t at = 0; at < a.size(); ++at) sum += a[at] * b[at];
  return sum;
}

}  // namespace product_test
