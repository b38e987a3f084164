#include "kernels/opencl/bit_check.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

extern "C" {
#include "kernels/portable/real_math.h"
}

namespace pantoum::opencl {
namespace {

constexpr size_t kResults = 8, kRandom = 4096;  // results of a pair, as check.cl has them

void compute(float x, float y, bool with_doubles, float* made) {
  made[0] = x + y;
  made[1] = x * y;
  made[2] = x / y;
  made[3] = std::sqrt(x);
  const float product = x * y;
  made[4] = product + x;
  made[5] = pt_real_exp(x);
  const double wide = static_cast<double>(x);
  made[6] = with_doubles ? static_cast<float>(wide * static_cast<double>(y) / (wide + 1.5)) : 0;
  made[7] = with_doubles ? static_cast<float>(pt_log(wide)) : 0;
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

}  // namespace

BitCheck::BitCheck() {
  using Limits = std::numeric_limits<float>;
  const float hard[] = {0.0F,
                        -0.0F,
                        1.0F,
                        -1.0F,
                        Limits::denorm_min(),
                        -Limits::denorm_min(),
                        Limits::min(),
                        Limits::max(),
                        -Limits::max(),
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::quiet_NaN(),
                        Limits::epsilon(),
                        3.0F,
                        0.1F,
                        1.5F,
                        1e-39F,
                        -3e-40F};
  for (const float x : hard)
    for (const float y : hard) x_.push_back(x), y_.push_back(y);
  std::mt19937 random(1);
  for (size_t pair = 0; pair < kRandom; ++pair) {
    // Half of them any numbers, half of them such that subnormals and roundings come out.
    const uint32_t mask = pair % 2 == 0 ? 0xffffffffU : 0x9fffffffU;
    x_.push_back(std::bit_cast<float>(static_cast<uint32_t>(random()) & mask));
    y_.push_back(std::bit_cast<float>(static_cast<uint32_t>(random()) & mask));
  }
  made_.resize(x_.size() * kResults);
}

pt_call BitCheck::call(const pt_pool* pool) {
  const auto vector = [](std::vector<float>& values) {
    pt_tensor tensor{};
    tensor.data = values.data(), tensor.rank = 1, tensor.dims[0] = static_cast<uint32_t>(values.size());
    return tensor;
  };
  inputs_[0] = vector(x_), inputs_[1] = vector(y_), output_ = vector(made_);
  pt_call call{};
  call.inputs = inputs_, call.input_count = 2, call.outputs = &output_, call.output_count = 1, call.pool = pool;
  return call;
}

bool BitCheck::holds(bool with_doubles) const {
  for (size_t pair = 0; pair < pairs(); ++pair) {
    float wanted[kResults];
    compute(x_[pair], y_[pair], with_doubles, wanted);
    for (size_t result = 0; result < kResults; ++result)
      if (!same(wanted[result], made_[pair * kResults + result])) return false;
  }
  return true;
}

}  // namespace pantoum::opencl
