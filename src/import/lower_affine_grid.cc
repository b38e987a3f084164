// AffineGrid: the positions of an image's elements, in [-1, 1], under an affine map for every sample.
#include <array>

#include "import/operators.h"

namespace pantoum::import {
namespace {

using ir::Shape;
using ir::ValueId;

// Of element `at` of `extent`: the corners' centres are -1 and 1 where they are aligned, else the corners' outer edges.
double position(int64_t at, int64_t extent, bool aligned) {
  if (aligned) return extent == 1 ? 0 : -1 + 2 * static_cast<double>(at) / static_cast<double>(extent - 1);
  return (2 * static_cast<double>(at) + 1) / static_cast<double>(extent) - 1;
}

// [elements, dimensions + 1]: the last dimension of space first, and a 1.
Result<ValueId> base_grid(Node& node, const Shape& spatial, bool aligned) {
  const auto elements = count_elements(spatial);
  if (!elements || *elements < 1) return fail("E0211", "its size is out of range");
  const size_t width = spatial.size() + 1;
  PANTOUM_TRY(node.spend(*elements * static_cast<int64_t>(width)));
  std::vector<float> grid;
  for (int64_t element = 0; element < *elements; ++element) {
    int64_t rest = element;
    for (size_t d = spatial.size(); d-- > 0; rest /= spatial[d])
      grid.push_back(static_cast<float>(position(rest % spatial[d], spatial[d], aligned)));
    grid.push_back(1.0F);
  }
  return node.builder().constant_f32(node.label() + ".grid", {*elements, static_cast<int64_t>(width)}, grid);
}

Result<void> lower_affine_grid(Node& node) {
  PANTOUM_ASSIGN(const ValueId theta, node.real(0));
  PANTOUM_ASSIGN(const Shape size, node.integers(1, "size"));
  const auto dimensions = static_cast<int64_t>(size.size()) - 2;
  if ((dimensions != 2 && dimensions != 3) || node.shape(0) != Shape{size[0], dimensions, dimensions + 1})
    return fail("E0211", "its maps do not fit its size");
  const bool aligned = node.attributes().integer("align_corners", 0) != 0;
  PANTOUM_ASSIGN(const ValueId grid, base_grid(node, Shape(size.begin() + 2, size.end()), aligned));
  PANTOUM_ASSIGN(ValueId y, node.op(ir::Kind::k_matmul, {grid, theta}, {{0, 1}, {}}));
  Shape shape{size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(dimensions);
  PANTOUM_ASSIGN(y, node.reshape(y, shape));
  node.set(0, y);
  return {};
}

constexpr std::array kAffineGridOperators = {OperatorEntry{"AffineGrid", lower_affine_grid, "matmul", "constant size"}};

}  // namespace

std::span<const OperatorEntry> affine_grid_operators() {
  return kAffineGridOperators;
}

}  // namespace pantoum::import
