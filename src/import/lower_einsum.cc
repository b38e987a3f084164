// Einsum: sums, transpositions and products of matrices, two operands at a time.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "import/operators.h"
#include "import/slices.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

struct Term {
  ValueId id = ir::kNone;
  std::string labels;  // one letter per dimension
};

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

bool has(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}

bool is_letter(char label) {
  return (label >= 'a' && label <= 'z') || (label >= 'A' && label <= 'Z');
}

// Its letters, and at most one ellipsis.
Result<void> check_labels(std::string labels) {
  if (const size_t dots = labels.find("..."); dots != std::string::npos) labels.erase(dots, 3);
  for (const char label : labels)
    if (!is_letter(label)) return fail("E0211", fmt::format("its equation has the label '{}'", label));
  return {};
}

// Without an arrow the output has the dimensions of ellipses, then every letter that occurs once, in alphabetic order.
std::string implicit_output(const std::string& left) {
  std::string output = has(left, '.') ? "..." : "";
  for (char label = 'A'; label <= 'z'; ++label)
    if (is_letter(label) && std::count(left.begin(), left.end(), label) == 1) output += label;
  return output;
}

// "bij,bjk->bik"
Result<Equation> parse(std::string text) {
  std::erase(text, ' ');
  Equation equation;
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  for (size_t begin = 0; begin <= left.size();) {
    const size_t end = std::min(left.find(',', begin), left.size());
    equation.inputs.push_back(left.substr(begin, end - begin));
    PANTOUM_TRY(check_labels(equation.inputs.back()));
    begin = end + 1;
  }
  equation.output = arrow == std::string::npos ? implicit_output(left) : text.substr(arrow + 2);
  PANTOUM_TRY(check_labels(equation.output));
  return equation;
}

// The dimensions of an ellipsis are called '0', '1', ..., the last one of every operand alike.
std::string named(const std::string& labels, size_t dimensions, size_t most) {
  const size_t dots = labels.find("...");
  if (dots == std::string::npos) return labels;
  std::string names;
  for (size_t d = most - dimensions; d < most; ++d) names += static_cast<char>('0' + d);
  return labels.substr(0, dots) + names + labels.substr(dots + 3);
}

Result<size_t> ellipsis_dimensions(const std::string& labels, size_t rank) {
  const bool open = has(labels, '.');
  const size_t letters = labels.size() - (open ? 3 : 0);
  if (letters > rank || (letters < rank && !open)) return fail("E0211", "its equation does not name every dimension");
  return rank - letters;
}

// Every dimension of operands and output by a name of one character.
Result<void> expand_ellipses(Node& node, Equation& equation) {
  std::vector<size_t> dimensions;
  for (size_t input = 0; input < equation.inputs.size(); ++input) {
    PANTOUM_ASSIGN(const size_t count, ellipsis_dimensions(equation.inputs[input], node.shape(input).size()));
    dimensions.push_back(count);
  }
  const size_t most = *std::max_element(dimensions.begin(), dimensions.end());
  for (size_t input = 0; input < equation.inputs.size(); ++input)
    equation.inputs[input] = named(equation.inputs[input], dimensions[input], most);
  equation.output = named(equation.output, most, most);
  for (const char label : equation.output)
    if (std::count(equation.output.begin(), equation.output.end(), label) > 1)
      return fail("E0211", fmt::format("its output has the label '{}' twice", label));
  return {};
}

Result<Term> in_order(Node& node, const Term& term, const std::string& order) {
  if (term.labels == order) return term;
  std::vector<int64_t> perm;
  for (const char label : order) perm.push_back(static_cast<int64_t>(term.labels.find(label)));
  PANTOUM_ASSIGN(const ValueId id, node.transpose(term.id, std::move(perm)));
  return Term{id, order};
}

// Sums over every label that is not among `kept`.
Result<Term> summed(Node& node, const Term& term, const std::string& kept) {
  Term left{term.id, {}};
  int64_t mask = 0;
  for (size_t d = 0; d < term.labels.size(); ++d) {
    if (has(kept, term.labels[d]))
      left.labels += term.labels[d];
    else
      mask |= int64_t{1} << d;
  }
  if (mask == 0) return term;
  PANTOUM_ASSIGN(left.id, node.op(Kind::k_reduce_sum, {term.id}, {{mask}, {}}));
  return left;
}

using Extents = std::map<char, int64_t>;

int64_t product(const Extents& extents, const std::string& labels) {
  int64_t count = 1;
  for (const char label : labels) count *= extents.at(label);
  return count;
}

Result<Term> multiplied(Node& node, const Term& a, const Term& b, const std::string& output, const Extents& extents) {
  std::string batch, inner, rows, columns;
  for (const char label : a.labels) {
    if (!has(b.labels, label))
      rows += label;
    else
      (has(output, label) ? batch : inner) += label;
  }
  for (const char label : b.labels) {
    if (!has(a.labels, label)) columns += label;
  }
  const int64_t m = product(extents, rows), k = product(extents, inner), n = product(extents, columns);
  PANTOUM_ASSIGN(const Term left, in_order(node, a, batch + rows + inner));
  PANTOUM_ASSIGN(const Term right, in_order(node, b, batch + inner + columns));
  PANTOUM_ASSIGN(const ValueId x, node.reshape(left.id, {product(extents, batch), m, k}));
  PANTOUM_ASSIGN(const ValueId y, node.reshape(right.id, {product(extents, batch), k, n}));
  Term made{ir::kNone, batch + rows + columns};
  PANTOUM_ASSIGN(made.id, node.op(Kind::k_matmul, {x, y}, {{0, 0}, {}}));
  Shape shape;
  for (const char label : made.labels) shape.push_back(extents.at(label));
  PANTOUM_ASSIGN(made.id, node.reshape(made.id, shape));
  return made;
}

// Extents by label; one of 1 may stand for any other.
Result<Extents> extents_of(const Node& node, const Equation& equation) {
  Extents extents;
  for (size_t input = 0; input < equation.inputs.size(); ++input) {
    const Shape shape = node.shape(input);
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t& extent = extents.try_emplace(equation.inputs[input][d], shape[d]).first->second;
      if (extent == 1) extent = shape[d];
      if (shape[d] != extent && shape[d] != 1)
        return fail("E0211", fmt::format("the dimensions called '{}' differ", equation.inputs[input][d]));
    }
  }
  for (const char label : equation.output)
    if (!extents.contains(label)) return fail("E0211", fmt::format("no operand has the label '{}'", label));
  return extents;
}

// Without the dimensions of 1 that stand for longer ones.
Result<Term> narrowed(Node& node, const Term& term, const Shape& from, const Extents& extents) {
  Term left{term.id, {}};
  Shape shape;
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != extents.at(term.labels[d])) continue;
    left.labels += term.labels[d];
    shape.push_back(from[d]);
  }
  if (shape.size() == from.size()) return term;
  PANTOUM_ASSIGN(left.id, node.reshape(term.id, std::move(shape)));
  return left;
}

// A label that occurs twice: both dimensions go last, as one, of which every (extent + 1)th element is on the diagonal.
Result<Term> diagonal(Node& node, const Term& term, size_t first, size_t second, const Extents& extents) {
  std::vector<int64_t> perm;
  Term rest{term.id, {}};
  for (size_t d = 0; d < term.labels.size(); ++d) {
    if (d == first || d == second) continue;
    perm.push_back(static_cast<int64_t>(d));
    rest.labels += term.labels[d];
  }
  perm.insert(perm.end(), {static_cast<int64_t>(first), static_cast<int64_t>(second)});
  PANTOUM_ASSIGN(rest.id, node.transpose(term.id, std::move(perm)));
  const int64_t outer = product(extents, rest.labels), extent = extents.at(term.labels[first]);
  PANTOUM_ASSIGN(rest.id, node.reshape(rest.id, {outer, extent * extent}));
  PANTOUM_ASSIGN(rest.id, sliced(node, rest.id, {{0, 1, outer}, {0, extent + 1, extent}}));
  rest.labels += term.labels[first];
  Shape shape;
  for (const char label : rest.labels) shape.push_back(extents.at(label));
  PANTOUM_ASSIGN(rest.id, node.reshape(rest.id, std::move(shape)));
  return rest;
}

Result<Term> without_repeats(Node& node, Term term, const Extents& extents) {
  for (size_t d = 0; d < term.labels.size(); ++d) {
    const size_t again = term.labels.find(term.labels[d], d + 1);
    if (again == std::string::npos) continue;
    PANTOUM_ASSIGN(term, diagonal(node, term, d, again, extents));
    d = static_cast<size_t>(-1);  // from the first
  }
  return term;
}

Result<std::vector<Term>> read_terms(Node& node, const Equation& equation, const Extents& extents) {
  std::vector<Term> terms;
  for (size_t input = 0; input < equation.inputs.size(); ++input) {
    Term term{ir::kNone, equation.inputs[input]};
    PANTOUM_ASSIGN(term.id, node.real(input));
    PANTOUM_ASSIGN(term, narrowed(node, term, node.shape(input), extents));
    PANTOUM_ASSIGN(term, without_repeats(node, term, extents));
    terms.push_back(std::move(term));
  }
  return terms;
}

// Multiplications for the product of two terms: one for each label that either of them has.
double work(const Term& a, const Term& b, const Extents& extents) {
  double count = 1;
  for (const auto& [label, extent] : extents)
    if (has(a.labels, label) || has(b.labels, label)) count *= static_cast<double>(extent);
  return count;
}

// The pair whose product is the cheapest; the first of equal ones.
std::pair<size_t, size_t> cheapest(const std::vector<Term>& terms, const Extents& extents) {
  std::pair<size_t, size_t> best{0, 1};
  for (size_t a = 0; a < terms.size(); ++a)
    for (size_t b = a + 1; b < terms.size(); ++b)
      if (work(terms[a], terms[b], extents) < work(terms[best.first], terms[best.second], extents)) best = {a, b};
  return best;
}

Result<void> multiply_cheapest(Node& node, std::vector<Term>& terms, const std::string& output,
                               const Extents& extents) {
  const auto [first, second] = cheapest(terms, extents);
  std::string others = output;
  for (size_t term = 0; term < terms.size(); ++term)
    if (term != first && term != second) others += terms[term].labels;
  PANTOUM_ASSIGN(const Term a, summed(node, terms[first], others + terms[second].labels));
  PANTOUM_ASSIGN(const Term b, summed(node, terms[second], others + terms[first].labels));
  PANTOUM_ASSIGN(terms[first], multiplied(node, a, b, others, extents));
  terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(second));
  return {};
}

Result<void> lower_einsum(Node& node) {
  PANTOUM_ASSIGN(Equation equation, parse(node.attributes().text("equation", "")));
  if (equation.inputs.size() != node.input_count()) return fail("E0211", "its equation has another number of operands");
  PANTOUM_TRY(expand_ellipses(node, equation));
  PANTOUM_ASSIGN(const Extents extents, extents_of(node, equation));
  PANTOUM_ASSIGN(std::vector<Term> terms, read_terms(node, equation, extents));
  while (terms.size() > 1) PANTOUM_TRY(multiply_cheapest(node, terms, equation.output, extents));
  PANTOUM_ASSIGN(Term made, summed(node, terms[0], equation.output));
  PANTOUM_ASSIGN(made, in_order(node, made, equation.output));
  node.set(0, made.id);
  return {};
}

constexpr std::array kEinsumOperators = {OperatorEntry{"Einsum", lower_einsum, "reduce_sum transpose matmul slice",
                                                       "any number of operands, the cheapest product first"}};

}  // namespace

std::span<const OperatorEntry> einsum_operators() {
  return kEinsumOperators;
}

}  // namespace pantoum::import
