// Batch normalization in every way that it is computed: the bits of the plain kernels, and those of the activation behind
// them as an op of its own.
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

enum : uint16_t { kReference = 0, kBlocked = 1 };

template <class Real>
constexpr uint8_t kDtype = sizeof(Real) == 8 ? PT_F64 : PT_F32;

template <class Real>
struct NormOperand {
  std::vector<uint32_t> dims;
  std::vector<Real> data;

  explicit NormOperand(std::vector<uint32_t> extents) : dims(std::move(extents)) {
    size_t count = 1;
    for (const uint32_t extent : dims) count *= extent;
    data.assign(count, std::numeric_limits<Real>::quiet_NaN());  // nothing may be left as it was
  }
  pt_tensor tensor() {
    pt_tensor made{};
    made.rank = static_cast<uint8_t>(dims.size());
    made.dtype = kDtype<Real>;
    for (size_t dim = 0; dim < dims.size(); ++dim) made.dims[dim] = dims[dim];
    made.data = data.data();
    return made;
  }
};

template <class Real>
void submit(uint16_t op, uint16_t algorithm, std::vector<NormOperand<Real>*> inputs,
            std::vector<NormOperand<Real>*> outputs, std::vector<int64_t> ints, std::vector<double> reals) {
  std::vector<pt_tensor> in, out;
  for (NormOperand<Real>* input : inputs) in.push_back(input->tensor());
  for (NormOperand<Real>* output : outputs) out.push_back(output->tensor());
  const pt_pool pool{.context = nullptr, .threads = 2, .run = pantoum::testing::run_pieces};
  pt_call call{};
  call.inputs = in.data(), call.input_count = static_cast<uint16_t>(in.size());
  call.outputs = out.data(), call.output_count = static_cast<uint16_t>(out.size());
  call.ints = ints.data(), call.int_count = static_cast<uint16_t>(ints.size());
  call.reals = reals.data(), call.real_count = static_cast<uint16_t>(reals.size());
  call.pool = &pool;
  const pt_kernel* kernel = pt_kernel_find(sizeof(Real) == 8 ? pt_portable_kernels_f64() : pt_portable_kernels(), op,
                                           kDtype<Real>, algorithm, 0);
  ASSERT_NE(kernel, nullptr) << op << " " << algorithm;
  const size_t bytes = kernel->workspace_bytes == nullptr ? 0 : kernel->workspace_bytes(&call);
  ASSERT_NE(bytes, PT_NO_KERNEL);
  std::vector<std::byte> workspace(bytes + 1);
  call.workspace = workspace.data();
  ASSERT_EQ(kernel->submit(&call), PT_OK);
}

struct Activation {
  int64_t op, gradient;
  std::vector<double> reals;
};
const std::vector<Activation> kActivations = {{PT_OP_relu, PT_OP_relu_grad, {0, 0}},
                                              {PT_OP_leaky_relu, PT_OP_leaky_relu_grad, {0.1, 0}},
                                              {PT_OP_clip, PT_OP_clip_grad, {0, 6}},
                                              {PT_OP_clip, PT_OP_clip_grad, {0.25, 0.5}}};

// An image with its parameters, statistics and gradients, of random contents.
template <class Real>
struct Norm {
  NormOperand<Real> x, dy, y, dx, scale, bias, mean, var, dscale, dbias;

  Norm(std::vector<uint32_t> image, uint32_t channels, uint32_t seed, bool wild = false)
      : x(image),
        dy(image),
        y(image),
        dx(image),
        scale({channels}),
        bias({channels}),
        mean({channels}),
        var({channels}),
        dscale({channels}),
        dbias({channels}) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0.3, 1.5);
    for (NormOperand<Real>* filled : {&x, &dy, &scale, &bias})
      for (Real& value : filled->data) value = static_cast<Real>(normal(random));
    if (image.size() == 5) clear_padding(channels);
    if (!wild) return;
    constexpr Real kInf = std::numeric_limits<Real>::infinity();
    const std::vector<Real> odd = {kInf, -kInf, std::numeric_limits<Real>::quiet_NaN(), Real(-0.0), Real(0)};
    for (size_t at = 0; at < odd.size(); ++at) dy.data[at * 3 % dy.data.size()] = odd[at];
    x.data[0] = odd[seed % odd.size()];
  }

  void clear_padding(uint32_t channels) {
    const uint32_t block = x.dims[4], area = x.dims[2] * x.dims[3];
    for (size_t at = 0; at < x.data.size(); ++at)
      if (at / (block * area) % x.dims[1] * block + at % block >= channels) x.data[at] = dy.data[at] = 0;
  }

  std::vector<std::vector<Real>> forward(uint16_t op, uint16_t algorithm, std::vector<int64_t> ints,
                                         std::vector<double> reals) {
    submit<Real>(op, algorithm, {&x, &scale, &bias}, {&y, &mean, &var}, std::move(ints), std::move(reals));
    return {y.data, mean.data, var.data};
  }
  std::vector<Real> evaluated(uint16_t op, uint16_t algorithm, std::vector<int64_t> ints, std::vector<double> reals) {
    submit<Real>(op, algorithm, {&x, &scale, &bias, &mean, &var}, {&y}, std::move(ints), std::move(reals));
    return y.data;
  }
  std::vector<std::vector<Real>> gradient(uint16_t op, uint16_t algorithm, std::vector<int64_t> ints,
                                          std::vector<double> reals) {
    std::vector<NormOperand<Real>*> inputs = {&dy, &x, &scale, &mean, &var};
    if (!ints.empty()) inputs.insert(inputs.begin() + 3, &bias);
    submit<Real>(op, algorithm, inputs, {&dx, &dscale, &dbias}, std::move(ints), std::move(reals));
    return {dx.data, dscale.data, dbias.data};
  }
};

template <class Real>
void expect_same(const std::vector<std::vector<Real>>& found, const std::vector<std::vector<Real>>& expected,
                 const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t at = 0; at < found.size(); ++at)
    EXPECT_TRUE(pantoum::testing::same_numbers(found[at], expected[at])) << what << " " << at;
}

template <class Real>
std::vector<double> with_eps(const Activation& activation) {
  std::vector<double> reals = {1e-3};
  reals.insert(reals.end(), activation.reals.begin(), activation.reals.end());
  return reals;
}

// batch_norm_act and its kind against batch_norm, the activation and their gradients.
template <class Real>
void expect_fused(const std::vector<uint32_t>& image, const Activation& activation, uint32_t seed, bool wild) {
  Norm<Real> apart(image, image[1], seed, wild), fused(image, image[1], seed, wild);
  const std::vector<double> reals = with_eps<Real>(activation);
  const std::vector<int64_t> ints = {activation.op};
  auto expected = apart.forward(PT_OP_batch_norm, kReference, {}, {1e-3});
  NormOperand<Real> normalized = apart.y, dn(image);
  submit<Real>(static_cast<uint16_t>(activation.op), kReference, {&normalized}, {&apart.y}, {}, activation.reals);
  expected[0] = apart.y.data;
  expect_same(fused.forward(PT_OP_batch_norm_act, kReference, ints, reals), expected, "forward");
  EXPECT_TRUE(
      pantoum::testing::same_numbers(fused.evaluated(PT_OP_batch_norm_act_eval, kReference, ints, reals), expected[0]));
  for (NormOperand<Real>* read : {&normalized, &apart.y}) {
    if (read == &apart.y && activation.op == PT_OP_leaky_relu) continue;  // its gradient reads X alone
    submit<Real>(static_cast<uint16_t>(activation.gradient), kReference, {&apart.dy, read}, {&dn}, {},
                 activation.reals);
    Norm<Real> behind = apart;
    behind.dy = dn;
    expect_same(fused.gradient(PT_OP_batch_norm_act_grad, kReference, ints, reals),
                behind.gradient(PT_OP_batch_norm_grad, kReference, {}, {1e-3}), "gradient");
  }
}

template <class Real>
void expect_fused_everywhere() {
  uint32_t seed = 1;
  for (const Activation& activation : kActivations)
    for (const bool wild : {false, true})
      for (const std::vector<uint32_t>& image : std::vector<std::vector<uint32_t>>{
               {3, 5, 4, 5}, {1, 3, 1, 1}, {2, 1, 9, 7}, {4, 6}, {2, 3, 2, 3, 5}, {32, 4, 33, 17}})
        expect_fused<Real>(image, activation, ++seed, wild);
}

TEST(BatchNormAct, HasTheBitsOfTheOpsThatItStandsFor) {
  expect_fused_everywhere<float>();
  expect_fused_everywhere<double>();
}

// The kernels in blocks against those that copy into plain images.
template <class Real>
void expect_blocked(const std::vector<uint32_t>& image, uint32_t channels, uint32_t seed) {
  const auto compare = [&](uint16_t forward, uint16_t eval, uint16_t gradient, const std::vector<int64_t>& ints,
                           const std::vector<double>& reals) {
    Norm<Real> plain(image, channels, seed), blocked(image, channels, seed);
    const std::string what = std::to_string(forward) + " of seed " + std::to_string(seed);
    expect_same(blocked.forward(forward, kBlocked, ints, reals), plain.forward(forward, kReference, ints, reals), what);
    EXPECT_TRUE(pantoum::testing::same_numbers(blocked.evaluated(eval, kBlocked, ints, reals),
                                               plain.evaluated(eval, kReference, ints, reals)))
        << what;
    expect_same(blocked.gradient(gradient, kBlocked, ints, reals), plain.gradient(gradient, kReference, ints, reals),
                what);
  };
  compare(PT_OP_batch_norm_nchwc, PT_OP_batch_norm_eval_nchwc, PT_OP_batch_norm_grad_nchwc, {}, {1e-3});
  for (const Activation& activation : kActivations)
    compare(PT_OP_batch_norm_act_nchwc, PT_OP_batch_norm_act_eval_nchwc, PT_OP_batch_norm_act_grad_nchwc,
            {activation.op}, with_eps<Real>(activation));
}

template <class Real>
void expect_blocked_everywhere() {
  std::mt19937 random(7);
  const auto draw = [&](uint32_t most) { return static_cast<uint32_t>(random() % most + 1); };
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const uint32_t block = seed % 4 == 3   ? 4 * draw(4)
                           : seed % 2 == 0 ? 16
                                           : 8,
                   blocks = draw(6), height = draw(seed % 5 == 0 ? 20 : 5);
    const uint32_t channels = blocks * block - (seed % 3 == 0 ? draw(block) - 1 : 0);
    expect_blocked<Real>({draw(5), blocks, height, draw(7), block}, channels, seed);
  }
}

TEST(BatchNormBlocks, HaveTheBitsOfPlainImages) {
  expect_blocked_everywhere<float>();
  expect_blocked_everywhere<double>();
}

TEST(BatchNormBlocks, MayBeWrittenOverWhatTheyRead) {
  for (const uint32_t blocks : {2U, 5U}) {  // shared by threads, and not
    const std::vector<uint32_t> image = {3, blocks, 5, 3, 16};
    const std::vector<int64_t> ints = {PT_OP_relu};
    const std::vector<double> reals = {1e-3, 0, 0};
    Norm<float> apart(image, blocks * 16, 5), over(image, blocks * 16, 5);
    const auto expected = apart.forward(PT_OP_batch_norm_act_nchwc, kBlocked, ints, reals);
    const auto gradient = apart.gradient(PT_OP_batch_norm_act_grad_nchwc, kBlocked, ints, reals);
    over.mean = apart.mean, over.var = apart.var;
    for (NormOperand<float>* written : {&over.dy, &over.x}) {
      Norm<float> copy = over;
      NormOperand<float>& to = written == &over.dy ? copy.dy : copy.x;
      submit<float>(PT_OP_batch_norm_act_grad_nchwc, kBlocked,
                    {&copy.dy, &copy.x, &copy.scale, &copy.bias, &copy.mean, &copy.var},
                    {&to, &copy.dscale, &copy.dbias}, ints, reals);
      expect_same<float>({to.data, copy.dscale.data, copy.dbias.data}, gradient, "gradient in place");
    }
    submit<float>(PT_OP_batch_norm_act_nchwc, kBlocked, {&over.x, &over.scale, &over.bias},
                  {&over.x, &over.mean, &over.var}, ints, reals);
    expect_same<float>({over.x.data, over.mean.data, over.var.data}, expected, "forward in place");
  }
}

TEST(BatchNormBlocks, AreNotOfferedForBlocksThatNoVectorFits) {
  NormOperand<float> image({2, 2, 3, 3, 6});
  pt_tensor output = image.tensor();
  pt_call call{};
  call.outputs = &output, call.output_count = 1;
  const pt_kernel* kernel = pt_kernel_find(pt_portable_kernels(), PT_OP_batch_norm_nchwc, PT_F32, kBlocked, 0);
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->workspace_bytes(&call), PT_NO_KERNEL);
}

}  // namespace
