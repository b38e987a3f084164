// Kernels of a fast back end give what the portable ones give, up to rounding.
#include "host/kernel_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "kernels/portable/kernel_rows.h"
#include "kernels/portable/layout.h"

namespace pantoum::host {
namespace {

using Choice = KernelSet::Choice;

// As in an arena: vector instructions may want it.
template <class T>
struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <class U>
  explicit Aligned(const Aligned<U>&) {}
  static T* allocate(size_t count) { return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{64})); }
  static void deallocate(T* memory, size_t) { ::operator delete (memory, std::align_val_t{64}); }
  bool operator==(const Aligned&) const = default;
};
using Values = std::vector<float, Aligned<float>>;

struct Operand {
  std::vector<uint32_t> dims;
  Values values;
};

size_t elements(const std::vector<uint32_t>& dims) {
  size_t count = 1;
  for (const uint32_t dim : dims) count *= dim;
  return count;
}

Operand zeros(std::vector<uint32_t> dims) {
  const size_t count = elements(dims);
  return {std::move(dims), Values(count, 0.0F)};
}

Operand noise(std::vector<uint32_t> dims, float least = -1, float most = 1) {
  static std::mt19937 random(5);
  Operand made = zeros(std::move(dims));
  for (float& value : made.values) value = std::uniform_real_distribution<float>(least, most)(random);
  return made;
}

struct Call {
  pt_op op{};
  std::vector<Operand> inputs, outputs;
  std::vector<int64_t> ints = {};
  std::vector<double> reals = {};
};

// Runs the kernel with that algorithm; PT_E_KERNEL where it does not compute these shapes.
pt_status run(const KernelSet& set, uint16_t algorithm, Call& call) {
  std::vector<pt_tensor> inputs, outputs;
  for (const bool is_output : {false, true}) {
    for (Operand& operand : is_output ? call.outputs : call.inputs) {
      pt_tensor tensor{};
      tensor.data = operand.values.data();
      tensor.rank = static_cast<uint8_t>(operand.dims.size());
      std::copy(operand.dims.begin(), operand.dims.end(), tensor.dims);
      (is_output ? outputs : inputs).push_back(tensor);
    }
  }
  const pt_kernel* kernel = pt_kernel_find(set.table(), static_cast<uint16_t>(call.op), PT_F32, algorithm, 0);
  if (kernel == nullptr) return PT_E_KERNEL;
  const pt_scalars scalars = {1, 0, 0};
  pt_call made{};
  made.inputs = inputs.data();
  made.outputs = outputs.data();
  made.input_count = static_cast<uint16_t>(inputs.size());
  made.output_count = static_cast<uint16_t>(outputs.size());
  made.ints = call.ints.data();
  made.int_count = static_cast<uint16_t>(call.ints.size());
  made.reals = call.reals.data();
  made.real_count = static_cast<uint16_t>(call.reals.size());
  made.scalars = &scalars;
  made.pool = set.pool();
  const size_t bytes = kernel->workspace_bytes != nullptr ? kernel->workspace_bytes(&made) : 0;
  if (bytes == PT_NO_KERNEL) return PT_E_KERNEL;
  void* workspace = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
  made.workspace = workspace;
  const pt_status status = kernel->submit(&made);
  std::free(workspace);
  return status;
}

constexpr uint16_t kPastBackEnd = PT_FIRST_BACK_END_ALGORITHM + 24;

class OneDnn : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = KernelSet::open(Choice::kOneDnn, 2);
    if (!opened) GTEST_SKIP() << "no oneDNN here: " << opened.error().message;
    set_ = *opened;
    block_ = set_->back_end()->channel_block;
  }

  bool computes(Call call) {
    bool found = false;
    for (uint16_t algorithm = PT_FIRST_BACK_END_ALGORITHM; algorithm < kPastBackEnd; ++algorithm)
      found = run(*set_, algorithm, call) == PT_OK || found;
    return found;
  }

  // Every algorithm that the back end has for these shapes against the reference; at least one.
  void expect_equal(const Call& call, float tolerance = 1e-4F) {
    Call expected = call;
    ASSERT_EQ(run(*set_, 0, expected), PT_OK);
    int computed = 0;
    for (uint16_t algorithm = PT_FIRST_BACK_END_ALGORITHM; algorithm < kPastBackEnd; ++algorithm) {
      Call found = call;
      if (run(*set_, algorithm, found) != PT_OK) continue;
      ++computed;
      for (size_t output = 0; output < call.outputs.size(); ++output)
        EXPECT_THAT(found.outputs[output].values,
                    testing::Pointwise(testing::FloatNear(tolerance), expected.outputs[output].values))
            << "op " << call.op << " algorithm " << algorithm << " output " << output;
    }
    EXPECT_GT(computed, 0) << "op " << call.op;
  }

  [[nodiscard]] std::vector<uint32_t> laid_out(std::vector<uint32_t> logical, pt_layout layout) const {
    uint32_t dims[PT_MAX_RANK];
    const uint8_t rank = pt_layout_dims(logical.data(), layout, block_, dims);
    return {dims, dims + rank};
  }

  // A plain tensor in another layout, its padding zero.
  [[nodiscard]] Operand arranged(const Operand& plain, pt_layout layout) const {
    Call call{PT_OP_reorder, {plain}, {zeros(laid_out(plain.dims, layout))}, {PT_LAYOUT_PLAIN, layout}};
    EXPECT_EQ(run(*set_, 0, call), PT_OK);
    return call.outputs[0];
  }

  std::shared_ptr<const KernelSet> set_;
  uint32_t block_ = 0;
};

pt_tensor shape_of(const std::vector<uint32_t>& dims) {
  pt_tensor tensor{};
  tensor.rank = static_cast<uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), tensor.dims);
  return tensor;
}

struct ConvCase {
  uint32_t channels, outputs, groups, size, kernel, stride, pad, dilation;
};

TEST_F(OneDnn, ConvolutionsInBlocksOfChannels) {
  const ConvCase cases[] = {{32, 48, 1, 9, 3, 1, 1, 1},  {3, 16, 1, 12, 5, 2, 2, 1}, {24, 20, 1, 7, 1, 1, 0, 1},
                            {32, 32, 32, 8, 3, 2, 1, 1}, {64, 64, 2, 6, 3, 1, 1, 1}, {16, 16, 1, 11, 3, 1, 2, 2}};
  for (const ConvCase& of : cases) {
    const uint32_t out = (of.size + 2 * of.pad - of.dilation * (of.kernel - 1) - 1) / of.stride + 1;
    const bool plain_x = of.channels < block_;
    const std::vector<uint32_t> x_dims = {2, of.channels, of.size, of.size}, y_dims = {2, of.outputs, out, out};
    const std::vector<uint32_t> w_dims = {of.outputs, of.channels / of.groups, of.kernel, of.kernel};
    std::vector<int64_t> ints = {of.stride,   of.stride,   of.pad,    of.pad,      of.pad,     of.pad,
                                 of.dilation, of.dilation, of.groups, of.channels, of.outputs, 0};
    const Operand x_plain = noise(x_dims), x_blocked = arranged(x_plain, PT_LAYOUT_NCHWC);
    const Operand y = arranged(noise(y_dims), PT_LAYOUT_NCHWC);
    for (const pt_op op : {PT_OP_conv2d_nchwc, PT_OP_conv2d_dx_nchwc, PT_OP_conv2d_dw_nchwc}) {
      const Operand& x = plain_x && op != PT_OP_conv2d_dx_nchwc ? x_plain : x_blocked;
      const pt_tensor x_shape = shape_of(x.dims), y_shape = shape_of(y.dims);
      const int layout =
          set_->back_end()->weight_layout(static_cast<uint16_t>(op), &x_shape, &y_shape, w_dims.data(), ints.data());
      if (layout == PT_LAYOUT_PLAIN) continue;  // no fast kernel: the step keeps it plain
      ints[PT_CONV_NCHWC_WEIGHT] = layout;
      const Operand w = arranged(noise(w_dims), static_cast<pt_layout>(layout));
      SCOPED_TRACE(testing::Message() << of.channels << " to " << of.outputs << " channels, op " << op);
      if (op == PT_OP_conv2d_nchwc) expect_equal({op, {x, w, noise({of.outputs})}, {zeros(y.dims)}, ints}, 1e-3F);
      if (op == PT_OP_conv2d_dx_nchwc) expect_equal({op, {y, w}, {zeros(x.dims)}, ints}, 1e-3F);
      if (op == PT_OP_conv2d_dw_nchwc) expect_equal({op, {x, y}, {zeros(w.dims)}, ints}, 1e-3F);
    }
  }
}

TEST_F(OneDnn, PlainConvolutions) {
  const std::vector<int64_t> ints = {1, 2, 1, 0, 1, 2, 1, 1, 1};
  const Operand x = noise({2, 5, 8, 9}), w = noise({72, 5, 3, 3}), y = noise({2, 72, 8, 5});
  expect_equal({PT_OP_conv2d, {x, w, noise({72})}, {zeros(y.dims)}, ints}, 1e-3F);
  expect_equal({PT_OP_conv2d_dx, {y, w}, {zeros(x.dims)}, ints}, 1e-3F);
  expect_equal({PT_OP_conv2d_dw, {x, y}, {zeros(w.dims)}, ints}, 1e-3F);
}

TEST_F(OneDnn, ConvolutionsOfVolumes) {
  for (const uint32_t groups : {1U, 2U}) {
    const std::vector<int64_t> ints = {1, 2, 1, 1, 0, 1, 0, 1, 2, 1, 1, 1, groups};
    const Operand x = noise({2, 32, 5, 8, 9}), w = noise({48, 32 / groups, 2, 3, 3}), y = noise({2, 48, 5, 4, 10});
    expect_equal({PT_OP_conv3d, {x, w, noise({48})}, {zeros(y.dims)}, ints}, 1e-3F);
    expect_equal({PT_OP_conv3d_dx, {y, w}, {zeros(x.dims)}, ints}, 1e-3F);
    expect_equal({PT_OP_conv3d_dw, {x, y}, {zeros(w.dims)}, ints}, 1e-3F);
  }
}

TEST_F(OneDnn, LeavesPlainConvolutionsOfFewChannelsToThePortableKernels) {
  const Operand x = noise({2, 8, 8, 9}), y = noise({2, 8, 8, 9});
  for (const uint32_t kernel : {1U, 3U}) {
    const Operand w = noise({8, 8, kernel, kernel});
    const int64_t pad = kernel / 2;
    const std::vector<int64_t> ints = {1, 1, pad, pad, pad, pad, 1, 1, 1};
    for (Call call :
         {Call{PT_OP_conv2d, {x, w}, {zeros(y.dims)}, ints}, Call{PT_OP_conv2d_dx, {y, w}, {zeros(x.dims)}, ints},
          Call{PT_OP_conv2d_dw, {x, y}, {zeros(w.dims)}, ints}})
      EXPECT_EQ(computes(call), kernel == 1) << call.op;
  }
}

TEST_F(OneDnn, TheConvolutionsOfAResidualNetworkHaveKernels) {
  const std::vector<uint32_t> x = laid_out({2, 64, 16, 16}, PT_LAYOUT_NCHWC), w = {64, 64, 3, 3};
  const pt_tensor shape = shape_of(x);
  const int64_t ints[PT_CONV_NCHWC_ATTRS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 64, 64, 0};
  for (const pt_op op : {PT_OP_conv2d_nchwc, PT_OP_conv2d_dx_nchwc, PT_OP_conv2d_dw_nchwc})
    EXPECT_NE(set_->back_end()->weight_layout(static_cast<uint16_t>(op), &shape, &shape, w.data(), ints), 0) << op;
}

TEST_F(OneDnn, PoolingInBlocksOfChannels) {
  const Operand x = arranged(noise({2, 2 * block_, 7, 6}), PT_LAYOUT_NCHWC);
  const Operand y = arranged(noise({2, 2 * block_, 4, 3}), PT_LAYOUT_NCHWC);
  for (const int64_t counts_padding : {0, 1}) {
    const std::vector<int64_t> ints = {3, 2, 2, 2, 1, 0, 1, 0, 1, 1, counts_padding};
    expect_equal({PT_OP_max_pool_nchwc, {x}, {zeros(y.dims)}, ints});
    expect_equal({PT_OP_max_pool_grad_nchwc, {y, x}, {zeros(x.dims)}, ints});
    expect_equal({PT_OP_avg_pool_nchwc, {x}, {zeros(y.dims)}, ints});
    expect_equal({PT_OP_avg_pool_grad_nchwc, {y}, {zeros(x.dims)}, ints});
  }
}

TEST_F(OneDnn, ReordersEveryLayoutBothWays) {
  for (const std::vector<uint32_t>& dims : {std::vector<uint32_t>{32, 48, 3, 2}, {20, 7, 1, 1}}) {
    const Operand plain = noise(dims);
    for (int layout = PT_LAYOUT_NCHWC; layout < PT_LAYOUT_COUNT; ++layout) {
      if (layout == PT_LAYOUT_IOHW_OI && block_ != 16) continue;
      const auto arranged_dims = laid_out(dims, static_cast<pt_layout>(layout));
      expect_equal({PT_OP_reorder, {plain}, {zeros(arranged_dims)}, {PT_LAYOUT_PLAIN, layout}}, 0);
      expect_equal({PT_OP_reorder, {arranged(plain, static_cast<pt_layout>(layout))}, {zeros(dims)}, {layout, 0}}, 0);
    }
  }
}

TEST_F(OneDnn, ProductsOfStacksAndTransposes) {
  expect_equal({PT_OP_matmul, {noise({3, 5, 8}), noise({8, 7}), noise({7})}, {zeros({3, 5, 7})}, {0, 0}});
  expect_equal({PT_OP_matmul, {noise({9, 5}), noise({9, 7})}, {zeros({5, 7})}, {1, 0}});
  expect_equal({PT_OP_matmul, {noise({2, 1, 5, 8}), noise({4, 7, 8})}, {zeros({2, 4, 5, 7})}, {0, 1}});
}

TEST_F(OneDnn, RecurrentSeries) {
  for (const uint32_t batch : {3U, 9U}) {
    const auto state = [&] { return noise({batch, 21}); };
    const auto series = [&](uint32_t blocks) { return noise({5, batch, 21 * blocks}); };
    const auto made = [&](uint32_t blocks) { return zeros({5, batch, 21 * blocks}); };
    const Operand last = zeros({batch, 21});
    expect_equal({PT_OP_lstm_sequence,
                  {series(4), noise({84, 21}), state(), state()},
                  {made(1), made(1), made(4), last, last},
                  {0, 3, 1, 2, 1}});
    expect_equal({PT_OP_lstm_sequence_grad,
                  {series(4), series(1), state(), noise({84, 21}), state(), state(), series(1)},
                  {made(4), last, last},
                  {0, 1, 2, 3, 0}});
    expect_equal({PT_OP_gru_sequence,
                  {series(3), noise({63, 21}), state(), noise({63})},
                  {made(1), made(3), made(1), last},
                  {1, 0, 2, 0}});
    expect_equal({PT_OP_gru_sequence_grad,
                  {series(3), series(1), series(1), state(), noise({63, 21}), state()},
                  {made(3), made(3), last},
                  {0, 1, 2, 1}});
  }
}

// Another implementation gives other bits: a class of its own for every one that is listed.
TEST_F(OneDnn, EveryImplementationHasAClassOfItsOwn) {
  std::set<std::tuple<uint16_t, uint8_t, std::string>> classes;
  size_t later = 0;
  for (size_t row = 0; row < set_->table()->count; ++row) {
    const pt_kernel& kernel = set_->table()->kernels[row];
    if (kernel.algorithm < PT_FIRST_BACK_END_ALGORITHM) continue;
    EXPECT_TRUE(classes.emplace(kernel.op, kernel.dtype, kernel.numerics).second)
        << kernel.op << " " << kernel.algorithm_name;
    EXPECT_LT(kernel.algorithm, kPastBackEnd);
    later += kernel.algorithm >= int{PT_FIRST_BACK_END_ALGORITHM} + int{PT_FIRST_OTHER} ? 1 : 0;
  }
  EXPECT_EQ(later, 20U);
}

TEST_F(OneDnn, RowsAndActivations) {
  const Operand x = noise({4, 6, 3}, -3, 3), dy = noise({4, 6, 3}), out = zeros({4, 6, 3});
  for (const int64_t axis : {1, 2}) {
    Call forward{PT_OP_softmax, {x}, {out}, {axis}};
    expect_equal(forward);
    ASSERT_EQ(run(*set_, 0, forward), PT_OK);
    expect_equal({PT_OP_softmax_grad, {dy, forward.outputs[0]}, {out}, {axis}});
    forward.op = PT_OP_log_softmax;
    expect_equal(forward);
    ASSERT_EQ(run(*set_, 0, forward), PT_OK);
    expect_equal({PT_OP_log_softmax_grad, {dy, forward.outputs[0]}, {out}, {axis}});
  }
  for (const int64_t approximate : {0, 1}) {
    expect_equal({PT_OP_gelu, {x}, {out}, {approximate}});
    expect_equal({PT_OP_gelu_grad, {dy, x}, {out}, {approximate}});
  }
  for (const pt_op op : {PT_OP_tanh, PT_OP_sigmoid, PT_OP_exp}) expect_equal({op, {x}, {out}});
}

TEST(KernelSet, ThePortableOneHasTheThreadsThatWereAskedFor) {
  const auto set = KernelSet::open(Choice::kPortable, 3);
  ASSERT_TRUE(set);
  EXPECT_EQ((*set)->name(), "portable");
  EXPECT_EQ((*set)->back_end(), nullptr);
  EXPECT_EQ((*set)->pool()->threads, 3U);
  EXPECT_EQ((*set)->table()->count, pt_portable_kernels()->count);
}

TEST(KernelSet, AutoAlwaysFindsKernels) {
  const auto set = KernelSet::open(Choice::kAuto, 1);
  ASSERT_TRUE(set);
  EXPECT_NE(pt_kernel_find((*set)->table(), PT_OP_matmul, PT_F32, 0, 0), nullptr);
}

}  // namespace
}  // namespace pantoum::host
