#include "layers/initial_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace pantoum::layers {
namespace {

// FNV-1a: a parameter's own stream of numbers.
uint64_t stream_of(uint64_t seed, const std::string& name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3u;
  return base::Random(hash ^ (seed * 0xD1B54A32D192ED03u)).next();
}

// A random number in [0, 1) with 53 random bits.
double uniform(base::Random& random) {
  return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

float between(base::Random& random, double least, double most) {
  return static_cast<float>(least + (most - least) * uniform(random));
}

// The natural logarithm of x > 0 by additions, products and divisions alone, which are the same everywhere; libm's is not.
double logarithm(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // in [0.5, 1)
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1), square = s * s;
  double sum = 0;
  for (int power = 25; power >= 1; power -= 2) sum = sum * square + 1.0 / power;
  return 2 * s * sum + exponent * 0.69314718055994531;
}

// Marsaglia's polar method.
double normal(base::Random& random) {
  for (;;) {
    const double x = 2 * uniform(random) - 1, y = 2 * uniform(random) - 1, square = x * x + y * y;
    if (square > 0 && square < 1) return x * std::sqrt(-2 * logarithm(square) / square);
  }
}

double bound_of(const Initial& initial, const Shape& shape) {
  const Fans fans = fans_of(shape);
  return std::sqrt(6 / (initial.kind == Initial::Kind::xavier_uniform ? fans.in + fans.out : fans.in));
}

}  // namespace

Fans fans_of(const Shape& shape) {
  if (shape.size() < 2) return {};
  double window = 1;
  for (size_t d = 2; d < shape.size(); ++d) window *= static_cast<double>(shape[d]);
  return {static_cast<double>(shape[1]) * window, static_cast<double>(shape[0]) * window};
}

Initial uniform_within(double bound) {
  return Initial::uniform(-bound, bound);
}

std::string problem_of(const Initial& initial, int64_t elements) {
  constexpr double kMost = 3.4e38;
  const bool finite = std::abs(initial.first) <= kMost && std::abs(initial.second) <= kMost;  // false of a NaN
  if (!finite) return "its initial values are not finite";
  if (initial.kind == Initial::Kind::uniform && initial.first > initial.second)
    return fmt::format("its initial values begin at {} and end at {}", initial.first, initial.second);
  if (initial.kind == Initial::Kind::normal && initial.second < 0)
    return fmt::format("the deviation of its initial values is {}", initial.second);
  if (initial.kind != Initial::Kind::values) return {};
  const auto given = static_cast<int64_t>(initial.elements.size());
  if (given != elements) return fmt::format("{} initial values are given for {} elements", given, elements);
  const bool all = std::ranges::all_of(initial.elements, [](float x) { return std::isfinite(x); });
  return all ? "" : "an initial value is not finite";
}

void write_first_values(const Initial& initial, const Shape& shape, uint64_t seed, const std::string& name,
                        std::span<float> elements) {
  base::Random random(stream_of(seed, name));
  const auto fill = [&](const auto& next) { std::generate(elements.begin(), elements.end(), next); };
  switch (initial.kind) {
    case Initial::Kind::values:
      std::ranges::copy(initial.elements, elements.begin());
      return;
    case Initial::Kind::of_layer:
    case Initial::Kind::constant:
      return fill([&] { return static_cast<float>(initial.first); });
    case Initial::Kind::normal:
      return fill([&] { return static_cast<float>(initial.first + initial.second * normal(random)); });
    case Initial::Kind::uniform:
      return fill([&] { return between(random, initial.first, initial.second); });
    case Initial::Kind::kaiming_uniform:
    case Initial::Kind::xavier_uniform:
      const double bound = bound_of(initial, shape);
      return fill([&] { return between(random, -bound, bound); });
  }
}

}  // namespace pantoum::layers
