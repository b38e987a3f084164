#include "import/fourier_basis.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace pantoum::import {
namespace {

constexpr size_t kLeastRows = 6, kLeastPlaces = 8;
constexpr double kAllowed = 1e-5;  // of the energy

// Every `stride`-th row from `first` on, `count` of them.
struct Rows {
  size_t first, count, stride;
};

// A matrix whose rows are filters.
struct Filters {
  const std::byte* elements;
  size_t rows, places, row_stride, place_stride;

  [[nodiscard]] double at(size_t row, size_t place) const {
    float element = 0;
    std::memcpy(&element, elements + (row * row_stride + place * place_stride) * sizeof element, sizeof element);
    return element;
  }

  // The factor of the recurrence at a place: false where it does not hold.
  [[nodiscard]] bool find_factor(const Rows& of, size_t place, double& factor) const {
    const auto element = [&](size_t row) { return at(of.first + row * of.stride, place); };
    double product = 0, energy = 0, sums = 0;
    for (size_t row = 2; row + 2 < of.count; ++row) {
      const double sum = element(row - 1) + element(row + 1);
      product += sum * element(row);
      energy += element(row) * element(row);
      sums += sum * sum;
    }
    factor = energy > 0 ? product / energy : 0;
    return sums - factor * product <= kAllowed * (energy + sums) && std::abs(factor) <= 2 + 1e-2;
  }

  // Most matrices are none at the first look.
  [[nodiscard]] bool may_be_waves(const Rows& of) const {
    constexpr size_t kLooks = 16;
    size_t hold = 0;
    double factor = 0;
    for (size_t look = 0; look < kLooks; ++look)
      hold += find_factor(of, (2 * look + 1) * places / (2 * kLooks), factor);
    return hold >= kLooks / 4;
  }

  [[nodiscard]] bool are_waves(const Rows& of) const {
    if (of.count < kLeastRows || !may_be_waves(of)) return false;
    std::vector<double> energies(places, 0), factors;
    for (size_t row = 0; row < of.count; ++row)
      for (size_t place = 0; place < places; ++place) {
        const double element = at(of.first + row * of.stride, place);
        energies[place] += element * element;
      }
    const double most = *std::ranges::max_element(energies);
    if (!std::isfinite(most)) return false;
    for (size_t place = 0; place < places; ++place) {
      if (energies[place] <= 1e-6 * most) continue;  // the window is closed there
      double factor = 0;
      if (!find_factor(of, place, factor)) return false;
      factors.push_back(factor);
    }
    std::ranges::sort(factors);
    size_t distinct = 1;
    for (size_t at = 1; at < factors.size(); ++at) distinct += factors[at] - factors[at - 1] > 1e-4 ? 1 : 0;
    return factors.size() >= kLeastPlaces / 2 && distinct >= std::max<size_t>(3, factors.size() / 4);
  }

  // One kind of waves, cosines in front of sines, or both in turn.
  [[nodiscard]] bool is_basis() const {
    if (places < kLeastPlaces || rows < kLeastRows) return false;
    if (are_waves({0, rows, 1})) return true;
    for (size_t seam = rows / 2 - 1; seam <= rows / 2 + 1; ++seam)
      if (are_waves({0, seam, 1}) && are_waves({seam, rows - seam, 1})) return true;
    return are_waves({0, rows - rows / 2, 2}) && are_waves({1, rows / 2, 2});
  }
};

}  // namespace

bool is_fourier_basis(const Tensor& tensor) {
  const Shape& shape = tensor.type.shape;
  if (shape.size() < 2 || tensor.type.dtype != DType::kF32 || tensor.type.elements() <= 0) return false;
  if (shape.size() > 2 && shape[1] != 1) return false;  // a wave is of one channel
  const auto all = static_cast<size_t>(tensor.type.elements()), rows = static_cast<size_t>(shape[0]);
  const size_t places = all / rows;
  if (tensor.data == nullptr || tensor.data->size() < all * sizeof(float)) return false;
  const std::byte* const elements = tensor.data->data();
  return Filters{elements, rows, places, places, 1}.is_basis() ||
         (shape.size() == 2 && Filters{elements, places, rows, 1, places}.is_basis());
}

}  // namespace pantoum::import
