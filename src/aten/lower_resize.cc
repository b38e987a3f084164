// Resizing of images, and reading them at computed places: ONNX's Resize and GridSample.
#include <array>

#include "aten/operators.h"

namespace pantoum::aten {
namespace {

using ir::DType;
using ir::Shape;
using ir::ValueId;

struct Resizing {
  const char* mode = "nearest";
  const char* coordinates = "asymmetric";
  const char* rounding = "floor";
  bool antialias = false;
};

// The factors of `space` dimensions: one list, or one argument each behind `first`; empty: none are given.
Result<std::vector<double>> factors_of(Node& node, size_t first, size_t space, bool listed) {
  std::vector<double> factors;
  if (listed) {
    const Arg* arg = node.arg({first, "scale_factors"});
    const Arg::List* items = arg == nullptr ? nullptr : arg->as<Arg::List>();
    if (items == nullptr) return factors;
    for (const Arg& item : *items) {
      if (const double* real = item.as<double>()) factors.push_back(*real);
      if (const int64_t* whole = item.as<int64_t>()) factors.push_back(static_cast<double>(*whole));
    }
    return factors;
  }
  constexpr std::array<std::array<const char*, 3>, 3> kNames = {
      {{"scales", "", ""}, {"scales_h", "scales_w", ""}, {"scales_d", "scales_h", "scales_w"}}};
  for (size_t d = 0; d < space; ++d) {
    PANTOUM_ASSIGN(const std::optional<double> factor, node.number({first + d, kNames.at(space - 1).at(d)}));
    if (factor) factors.push_back(*factor);
  }
  return factors;
}

// To the captured size; by the factors, where all are given, as PyTorch reads the source then.
Result<void> resize(Node& node, const Resizing& how, const std::vector<double>& factors) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  const Shape to = node.output().shape;
  if (to.size() < 3) return fail("E0211", "it has no dimensions of space");
  const size_t space = to.size() - 2;
  std::vector<ValueId> inputs = {x, ir::kNone, ir::kNone, ir::kNone};
  if (factors.size() == space) {
    std::vector<double> all = {1, 1};
    all.insert(all.end(), factors.begin(), factors.end());
    inputs[2] = node.constant(DType::kF32, {static_cast<int64_t>(all.size())}, all);
    inputs.pop_back();
  } else {
    inputs[3] = node.whole_constant(DType::kI64, {static_cast<int64_t>(to.size())}, to);
  }
  PANTOUM_ASSIGN(const std::vector<ValueId> y,
                 node.onnx("Resize", inputs,
                           {{"mode", std::string(how.mode)},
                            {"coordinate_transformation_mode", std::string(how.coordinates)},
                            {"nearest_mode", std::string(how.rounding)},
                            {"antialias", int64_t{how.antialias}},
                            {"exclude_outside", int64_t{how.antialias}},
                            {"cubic_coeff_a", how.antialias ? -0.5 : -0.75}}));
  return node.set(0, y[0]);
}

bool is_listed(const Node& node) {
  return node.call().op.ends_with(".vec");
}

template <size_t kSpace, bool kExact>
Result<void> lower_nearest(Node& node) {
  PANTOUM_ASSIGN(const std::vector<double> factors, factors_of(node, 2, kSpace, is_listed(node)));
  return resize(node, kExact ? Resizing{.coordinates = "half_pixel", .rounding = "round_prefer_ceil"} : Resizing{},
                factors);
}

template <size_t kSpace, bool kCubic, bool kAntialias>
Result<void> lower_smooth(Node& node) {
  PANTOUM_ASSIGN(const bool corners, node.boolean({2, "align_corners"}, false));
  PANTOUM_ASSIGN(std::vector<double> factors, factors_of(node, 3, kSpace, is_listed(node)));
  if (corners) factors.clear();
  return resize(node,
                {.mode = kCubic ? "cubic" : "linear",
                 .coordinates = corners ? "align_corners" : "half_pixel",
                 .antialias = kAntialias},
                factors);
}

Result<void> lower_grid_sample(Node& node) {
  constexpr std::array kModes = {"linear", "nearest", "cubic"};
  constexpr std::array kPaddings = {"zeros", "border", "reflection"};
  PANTOUM_ASSIGN(const ValueId x, node.real({0, "input"}));
  PANTOUM_ASSIGN(const ValueId grid, node.real({1, "grid"}));
  PANTOUM_ASSIGN(const int64_t mode, node.integer({2, "interpolation_mode"}, 0));
  PANTOUM_ASSIGN(const int64_t padding, node.integer({3, "padding_mode"}, 0));
  PANTOUM_ASSIGN(const bool corners, node.boolean({4, "align_corners"}, false));
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) return fail("E0211", "its mode is unknown");
  PANTOUM_ASSIGN(const std::vector<ValueId> y,
                 node.onnx("GridSample", {x, grid},
                           {{"mode", std::string(kModes.at(static_cast<size_t>(mode)))},
                            {"padding_mode", std::string(kPaddings.at(static_cast<size_t>(padding)))},
                            {"align_corners", int64_t{corners}}}));
  return node.set(0, y[0]);
}

constexpr std::array kResizing = {OperatorEntry{"upsample_nearest1d.default", lower_nearest<1, false>},
                                  OperatorEntry{"upsample_nearest1d.vec", lower_nearest<1, false>},
                                  OperatorEntry{"upsample_nearest2d.default", lower_nearest<2, false>},
                                  OperatorEntry{"upsample_nearest2d.vec", lower_nearest<2, false>},
                                  OperatorEntry{"upsample_nearest3d.default", lower_nearest<3, false>},
                                  OperatorEntry{"upsample_nearest3d.vec", lower_nearest<3, false>},
                                  OperatorEntry{"_upsample_nearest_exact1d.default", lower_nearest<1, true>},
                                  OperatorEntry{"_upsample_nearest_exact2d.default", lower_nearest<2, true>},
                                  OperatorEntry{"_upsample_nearest_exact2d.vec", lower_nearest<2, true>},
                                  OperatorEntry{"_upsample_nearest_exact3d.default", lower_nearest<3, true>},
                                  OperatorEntry{"upsample_linear1d.default", lower_smooth<1, false, false>},
                                  OperatorEntry{"upsample_linear1d.vec", lower_smooth<1, false, false>},
                                  OperatorEntry{"upsample_bilinear2d.default", lower_smooth<2, false, false>},
                                  OperatorEntry{"upsample_bilinear2d.vec", lower_smooth<2, false, false>},
                                  OperatorEntry{"upsample_trilinear3d.default", lower_smooth<3, false, false>},
                                  OperatorEntry{"upsample_trilinear3d.vec", lower_smooth<3, false, false>},
                                  OperatorEntry{"upsample_bicubic2d.default", lower_smooth<2, true, false>},
                                  OperatorEntry{"upsample_bicubic2d.vec", lower_smooth<2, true, false>},
                                  OperatorEntry{"_upsample_bilinear2d_aa.default", lower_smooth<2, false, true>},
                                  OperatorEntry{"_upsample_bilinear2d_aa.vec", lower_smooth<2, false, true>},
                                  OperatorEntry{"_upsample_bicubic2d_aa.default", lower_smooth<2, true, true>},
                                  OperatorEntry{"_upsample_bicubic2d_aa.vec", lower_smooth<2, true, true>},
                                  OperatorEntry{"grid_sampler_2d.default", lower_grid_sample},
                                  OperatorEntry{"grid_sampler_3d.default", lower_grid_sample},
                                  OperatorEntry{"grid_sampler.default", lower_grid_sample}};

}  // namespace

std::span<const OperatorEntry> resize_operators() {
  return kResizing;
}

}  // namespace pantoum::aten
