// Softmax, its kin and losses over classes: a row has the same bits wherever it lies, beside others or by itself, in place
// or not, on one thread or two.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "pantoum/ops.h"
#include "pantoum/pantoum.h"
#include "testing/two_pieces.h"

namespace {

// x[N, C, inner], or the same rows one after the other: x[N * inner, C].
struct Shape {
  uint32_t samples, classes, inner;
};

template <class Real>
std::vector<Real> row_by_row(const std::vector<Real>& x, const Shape& of) {
  std::vector<Real> rows(x.size());
  for (size_t at = 0; at < x.size(); ++at) {
    const size_t sample = at / of.inner / of.classes, k = at / of.inner % of.classes, position = at % of.inner;
    rows[(sample * of.inner + position) * of.classes + k] = x[at];
  }
  return rows;
}

template <class Real>
class Rows {
 public:
  Rows(Shape shape, uint32_t seed) : shape_(shape), random_(seed) {}

  std::vector<Real> noise(double least, double most) {
    std::vector<Real> made(size_t{shape_.samples} * shape_.classes * shape_.inner);
    for (Real& value : made) value = static_cast<Real>(std::uniform_real_distribution<double>(least, most)(random_));
    return made;
  }
  std::vector<Real> hostile() {
    std::vector<Real> made = noise(-9, 9);
    constexpr Real kOf[] = {std::numeric_limits<Real>::infinity(),
                            -std::numeric_limits<Real>::infinity(),
                            std::numeric_limits<Real>::quiet_NaN(),
                            Real(1e30),
                            Real(-200),
                            Real(0)};
    for (size_t count = 1 + made.size() / 40; count > 0; --count) made[random_() % made.size()] = kOf[random_() % 6];
    return made;
  }
  std::vector<int64_t> labels(int64_t ignored) {
    std::vector<int64_t> made(size_t{shape_.samples} * shape_.inner);
    for (int64_t& label : made) label = random_() % 5 == 0 ? ignored : static_cast<int64_t>(random_() % shape_.classes);
    return made;
  }

  // Both forms of the op; `like_x`: the output is as x, and is turned as the inputs are.
  void expect_same(pt_op op, const std::vector<std::vector<Real>>& inputs, const std::vector<int64_t>* labels,
                   std::vector<int64_t> ints, std::vector<double> reals, bool like_x) {
    std::vector<std::vector<Real>> turned;
    turned.reserve(inputs.size());
    for (const std::vector<Real>& input : inputs) turned.push_back(row_by_row(input, shape_));
    const std::vector<uint32_t> beside = {shape_.samples, shape_.classes, shape_.inner},
                                alone = {shape_.samples * shape_.inner, shape_.classes};
    const std::vector<Real> expected = run(op, turned, labels, ints, reals, alone, like_x, -1, false);
    for (const bool threads : {false, true})
      for (int in_place = -1; in_place < (like_x ? static_cast<int>(inputs.size()) : 0); ++in_place) {
        if (in_place == 1 && op == PT_OP_softmax_grad) continue;  // y is kept
        if (in_place == 1 && op == PT_OP_log_softmax_grad) continue;
        std::vector<Real> found = run(op, inputs, labels, ints, reals, beside, like_x, in_place, threads);
        if (like_x) found = row_by_row(found, shape_);
        EXPECT_TRUE(pantoum::testing::same_numbers(found, expected))
            << "op " << op << ", in place " << in_place << ", threads " << threads;
        const std::vector<Real> rows = run(op, turned, labels, ints, reals, alone, like_x, in_place, threads);
        EXPECT_TRUE(pantoum::testing::same_numbers(rows, expected))
            << "op " << op << " row by row, in place " << in_place << ", threads " << threads;
      }
  }

 private:
  std::vector<Real> run(pt_op op, std::vector<std::vector<Real>> inputs, const std::vector<int64_t>* labels,
                        std::vector<int64_t> ints, std::vector<double> reals, const std::vector<uint32_t>& dims,
                        bool like_x, int in_place, bool threads) {
    constexpr uint8_t kDtype = sizeof(Real) == 8 ? PT_F64 : PT_F32;
    std::vector<Real> apart(like_x ? inputs[0].size() : 1, std::numeric_limits<Real>::quiet_NaN());
    std::vector<Real>& made = in_place >= 0 ? inputs[static_cast<size_t>(in_place)] : apart;
    std::vector<pt_tensor> in(inputs.size());
    const auto set_dims = [&](pt_tensor& tensor, const std::vector<uint32_t>& extents) {
      tensor.rank = static_cast<uint8_t>(extents.size());
      for (size_t dim = 0; dim < extents.size(); ++dim) tensor.dims[dim] = extents[dim];
    };
    for (size_t input = 0; input < inputs.size(); ++input) {
      in[input].data = inputs[input].data(), in[input].dtype = kDtype;
      set_dims(in[input], dims);
    }
    std::vector<int64_t> own;
    if (labels != nullptr) {
      own = *labels;
      pt_tensor tensor{};
      tensor.data = own.data(), tensor.dtype = PT_I64;
      set_dims(tensor, dims.size() == 2 ? std::vector{dims[0]} : std::vector{dims[0], dims[2]});
      in.push_back(tensor);
    }
    pt_tensor out{};
    out.data = made.data(), out.dtype = kDtype;
    if (like_x) set_dims(out, dims);
    const pt_pool pool{.context = nullptr, .threads = 2, .run = pantoum::testing::run_pieces};
    pt_call call{};
    call.inputs = in.data(), call.input_count = static_cast<uint16_t>(in.size());
    call.outputs = &out, call.output_count = 1;
    call.ints = ints.data(), call.int_count = static_cast<uint16_t>(ints.size());
    call.reals = reals.data(), call.real_count = static_cast<uint16_t>(reals.size());
    call.pool = threads ? &pool : nullptr;
    const pt_kernel_table* table = sizeof(Real) == 8 ? pt_portable_kernels_f64() : pt_portable_kernels();
    const pt_kernel* kernel = pt_kernel_find(table, static_cast<uint16_t>(op), kDtype, 0, 0);
    EXPECT_NE(kernel, nullptr);
    if (kernel == nullptr) return {};
    EXPECT_EQ(kernel->submit(&call), PT_OK) << op;
    return made;
  }

  Shape shape_;
  std::mt19937 random_;
};

template <class Real>
void expect_same_everywhere(const Shape& shape, uint32_t seed) {
  SCOPED_TRACE(std::to_string(shape.samples) + " x " + std::to_string(shape.classes) + " x " +
               std::to_string(shape.inner));
  Rows<Real> rows(shape, seed);
  for (const bool hostile : {false, true}) {
    const auto x = [&] { return hostile ? rows.hostile() : rows.noise(-9, 9); };
    for (const pt_op op : {PT_OP_softmax, PT_OP_log_softmax}) rows.expect_same(op, {x()}, nullptr, {1}, {}, true);
    rows.expect_same(PT_OP_softmax_grad, {x(), rows.noise(0, 1)}, nullptr, {1}, {}, true);
    rows.expect_same(PT_OP_log_softmax_grad, {x(), rows.noise(-9, 0)}, nullptr, {1}, {}, true);
    for (const double smoothing : {0.0, 0.1}) {
      const std::vector<int64_t> labels = rows.labels(-100);
      rows.expect_same(PT_OP_cross_entropy, {x()}, &labels, {-100}, {smoothing}, false);
      rows.expect_same(PT_OP_cross_entropy_grad, {x()}, &labels, {-100}, {smoothing}, true);
      rows.expect_same(PT_OP_soft_cross_entropy, {x(), rows.noise(0, 1)}, nullptr, {}, {smoothing}, false);
      rows.expect_same(PT_OP_soft_cross_entropy_grad, {x(), rows.noise(0, 1)}, nullptr, {}, {smoothing}, true);
    }
  }
}

TEST(ClassRows, HaveTheSameBitsWhereverTheyLie) {
  uint32_t seed = 0;
  for (const uint32_t inner : {1U, 5U, 15U, 16U, 17U, 33U, 64U})
    for (const uint32_t classes : {1U, 2U, 7U, 8U, 9U, 21U, 64U, 65U, 130U}) {
      ++seed;
      expect_same_everywhere<float>({1 + seed % 3, classes, inner}, seed);
    }
  expect_same_everywhere<float>({3, 5, 700}, 1);  // more rows than are summed at a time
  expect_same_everywhere<float>({2, 1000, 40}, 2);
}

TEST(ClassRows, InDoubleToo) {
  for (const uint32_t inner : {1U, 16U, 35U}) expect_same_everywhere<double>({2, 11, inner}, inner);
}

// A label that is far below 0 is ignored, as one just below: no bit of it may pass for a class.
TEST(ClassRows, IgnoreLabelsBelowZero) {
  Rows<float> rows({1, 3, 32}, 4);
  std::vector<int64_t> labels = rows.labels(-1);
  labels[0] = std::numeric_limits<int64_t>::min(), labels[1] = -(int64_t{1} << 32) + 1,
  labels[20] = -(int64_t{1} << 40);
  rows.expect_same(PT_OP_cross_entropy, {rows.noise(-1, 1)}, &labels, {-100}, {0}, false);
  rows.expect_same(PT_OP_cross_entropy_grad, {rows.noise(-1, 1)}, &labels, {-100}, {0}, true);
}

}  // namespace
