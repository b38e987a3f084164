// First values of parameters: the same on every machine, by the seed and the parameter's name alone.
#pragma once

#include <span>
#include <string>

#include "layers/state.h"

namespace pantoum::layers {

// The number of inputs of one output and of outputs of one input, as PyTorch counts them from the shape alone.
struct Fans {
  double in = 1, out = 1;
};
[[nodiscard]] Fans fans_of(const Shape& shape);

// Why an initial value is none for a tensor of so many elements; "" where it is one.
[[nodiscard]] std::string problem_of(const Initial& initial, int64_t elements);

// The elements of a tensor of the shape. `initial` has no problem; one that is left to the layer gives zeros.
void write_first_values(const Initial& initial, const Shape& shape, uint64_t seed, const std::string& name,
                        std::span<float> elements);

[[nodiscard]] Initial uniform_within(double bound);

}  // namespace pantoum::layers
