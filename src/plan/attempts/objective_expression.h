// A user's objective as a formula: "0.6*energy + 0.4*time".
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "plan/simulate/indices.h"

namespace pantoum::plan {

// A formula of the step's energy in joules, time in seconds and power in watts (energy / time), with numbers, + - * / ^,
// parentheses, and a minus sign before anything.
class ObjectiveExpression {
 public:
  struct Slope {  // the value at a step, and what one more joule and one more second add to it
    double value = 0, per_joule = 0, per_second = 0;
  };
  struct Node;

  // E0117 with the place and what is wrong there: words that are none of the three, what is no formula, one that is
  // longer or deeper than any that is meant, one in which neither energy nor time stands.
  static Result<ObjectiveExpression> parse(const std::string& text, const std::string& where);

  // NaN where it has no value (a division by 0).
  Slope at(const Predicted& step) const;
  const std::string& text() const { return text_; }

  // The question's objective that asks for just this: energy, time, their product, or a sum by weights, none negative
  // (a number that is added changes nothing). None: any other formula.
  struct Exact {
    Objective objective = Objective::kEnergy;
    Weights weights = {};
  };
  std::optional<Exact> exact() const;

 private:
  std::string text_;
  std::shared_ptr<const Node> root_;
};

}  // namespace pantoum::plan
