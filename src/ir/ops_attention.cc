// softmax(steps(Q K')) V without the scores as a tensor, and its gradient.
#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

// Q K V, then the masks; the gradient has dY before them.
struct Attended {
  const OpTypes& types;
  size_t first;  // where Q stands
  Shape batch;
  int64_t m = 0, n = 0, d = 0, e = 0;

  [[nodiscard]] const TensorType& operand(size_t at) const { return types.inputs[first + at]; }
  [[nodiscard]] Shape with(int64_t rows, int64_t columns) const {
    Shape shape = batch;
    shape.push_back(rows);
    shape.push_back(columns);
    return shape;
  }
  [[nodiscard]] double scores() const {
    double count = static_cast<double>(m) * static_cast<double>(n);
    for (const int64_t extent : batch) count *= static_cast<double>(extent);
    return count;
  }
};

// The last two extents as the op sees them: (rows, columns).
std::pair<int64_t, int64_t> seen_extents(const TensorType& type, int64_t transposed) {
  const int64_t rows = type.shape[type.shape.size() - 2], columns = type.shape.back();
  return transposed != 0 ? std::pair(columns, rows) : std::pair(rows, columns);
}

bool step_takes_mask(int64_t step) {
  return step == PT_STEP_ADD || step == PT_STEP_KEEP || step == PT_STEP_FILL;
}

Result<void> check_attention_steps(const Attended& parts) {
  const auto& ints = parts.types.attrs.ints;
  const DType dtype = parts.operand(0).dtype;
  const Shape scores = parts.with(parts.m, parts.n);
  size_t mask = 3;
  for (size_t at = 0; at < PT_ATTENTION_STEPS; ++at) {
    const int64_t step = ints[PT_ATTENTION_STEP + at];
    if (step < 0 || step >= PT_STEP_COUNT) return refuse(fmt::format("the step {} is unknown", step));
    if (step != PT_STEP_NONE && at > 0 && ints[PT_ATTENTION_STEP + at - 1] == PT_STEP_NONE)
      return refuse("a step stands behind none");
    if (!step_takes_mask(step)) continue;
    if (parts.first + mask >= parts.types.inputs.size()) return refuse("a mask is missing");
    const TensorType& given = parts.operand(mask++);
    if (given.dtype != (step == PT_STEP_ADD ? dtype : DType::kBool)) return refuse("a mask is of another type");
    if (!broadcasts_to(given.shape, scores)) return refuse("a mask does not broadcast to the scores");
  }
  if (parts.first + mask != parts.types.inputs.size()) return refuse("it has masks that no step takes");
  return {};
}

Result<Attended> attended(const OpTypes& types, size_t first) {
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs, 0, first + 3));
  (void)dtype;
  const auto& ints = types.attrs.ints;
  for (size_t flag = 0; flag < PT_ATTENTION_STEP; ++flag)
    if (ints[flag] != 0 && ints[flag] != 1) return refuse("a transposition is 0 or 1");
  Attended parts{.types = types, .first = first, .batch = {}};
  const Shape& q = parts.operand(0).shape;
  if (q.size() < 3) return refuse("Q must have three dimensions or more");
  parts.batch.assign(q.begin(), q.end() - 2);
  std::tie(parts.m, parts.d) = seen_extents(parts.operand(0), ints[PT_ATTENTION_TRANS_Q]);
  for (const size_t at : {size_t{1}, size_t{2}})
    if (parts.operand(at).shape.size() != q.size()) return refuse("Q, K and V differ in rank");
  std::tie(parts.n, parts.e) = seen_extents(parts.operand(2), ints[PT_ATTENTION_TRANS_V]);
  const auto laid = [&](int64_t rows, int64_t columns, size_t flag) {
    return ints[flag] != 0 ? parts.with(columns, rows) : parts.with(rows, columns);
  };
  PANTOUM_TRY(want_shape(parts.operand(1), laid(parts.n, parts.d, PT_ATTENTION_TRANS_K), "K"));
  PANTOUM_TRY(want_shape(parts.operand(2), laid(parts.n, parts.e, PT_ATTENTION_TRANS_V), "V"));
  PANTOUM_TRY(check_attention_steps(parts));
  return parts;
}

Types attention_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const Attended parts, attended(types, 0));
  return std::vector<TensorType>{{types.inputs[0].dtype, parts.with(parts.m, parts.e)}};
}

Types attention_grad_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const Attended parts, attended(types, 1));
  PANTOUM_TRY(want_shape(types.inputs[0], parts.with(parts.m, parts.e), "dY"));
  return std::vector<TensorType>{parts.operand(0), parts.operand(1), parts.operand(2)};
}

// Two products and the softmax; backward makes the first one and the softmax again, and four products more.
constexpr double kFlopsOfSoftmax = 20, kFlopsOfGradient = 6;

OpCost attention_cost(const OpTypes& types) {
  const Attended parts = *attended(types, 0);
  return operand_bytes(types, parts.scores() * (2 * static_cast<double>(parts.d + parts.e) + kFlopsOfSoftmax));
}
OpCost attention_grad_cost(const OpTypes& types) {
  const Attended parts = *attended(types, 1);
  return operand_bytes(types, parts.scores() * (2 * static_cast<double>(3 * parts.d + 2 * parts.e) + kFlopsOfSoftmax +
                                                kFlopsOfGradient));
}

void attention_gradient(Backward& back) {
  std::vector<ValueId> inputs = {back.d_outputs[0]};
  inputs.insert(inputs.end(), back.op.inputs.begin(), back.op.inputs.end());
  const std::vector<ValueId> made =
      back.builder.add(Kind::k_attention_grad, back.op.name + ".dx", std::move(inputs), back.op.attrs);
  for (size_t input = 0; input < made.size(); ++input)
    if (back.wanted[input]) back.d_inputs[input] = made[input];
}

// A block of rows of Q, or of dY, is read before the same rows of Y, or dQ, are written.
Pairs over_queries(const OpTypes& types) {
  const bool fits = types.inputs[0] == types.outputs[0] && types.attrs.ints[PT_ATTENTION_TRANS_Q] == 0;
  return fits ? Pairs{{0, 0}} : Pairs{};
}
Pairs over_queries_or_dy(const OpTypes& types) {
  Pairs pairs = over_queries(types);
  pairs.emplace_back(0, 1);
  return pairs;
}

}  // namespace

std::vector<OpDef> attention_ops() {
  return {{.kind = Kind::k_attention,
           .signature = {.min_inputs = 3,
                         .max_inputs = 3 + PT_ATTENTION_STEPS,
                         .ints = PT_ATTENTION_ATTRS,
                         .reals = PT_ATTENTION_REALS},
           .infer = attention_rule,
           .gradient = attention_gradient,
           .cost = attention_cost,
           .in_place = over_queries,
           .traits = rows_by(RowWise::kBroadcast)},
          {.kind = Kind::k_attention_grad,
           .signature = {.min_inputs = 4,
                         .max_inputs = 4 + PT_ATTENTION_STEPS,
                         .min_outputs = 3,
                         .max_outputs = 3,
                         .ints = PT_ATTENTION_ATTRS,
                         .reals = PT_ATTENTION_REALS},
           .infer = attention_grad_rule,
           .gradient = kNoGradient,
           .cost = attention_grad_cost,
           .in_place = over_queries_or_dy,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
