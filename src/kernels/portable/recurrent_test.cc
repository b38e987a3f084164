// Recurrent cells: the gates' activations against the C library, and the same bits whatever the width of a vector.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

extern "C" {
#include "kernels/portable/pt_gates.h"
}

namespace {

// The largest error relative to the value, in units of 2^-24.
template <class Ours, class Theirs>
double worst(Ours ours, Theirs theirs, double low, double high) {
  double error = 0;
  for (int at = 0; at <= 400000; ++at) {
    const auto x = static_cast<float>(low + (high - low) * at / 400000);
    const double expected = theirs(static_cast<double>(x));
    if (expected != 0) error = std::max(error, std::abs(static_cast<double>(ours(x)) - expected) / std::abs(expected));
  }
  return error * 16777216;
}

TEST(Gates, AgreeWithTheCLibrary) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_LT(worst(pt_gate_sigmoid, sigmoid, -80, 80), 6);
  EXPECT_LT(worst(pt_gate_sigmoid, sigmoid, -1, 1), 6);
  EXPECT_LT(worst(
                pt_gate_tanh, [](double x) { return std::tanh(x); }, -12, 12),
            6);
  EXPECT_LT(worst(
                pt_gate_tanh, [](double x) { return std::tanh(x); }, -0.7, 0.7),
            6);
}

TEST(Gates, KeepTheSpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(pt_gate_sigmoid(infinity), 1);
  EXPECT_NEAR(pt_gate_sigmoid(-infinity), 0, 1e-37);
  EXPECT_EQ(pt_gate_sigmoid(0), 0.5F);
  EXPECT_EQ(pt_gate_tanh(infinity), 1);
  EXPECT_EQ(pt_gate_tanh(-infinity), -1);
  EXPECT_EQ(pt_gate_tanh(0), 0);
  EXPECT_TRUE(std::isnan(pt_gate_sigmoid(nan)) && std::isnan(pt_gate_tanh(nan)));
}

pt_tensor matrix(std::vector<float>& data, size_t rows, size_t columns) {
  data.resize(rows * columns);
  return {data.data(), {static_cast<uint32_t>(rows), static_cast<uint32_t>(columns)}, 2, PT_F32};
}

// Runs a cell of that width and returns the outputs side by side; element `at` of every input depends on `at` alone.
std::vector<std::vector<float>> run(uint16_t op, size_t width, size_t first, const std::vector<size_t>& in,
                                    const std::vector<size_t>& out) {
  std::vector<std::vector<float>> data(in.size()), made(out.size());
  std::vector<pt_tensor> inputs, outputs;
  for (size_t input = 0; input < in.size(); ++input) {
    inputs.push_back(matrix(data[input], 1, in[input] * width));
    for (size_t gate = 0; gate < in[input]; ++gate)
      for (size_t at = 0; at < width; ++at) {
        std::mt19937 random(static_cast<uint32_t>(1000 * input + 100 * gate + first + at));
        data[input][gate * width + at] = std::uniform_real_distribution<float>(-2, 2)(random);
      }
  }
  for (size_t output = 0; output < out.size(); ++output)
    outputs.push_back(matrix(made[output], 1, out[output] * width));
  pt_call call{};
  call.inputs = inputs.data();
  call.outputs = outputs.data();
  call.input_count = static_cast<uint16_t>(in.size());
  call.output_count = static_cast<uint16_t>(out.size());
  const pt_kernel* kernel = pt_kernel_find(pt_portable_kernels(), op, PT_F32, 0, 0);
  EXPECT_EQ(kernel->submit(&call), PT_OK);
  return made;
}

TEST(Cells, GiveEveryElementTheSameBitsAtAnyWidth) {
  struct Case {
    uint16_t op;
    std::vector<size_t> in, out;
  };
  for (const Case& of :
       {Case{PT_OP_lstm_cell, {4, 4, 1}, {1, 1, 4}}, Case{PT_OP_lstm_cell_grad, {1, 4, 1, 1}, {4, 1}},
        Case{PT_OP_lstm_cell_grad, {1, 4, 1, 1, 1}, {4, 1}}, Case{PT_OP_gru_cell, {3, 3, 1}, {1, 3, 1}},
        Case{PT_OP_gru_cell_grad, {1, 3, 1, 1}, {3, 3, 1}}}) {
    constexpr size_t kWidth = 45;
    const auto wide = run(of.op, kWidth, 0, of.in, of.out);
    for (size_t at = 0; at < kWidth; ++at) {
      const auto alone = run(of.op, 1, at, of.in, of.out);
      for (size_t output = 0; output < of.out.size(); ++output)
        for (size_t gate = 0; gate < of.out[output]; ++gate)
          EXPECT_EQ(std::memcmp(&wide[output][gate * kWidth + at], &alone[output][gate], sizeof(float)), 0)
              << of.op << " output " << output << " gate " << gate << " element " << at;
    }
  }
}

}  // namespace
