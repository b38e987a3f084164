// A source of randomness that gives the same on every machine: no libm, no standard distributions.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace pantoum::base {

// splitmix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  // 64 random bits.
  uint64_t next() {
    uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  // 0 .. count - 1; count > 0
  int32_t below(int32_t count) {
    return static_cast<int32_t>(((next() >> 32) * static_cast<uint64_t>(static_cast<uint32_t>(count))) >> 32);
  }
  // True once in `count` times on average; count > 0.
  bool one_in(int32_t count) { return below(count) == 0; }
  // One of the items; there is at least one.
  template <class T>
  const T& any(const std::vector<T>& items) {
    return items[static_cast<size_t>(below(static_cast<int32_t>(items.size())))];
  }
  // Exponentially distributed with mean 1, to within 9%: minus the logarithm of a uniform number, linear between
  // powers of two.
  double exponential() {
    const uint64_t x = next() | 1;
    const int zeros = std::countl_zero(x);
    const double rest = static_cast<double>((x << zeros) & INT64_MAX) * 0x1p-63;  // in [0, 1)
    return 0.6931471805599453 * (zeros + 1 - rest);
  }

 private:
  uint64_t state_;
};

}  // namespace pantoum::base
