// A pool of two threads in one, and results that have to be the same whatever the pieces.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

namespace pantoum::testing {

// In turn, with the pieces of two threads in the wrong order.
inline void run_pieces(void*, size_t count, void (*body)(void*, size_t, size_t), void* arg) {
  const size_t half = count / 2;
  body(arg, half, count);
  if (half > 0) body(arg, 0, half);
}

// NaN is NaN: which one it is, is the processor's choice.
template <class Real>
bool same_numbers(const std::vector<Real>& a, const std::vector<Real>& b) {
  if (a.size() != b.size()) return false;
  for (size_t at = 0; at < a.size(); ++at)
    if (std::memcmp(&a[at], &b[at], sizeof(Real)) != 0 && !(std::isnan(a[at]) && std::isnan(b[at]))) return false;
  return true;
}

}  // namespace pantoum::testing
