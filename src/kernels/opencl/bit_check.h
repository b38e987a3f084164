// Pairs of numbers on which devices differ that do not compute as IEEE 754 says, and what the host makes of them.
#pragma once

#include <vector>

#include "pantoum/pantoum.h"

namespace pantoum::opencl {

class BitCheck {
 public:
  BitCheck();
  size_t pairs() const { return x_.size(); }
  // A call of the kernel op_check, which is valid as long as this is.
  pt_call call(const pt_pool* pool);
  // Are the device's results those of the host, bit for bit? NaNs count as equal.
  bool holds(bool with_doubles) const;

 private:
  std::vector<float> x_, y_, made_;
  pt_tensor inputs_[2]{}, output_{};
};

}  // namespace pantoum::opencl
