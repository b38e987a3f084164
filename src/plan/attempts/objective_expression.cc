#include "plan/attempts/objective_expression.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "base/foreign_text.h"

namespace pantoum::plan {

// A number, a name, or an operator with two operands.
struct ObjectiveExpression::Node {
  char what = '0';  // '0' a number, 'e' energy, 't' time, 'p' power, or + - * / ^
  double number = 0;
  std::shared_ptr<const Node> left, right;
};

namespace {

using Node = ObjectiveExpression::Node;
using Slope = ObjectiveExpression::Slope;
using NodePtr = std::shared_ptr<const Node>;

constexpr size_t kMostText = 1000;
constexpr int kMostDepth = 100;

constexpr double kLeastNumber = 1e-30, kMostNumber = 1e30;

bool is_usual(double number) {
  return std::abs(number) >= kLeastNumber && std::abs(number) <= kMostNumber;
}

class Parser {
 public:
  Parser(const std::string& text, const std::string& where) : text_(text), where_(where) {}

  Result<NodePtr> run() {
    if (text_.size() > kMostText) return wrong(fmt::format("is longer than {} characters", kMostText));
    PANTOUM_ASSIGN(NodePtr all, sum());
    if (next() != '\0' || at_ < text_.size()) return wrong("goes on where it should end");
    return all;
  }

 private:
  char next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  Failure wrong(const std::string& what) const {
    return fail("E0117",
                fmt::format("the objective '{}' {} (character {})",
                            base::one_line(text_.substr(0, std::min(text_.size(), size_t{80}))), what, at_ + 1),
                where_, "write it with energy, time, power, numbers, + - * / ^ and parentheses: 0.6*energy + 0.4*time");
  }

  static NodePtr node(char what, NodePtr left, NodePtr right) {
    return std::make_shared<Node>(Node{what, 0, std::move(left), std::move(right)});
  }
  static NodePtr number(double value) { return std::make_shared<Node>(Node{'0', value, nullptr, nullptr}); }

  // Operands of the operators `first` and `second`, taken together from the left.
  Result<NodePtr> from_left(char first, char second, Result<NodePtr> (Parser::*operand)()) {
    PANTOUM_ASSIGN(NodePtr left, (this->*operand)());
    while (next() == first || next() == second) {
      const char what = text_[at_++];
      PANTOUM_ASSIGN(NodePtr right, (this->*operand)());
      left = node(what, std::move(left), std::move(right));
    }
    return left;
  }

  // Each of these begins one level below the one that calls it: depth is bounded where parentheses or signs begin.
  Result<NodePtr> sum() { return from_left('+', '-', &Parser::product); }
  Result<NodePtr> product() { return from_left('*', '/', &Parser::signed_power); }

  // The part that follows a sign, a '^' or a '('.
  Result<NodePtr> nested(Result<NodePtr> (Parser::*part)()) {
    if (++depth_ > kMostDepth) return wrong("is nested too deep");
    ++at_;
    PANTOUM_ASSIGN(NodePtr inner, (this->*part)());
    --depth_;
    return inner;
  }

  Result<NodePtr> signed_power() {
    if (next() != '-') return power();
    PANTOUM_ASSIGN(NodePtr of, nested(&Parser::signed_power));
    return node('-', number(0), std::move(of));
  }

  // A power groups from the right: a^b^c is a^(b^c).
  Result<NodePtr> power() {
    PANTOUM_ASSIGN(NodePtr base, atom());
    if (next() != '^') return base;
    PANTOUM_ASSIGN(NodePtr exponent, nested(&Parser::signed_power));
    return node('^', std::move(base), std::move(exponent));
  }

  Result<NodePtr> atom() {
    const char first = next();
    if (first == '(') {
      PANTOUM_ASSIGN(NodePtr inner, nested(&Parser::sum));
      if (next() != ')') return wrong("lacks a ')'");
      ++at_;
      return inner;
    }
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '.') return literal();
    if (std::isalpha(static_cast<unsigned char>(first)) != 0) return name();
    return wrong(first == '\0' ? "ends too early" : "has something here that is no number and no name");
  }

  Result<NodePtr> literal() {
    char* end = nullptr;
    const double value = std::strtod(text_.c_str() + at_, &end);
    const auto length = position_of(end - (text_.c_str() + at_));
    const std::string_view spelled = std::string_view(text_).substr(at_, length);
    if (length == 0 || !std::isfinite(value) || spelled.find_first_of("xX") != std::string_view::npos)
      return wrong("has something here that is no number");
    if (value != 0 && !is_usual(value))
      return wrong(fmt::format("has a number here that is not from {:g} to {:g}", kLeastNumber, kMostNumber));
    at_ += length;
    return number(value);
  }

  Result<NodePtr> name() {
    size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
      ++end;
    const std::string word = text_.substr(at_, end - at_);
    const char what = word == "energy" ? 'e' : word == "time" ? 't' : word == "power" ? 'p' : '\0';
    if (what == '\0') return wrong(fmt::format("has the word '{}', which is not energy, time or power", word));
    at_ = end;
    return node(what, nullptr, nullptr);
  }

  const std::string& text_;
  const std::string& where_;
  size_t at_ = 0;
  int depth_ = 0;
};

Slope power_of(const Slope& a, const Slope& b) {
  Slope result{.value = std::pow(a.value, b.value)};
  const bool constant = b.per_joule == 0 && b.per_second == 0;
  const double by_base = b.value == 0 ? 0 : b.value * std::pow(a.value, b.value - 1);
  const double by_exponent = constant ? 0 : result.value * std::log(a.value);
  result.per_joule = by_base * a.per_joule + by_exponent * b.per_joule;
  result.per_second = by_base * a.per_second + by_exponent * b.per_second;
  return result;
}

Slope combined(char what, const Slope& a, const Slope& b) {
  switch (what) {
    case '+':
      return {a.value + b.value, a.per_joule + b.per_joule, a.per_second + b.per_second};
    case '-':
      return {a.value - b.value, a.per_joule - b.per_joule, a.per_second - b.per_second};
    case '*':
      return {a.value * b.value, a.value * b.per_joule + a.per_joule * b.value,
              a.value * b.per_second + a.per_second * b.value};
    case '/':
      return {a.value / b.value, (a.per_joule - a.value / b.value * b.per_joule) / b.value,
              (a.per_second - a.value / b.value * b.per_second) / b.value};
    default:
      return power_of(a, b);
  }
}

Slope slope_of(const Node& node, double energy, double time) {
  switch (node.what) {
    case '0':
      return {.value = node.number};
    case 'e':
      return {energy, 1, 0};
    case 't':
      return {time, 0, 1};
    case 'p':
      return {energy / time, 1 / time, -energy / (time * time)};
    default:
      return combined(node.what, slope_of(*node.left, energy, time), slope_of(*node.right, energy, time));
  }
}

// number + joule * energy + second * time + product * energy * time; none: another formula.
struct Polynomial {
  double number = 0, joule = 0, second = 0, product = 0;
  bool is_number() const { return joule == 0 && second == 0 && product == 0; }
};

std::optional<Polynomial> times(const Polynomial& a, const Polynomial& b) {
  if (a.joule * b.joule != 0 || a.second * b.second != 0 || (a.product != 0 && !b.is_number()) ||
      (b.product != 0 && !a.is_number()))
    return std::nullopt;
  return Polynomial{a.number * b.number, a.number * b.joule + a.joule * b.number,
                    a.number * b.second + a.second * b.number,
                    a.number * b.product + a.product * b.number + a.joule * b.second + a.second * b.joule};
}

std::optional<Polynomial> polynomial_of(const Node& node) {
  switch (node.what) {
    case '0':
      return Polynomial{.number = node.number};
    case 'e':
      return Polynomial{.joule = 1};
    case 't':
      return Polynomial{.second = 1};
    case 'p':
      return std::nullopt;
    default:
      break;
  }
  const std::optional<Polynomial> a = polynomial_of(*node.left), b = polynomial_of(*node.right);
  if (!a || !b) return std::nullopt;
  if (node.what == '*') return times(*a, *b);
  if (node.what == '/') return b->is_number() ? times(*a, {.number = 1 / b->number}) : std::nullopt;
  if (node.what == '^') {
    if (!b->is_number()) return std::nullopt;
    if (a->is_number()) return Polynomial{.number = std::pow(a->number, b->number)};
    return b->number == 1 ? a : std::nullopt;
  }
  const double sign = node.what == '+' ? 1 : -1;
  return Polynomial{a->number + sign * b->number, a->joule + sign * b->joule, a->second + sign * b->second,
                    a->product + sign * b->product};
}

bool stands_in(const Node& node) {
  return node.what == 'e' || node.what == 't' || node.what == 'p' || (node.left && stands_in(*node.left)) ||
         (node.right && stands_in(*node.right));
}

// Has the formula a value for some step between nanojoules and gigajoules, nanoseconds and gigaseconds?
bool has_value_somewhere(const Node& root) {
  constexpr double kEnergy = 1.2345, kTime = 0.5678;
  for (int energy = -9; energy <= 9; ++energy)
    for (int time = -9; time <= 9; ++time)
      if (std::isfinite(slope_of(root, kEnergy * std::pow(10, energy), kTime * std::pow(10, time)).value)) return true;
  return false;
}

}  // namespace

Result<ObjectiveExpression> ObjectiveExpression::parse(const std::string& text, const std::string& where) {
  ObjectiveExpression made;
  made.text_ = text;
  PANTOUM_ASSIGN(made.root_, Parser(text, where).run());
  const auto nothing = [&](const char* why) {
    return fail("E0117", fmt::format("the objective '{}' {}", base::one_line(text), why), where,
                "name what there is to be little of: energy, time, power");
  };
  if (!stands_in(*made.root_)) return nothing("has neither energy nor time nor power in it");
  if (!has_value_somewhere(*made.root_)) return nothing("has no value: it divides by 0, or grows out of all bounds");
  const std::optional<Polynomial> sum = polynomial_of(*made.root_);
  if (sum && sum->product == 0 && sum->joule <= 0 && sum->second <= 0)
    return nothing("is the less, the more energy and time a step takes");
  return made;
}

ObjectiveExpression::Slope ObjectiveExpression::at(const Predicted& step) const {
  return slope_of(*root_, step.energy_j, step.time_s);
}

std::optional<ObjectiveExpression::Exact> ObjectiveExpression::exact() const {
  const std::optional<Polynomial> sum = polynomial_of(*root_);
  if (!sum) return std::nullopt;
  const auto& [number, joule, second, product] = *sum;
  for (const double each : {number, joule, second, product})
    if (!std::isfinite(each) || (each < 0 && each != number)) return std::nullopt;
  if (product > 0) return joule == 0 && second == 0 ? std::optional(Exact{Objective::kEdp}) : std::nullopt;
  if (second == 0) return Exact{Objective::kEnergy};
  if (joule == 0) return Exact{Objective::kTime};
  return is_usual(joule) && is_usual(second) ? std::optional(Exact{Objective::kWeighted, {joule, second}})
                                             : std::nullopt;
}

}  // namespace pantoum::plan
