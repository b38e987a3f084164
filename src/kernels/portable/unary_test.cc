// Activations with bends: values and slopes at and around them are PyTorch's, bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "pantoum/ops.h"
#include "pantoum/pantoum.h"

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> kBends = {-3.0000002F, -3, -2.9999998F, 2.9999998F, 3, 3.0000002F, kNan, kInf, -kInf};

std::vector<float> run(pt_op op, std::vector<std::vector<float>> operands, std::vector<double> reals,
                       int64_t flag = 0) {
  std::vector<float> made(operands[0].size());
  std::vector<pt_tensor> inputs(operands.size());
  pt_tensor output{};
  for (size_t input = 0; input < operands.size(); ++input) inputs[input].data = operands[input].data();
  output.data = made.data();
  for (pt_tensor* tensor : {&inputs.front(), &inputs.back(), &output}) {
    tensor->rank = 1;
    tensor->dims[0] = static_cast<uint32_t>(made.size());
  }
  pt_call call{};
  call.inputs = inputs.data(), call.input_count = static_cast<uint16_t>(inputs.size());
  call.outputs = &output, call.output_count = 1;
  call.ints = &flag, call.int_count = 1;
  call.reals = reals.data(), call.real_count = static_cast<uint16_t>(reals.size());
  const pt_kernel* kernel = pt_kernel_find(pt_portable_kernels(), static_cast<uint16_t>(op), PT_F32, 0, 0);
  EXPECT_EQ(kernel->submit(&call), PT_OK);
  return made;
}

void expect_same(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t at = 0; at < found.size(); ++at)
    EXPECT_TRUE(found[at] == expected[at] || (std::isnan(found[at]) && std::isnan(expected[at])))
        << "at " << kBends[at] << ": " << found[at] << ", PyTorch has " << expected[at];
}

// torch.nn.functional.hardswish and its gradient, PyTorch 2.13.
TEST(HardSwish, IsPyTorchsAtItsBends) {
  expect_same(run(PT_OP_hard_swish, {kBends}, {}),
              {-0.0F, -0.0F, -1.1920928244535389e-07F, 2.999999761581421F, 3, 3.000000238418579F, kNan, kInf, kNan});
  expect_same(run(PT_OP_hard_swish_grad, {std::vector<float>(9, 1), kBends}, {}),
              {0, 0, -0.4999999403953552F, 1.5F, 1, 1, 1, 1, 0});
}

// torch.nn.functional.hardsigmoid: ONNX's with alpha 1 / 6 (of floats) and beta 1 / 2, whose bends are -3 and 3.
TEST(HardSigmoid, HasPyTorchsSlopesAtItsBends) {
  const double alpha = static_cast<double>(1.0F / 6);
  const auto values = run(PT_OP_hard_sigmoid, {kBends}, {alpha, 0.5});
  const std::vector<float> expected = {0, 0, 3.973643103449831e-08F, 1, 1, 1, kNan, 1, 0};
  for (size_t at = 0; at < values.size(); ++at)
    EXPECT_TRUE(std::abs(values[at] - expected[at]) < 1.2e-7F || std::isnan(expected[at])) << kBends[at];
  EXPECT_TRUE(std::isnan(values[6]));
  expect_same(run(PT_OP_hard_sigmoid_grad, {std::vector<float>(9, 1), kBends}, {alpha, -0.5 / alpha, 0.5 / alpha}),
              {0, 0, 0.1666666716337204F, 0.1666666716337204F, 0, 0, 0, 0, 0});
}

// Of PyTorch's functions, at 0, at their ends and beyond them.
TEST(Arc, HasPyTorchsSlopesAtItsEnds) {
  const std::vector<float> x = {0, -0.0F, 1, -1, 2, kInf, -kInf, kNan, 0.5F};
  const std::vector<std::vector<float>> slopes = {
      {1, 1, kInf, kInf, kNan, kNan, kNan, kNan, 1.154700517654419F},
      {-1, -1, -kInf, -kInf, kNan, kNan, kNan, kNan, -1.154700517654419F},
      {1, 1, 0.5F, 0.5F, 0.2F, 0, 0, kNan, 0.8F},
      {1, 1, 0.7071067690849304F, 0.7071067690849304F, 0.4472135901451111F, 0, 0, kNan, 0.8944271802902222F},
      {kNan, kNan, kInf, kInf, 0.5773502588272095F, 0, 0, kNan, kNan},
      {1, 1, kInf, kInf, -0.3333333432674408F, 0, 0, kNan, 1.3333333730697632F}};
  for (int64_t function = 0; function < PT_ARC_COUNT; ++function) {
    const std::vector<float> found = run(PT_OP_arc_grad, {std::vector<float>(9, 1), x}, {}, function);
    for (size_t at = 0; at < x.size(); ++at) {
      const float expected = slopes[static_cast<size_t>(function)][at];
      EXPECT_TRUE(found[at] == expected || std::abs(found[at] - expected) < 2e-7F ||
                  (std::isnan(found[at]) && std::isnan(expected)))
          << function << " at " << x[at] << ": " << found[at] << ", PyTorch has " << expected;
    }
  }
}

// torch.Tensor.half and torch.Tensor.bfloat16.
TEST(RoundTo, GivesWhatNarrowerTypesHold) {
  const std::vector<float> x = {0,         1,           1.0F / 3, -65504,         65519.996F,     65520,
                                -1e9F,     6.1035e-05F, 6.1e-05F, 5.9604645e-08F, 2.9802322e-08F, 2.98023259e-08F,
                                -8.94e-8F, 2048.5F,     2049,     2051,           3.4e38F,        1e-45F,
                                kInf,      kNan};
  const std::vector<std::vector<float>> held = {{0,
                                                 1,
                                                 0.333251953125F,
                                                 -65504,
                                                 65504,
                                                 kInf,
                                                 -kInf,
                                                 6.103515625e-05F,
                                                 6.097555160522461e-05F,
                                                 5.960464477539063e-08F,
                                                 0,
                                                 5.960464477539063e-08F,
                                                 -5.960464477539063e-08F,
                                                 2048,
                                                 2048,
                                                 2052,
                                                 kInf,
                                                 0,
                                                 kInf,
                                                 kNan},
                                                {0,
                                                 1,
                                                 0.333984375F,
                                                 -65536,
                                                 65536,
                                                 65536,
                                                 -998244352,
                                                 6.103515625e-05F,
                                                 6.103515625e-05F,
                                                 5.960464477539063e-08F,
                                                 2.9802322387695312e-08F,
                                                 2.9802322387695312e-08F,
                                                 -8.940696716308594e-08F,
                                                 2048,
                                                 2048,
                                                 2048,
                                                 kInf,
                                                 0,
                                                 kInf,
                                                 kNan}};
  for (const int64_t type : {PT_ROUND_TO_FLOAT16, PT_ROUND_TO_BFLOAT16}) {
    const std::vector<float> found = run(PT_OP_round_to, {x}, {}, type);
    for (size_t at = 0; at < x.size(); ++at) {
      const float expected = held[static_cast<size_t>(type)][at];
      EXPECT_TRUE(found[at] == expected || (std::isnan(found[at]) && std::isnan(expected)))
          << type << " at " << x[at] << ": " << found[at] << ", PyTorch has " << expected;
    }
  }
}

}  // namespace
