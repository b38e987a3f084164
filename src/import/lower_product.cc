// MatMul and Gemm.

#include <algorithm>
#include <map>

#include "import/operators.h"

namespace pantoum::import {

namespace {

struct Factor {
  Value value;
  int64_t transposed;
};

// The operand itself, or what it is the transpose of: the product transposes for nothing.
Factor factor(Node& node, size_t input) {
  const Value value = node.real(input);
  const ValueId original = value ? node.operand(input)->untransposed : ir::kNone;
  return original == ir::kNone ? Factor{value, 0} : Factor{node.at(original), 1};
}

// Vectors become matrices of one row (left) or one column (right), and their dimension leaves the result again.
Result<void> lower_matmul(Node& node) {
  Factor a = factor(node, 0), b = factor(node, 1);
  const Shape left = node.shape(0), right = node.shape(1);
  if (left.empty() || right.empty()) return misfit("a factor is a scalar");
  if (left.size() == 1) a.value = reshape(a.value, {1, left[0]});
  if (right.size() == 1) b.value = reshape(b.value, {right[0], 1});
  const Value y = node.op(Kind::k_matmul, {a.value, b.value}, {{a.transposed, b.transposed}, {}});
  Shape shape = y.shape();
  if (right.size() == 1) shape.pop_back();
  if (left.size() == 1) shape.erase(shape.end() - (right.size() == 1 ? 1 : 2));
  return node.set(reshape(y, shape));
}

Result<void> lower_gemm(Node& node) {
  Factor a = factor(node, 0), b = factor(node, 1);
  if (node.shape(0).size() != 2 || node.shape(1).size() != 2) return misfit("its factors are not matrices");
  a.transposed ^= node.attributes().integer("transA", 0) != 0;
  b.transposed ^= node.attributes().integer("transB", 0) != 0;
  const double alpha = node.attributes().real("alpha", 1), beta = node.attributes().real("beta", 1);
  const bool biased = node.has(2) && beta != 0;
  const int64_t columns = b.value.shape()[b.transposed != 0 ? 0 : 1];
  Values inputs = {a.value, b.value};
  const Shape c = node.shape(2);
  if (biased && alpha == 1 && beta == 1 && (c == Shape{columns} || c == Shape{1, columns}))
    inputs.push_back(reshape(node.real(2), {columns}));
  const Value y = scale(node.op(Kind::k_matmul, inputs, {{a.transposed, b.transposed}, {}}), alpha);
  if (!biased || inputs.size() == 3) return node.set(y);
  const Value sum = y + scale(node.real(2), beta);
  if (sum.shape() != y.shape()) return misfit("its C does not broadcast to the product");
  return node.set(sum);
}

}  // namespace

// Einsum: sums, transpositions and products of matrices, two operands at a time.

namespace {

struct Term {
  Value value;
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
    if (!is_letter(label)) return misfit("its equation has the label '{}'", label);
  return {};
}

// Without an arrow the output has the dimensions of ellipses, then every letter that occurs once, in alphabetic order.
std::string implicit_output(const std::string& left) {
  std::string output = has(left, '.') ? "..." : "";
  for (char label = 'A'; label <= 'z'; ++label)
    if (is_letter(label) && std::ranges::count(left, label) == 1) output += label;
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
  if (letters > rank || (letters < rank && !open)) return misfit("its equation does not name every dimension");
  return rank - letters;
}

// Every dimension of operands and output by a name of one character.
Result<void> expand_ellipses(Node& node, Equation& equation) {
  std::vector<size_t> dimensions;
  for (size_t input = 0; input < equation.inputs.size(); ++input) {
    PANTOUM_ASSIGN(const size_t count, ellipsis_dimensions(equation.inputs[input], node.shape(input).size()));
    dimensions.push_back(count);
  }
  const size_t most = *std::ranges::max_element(dimensions);
  for (size_t input = 0; input < equation.inputs.size(); ++input)
    equation.inputs[input] = named(equation.inputs[input], dimensions[input], most);
  equation.output = named(equation.output, most, most);
  for (const char label : equation.output)
    if (std::ranges::count(equation.output, label) > 1) return misfit("its output has the label '{}' twice", label);
  return {};
}

Term in_order(const Term& term, const std::string& order) {
  if (term.labels == order) return term;
  Integers perm;
  for (const char label : order) perm.push_back(static_cast<int64_t>(term.labels.find(label)));
  return {transpose(term.value, perm), order};
}

// Sums over every label that is not among `kept`.
Term summed(const Term& term, const std::string& kept) {
  Term left{term.value, {}};
  Integers gone;
  for (size_t d = 0; d < term.labels.size(); ++d) {
    if (has(kept, term.labels[d]))
      left.labels += term.labels[d];
    else
      gone.push_back(static_cast<int64_t>(d));
  }
  if (!gone.empty()) left.value = reduce(Kind::k_reduce_sum, term.value, gone, false);
  return left;
}

using Extents = std::map<char, int64_t>;

int64_t product(const Extents& extents, const std::string& labels) {
  int64_t count = 1;
  for (const char label : labels) count *= extents.at(label);
  return count;
}

Shape shape_of(const Extents& extents, const std::string& labels) {
  Shape shape;
  for (const char label : labels) shape.push_back(extents.at(label));
  return shape;
}

Term multiplied(const Term& a, const Term& b, const std::string& output, const Extents& extents) {
  std::string batch, inner, rows, columns;
  for (const char label : a.labels) {
    if (!has(b.labels, label))
      rows += label;
    else
      (has(output, label) ? batch : inner) += label;
  }
  for (const char label : b.labels)
    if (!has(a.labels, label)) columns += label;
  const int64_t m = product(extents, rows), k = product(extents, inner), n = product(extents, columns);
  const Value left = in_order(a, batch + rows + inner).value, right = in_order(b, batch + inner + columns).value;
  const Value x = reshape(left, {product(extents, batch), m, k}), y = reshape(right, {product(extents, batch), k, n});
  const std::string labels = batch + rows + columns;
  return {reshape(x.in().op(Kind::k_matmul, {x, y}, {{0, 0}, {}}), shape_of(extents, labels)), labels};
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
        return misfit("the dimensions called '{}' differ", equation.inputs[input][d]);
    }
  }
  for (const char label : equation.output)
    if (!extents.contains(label)) return misfit("no operand has the label '{}'", label);
  return extents;
}

// Without the dimensions of 1 that stand for longer ones.
Term narrowed(const Term& term, const Extents& extents) {
  const Shape from = term.value.shape();
  Term left{term.value, {}};
  Shape shape;
  for (size_t d = 0; d < std::min(from.size(), term.labels.size()); ++d) {
    if (from[d] != extents.at(term.labels[d])) continue;
    left.labels += term.labels[d];
    shape.push_back(from[d]);
  }
  if (shape.size() == from.size()) return term;
  left.value = reshape(term.value, std::move(shape));
  return left;
}

// A label that occurs twice: both dimensions go last, as one, of which every (extent + 1)th element is on the diagonal.
Term diagonal(const Term& term, size_t first, size_t second, const Extents& extents) {
  Integers perm;
  std::string labels;
  for (size_t d = 0; d < term.labels.size(); ++d) {
    if (d == first || d == second) continue;
    perm.push_back(static_cast<int64_t>(d));
    labels += term.labels[d];
  }
  perm.insert(perm.end(), {static_cast<int64_t>(first), static_cast<int64_t>(second)});
  const int64_t outer = product(extents, labels), extent = extents.at(term.labels[first]);
  const Value square = reshape(transpose(term.value, perm), {outer, extent * extent});
  const Value line = sliced(square, {{0, 1, outer}, {0, extent + 1, extent}});
  labels += term.labels[first];
  return {reshape(line, shape_of(extents, labels)), labels};
}

Term without_repeats(Term term, const Extents& extents) {
  for (size_t d = 0; d < term.labels.size(); ++d) {
    const size_t again = term.labels.find(term.labels[d], d + 1);
    if (again == std::string::npos) continue;
    term = diagonal(term, d, again, extents);
    d = static_cast<size_t>(-1);  // from the first
  }
  return term;
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

void multiply_cheapest(std::vector<Term>& terms, const std::string& output, const Extents& extents) {
  const auto [first, second] = cheapest(terms, extents);
  std::string others = output;
  for (size_t term = 0; term < terms.size(); ++term)
    if (term != first && term != second) others += terms[term].labels;
  const Term a = summed(terms[first], others + terms[second].labels);
  const Term b = summed(terms[second], others + terms[first].labels);
  terms[first] = multiplied(a, b, others, extents);
  terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(second));
}

Result<void> lower_einsum(Node& node) {
  PANTOUM_ASSIGN(Equation equation, parse(node.attributes().text("equation", "")));
  if (equation.inputs.size() != node.input_count()) return misfit("its equation has another number of operands");
  PANTOUM_TRY(expand_ellipses(node, equation));
  PANTOUM_ASSIGN(const Extents extents, extents_of(node, equation));
  std::vector<Term> terms;
  for (size_t input = 0; input < equation.inputs.size(); ++input) {
    const Term term{node.real(input), equation.inputs[input]};
    PANTOUM_TRY(node.refusal());
    terms.push_back(without_repeats(narrowed(term, extents), extents));
  }
  while (terms.size() > 1) multiply_cheapest(terms, equation.output, extents);
  return node.set(in_order(summed(terms[0], equation.output), equation.output).value);
}

constexpr OperatorEntry kProductOperators[] = {{"MatMul", lower_matmul, "matmul"},
                                               {"Gemm", lower_gemm, "matmul scale add"},
                                               {"Einsum", lower_einsum, "reduce_sum transpose matmul slice",
                                                "any number of operands, the cheapest product first"}};

}  // namespace

constinit const Family product_operators = kProductOperators;

}  // namespace pantoum::import
