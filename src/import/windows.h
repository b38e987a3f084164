// Windows that slide over an image: convolutions, their transposes, poolings, as ops. [N,C,..] of one to three dimensions of space, which
// [N,C,L] has as [N,C,1,L].
#pragma once

#include "import/compose.h"

namespace pantoum::import {

// One dimension of space.
struct Window {
  int64_t kernel = 1, stride = 1, before = 0, after = 0, dilation = 1;
};
using Windows = std::vector<Window>;

// E0401 unless there are one to three dimensions of space.
[[nodiscard]] Result<void> want_space(size_t dimensions);

// Makes `after` so large that the last window fits, which begins inside the image or the padding before it (ceil_mode).
void grow_to_ceil(Window& window, int64_t extent);

// The bias may be left out.
Value convolution(const Value& x, const Value& weight, const Value& bias, const Windows& windows, int64_t groups);

// One dimension of space of a transposed convolution. `extra` elements more are made behind than the windows determine; `extent`, where it
// is not 0, is that of the result.
struct Upward {
  Window window;
  int64_t extra = 0, extent = 0;
};
// Without a bias: `with_bias` adds one.
Value transposed_convolution(const Value& x, const Value& weight, const std::vector<Upward>& up, int64_t groups);
// y [N,C,..] with one element added for each channel. The bias may be left out.
Value with_bias(const Value& y, const Value& bias);

Value max_pool(const Value& x, const Windows& windows);
// `ceil`: windows that reach behind the padding count, without what lies there. `count_padding`: the padding counts as zeros.
Value average_pool(const Value& x, Windows windows, bool ceil, bool count_padding);

}  // namespace pantoum::import
