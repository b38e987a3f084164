// From a gradient to the update: the mean over micro-batches, clipping, the optimizer.
#pragma once

#include <string>
#include <vector>

#include "autodiff/autodiff.h"
#include "ir/builder.h"

namespace pantoum::autodiff {

// Takes each gradient as soon as it is complete. What needs no other gradient is appended at once, so that gradients
// need not live together; clipping by the norm of all holds them back until `finish`.
class GradientChain {
 public:
  GradientChain(ir::Builder& builder, const TrainingOptions& options) : builder_(builder), options_(options) {}

  void take(ir::ValueId parameter, ir::ValueId gradient);
  // Call it after the last gradient.
  void finish();

 private:
  struct Held {
    ir::ValueId parameter, gradient, norm;
  };
  [[nodiscard]] ir::ValueId mean_of(const std::string& name, ir::ValueId parameter, ir::ValueId gradient);
  [[nodiscard]] ir::ValueId norm_of_all();

  ir::Builder& builder_;
  const TrainingOptions& options_;
  std::vector<Held> held_;
};

// The neutral element of addition: x + kNothing has the bits of x for every x. (-0 + 0 would be 0.)
inline constexpr double kNothing = -0.0;

// The state that a parameter's gradients are added to: "accumulated.<p>".
[[nodiscard]] ir::ValueId accumulator_of(ir::Builder& builder, ir::ValueId parameter);

}  // namespace pantoum::autodiff
