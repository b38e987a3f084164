// ModelBuilder's windows, shapes and positions.
#include <fmt/format.h>

#include <numeric>

#include "layers/apply.h"
#include "layers/kinds.h"

namespace pantoum {

using layers::kNoValue;
using layers::Site;
using layers::State;

namespace {

template <class L>
Tensor put_window(State& state, const L& layer, const Tensor& x, const Place& place) {
  Site site(state, layers::kind(layer), layer.name, place);
  return layers::apply(site, layer, x);
}

// From 0 on; reports an axis that there is not.
std::optional<size_t> axis_of(Site& site, const Tensor& x, int64_t axis) {
  const auto rank = static_cast<int64_t>(site.shape(x).size());
  if (axis >= -rank && axis < rank) return static_cast<size_t>(axis < 0 ? axis + rank : axis);
  site.fail(fmt::format("its input {} has no axis {}", site.type(x), axis));
  return std::nullopt;
}

std::vector<Tensor> split_at(Site& site, const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis) {
  return site.nodes("Split", {x, site.integers(sizes)},
                    {.attributes = {{"axis", axis}}, .outputs = static_cast<int>(sizes.size())});
}

constexpr int64_t kMostParts = 4096;

}  // namespace

Tensor ModelBuilder::max_pool1d(const Tensor& x, MaxPool1d options, Place place) {
  return put_window(*state_, options, x, place);
}
Tensor ModelBuilder::max_pool2d(const Tensor& x, MaxPool2d options, Place place) {
  return put_window(*state_, options, x, place);
}
Tensor ModelBuilder::max_pool3d(const Tensor& x, MaxPool3d options, Place place) {
  return put_window(*state_, options, x, place);
}
Tensor ModelBuilder::avg_pool1d(const Tensor& x, AvgPool1d options, Place place) {
  return put_window(*state_, options, x, place);
}
Tensor ModelBuilder::avg_pool2d(const Tensor& x, AvgPool2d options, Place place) {
  return put_window(*state_, options, x, place);
}
Tensor ModelBuilder::avg_pool3d(const Tensor& x, AvgPool3d options, Place place) {
  return put_window(*state_, options, x, place);
}
Tensor ModelBuilder::adaptive_avg_pool1d(const Tensor& x, Extents<1> size, Place place) {
  return put_window(*state_, AdaptiveAvgPool1d{size}, x, place);
}
Tensor ModelBuilder::adaptive_avg_pool2d(const Tensor& x, Extents<2> size, Place place) {
  return put_window(*state_, AdaptiveAvgPool2d{size}, x, place);
}
Tensor ModelBuilder::adaptive_avg_pool3d(const Tensor& x, Extents<3> size, Place place) {
  return put_window(*state_, AdaptiveAvgPool3d{size}, x, place);
}
Tensor ModelBuilder::adaptive_max_pool1d(const Tensor& x, Extents<1> size, Place place) {
  return put_window(*state_, AdaptiveMaxPool1d{size}, x, place);
}
Tensor ModelBuilder::adaptive_max_pool2d(const Tensor& x, Extents<2> size, Place place) {
  return put_window(*state_, AdaptiveMaxPool2d{size}, x, place);
}
Tensor ModelBuilder::adaptive_max_pool3d(const Tensor& x, Extents<3> size, Place place) {
  return put_window(*state_, AdaptiveMaxPool3d{size}, x, place);
}
Tensor ModelBuilder::global_avg_pool(const Tensor& x, Place place) {
  return put_window(*state_, GlobalAvgPool{}, x, place);
}
Tensor ModelBuilder::global_max_pool(const Tensor& x, Place place) {
  return put_window(*state_, GlobalMaxPool{}, x, place);
}
Tensor ModelBuilder::upsample(const Tensor& x, Upsample options, Place place) {
  return put_window(*state_, options, x, place);
}
Tensor ModelBuilder::pad(const Tensor& x, Pad options, Place place) {
  return put_window(*state_, options, x, place);
}
Tensor ModelBuilder::pixel_shuffle(const Tensor& x, int64_t factor, Place place) {
  Site site(*state_, "pixel_shuffle", "", place);
  if (!site.takes(x, 4, "[N, C, H, W]") || !site.within("factor", factor, 1, 1 << 15)) return state_->handle(kNoValue);
  return site.node("DepthToSpace", {x}, {{"blocksize", factor}, {"mode", "CRD"}});
}

Tensor ModelBuilder::flatten(const Tensor& x, int64_t first, Place place) {
  return put_window(*state_, Flatten{first}, x, place);
}
Tensor ModelBuilder::reshape(const Tensor& x, std::vector<int64_t> shape, Place place) {
  return put_window(*state_, Reshape{std::move(shape)}, x, place);
}
Tensor ModelBuilder::permute(const Tensor& x, std::vector<int64_t> dimensions, Place place) {
  return put_window(*state_, Permute{std::move(dimensions)}, x, place);
}
Tensor ModelBuilder::transpose(const Tensor& x, int64_t a, int64_t b, Place place) {
  Site site(*state_, "transpose", "", place);
  if (!site.takes(x)) return state_->handle(kNoValue);
  const auto first = axis_of(site, x, a), second = axis_of(site, x, b);
  if (!first || !second) return state_->handle(kNoValue);
  std::vector<int64_t> order(site.shape(x).size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::swap(order[*first], order[*second]);
  return site.node("Transpose", {x}, {{"perm", order}});
}
Tensor ModelBuilder::squeeze(const Tensor& x, std::vector<int64_t> axes, Place place) {
  Site site(*state_, "squeeze", "", place);
  if (!site.takes(x)) return state_->handle(kNoValue);
  if (axes.empty()) return site.fail("it names no axes");
  return site.node("Squeeze", {x, site.integers(axes)});
}
Tensor ModelBuilder::unsqueeze(const Tensor& x, std::vector<int64_t> axes, Place place) {
  Site site(*state_, "unsqueeze", "", place);
  if (!site.takes(x)) return state_->handle(kNoValue);
  if (axes.empty()) return site.fail("it names no axes");
  return site.node("Unsqueeze", {x, site.integers(axes)});
}
Tensor ModelBuilder::expand(const Tensor& x, std::vector<int64_t> shape, Place place) {
  Site site(*state_, "expand", "", place);
  if (!site.takes(x)) return state_->handle(kNoValue);
  if (shape.empty()) return site.fail("its new shape has no dimensions");
  for (int64_t& extent : shape) {
    if (!site.within("an extent", extent, -1)) return state_->handle(kNoValue);
    if (extent == -1) extent = 1;
  }
  return site.node("Expand", {x, site.integers(shape)});
}

Tensor ModelBuilder::concat(const std::vector<Tensor>& parts, int64_t axis, Place place) {
  Site site(*state_, "concat", "", place);
  if (parts.empty()) return site.fail("it has nothing to join");
  if (!site.takes(parts)) return state_->handle(kNoValue);
  return site.node("Concat", parts, {{"axis", axis}});
}
std::vector<Tensor> ModelBuilder::split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis, Place place) {
  Site site(*state_, "split", "", place);
  const std::vector<Tensor> none(std::max<size_t>(1, sizes.size()), state_->handle(kNoValue));
  if (!site.takes(x)) return none;
  if (sizes.empty() || sizes.size() > kMostParts)
    return site.fail(fmt::format("it has {} parts, and must have from 1 to {}", sizes.size(), kMostParts)), none;
  if (!site.all_within("a part", sizes, 1)) return none;
  return split_at(site, x, sizes, axis);
}
std::vector<Tensor> ModelBuilder::chunk(const Tensor& x, int64_t parts, int64_t axis, Place place) {
  Site site(*state_, "chunk", "", place);
  const bool sane = site.within("parts", parts, 1, kMostParts);
  const std::vector<Tensor> none(sane ? static_cast<size_t>(parts) : 1, state_->handle(kNoValue));
  if (!sane || !site.takes(x)) return none;
  const auto which = axis_of(site, x, axis);
  const auto extent = which ? site.extent(x, *which) : std::nullopt;
  if (!extent) return none;
  if (*extent % parts != 0)
    return site.fail(fmt::format("axis {} of its input {} cannot be parted evenly into {}", axis, site.type(x), parts)),
           none;
  return split_at(site, x, std::vector<int64_t>(static_cast<size_t>(parts), *extent / parts), axis);
}

Tensor ModelBuilder::slice(const Tensor& x, int64_t axis, int64_t begin, int64_t end, int64_t step, Place place) {
  Site site(*state_, "slice", "", place);
  if (!site.takes(x) || !axis_of(site, x, axis)) return state_->handle(kNoValue);
  if (step == 0) return site.fail("its step is 0");
  return site.node("Slice",
                   {x, site.integers({begin}), site.integers({end}), site.integers({axis}), site.integers({step})});
}
Tensor ModelBuilder::select(const Tensor& x, int64_t axis, int64_t position, Place place) {
  Site site(*state_, "select", "", place);
  if (!site.takes(x) || !axis_of(site, x, axis)) return state_->handle(kNoValue);
  return site.node("Gather", {x, site.integer(position)}, {{"axis", axis}});
}
Tensor ModelBuilder::gather(const Tensor& x, const Tensor& indices, int64_t axis, Place place) {
  Site site(*state_, "gather", "", place);
  if (!site.takes({x, indices})) return state_->handle(kNoValue);
  return site.node("Gather", {x, indices}, {{"axis", axis}});
}

}  // namespace pantoum
