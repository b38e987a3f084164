// Kernels of a fast back end give what the portable ones give, up to rounding.
#include "host/kernel_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
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
    EXPECT_GT(count_equal(call, tolerance), 0) << "op " << call.op;
  }

  // The same, where there may be none: how many.
  int count_equal(const Call& call, float tolerance = 1e-4F) {
    Call expected = call;
    EXPECT_EQ(run(*set_, 0, expected), PT_OK);
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
    return computed;
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

struct EpilogueCase {
  pt_op activation{};
  std::vector<double> reals = {0, 0};
  bool adds = false;
};

std::vector<EpilogueCase> epilogue_cases() {
  std::vector<EpilogueCase> all;
  for (const bool adds : {false, true})
    for (const auto& [op, reals] : std::vector<std::pair<int, std::vector<double>>>{{0, {0, 0}},
                                                                                    {PT_OP_relu, {0, 0}},
                                                                                    {PT_OP_leaky_relu, {0.1, 0}},
                                                                                    {PT_OP_leaky_relu, {0, 0}},
                                                                                    {PT_OP_clip, {0, 0.5}},
                                                                                    {PT_OP_hard_swish, {0, 0}}})
      all.push_back({static_cast<pt_op>(op), reals, adds});
  return all;
}

// The fused op by every algorithm against the same algorithm's product and the portable ops behind it.
class OneDnnEpilogues : public OneDnn {
 protected:
  void expect_same_bits(const Call& product, pt_op fused_op, const EpilogueCase& epilogue) {
    const Operand residual = arranged_like(product.outputs[0]);
    for (uint16_t algorithm = PT_FIRST_BACK_END_ALGORITHM; algorithm < kPastBackEnd; ++algorithm) {
      Call apart = product, fused = product;
      if (run(*set_, algorithm, apart) != PT_OK) continue;
      fused.op = fused_op;
      fused.ints.insert(fused.ints.end(), {epilogue.activation, epilogue.adds ? PT_RESIDUAL_READ : PT_RESIDUAL_NONE});
      fused.reals = epilogue.reals;
      if (epilogue.adds) fused.inputs.push_back(residual);
      ASSERT_EQ(run(*set_, algorithm, fused), PT_OK) << algorithm;
      expect_bits(fused.outputs[0], behind(apart.outputs[0], residual, epilogue));
      ++compared_;
    }
  }

  // As images in blocks are: zeros where no channel is.
  Operand arranged_like(const Operand& y) {
    if (y.dims.size() < 5) return noise(y.dims);
    return arranged(noise({y.dims[0], outputs_, y.dims[2], y.dims[3]}), PT_LAYOUT_NCHWC);
  }

  Operand behind(Operand y, const Operand& residual, const EpilogueCase& epilogue) {
    if (epilogue.adds) y = portable({PT_OP_add, {y, residual}, {zeros(y.dims)}});
    if (epilogue.activation != 0) y = portable({epilogue.activation, {y}, {zeros(y.dims)}, {}, epilogue.reals});
    return y;
  }

  Operand portable(Call call) {
    EXPECT_EQ(run(*set_, 0, call), PT_OK);
    return call.outputs[0];
  }

  // Relu makes infinity of NaN. A convolution of infinite numbers gives NaN where no channel is, an activation zero or NaN.
  void expect_bits(const Operand& found, const Operand& expected) const {
    size_t wrong = 0;
    for (size_t at = 0; at < expected.values.size(); ++at) {
      const float a = found.values[at], b = expected.values[at];
      wrong += std::isnan(b) ? std::isfinite(a) && !is_beyond_channels(found, at) : std::memcmp(&a, &b, sizeof a) != 0;
    }
    EXPECT_EQ(wrong, 0u);
  }

  [[nodiscard]] bool is_beyond_channels(const Operand& y, size_t at) const {
    if (y.dims.size() < 5) return false;
    const size_t block = y.dims[4], plane = size_t{y.dims[2]} * y.dims[3];
    return at / (plane * block) % y.dims[1] * block + at % block >= outputs_;
  }

  uint32_t outputs_ = 0;
  size_t compared_ = 0;
};

TEST_F(OneDnnEpilogues, HaveTheBitsOfTheOpsApart) {
  std::mt19937 random(8);
  const auto draw = [&](uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random()) % (most - least + 1);
  };
  const std::vector<EpilogueCase> epilogues = epilogue_cases();
  for (uint32_t trial = 0; trial < 96; ++trial) {
    set_.reset();  // one number of threads at a time
    auto opened = KernelSet::open(Choice::kOneDnn, 1 + static_cast<int>(trial % 2));
    ASSERT_TRUE(opened) << opened.error().message;
    set_ = *opened;
    const bool depthwise = trial % 7 == 3, plain_x = trial % 5 == 2;
    const uint32_t channels = plain_x ? 3 : block_ * draw(1, 9) - (depthwise ? 0 : draw(0, 3));
    outputs_ = depthwise ? channels : block_ * draw(1, 8) - draw(0, 3);
    const uint32_t groups = depthwise ? channels : 1, kernel = trial % 3 == 0 ? 1 : 3;
    // Results of a quarter of them are too large for caches.
    const bool large = trial / 12 % 4 == 1;
    const uint32_t size = large ? draw(56, 70) : draw(5, 30);
    const uint32_t stride = trial % 4 == 1 ? 2 : draw(1, 2), pad = draw(0, kernel / 2);
    const uint32_t out = (size + 2 * pad - kernel) / stride + 1, samples = large ? 3 : draw(1, 3);
    const std::vector<uint32_t> x_dims = {samples, channels, size, size},
                                w_dims = {outputs_, channels / groups, kernel, kernel};
    Operand x_plain = noise(x_dims);
    if (trial % 6 == 0) x_plain.values[random() % x_plain.values.size()] = NAN;
    if (trial % 6 == 1) x_plain.values[random() % x_plain.values.size()] = -INFINITY;
    std::vector<int64_t> ints = {stride, stride, pad, pad, pad, pad, 1, 1, groups};
    std::vector<Operand> inputs = {x_plain, noise(w_dims)};
    if (trial % 2 == 0) inputs.push_back(noise({outputs_}));
    const EpilogueCase& epilogue = epilogues[trial % epilogues.size()];
    SCOPED_TRACE(testing::Message() << trial << ": " << channels << " to " << outputs_ << ", kernel " << kernel);
    if (groups == 1)
      expect_same_bits({PT_OP_conv2d, inputs, {zeros({samples, outputs_, out, out})}, ints}, PT_OP_conv2d_act,
                       epilogue);
    if (!plain_x) inputs[0] = arranged(x_plain, PT_LAYOUT_NCHWC);
    const Operand y = zeros(laid_out({samples, outputs_, out, out}, PT_LAYOUT_NCHWC));
    ints.insert(ints.end(), {channels, outputs_, 0});
    const pt_tensor x_shape = shape_of(inputs[0].dims), y_shape = shape_of(y.dims);
    const int layout =
        set_->back_end()->weight_layout(PT_OP_conv2d_act_nchwc, &x_shape, &y_shape, w_dims.data(), ints.data());
    if (layout == PT_LAYOUT_PLAIN) continue;
    ints[PT_CONV_NCHWC_WEIGHT] = layout;
    inputs[1] = arranged(inputs[1], static_cast<pt_layout>(layout));
    expect_same_bits({PT_OP_conv2d_nchwc, inputs, {y}, ints}, PT_OP_conv2d_act_nchwc, epilogue);
  }
  EXPECT_GT(compared_, 120u);
}

// Results of some KiB, which a pass finishes, and of more than 1 MiB, which primitives may; with numbers that are none.
TEST_F(OneDnnEpilogues, ProductsHaveTheBitsOfTheOpsApart) {
  std::mt19937 random(9);
  const auto draw = [&](uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random()) % (most - least + 1);
  };
  const std::vector<EpilogueCase> epilogues = epilogue_cases();
  for (size_t trial = 0; trial < 5 * epilogues.size(); ++trial) {
    const bool large = trial % 5 == 0;
    const uint32_t m = large ? 600 : draw(1, 40), k = draw(1, 150), n = large ? draw(460, 700) : draw(1, 80);
    const int64_t turns_a = draw(0, 1), turns_b = draw(0, 1);
    const bool stack = trial % 3 == 0;
    std::vector<uint32_t> a = turns_a != 0 ? std::vector{k, m} : std::vector{m, k}, y = {m, n};
    if (stack) a.insert(a.begin(), 2), y.insert(y.begin(), 2);
    std::vector<Operand> inputs = {noise(a), noise(turns_b != 0 ? std::vector{n, k} : std::vector{k, n})};
    inputs[0].values[0] = std::numeric_limits<float>::quiet_NaN();
    inputs[0].values[a.back() - 1] = std::numeric_limits<float>::infinity();
    if (trial % 2 == 0) inputs.push_back(noise({n}));
    SCOPED_TRACE(testing::Message() << trial << ": " << m << " x " << k << " x " << n);
    expect_same_bits({PT_OP_matmul, inputs, {zeros(y)}, {turns_a, turns_b}}, PT_OP_matmul_act,
                     epilogues[trial % epilogues.size()]);
  }
  EXPECT_GT(compared_, 60u);
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

// Another implementation gives other bits: a class of its own for every one that is listed. Copying keeps them.
TEST_F(OneDnn, EveryImplementationHasAClassOfItsOwn) {
  std::set<std::tuple<uint16_t, uint8_t, std::string>> classes;
  size_t later = 0, spread = 0;
  for (size_t row = 0; row < set_->table()->count; ++row) {
    const pt_kernel& kernel = set_->table()->kernels[row];
    if (kernel.algorithm < PT_FIRST_BACK_END_ALGORITHM) continue;
    EXPECT_LT(kernel.algorithm, kPastBackEnd);
    if (std::string(kernel.algorithm_name) == "onednn:spread") {
      EXPECT_STREQ(kernel.numerics, "onednn");
      ++spread;
      continue;
    }
    EXPECT_TRUE(classes.emplace(kernel.op, kernel.dtype, kernel.numerics).second)
        << kernel.op << " " << kernel.algorithm_name;
    later += kernel.algorithm >= int{PT_FIRST_BACK_END_ALGORITHM} + int{PT_FIRST_OTHER} ? 1 : 0;
  }
  EXPECT_EQ(later, 26U);
  EXPECT_EQ(spread, 2U);
}

class OneDnnSpread : public OneDnn {
 protected:
  // Of the product as it lies and with copied factors; false: no factor is copied.
  bool compare(const Call& product) {
    Call lies = product, copied = product;
    if (run(*set_, algorithm_named(product.op, "onednn:spread"), copied) != PT_OK) return false;
    EXPECT_EQ(run(*set_, algorithm_named(product.op, "onednn"), lies), PT_OK);
    const Values &found = copied.outputs[0].values, &expected = lies.outputs[0].values;
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0);
    return true;
  }

  [[nodiscard]] uint16_t algorithm_named(pt_op op, const std::string& name) const {
    for (size_t row = 0; row < set_->table()->count; ++row) {
      const pt_kernel& kernel = set_->table()->kernels[row];
      if (kernel.op == op && kernel.algorithm_name == name) return kernel.algorithm;
    }
    return kPastBackEnd;
  }
};

// Of any shapes, at one thread and two, stacked, turned, with bias, with an activation and a sum behind.
TEST_F(OneDnnSpread, CopiedFactorsKeepEveryBit) {
  if (block_ > 8) GTEST_SKIP() << "no factors are copied where vectors have more than 8 numbers";
  std::mt19937 random(11);
  const auto draw = [&](uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random()) % (most - least + 1);
  };
  const auto extent = [&] { return random() % 2 != 0 ? 512 * draw(1, 4) : draw(64, 700); };
  size_t compared = 0;
  for (uint32_t trial = 0; trial < 120; ++trial) {
    set_.reset();  // one number of threads at a time
    auto opened = KernelSet::open(Choice::kOneDnn, 1 + static_cast<int>(trial % 2));
    ASSERT_TRUE(opened) << opened.error().message;
    set_ = *opened;
    const uint32_t m = extent(), k = extent(), n = extent();
    if (uint64_t{m} * k * n > 400'000'000) continue;
    const int64_t turns_a = draw(0, 1), turns_b = draw(0, 1);
    std::vector<uint32_t> a = turns_a != 0 ? std::vector{k, m} : std::vector{m, k}, y = {m, n};
    std::vector<uint32_t> b = turns_b != 0 ? std::vector{n, k} : std::vector{k, n};
    if (trial % 3 == 0) a.insert(a.begin(), 2), y.insert(y.begin(), 2);
    if (trial % 6 == 0) b.insert(b.begin(), 2);
    std::vector<Operand> inputs = {noise(a), noise(b)};
    if (trial % 5 < 2) inputs.push_back(noise({n}));
    SCOPED_TRACE(testing::Message() << trial << ": " << m << " " << k << " " << n << " " << turns_a << turns_b);
    compared += compare({PT_OP_matmul, inputs, {zeros(y)}, {turns_a, turns_b}}) ? 1 : 0;
    inputs.push_back(noise(y));
    compared += compare({PT_OP_matmul_act,
                         inputs,
                         {zeros(y)},
                         {turns_a, turns_b, trial % 4 == 0 ? PT_OP_relu : 0, PT_RESIDUAL_READ},
                         {0, 0}})
                    ? 1
                    : 0;
  }
  EXPECT_GT(compared, 40U);
}

TEST_F(OneDnnSpread, CopiesWhatIsReadOften) {
  const Call narrow{PT_OP_matmul, {noise({1, 1024}), noise({1024, 1024})}, {zeros({1, 1024})}, {0, 0}};
  EXPECT_FALSE(compare(narrow));
  EXPECT_FALSE(compare({PT_OP_matmul, {noise({300, 300}), noise({300, 300})}, {zeros({300, 300})}, {0, 0}}));
}

// Blocks of rows of one length, and of several with a shorter last one; factors that lie turned.
TEST_F(OneDnn, ComputesAttentionInBlocks) {
  for (const auto& [m, n, turned] : {std::tuple{20U, 30U, 0}, {1U, 17U, 1}, {150U, 500U, 0}, {231U, 700U, 1}}) {
    const auto matrix = [](uint32_t rows, uint32_t columns, int64_t lies_turned) {
      return noise(lies_turned != 0 ? std::vector<uint32_t>{2, columns, rows}
                                    : std::vector<uint32_t>{2, rows, columns});
    };
    const Operand q = matrix(m, 16, turned), k = matrix(n, 16, turned), v = matrix(n, 24, turned), mask = noise({1, n}),
                  dy = noise({2, m, 24});
    const std::vector<int64_t> ints = {turned, turned, turned, PT_STEP_SCALE, PT_STEP_ADD, PT_STEP_NONE};
    expect_equal({PT_OP_attention, {q, k, v, mask}, {zeros(dy.dims)}, ints, {0.25, 0, 0}});
    expect_equal(
        {PT_OP_attention_grad, {dy, q, k, v, mask}, {zeros(q.dims), zeros(k.dims), zeros(v.dims)}, ints, {0.25, 0, 0}});
  }
}

TEST_F(OneDnn, RowsAndActivations) {
  const Operand x = noise({4, 6, 3}, -3, 3), dy = noise({4, 6, 3}), out = zeros({4, 6, 3});
  for (const int64_t axis : {1, 2}) {  // what oneDNN has plain loops for, the portable kernels compute
    Call forward{PT_OP_softmax, {x}, {out}, {axis}};
    const int rows = count_equal(forward);
    ASSERT_EQ(run(*set_, 0, forward), PT_OK);
    count_equal({PT_OP_softmax_grad, {dy, forward.outputs[0]}, {out}, {axis}});
    forward.op = PT_OP_log_softmax;
    EXPECT_EQ(count_equal(forward), rows);
    ASSERT_EQ(run(*set_, 0, forward), PT_OK);
    count_equal({PT_OP_log_softmax_grad, {dy, forward.outputs[0]}, {out}, {axis}});
    EXPECT_TRUE(axis == 1 || rows == 1);
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
