#include "import/compose.h"

namespace pantoum::import {

Result<void> want_space(size_t dimensions) {
  if (dimensions >= 1 && dimensions <= 3) return {};
  return unsupported(fmt::format("it works on {} spatial dimensions", dimensions), "one to three are supported");
}

void grow_to_ceil(Window& window, int64_t extent) {
  const int64_t span = (window.kernel - 1) * window.dilation + 1;
  const int64_t slack = extent + window.before + window.after - span;
  if (slack < 0) return;
  int64_t last = (slack + window.stride - 1) / window.stride;  // of the last window
  if (last * window.stride >= extent + window.before) --last;
  window.after = std::max(window.after, last * window.stride + span - extent - window.before);
}

namespace {

// The integers of conv2d, where a single dimension becomes the width, or of conv3d.
Attrs conv_attributes(Windows windows, int64_t groups) {
  if (windows.size() == 1) windows.insert(windows.begin(), Window{});
  Attrs attrs;
  for (const auto part : {&Window::stride, &Window::before, &Window::after, &Window::dilation})
    for (const Window& window : windows) attrs.ints.push_back(window.*part);
  attrs.ints.push_back(groups);
  return attrs;
}

// The dimensions of space that images of 4 dimensions lack are 1.
Value as_image(const Value& x) {
  const Shape shape = x.shape();
  return shape.size() == 3 ? reshape(x, {shape[0], shape[1], 1, shape[2]}) : x;
}

Value from_image(const Value& y, size_t rank) {
  const Shape shape = y.shape();
  return rank == 3 ? reshape(y, {shape[0], shape[1], shape[3]}) : y;
}

// An output_padding of a stride or more would make the windows one more: it takes away from the padding behind, and what is left of it is
// zeros, whose count is returned.
int64_t leave_unreached(Upward& up) {
  const int64_t reached = std::min(up.extra, up.window.after);
  up.window.after -= reached;
  up.extent -= up.extra - reached;
  return up.extra - reached;
}

}  // namespace

Value convolution(const Value& x, const Value& weight, const Value& bias, const Windows& windows, int64_t groups) {
  Values inputs = {as_image(x), as_image(weight)};
  if (bias) inputs.push_back(bias);
  const Kind kind = windows.size() == 3 ? Kind::k_conv3d : Kind::k_conv2d;
  return from_image(x.in().op(kind, inputs, conv_attributes(windows, groups)), x.rank());
}

Value transposed_convolution(const Value& x, const Value& weight, const std::vector<Upward>& up, int64_t groups) {
  const Shape image = x.shape(), kernel = weight.shape();
  const size_t space = up.size();
  const int64_t channels = kernel[1] > 0 && groups > 0 && groups < INT32_MAX ? kernel[1] * groups : 0;
  TensorType made{DType::kF32, {image[0], channels}};
  Windows windows;
  if (space == 1) made.shape.push_back(1);
  Integers unreached;  // zeros behind, by dimension of the image
  unreached.resize(space == 1 ? 3 : 2, 0);
  for (size_t d = 0; d < space; ++d) {
    Upward each = up[d];
    if (each.extent == 0)
      each.extent = each.window.stride * (image[d + 2] - 1) + each.extra +
                    (each.window.kernel - 1) * each.window.dilation + 1 - each.window.before - each.window.after;
    unreached.push_back(each.extra >= each.window.stride ? leave_unreached(each) : 0);
    windows.push_back(each.window);
    made.shape.push_back(each.extent);
  }
  const Kind kind = space == 3 ? Kind::k_conv3d_dx : Kind::k_conv2d_dx;
  const Values inputs = {as_image(x), as_image(weight)};
  const Value y = x.in().op(kind, inputs, conv_attributes(windows, groups), {made});
  return from_image(with_zeros(y, Integers(unreached.size(), 0), unreached), image.size());
}

Value with_bias(const Value& y, const Value& bias) {
  return bias ? y + by_channel(bias, y.rank()) : y;
}

namespace {

struct Pooling {
  Kind kind;
  int64_t count_padding;
};

// A window of two dimensions on a view [N,C,H,W]; none where it takes every element by itself.
Value pool_view(const Value& x, const Pooling& how, Shape view, const Window& h, const Window& v) {
  const auto stays = [](const Window& w) { return w.kernel == 1 && w.stride == 1 && w.before == 0 && w.after == 0; };
  const Value image = reshape(x, std::move(view));
  if (stays(h) && stays(v)) return image;
  return apply(how.kind, image,
               {{h.kernel, v.kernel, h.stride, v.stride, h.before, v.before, h.after, v.after, h.dilation, v.dilation,
                 how.count_padding},
                {}});
}

// A window on a volume slides over each plane, then along the depth. The largest element of all is the first largest of the planes' first; a
// mean of means counts as many elements in each, since what the window leaves out are whole planes, rows and columns.
Value pool(const Value& x, const Pooling& how, const Windows& windows) {
  const Shape from = x.shape();
  if (windows.size() < 3) {
    const Value image = as_image(x);
    return from_image(pool_view(image, how, image.shape(), windows.size() == 2 ? windows[0] : Window{}, windows.back()),
                      from.size());
  }
  const Value by_plane = pool_view(x, how, {from[0], from[1] * from[2], from[3], from[4]}, windows[1], windows[2]);
  const Shape planes = by_plane.shape();
  const Value made = pool_view(by_plane, how, {from[0], from[1], from[2], planes[2] * planes[3]}, windows[0], Window{});
  return reshape(made, {from[0], from[1], made.shape()[2], planes[2], planes[3]});
}

}  // namespace

Value max_pool(const Value& x, const Windows& windows) {
  return pool(x, {Kind::k_max_pool, 0}, windows);
}

Value average_pool(const Value& x, Windows windows, bool ceil, bool count_padding) {
  const Windows plain = windows;
  bool grown = false, padded = false;
  for (size_t d = 0; d < windows.size(); ++d) {
    if (ceil) grow_to_ceil(windows[d], x.shape()[d + 2]);
    grown = grown || windows[d].after != plain[d].after;
    padded = padded || plain[d].before != 0 || plain[d].after != 0;
  }
  if (!grown || !padded || !count_padding) return pool(x, {Kind::k_avg_pool, padded && count_padding ? 1 : 0}, windows);
  // The zeros become the image's own; what is beyond them never counts.
  Integers before = {0, 0}, after = {0, 0};
  for (size_t d = 0; d < windows.size(); ++d) {
    before.push_back(plain[d].before);
    after.push_back(plain[d].after);
    windows[d].before = 0;
    windows[d].after -= plain[d].after;
  }
  return pool(with_zeros(x, before, after), {Kind::k_avg_pool, 0}, windows);
}

}  // namespace pantoum::import
