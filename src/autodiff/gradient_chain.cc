#include "autodiff/gradient_chain.h"

#include <fmt/format.h>

#include "autodiff/update.h"
#include "pantoum/pantoum.h"

namespace pantoum::autodiff {

using ir::Kind;
using ir::ValueId;

namespace {

constexpr size_t kMostNorms = PT_MAX_OPERANDS - 1;  // one operand is the result

}  // namespace

ValueId accumulator_of(ir::Builder& builder, ValueId parameter) {
  const ir::Value& value = builder.graph().value(parameter);
  const std::string name = "accumulated." + value.name;
  const ir::TensorType type = value.type;
  return builder.state(name, type);
}

// The mean over all micro-batches. With split_update `gradient` is their sum already.
ValueId GradientChain::mean_of(const std::string& name, ValueId parameter, ValueId gradient) {
  if (options_.accumulate == 1) return gradient;
  const double part = 1 / static_cast<double>(options_.accumulate);
  if (options_.split_update) return builder_.op(Kind::k_scale, name + ".mean", {gradient}, {{}, {part, kNothing}});
  const ValueId sum = accumulator_of(builder_, parameter);
  const std::vector<ValueId> made = builder_.add(Kind::k_accumulated, name + ".mean", {sum, gradient}, {{}, {part}});
  if (builder_.error()) return gradient;
  succeed(builder_, sum, made[1]);
  return made[0];
}

void GradientChain::take(ValueId parameter, ValueId gradient) {
  const std::string name = builder_.graph().value(parameter).name;
  gradient = mean_of(name, parameter, gradient);
  if (builder_.error()) return;
  if (const auto limit = options_.clip_value)
    gradient = builder_.op(Kind::k_clip, name + ".clip_value", {gradient}, {{}, {-*limit, *limit}});
  if (options_.clip_norm)
    held_.push_back({parameter, gradient, builder_.op(Kind::k_norm, name + ".norm", {gradient})});
  else
    append_update(builder_, options_, parameter, gradient);
}

// The norm of the norms, in groups of as many as one op can read.
ValueId GradientChain::norm_of_all() {
  std::vector<ValueId> norms;
  for (const Held& held : held_) norms.push_back(held.norm);
  while (norms.size() > 1) {
    std::vector<ValueId> groups;
    for (size_t begin = 0; begin < norms.size(); begin += kMostNorms) {
      const size_t end = std::min(begin + kMostNorms, norms.size());
      groups.push_back(
          builder_.op(Kind::k_norm, "gradients.norm",
                      {norms.begin() + static_cast<ptrdiff_t>(begin), norms.begin() + static_cast<ptrdiff_t>(end)}));
    }
    norms = std::move(groups);
  }
  return norms.front();
}

void GradientChain::finish() {
  if (held_.empty()) return;
  const ValueId norm = norm_of_all();
  for (const Held& held : held_) {
    const std::string name = builder_.graph().value(held.parameter).name;
    const ValueId clipped =
        builder_.op(Kind::k_clip_norm, name + ".clip_norm", {held.gradient, norm}, {{}, {*options_.clip_norm}});
    append_update(builder_, options_, held.parameter, clipped);
  }
}

}  // namespace pantoum::autodiff
