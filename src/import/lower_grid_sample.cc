// GridSample: an image is read at computed places, as arithmetic on them and rows gathered; and AffineGrid, which makes
// such places. Gradients flow to the image and to the places, as PyTorch's do.
#include <fmt/format.h>

#include <array>

#include "import/integers.h"
#include "import/operators.h"

namespace pantoum::import {
namespace {

using ir::DType;
using ir::Kind;
using ir::Shape;
using ir::ValueId;

enum class Between { kNearest, kLinear, kCubic };
enum class Outside { kZeros, kBorder, kReflection };

struct Sampling {
  Between between = Between::kLinear;
  Outside outside = Outside::kZeros;
  bool corners = false;
  Shape image, places;  // [N,C,..] and [N,..]: of the input, and of the grid without its last dimension
  int64_t points = 1;
  DType index = DType::kI32;  // holds a row of all samples' elements
};

// What an axis has to do with a place: rows further along, and a weight; kNone: it is 1.
struct Tap {
  ValueId rows = ir::kNone, weight = ir::kNone;
};

// PyTorch's convolution by A = -0.75.
constexpr double kA = -0.75;

class Sampler {
 public:
  Sampler(Node& node, Sampling sampling) : node_(node), s_(std::move(sampling)) {}

  Result<ValueId> sample(ValueId x, ValueId grid);

 private:
  [[nodiscard]] Result<ValueId> coordinate(ValueId grid, size_t axis);
  [[nodiscard]] Result<ValueId> reflected(ValueId at, int64_t extent);
  [[nodiscard]] Result<ValueId> kept_inside(ValueId at, int64_t extent);
  [[nodiscard]] Result<ValueId> inside(ValueId at, int64_t extent);
  [[nodiscard]] Result<Tap> tap(ValueId at, ValueId weight, size_t axis);
  [[nodiscard]] Result<std::vector<Tap>> taps_of(ValueId at, size_t axis);
  [[nodiscard]] Result<std::vector<Tap>> cubic_taps(ValueId at, size_t axis);
  [[nodiscard]] Result<std::vector<Tap>> joined(const std::vector<Tap>& some, const std::vector<Tap>& more);
  [[nodiscard]] Result<ValueId> weighted(ValueId table, const Tap& tap);
  [[nodiscard]] Result<ValueId> rows_of_samples(ValueId rows);

  [[nodiscard]] int64_t extent(size_t axis) const { return s_.image[axis + 2]; }
  [[nodiscard]] Result<ValueId> floor(ValueId x) { return node_.op(Kind::k_round, {x}, {{0}, {}}); }
  [[nodiscard]] Result<ValueId> cubic(ValueId t, double a, double b, double c, double d);

  Node& node_;
  Sampling s_;
};

// The grid counts axes from the last; -1 and 1 are the image's edges, or the middles of its outermost elements.
Result<ValueId> Sampler::coordinate(ValueId grid, size_t axis) {
  const auto rank = static_cast<int64_t>(s_.image.size()) - 2;
  const std::vector<ir::TensorType> part{{DType::kF32, {s_.points, 1}}};
  const int64_t which = rank - 1 - static_cast<int64_t>(axis);
  PANTOUM_ASSIGN(ValueId at, node_.op(Kind::k_slice, {grid}, {{0, 1, which, 1}, {}}, part));
  PANTOUM_ASSIGN(at, node_.reshape(at, {s_.points}));
  const auto size = static_cast<double>(extent(axis));
  return node_.scale(at, s_.corners ? (size - 1) / 2 : size / 2, (size - 1) / 2);
}

// Back and forth between the edges.
Result<ValueId> Sampler::reflected(ValueId at, int64_t size) {
  const double least = s_.corners ? 0 : -0.5, span = static_cast<double>(s_.corners ? size - 1 : size);
  if (span == 0) return node_.scale(at, 0);
  PANTOUM_ASSIGN(ValueId far, node_.scale(at, 1, -least));
  PANTOUM_ASSIGN(far, node_.op(Kind::k_abs, {far}));
  PANTOUM_ASSIGN(ValueId turns, node_.scale(far, 1 / span));
  PANTOUM_ASSIGN(turns, floor(turns));
  PANTOUM_ASSIGN(ValueId whole, node_.scale(turns, span));
  PANTOUM_ASSIGN(const ValueId rest, node_.op(Kind::k_sub, {far, whole}));
  PANTOUM_ASSIGN(ValueId odd, node_.scale(turns, 0.5));
  PANTOUM_ASSIGN(odd, floor(odd));
  PANTOUM_ASSIGN(odd, node_.scale(odd, -2));
  PANTOUM_ASSIGN(odd, node_.op(Kind::k_add, {turns, odd}));
  PANTOUM_ASSIGN(ValueId back, node_.scale(rest, -2, span));
  PANTOUM_ASSIGN(back, node_.op(Kind::k_mul, {odd, back}));
  PANTOUM_ASSIGN(back, node_.op(Kind::k_add, {rest, back}));
  return node_.scale(back, 1, least);
}

Result<ValueId> Sampler::kept_inside(ValueId at, int64_t size) {
  if (s_.outside == Outside::kZeros) return at;
  if (s_.outside == Outside::kReflection) {
    PANTOUM_ASSIGN(at, reflected(at, size));
  }
  return node_.op(Kind::k_clip, {at}, {{}, {0, static_cast<double>(size - 1)}});
}

// 1 where an element is in the image, else 0.
Result<ValueId> Sampler::inside(ValueId at, int64_t size) {
  const auto bound = [&](float value) { return node_.builder().constant_f32(node_.label() + ".edge", {}, {value}); };
  PANTOUM_ASSIGN(const ValueId low, node_.op(Kind::k_compare, {at, bound(0)}, {{PT_COMPARE_GREATER_EQUAL}, {}}));
  PANTOUM_ASSIGN(const ValueId high,
                 node_.op(Kind::k_compare, {at, bound(static_cast<float>(size - 1))}, {{PT_COMPARE_LESS_EQUAL}, {}}));
  PANTOUM_ASSIGN(const ValueId both, node_.op(Kind::k_compare, {low, high}, {{PT_COMPARE_AND}, {}}));
  return node_.op(Kind::k_cast, {both}, {}, {{DType::kF32, {s_.points}}});
}

// An element's place along the axis, which is whole.
Result<Tap> Sampler::tap(ValueId at, ValueId weight, size_t axis) {
  if (s_.outside == Outside::kZeros) {
    PANTOUM_ASSIGN(const ValueId counts, inside(at, extent(axis)));
    if (weight != ir::kNone) {
      PANTOUM_ASSIGN(weight, node_.op(Kind::k_mul, {weight, counts}));
    } else {
      weight = counts;
    }
  }
  int64_t step = 1;
  for (size_t d = axis + 3; d < s_.image.size(); ++d) step *= s_.image[d];
  PANTOUM_ASSIGN(ValueId rows, node_.op(Kind::k_clip, {at}, {{}, {0, static_cast<double>(extent(axis) - 1)}}));
  PANTOUM_ASSIGN(rows, node_.op(Kind::k_cast, {rows}, {}, {{s_.index, {s_.points}}}));
  if (step != 1) {
    PANTOUM_ASSIGN(rows, node_.op(Kind::k_mul, {rows, whole_constant(node_, s_.index, {}, {step})}));
  }
  return Tap{rows, weight};
}

// ((a t + b) t + c) t + d
Result<ValueId> Sampler::cubic(ValueId t, double a, double b, double c, double d) {
  PANTOUM_ASSIGN(ValueId y, node_.scale(t, a, b));
  for (const double next : {c, d}) {
    PANTOUM_ASSIGN(y, node_.op(Kind::k_mul, {y, t}));
    PANTOUM_ASSIGN(y, node_.scale(y, 1, next));
  }
  return y;
}

Result<std::vector<Tap>> Sampler::cubic_taps(ValueId at, size_t axis) {
  PANTOUM_ASSIGN(const ValueId first, floor(at));
  PANTOUM_ASSIGN(const ValueId t, node_.op(Kind::k_sub, {at, first}));
  std::array<ValueId, 4> weights{};
  PANTOUM_ASSIGN(weights[0], cubic(t, kA, -2 * kA, kA, 0));
  PANTOUM_ASSIGN(weights[1], cubic(t, kA + 2, -(kA + 3), 0, 1));
  PANTOUM_ASSIGN(weights[2], cubic(t, -(kA + 2), 2 * kA + 3, -kA, 0));
  PANTOUM_ASSIGN(weights[3], cubic(t, -kA, kA, 0, 0));
  std::vector<Tap> taps;
  for (size_t which = 0; which < weights.size(); ++which) {
    PANTOUM_ASSIGN(ValueId place, node_.scale(first, 1, static_cast<double>(which) - 1));
    PANTOUM_ASSIGN(place, kept_inside(place, extent(axis)));
    PANTOUM_ASSIGN(const Tap made, tap(place, weights[which], axis));
    taps.push_back(made);
  }
  return taps;
}

Result<std::vector<Tap>> Sampler::taps_of(ValueId at, size_t axis) {
  if (s_.between == Between::kCubic) return cubic_taps(at, axis);
  PANTOUM_ASSIGN(at, kept_inside(at, extent(axis)));
  if (s_.between == Between::kNearest) {
    PANTOUM_ASSIGN(at, node_.op(Kind::k_round, {at}, {{2}, {}}));
    PANTOUM_ASSIGN(const Tap only, tap(at, ir::kNone, axis));
    return std::vector<Tap>{only};
  }
  PANTOUM_ASSIGN(const ValueId first, floor(at));
  PANTOUM_ASSIGN(const ValueId next, node_.scale(first, 1, 1));
  PANTOUM_ASSIGN(const ValueId t, node_.op(Kind::k_sub, {at, first}));
  PANTOUM_ASSIGN(const ValueId rest, node_.scale(t, -1, 1));
  PANTOUM_ASSIGN(const Tap before, tap(first, rest, axis));
  PANTOUM_ASSIGN(const Tap behind, tap(next, t, axis));
  return std::vector<Tap>{before, behind};
}

// Every tap of one axis with every tap of another.
Result<std::vector<Tap>> Sampler::joined(const std::vector<Tap>& some, const std::vector<Tap>& more) {
  std::vector<Tap> all;
  for (const Tap& a : some) {
    for (const Tap& b : more) {
      Tap both{ir::kNone, a.weight == ir::kNone ? b.weight : a.weight};
      PANTOUM_ASSIGN(both.rows, node_.op(Kind::k_add, {a.rows, b.rows}));
      if (a.weight != ir::kNone && b.weight != ir::kNone) {
        PANTOUM_ASSIGN(both.weight, node_.op(Kind::k_mul, {a.weight, b.weight}));
      }
      all.push_back(both);
    }
  }
  return all;
}

// Rows of one sample as rows of all.
Result<ValueId> Sampler::rows_of_samples(ValueId rows) {
  const int64_t samples = s_.image[0];
  int64_t elements = 1;
  for (size_t d = 2; d < s_.image.size(); ++d) elements *= s_.image[d];
  PANTOUM_ASSIGN(rows, node_.reshape(rows, {samples, s_.points / samples}));
  if (samples == 1) return rows;
  PANTOUM_TRY(node_.spend(samples));
  std::vector<int64_t> first(static_cast<size_t>(samples));
  for (int64_t sample = 0; sample < samples; ++sample) first[static_cast<size_t>(sample)] = sample * elements;
  return node_.op(Kind::k_add, {rows, whole_constant(node_, s_.index, {samples, 1}, first)});
}

Result<ValueId> Sampler::weighted(ValueId table, const Tap& tap) {
  const int64_t samples = s_.image[0];
  PANTOUM_ASSIGN(const ValueId rows, rows_of_samples(tap.rows));
  PANTOUM_ASSIGN(const ValueId read, node_.op(Kind::k_gather, {table, rows}, {{0}, {}}));
  if (tap.weight == ir::kNone) return read;
  PANTOUM_ASSIGN(const ValueId weight, node_.reshape(tap.weight, {samples, s_.points / samples, 1}));
  return node_.op(Kind::k_mul, {read, weight});
}

// Elements are rows of channels; those that taps name are added up.
Result<ValueId> Sampler::sample(ValueId x, ValueId grid) {
  const int64_t samples = s_.image[0], channels = s_.image[1], elements = node_.type(0).elements() / samples / channels;
  PANTOUM_ASSIGN(ValueId table, node_.reshape(x, {samples, channels, elements}));
  PANTOUM_ASSIGN(table, node_.transpose(table, {0, 2, 1}));
  PANTOUM_ASSIGN(table, node_.reshape(table, {samples * elements, channels}));
  PANTOUM_ASSIGN(grid, node_.reshape(grid, {s_.points, static_cast<int64_t>(s_.image.size()) - 2}));
  std::vector<Tap> taps;
  for (size_t axis = 0; axis + 2 < s_.image.size(); ++axis) {
    PANTOUM_ASSIGN(const ValueId at, coordinate(grid, axis));
    PANTOUM_ASSIGN(std::vector<Tap> of_axis, taps_of(at, axis));
    if (axis > 0) {
      PANTOUM_ASSIGN(of_axis, joined(taps, of_axis));
    }
    taps = std::move(of_axis);
  }
  ValueId sum = ir::kNone;
  for (const Tap& tap : taps) {
    PANTOUM_ASSIGN(const ValueId part, weighted(table, tap));
    if (sum == ir::kNone) {
      sum = part;
    } else {
      PANTOUM_ASSIGN(sum, node_.op(Kind::k_add, {sum, part}));
    }
  }
  PANTOUM_ASSIGN(sum, node_.transpose(sum, {0, 2, 1}));
  Shape shape{samples, channels};
  shape.insert(shape.end(), s_.places.begin() + 1, s_.places.end());
  return node_.reshape(sum, shape);
}

// Names of opset 16, and of 20.
Result<void> read_modes(Node& node, Sampling& sampling) {
  const std::string mode = node.attributes().text("mode", "linear");
  if (mode == "nearest") {
    sampling.between = Between::kNearest;
  } else if (mode == "bicubic" || mode == "cubic") {
    sampling.between = Between::kCubic;
  } else if (mode != "bilinear" && mode != "linear") {
    return fail("E0211", fmt::format("its mode is '{}'", mode));
  }
  const std::string padding = node.attributes().text("padding_mode", "zeros");
  if (padding == "border") {
    sampling.outside = Outside::kBorder;
  } else if (padding == "reflection") {
    sampling.outside = Outside::kReflection;
  } else if (padding != "zeros") {
    return fail("E0211", fmt::format("its padding_mode is '{}'", padding));
  }
  sampling.corners = node.attributes().integer("align_corners", 0) != 0;
  return {};
}

Result<Sampling> read_sampling(Node& node) {
  Sampling sampling;
  PANTOUM_TRY(read_modes(node, sampling));
  sampling.image = node.shape(0);
  sampling.places = node.shape(1);
  const size_t rank = sampling.image.size();
  const bool fits = rank >= 3 && sampling.places.size() == rank && sampling.places[0] == sampling.image[0] &&
                    sampling.places.back() == static_cast<int64_t>(rank) - 2;
  if (!fits) {
    return fail("E0211", fmt::format("its grid {} does not fit its input {}", ir::to_text(sampling.places),
                                     ir::to_text(sampling.image)));
  }
  if (rank > 5 || (rank > 4 && sampling.between == Between::kCubic)) {
    return unsupported("it samples too many dimensions of space", "cubic up to two, the others up to three");
  }
  sampling.places.pop_back();
  for (const int64_t extent : sampling.places) sampling.points *= extent;
  const int64_t rows = node.type(0).elements() / sampling.image[1];
  if (rows > INT32_MAX) sampling.index = DType::kI64;
  return sampling;
}

Result<void> lower_grid_sample(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(const ValueId grid, node.real(1));
  PANTOUM_ASSIGN(Sampling sampling, read_sampling(node));
  PANTOUM_ASSIGN(const ValueId y, Sampler(node, std::move(sampling)).sample(x, grid));
  node.set(0, y);
  return {};
}

// Homogeneous places of all elements, the last axis first: [elements, axes + 1].
std::vector<float> base_places(const Shape& space, bool corners) {
  int64_t elements = 1;
  for (const int64_t extent : space) elements *= extent;
  std::vector<float> places;
  for (int64_t element = 0; element < elements; ++element) {
    int64_t rest = element;
    for (size_t d = space.size(); d-- > 0;) {
      const auto at = static_cast<double>(rest % space[d]), size = static_cast<double>(space[d]);
      rest /= space[d];
      const double between = size > 1 ? 2 * at / (size - 1) - 1 : 0;
      places.push_back(static_cast<float>(corners ? between : (2 * at + 1) / size - 1));
    }
    places.push_back(1);
  }
  return places;
}

// The base places times each sample's matrix.
Result<void> lower_affine_grid(Node& node) {
  PANTOUM_ASSIGN(const ValueId theta, node.real(0));
  PANTOUM_ASSIGN(const Shape size, node.integers(1, "size"));
  const Shape matrices = node.shape(0);
  const auto rank = static_cast<int64_t>(size.size()) - 2;
  if (rank < 1 || matrices != Shape{size[0], rank, rank + 1}) {
    return fail("E0211",
                fmt::format("its matrices {} do not fit its size {}", ir::to_text(matrices), ir::to_text(size)));
  }
  const Shape space(size.begin() + 2, size.end());
  const std::optional<int64_t> elements = count_elements(space);
  if (!elements || *elements < 1) return fail("E0211", fmt::format("its size is {}", ir::to_text(size)));
  PANTOUM_TRY(node.spend(*elements * (rank + 1)));
  const ValueId base = node.builder().constant_f32(node.label() + ".places", {*elements, rank + 1},
                                                   base_places(space, node.attributes().integer("align_corners", 0)));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_matmul, {base, theta}, {{0, 1}, {}}));
  Shape shape{size[0]};
  shape.insert(shape.end(), space.begin(), space.end());
  shape.push_back(rank);
  PANTOUM_ASSIGN(y, node.reshape(y, shape));
  node.set(0, y);
  return {};
}

constexpr std::array kGridOperators = {
    OperatorEntry{"GridSample", lower_grid_sample,
                  "transpose slice scale abs round sub clip compare cast mul gather add",
                  "one to three dimensions of space, cubic up to two"},
    OperatorEntry{"AffineGrid", lower_affine_grid, "matmul", "constant size"}};

}  // namespace

std::span<const OperatorEntry> grid_operators() {
  return kGridOperators;
}

}  // namespace pantoum::import
