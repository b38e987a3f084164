// Einsum of one or two operands: sums, transpositions and one product of matrices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "import/operators.h"

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

// "bij,bjk->bik"; without an arrow the output has every label that occurs once, in alphabetic order.
Result<Equation> parse(std::string text) {
  std::erase(text, ' ');
  if (has(text, '.')) return unsupported("its equation has an ellipsis", "name every dimension");
  Equation equation;
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  for (size_t begin = 0; begin <= left.size();) {
    const size_t end = std::min(left.find(',', begin), left.size());
    equation.inputs.push_back(left.substr(begin, end - begin));
    begin = end + 1;
  }
  if (arrow != std::string::npos) {
    equation.output = text.substr(arrow + 2);
    return equation;
  }
  for (char label = 'A'; label <= 'z'; ++label) {
    if (std::count(left.begin(), left.end(), label) == 1) equation.output += label;
  }
  return equation;
}

Result<void> check_labels(const std::string& labels) {
  for (const char label : labels) {
    const bool letter = (label >= 'a' && label <= 'z') || (label >= 'A' && label <= 'Z');
    if (!letter) return fail("E0211", fmt::format("its equation has the label '{}'", label));
    if (std::count(labels.begin(), labels.end(), label) > 1) {
      return unsupported("its equation names a dimension of one operand twice", "take the diagonal before");
    }
  }
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

Result<std::vector<Term>> read_terms(Node& node, const Equation& equation, Extents& extents) {
  std::vector<Term> terms;
  for (size_t input = 0; input < equation.inputs.size(); ++input) {
    Term term{ir::kNone, equation.inputs[input]};
    PANTOUM_ASSIGN(term.id, node.real(input));
    PANTOUM_TRY(check_labels(term.labels));
    const Shape shape = node.shape(input);
    if (shape.size() != term.labels.size()) return fail("E0211", "its equation does not name every dimension");
    for (size_t d = 0; d < shape.size(); ++d) {
      if (extents.try_emplace(term.labels[d], shape[d]).first->second == shape[d]) continue;
      return fail("E0211", fmt::format("the dimensions called '{}' differ", term.labels[d]));
    }
    terms.push_back(std::move(term));
  }
  return terms;
}

Result<void> lower_einsum(Node& node) {
  PANTOUM_ASSIGN(const Equation equation, parse(node.attributes().text("equation", "")));
  PANTOUM_TRY(check_labels(equation.output));
  if (equation.inputs.size() != node.input_count()) return fail("E0211", "its equation has another number of operands");
  if (equation.inputs.size() > 2) return unsupported("it has more than two operands", "multiply them two by two");
  Extents extents;
  PANTOUM_ASSIGN(std::vector<Term> terms, read_terms(node, equation, extents));
  for (const char label : equation.output) {
    if (!extents.contains(label)) return fail("E0211", fmt::format("no operand has the label '{}'", label));
  }
  Term made;
  if (terms.size() == 1) {
    PANTOUM_ASSIGN(made, summed(node, terms[0], equation.output));
  } else {
    PANTOUM_ASSIGN(const Term a, summed(node, terms[0], equation.output + terms[1].labels));
    PANTOUM_ASSIGN(const Term b, summed(node, terms[1], equation.output + terms[0].labels));
    PANTOUM_ASSIGN(made, multiplied(node, a, b, equation.output, extents));
  }
  PANTOUM_ASSIGN(made, in_order(node, made, equation.output));
  node.set(0, made.id);
  return {};
}

constexpr std::array kEinsumOperators = {OperatorEntry{"Einsum", lower_einsum, "reduce_sum transpose matmul",
                                                 "one or two operands; no ellipsis, no diagonals"}};

}  // namespace

std::span<const OperatorEntry> einsum_operators() {
  return kEinsumOperators;
}

}  // namespace pantoum::import
