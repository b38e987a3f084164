// Recurrent cells: the gates' activations against the C library, and the same bits whatever the width of a vector.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
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

// Operands of so many blocks of columns each: the gates, or a state.
struct Cell {
  uint16_t op;
  std::vector<size_t> in, out;
};
const Cell kCells[] = {{PT_OP_lstm_cell, {4, 4, 1}, {1, 1, 4}},
                       {PT_OP_lstm_cell_grad, {1, 4, 1, 1}, {4, 1}},
                       {PT_OP_lstm_cell_grad, {1, 4, 1, 1, 1}, {4, 1}},
                       {PT_OP_gru_cell, {3, 3, 1}, {1, 3, 1}},
                       {PT_OP_gru_cell_grad, {1, 3, 1, 1}, {3, 3, 1}}};

using Blocks = std::vector<int64_t>;  // of each gate

Blocks in_order(const Cell& cell) {
  Blocks blocks(std::max(cell.in[0], cell.in[1]));
  std::iota(blocks.begin(), blocks.end(), 0);
  return blocks;
}

size_t block_of(const Blocks& blocks, size_t gate, size_t gates) {
  return gates == 1 ? 0 : static_cast<size_t>(blocks[gate]);
}

// Runs a cell of that width and returns its outputs; element `at` of every gate and state depends on `at` alone.
std::vector<std::vector<float>> run(const Cell& cell, const Blocks& blocks, size_t width, size_t first = 0) {
  std::vector<std::vector<float>> data(cell.in.size()), made(cell.out.size());
  std::vector<pt_tensor> inputs, outputs;
  for (size_t input = 0; input < cell.in.size(); ++input) {
    inputs.push_back(matrix(data[input], 1, cell.in[input] * width));
    for (size_t gate = 0; gate < cell.in[input]; ++gate)
      for (size_t at = 0; at < width; ++at) {
        std::mt19937 random(static_cast<uint32_t>(1000 * input + 100 * gate + first + at));
        data[input][block_of(blocks, gate, cell.in[input]) * width + at] =
            std::uniform_real_distribution<float>(-2, 2)(random);
      }
  }
  for (size_t output = 0; output < cell.out.size(); ++output)
    outputs.push_back(matrix(made[output], 1, cell.out[output] * width));
  pt_call call{};
  call.inputs = inputs.data();
  call.outputs = outputs.data();
  call.ints = blocks.data();
  call.input_count = static_cast<uint16_t>(cell.in.size());
  call.output_count = static_cast<uint16_t>(cell.out.size());
  call.int_count = static_cast<uint16_t>(blocks.size());
  const pt_kernel* kernel = pt_kernel_find(pt_portable_kernels(), cell.op, PT_F32, 0, 0);
  EXPECT_EQ(kernel->submit(&call), PT_OK);
  return made;
}

TEST(Cells, GiveEveryElementTheSameBitsAtAnyWidth) {
  for (const Cell& cell : kCells) {
    constexpr size_t kWidth = 45;
    const auto wide = run(cell, in_order(cell), kWidth);
    for (size_t at = 0; at < kWidth; ++at) {
      const auto alone = run(cell, in_order(cell), 1, at);
      for (size_t output = 0; output < cell.out.size(); ++output)
        for (size_t gate = 0; gate < cell.out[output]; ++gate)
          EXPECT_EQ(std::memcmp(&wide[output][gate * kWidth + at], &alone[output][gate], sizeof(float)), 0)
              << cell.op << " output " << output << " gate " << gate << " element " << at;
    }
  }
}

TEST(Cells, GiveTheSameBitsWhereverTheGatesLie) {
  constexpr size_t kWidth = 19;
  for (const Cell& cell : kCells) {
    Blocks blocks = in_order(cell);
    const auto expected = run(cell, blocks, kWidth);
    while (std::next_permutation(blocks.begin(), blocks.end())) {
      const auto made = run(cell, blocks, kWidth);
      for (size_t output = 0; output < cell.out.size(); ++output)
        for (size_t gate = 0; gate < cell.out[output]; ++gate)
          EXPECT_EQ(std::memcmp(&made[output][block_of(blocks, gate, cell.out[output]) * kWidth],
                                &expected[output][gate * kWidth], kWidth * sizeof(float)),
                    0)
              << cell.op << " output " << output << " gate " << gate;
    }
  }
}

}  // namespace
