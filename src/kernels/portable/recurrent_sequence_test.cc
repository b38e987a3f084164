// Many steps of an LSTM or a GRU as one op: the same bits as products and cells step by step, whatever the algorithm, the
// number of threads, the shape, and what is written over what.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "testing/product_calls.h"

namespace {

using product_test::make;
using Array = product_test::Operand<float>;
using Arrays = std::vector<Array>;

struct Size {
  uint32_t steps, batch, width;
};

struct Way {
  uint16_t algorithm;
  uint32_t threads;
};
constexpr Way kWays[] = {{0, 1}, {0, 3}, {1, 1}, {1, 2}, {1, 5}, {2, 1}, {2, 2}};

Array empty(std::vector<uint32_t> dims) {
  size_t count = 1;
  for (const uint32_t dim : dims) count *= dim;
  return {std::move(dims), std::vector<float>(count)};
}

// Runs a kernel; `over` are pairs of an output and the input that it is written over.
Arrays run(uint16_t op, const Way& way, Arrays inputs, const std::vector<std::vector<uint32_t>>& shapes,
           const std::vector<int64_t>& ints, const std::vector<std::pair<size_t, size_t>>& over = {}) {
  Arrays made;
  std::vector<pt_tensor> in, out;
  for (Array& input : inputs) in.push_back(input.tensor());
  made.reserve(shapes.size());
  for (const auto& shape : shapes) out.push_back(made.emplace_back(empty(shape)).tensor());
  for (const auto& [output, input] : over) out[output].data = in[input].data;
  uint32_t threads = way.threads;
  const pt_pool pool{&threads, threads, product_test::run_on_threads};
  pt_call call{};
  call.inputs = in.data(), call.input_count = static_cast<uint16_t>(in.size());
  call.outputs = out.data(), call.output_count = static_cast<uint16_t>(out.size());
  call.ints = ints.data(), call.int_count = static_cast<uint16_t>(ints.size());
  call.pool = &pool;
  const pt_kernel* kernel = pt_kernel_find(pt_portable_kernels(), op, PT_F32, way.algorithm, 0);
  if (kernel == nullptr) {
    ADD_FAILURE() << "no algorithm " << way.algorithm << " of " << op;
    return made;
  }
  const size_t bytes = kernel->workspace_bytes == nullptr ? 0 : kernel->workspace_bytes(&call);
  constexpr float kGuard = 12345.0F;
  std::vector<float> workspace(bytes / sizeof(float) + 1, kGuard);
  call.workspace = workspace.data();
  EXPECT_EQ(kernel->submit(&call), PT_OK);
  EXPECT_EQ(workspace.back(), kGuard) << "beyond the workspace";
  for (const auto& [output, input] : over) made[output].data = inputs[input].data;
  return made;
}

Array at(const Array& series, size_t time) {
  Array step = empty({series.dims[1], series.dims[2]});
  std::copy_n(series.data.begin() + static_cast<std::ptrdiff_t>(time * step.data.size()), step.data.size(),
              step.data.begin());
  return step;
}

void put(Array& series, size_t time, const Array& step) {
  std::copy(step.data.begin(), step.data.end(),
            series.data.begin() + static_cast<std::ptrdiff_t>(time * step.data.size()));
}

Array product(const Array& a, const Array& r, bool transposed, const Array* bias = nullptr) {
  Arrays inputs{a, r};
  if (bias != nullptr) inputs.push_back(*bias);
  return run(PT_OP_matmul, {0, 1}, inputs, {{a.dims[0], r.dims[transposed ? 0 : 1]}}, {0, transposed ? 1 : 0})[0];
}

Array sum(const Array& a, const Array& b) {
  Array made = a;
  for (size_t at = 0; at < made.data.size(); ++at) made.data[at] += b.data[at];
  return made;
}

struct Sequence {
  Size size;
  bool reverse, optional;  // with a bias or a gradient of all states
  std::vector<int64_t> blocks;

  [[nodiscard]] std::vector<int64_t> attributes() const {
    std::vector<int64_t> all = blocks;
    all.push_back(reverse ? 1 : 0);
    return all;
  }
  [[nodiscard]] size_t time(size_t count) const { return reverse ? size.steps - 1 - count : count; }
  [[nodiscard]] std::vector<uint32_t> series(uint32_t gates) const {
    return {size.steps, size.batch, gates * size.width};
  }
  [[nodiscard]] std::vector<uint32_t> state(uint32_t gates = 1) const { return {size.batch, gates * size.width}; }
};

// inputs, and the outputs of one op of all steps, made step by step.
struct Expected {
  uint16_t op;
  Arrays inputs, outputs;
  std::vector<std::pair<size_t, size_t>> over;  // all that may be at once
};

Expected lstm_forward(const Sequence& c, std::mt19937& random) {
  Arrays in{make<float>(c.series(4), random), make<float>({4 * c.size.width, c.size.width}, random),
            make<float>(c.state(), random), make<float>(c.state(), random)};
  Arrays out{empty(c.series(1)), empty(c.series(1)), empty(c.series(4)), in[2], in[3]};
  for (size_t count = 0; count < c.size.steps; ++count) {
    const size_t time = c.time(count);
    const Arrays made = run(PT_OP_lstm_cell, {0, 1}, {at(in[0], time), product(out[3], in[1], true), out[4]},
                            {c.state(), c.state(), c.state(4)}, c.blocks);
    for (size_t output = 0; output < 3; ++output) put(out[output], time, made[output]);
    out[3] = made[0], out[4] = made[1];
  }
  return {PT_OP_lstm_sequence, in, out, {{2, 0}, {3, 2}, {4, 3}}};
}

Expected lstm_backward(const Sequence& c, std::mt19937& random) {
  Arrays in{make<float>(c.series(4), random), make<float>(c.series(1), random),
            make<float>(c.state(), random),   make<float>({4 * c.size.width, c.size.width}, random),
            make<float>(c.state(), random),   make<float>(c.state(), random)};
  if (c.optional) in.push_back(make<float>(c.series(1), random));
  Arrays out{empty(c.series(4)), in[4], in[5]};
  for (size_t count = c.size.steps; count-- > 0;) {
    const size_t time = c.time(count);
    if (c.optional) out[1] = sum(at(in[6], time), out[1]);
    const Array before = count == 0 ? in[2] : at(in[1], c.time(count - 1));
    const Arrays made = run(PT_OP_lstm_cell_grad, {0, 1}, {out[1], at(in[0], time), before, at(in[1], time), out[2]},
                            {c.state(4), c.state()}, c.blocks);
    put(out[0], time, made[0]);
    out[1] = product(made[0], in[3], false), out[2] = made[1];
  }
  return {PT_OP_lstm_sequence_grad, in, out, {{0, 0}, {1, 4}, {2, 5}}};
}

Expected gru_forward(const Sequence& c, std::mt19937& random) {
  Arrays in{make<float>(c.series(3), random), make<float>({3 * c.size.width, c.size.width}, random),
            make<float>(c.state(), random)};
  if (c.optional) in.push_back(make<float>({3 * c.size.width}, random));
  Arrays out{empty(c.series(1)), empty(c.series(3)), empty(c.series(1)), in[2]};
  for (size_t count = 0; count < c.size.steps; ++count) {
    const size_t time = c.time(count);
    const Array p = product(out[3], in[1], true, c.optional ? &in[3] : nullptr);
    const Arrays made =
        run(PT_OP_gru_cell, {0, 1}, {at(in[0], time), p, out[3]}, {c.state(), c.state(3), c.state()}, c.blocks);
    for (size_t output = 0; output < 3; ++output) put(out[output], time, made[output]);
    out[3] = made[0];
  }
  return {PT_OP_gru_sequence, in, out, {{1, 0}, {3, 2}}};
}

Expected gru_backward(const Sequence& c, std::mt19937& random) {
  Arrays in{make<float>(c.series(3), random),
            make<float>(c.series(1), random),
            make<float>(c.series(1), random),
            make<float>(c.state(), random),
            make<float>({3 * c.size.width, c.size.width}, random),
            make<float>(c.state(), random)};
  if (c.optional) in.push_back(make<float>(c.series(1), random));
  Arrays out{empty(c.series(3)), empty(c.series(3)), in[5]};
  if (c.optional) out[2] = sum(at(in[6], c.time(c.size.steps - 1)), out[2]);
  for (size_t count = c.size.steps; count-- > 0;) {
    const size_t time = c.time(count);
    const Array before = count == 0 ? in[3] : at(in[2], c.time(count - 1));
    const Arrays made = run(PT_OP_gru_cell_grad, {0, 1}, {out[2], at(in[0], time), at(in[1], time), before},
                            {c.state(3), c.state(3), c.state()}, c.blocks);
    put(out[0], time, made[0]);
    put(out[1], time, made[1]);
    const Array past = c.optional && count > 0 ? sum(at(in[6], c.time(count - 1)), made[2]) : made[2];
    out[2] = sum(past, product(made[1], in[4], false));
  }
  return {PT_OP_gru_sequence_grad, in, out, {{0, 0}, {2, 5}}};
}

void expect_same(const Expected& expected, const Sequence& c) {
  std::vector<std::vector<uint32_t>> shapes;
  for (const Array& output : expected.outputs) shapes.push_back(output.dims);
  for (const Way& way : kWays)
    for (const bool in_place : {false, true}) {
      const auto over = in_place ? expected.over : std::vector<std::pair<size_t, size_t>>();
      const Arrays made = run(expected.op, way, expected.inputs, shapes, c.attributes(), over);
      for (size_t output = 0; output < made.size(); ++output)
        EXPECT_EQ(std::memcmp(made[output].data.data(), expected.outputs[output].data.data(),
                              made[output].data.size() * sizeof(float)),
                  0)
            << "op " << expected.op << " output " << output << " algorithm " << way.algorithm << " threads "
            << way.threads << " in place " << in_place << ": " << c.size.steps << " steps of " << c.size.batch << " by "
            << c.size.width << (c.reverse ? ", backward" : "");
    }
}

TEST(Sequences, GiveTheBitsOfTheirStepsOnRandomShapes) {
  std::mt19937 random(11);
  std::vector<Size> sizes{{1, 1, 1}, {1, 9, 7}, {5, 1, 33}, {3, 3, 130}, {2, 17, 40}, {4, 4, 64}, {2, 64, 24}};
  const auto draw = [&](uint32_t most) { return std::uniform_int_distribution<uint32_t>(1, most)(random); };
  while (sizes.size() < 24) sizes.push_back({draw(6), draw(20), draw(70)});
  size_t drawn = 0;
  for (const Size& size : sizes) {
    const bool reverse = drawn % 2 != 0, optional = drawn / 2 % 2 != 0;
    ++drawn;
    const Sequence lstm{size, reverse, optional,
                        optional ? std::vector<int64_t>{0, 3, 1, 2} : std::vector<int64_t>{0, 1, 2, 3}};
    const Sequence gru{size, reverse, optional,
                       reverse ? std::vector<int64_t>{1, 0, 2} : std::vector<int64_t>{0, 1, 2}};
    expect_same(lstm_forward(lstm, random), lstm);
    expect_same(lstm_backward(lstm, random), lstm);
    expect_same(gru_forward(gru, random), gru);
    expect_same(gru_backward(gru, random), gru);
  }
}

TEST(Sequences, GiveTheSameBitsInPieces) {
  std::mt19937 random(12);
  const Sequence whole{{7, 5, 19}, false, false, {0, 1, 2, 3}};
  const Expected expected = lstm_forward(whole, random);
  Array h = expected.inputs[2], c = expected.inputs[3];
  for (const auto& [begin, end] : {std::pair<size_t, size_t>{0, 3}, {3, 4}, {4, 7}}) {
    const Sequence piece{{static_cast<uint32_t>(end - begin), 5, 19}, false, false, whole.blocks};
    Array z = empty(piece.series(4));
    for (size_t time = begin; time < end; ++time) put(z, time - begin, at(expected.inputs[0], time));
    const Arrays made =
        run(PT_OP_lstm_sequence, {1, 2}, {z, expected.inputs[1], h, c},
            {piece.series(1), piece.series(1), piece.series(4), piece.state(), piece.state()}, piece.attributes());
    h = made[3], c = made[4];
    for (size_t time = begin; time < end; ++time)
      EXPECT_EQ(at(made[0], time - begin).data, at(expected.outputs[0], time).data) << time;
  }
  EXPECT_EQ(h.data, expected.outputs[3].data);
  EXPECT_EQ(c.data, expected.outputs[4].data);
}

}  // namespace
