// Attention in blocks against the ops that it stands for: the same bits, by every algorithm, on any number of threads.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "testing/product_calls.h"

namespace {

using product_test::Operand;
using product_test::same_bits;

struct AttentionCase {
  uint32_t batches, m, n, d, e;
  std::array<int64_t, 3> turned;
  std::vector<int64_t> steps;
};

// Operands, and the outputs of attention and of its gradient.
template <class Real>
class AttentionCall {
 public:
  AttentionCall(const AttentionCase& c, uint32_t seed) : c_(c), random_(seed) {
    const auto matrix = [&](uint32_t rows, uint32_t columns, bool turned) {
      return product_test::make<Real>({c.batches, turned ? columns : rows, turned ? rows : columns}, random_);
    };
    operands_ = {matrix(c.m, c.e, false), matrix(c.m, c.d, c.turned[0] != 0), matrix(c.n, c.d, c.turned[1] != 0),
                 matrix(c.n, c.e, c.turned[2] != 0)};
    ints_.assign(c.turned.begin(), c.turned.end());
    ints_.insert(ints_.end(), c.steps.begin(), c.steps.end());
    ints_.resize(PT_ATTENTION_ATTRS, PT_STEP_NONE);
    mask_ = product_test::make<Real>({c.m, c.n}, random_);
    for (Real value : mask_.data) chosen_.push_back(value > 0.7);
  }

  // What -inf hides: some of every row but of one, which is hidden whole.
  void hide() {
    for (size_t at = 0; at < mask_.data.size(); ++at)
      if (chosen_[at] != 0 || at / c_.n == 1) mask_.data[at] = -std::numeric_limits<Real>::infinity();
  }

  [[nodiscard]] std::vector<Operand<Real>> run(bool backward, uint16_t algorithm, uint32_t threads) {
    std::vector<pt_tensor> in;
    for (size_t at = backward ? 0 : 1; at < operands_.size(); ++at) in.push_back(operands_[at].tensor());
    pt_tensor chosen = mask_.tensor();
    chosen.data = chosen_.data(), chosen.dtype = PT_BOOL;
    for (const int64_t step : c_.steps) {
      if (step == PT_STEP_ADD) in.push_back(mask_.tensor());
      if (step == PT_STEP_KEEP || step == PT_STEP_FILL) in.push_back(chosen);
    }
    std::vector<Operand<Real>> made;
    if (backward) made = {operands_[1], operands_[2], operands_[3]};
    if (!backward) made = {operands_[0]};
    std::vector<pt_tensor> out;
    for (Operand<Real>& one : made) one.data.assign(one.data.size(), Real(NAN)), out.push_back(one.tensor());
    const pt_pool pool{&threads, threads, product_test::run_on_threads};
    const double reals[] = {0.6, -0.4, 0.3};
    pt_call call{};
    call.inputs = in.data(), call.input_count = static_cast<uint16_t>(in.size());
    call.outputs = out.data(), call.output_count = static_cast<uint16_t>(out.size());
    call.ints = ints_.data(), call.int_count = static_cast<uint16_t>(ints_.size());
    call.reals = reals, call.real_count = 3;
    call.pool = &pool;
    const pt_kernel* kernel =
        pt_kernel_find(product_test::table<Real>(), backward ? PT_OP_attention_grad : PT_OP_attention,
                       operands_[0].tensor().dtype, algorithm, 0);
    EXPECT_NE(kernel, nullptr);
    const size_t elements = kernel->workspace_bytes(&call) / sizeof(Real);
    std::vector<Real> workspace(elements + 1, Real(NAN));
    workspace[elements] = 77;
    call.workspace = workspace.data();
    EXPECT_EQ(kernel->submit(&call), PT_OK);
    EXPECT_EQ(workspace[elements], 77) << "written behind the workspace";
    return made;
  }

 private:
  AttentionCase c_;
  std::mt19937 random_;
  std::vector<Operand<Real>> operands_;  // dY Q K V
  std::vector<int64_t> ints_;
  Operand<Real> mask_;
  std::vector<uint8_t> chosen_;
};

std::vector<AttentionCase> cases() {
  std::vector<AttentionCase> all = {
      {1, 1, 1, 1, 1, {0, 0, 0}, {}},
      {3, 1, 9, 4, 2, {0, 0, 0}, {PT_STEP_SCALE}},
      {2, 13, 1, 3, 5, {0, 1, 1}, {PT_STEP_ADD}},
      {1, 150, 600, 16, 33, {0, 1, 0}, {PT_STEP_SCALE, PT_STEP_ADD}},            // several blocks, the last one shorter
      {3, 231, 700, 32, 64, {0, 0, 0}, {PT_STEP_SCALE, PT_STEP_FILL}},           // blocks of another length
      {2, 9, 4200, 5, 3, {1, 1, 1}, {PT_STEP_KEEP, PT_STEP_SCALE, PT_STEP_ADD}}  // the fewest rows
  };
  std::mt19937 random(5);
  for (int at = 0; at < 30; ++at) {
    const auto below = [&](uint32_t most) { return static_cast<uint32_t>(1 + random() % most); };
    AttentionCase c{below(4), below(40), below(40), below(20), below(20), {}, {}};
    for (int64_t& turned : c.turned) turned = random() % 2;
    for (uint32_t steps = random() % 4; steps > 0; --steps) c.steps.push_back(below(PT_STEP_COUNT - 1));
    all.push_back(c);
  }
  return all;
}

TEST(Attention, GivesTheSameBitsInBlocksOfAnySizeOnAnyThreads) {
  uint32_t seed = 1;
  for (const AttentionCase& c : cases())
    for (const bool backward : {false, true}) {
      AttentionCall<float> call(c, ++seed);
      const auto expected = call.run(backward, 0, 1);
      for (const auto& [algorithm, threads] : {std::pair{0, 3}, {1, 1}, {1, 3}, {2, 1}, {2, 3}}) {
        const auto found = call.run(backward, static_cast<uint16_t>(algorithm), static_cast<uint32_t>(threads));
        for (size_t output = 0; output < expected.size(); ++output)
          EXPECT_TRUE(same_bits(found[output].data, expected[output].data))
              << seed << ": " << algorithm << " on " << threads << ", output " << output;
      }
    }
}

TEST(Attention, IsNearToWhatDoublesGive) {
  const AttentionCase c{2, 7, 11, 5, 3, {0, 0, 0}, {}};
  AttentionCall<double> wide(c, 3);
  AttentionCall<float> narrow(c, 3);
  for (const bool backward : {false, true}) {
    const auto expected = wide.run(backward, 0, 1);
    const auto found = narrow.run(backward, 1, 3);
    for (size_t output = 0; output < expected.size(); ++output)
      for (size_t at = 0; at < expected[output].data.size(); ++at)
        EXPECT_NEAR(found[output].data[at], expected[output].data[at], 3e-6);
  }
}

TEST(Attention, HidesWhatTheMaskHidesAndGivesNoNumberWhereItHidesAll) {
  const AttentionCase c{2, 6, 20, 4, 3, {0, 0, 0}, {PT_STEP_ADD}};
  AttentionCall<float> call(c, 8);
  call.hide();
  for (uint16_t algorithm = 0; algorithm < 3; ++algorithm) {
    const std::vector<float> y = call.run(false, algorithm, 1)[0].data;
    for (size_t at = 0; at < y.size(); ++at) EXPECT_EQ(std::isnan(y[at]), at / c.e % c.m == 1) << at;
  }
}

}  // namespace
