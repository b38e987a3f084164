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

  // Parses a formula. E0117: the text has an unknown word, is not a formula, is too long or too deeply nested, or contains neither energy nor time;
  // the error has the place.
  static Result<ObjectiveExpression> parse(const std::string& text, const std::string& where);

  // Returns the value; NaN if the formula has no value (a division by 0).
  Slope at(const Predicted& step) const;
  const std::string& text() const { return text_; }

  // Returns the objective of a question that is equivalent to the formula: energy, time, their product, or a sum with weights that are not negative
  // (an added number does not matter). nullopt: there is no equivalent objective.
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
