// Other shapes of the same elements, copies, conversions: nothing is computed.
#include <array>

#include "aten/arithmetic.h"
#include "aten/operators.h"
#include "aten/pieces.h"

namespace pantoum::aten {
namespace {

using ir::ValueId;

// The captured shape.
Result<void> lower_view(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  return node.set(node.reshape(x, node.output().shape));
}

Result<void> lower_same(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  return node.set(node.cast(x, node.output().dtype));
}

// The source in the captured shape and type.
Result<void> lower_copy(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor({1, "src"}));
  PANTOUM_ASSIGN(x, node.cast(x, node.output().dtype));
  return node.set(node.expand(x, node.output().shape));
}

Result<void> lower_detach(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  return node.set(detached(node, x));
}

Result<void> lower_expand(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  return node.set(node.expand(x, node.output().shape));
}

Result<ValueId> permuted(Node& node, ValueId x, const std::vector<int64_t>& perm) {
  if (perm.empty()) return x;
  return node.transpose(x, perm);
}

Result<void> lower_permute(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(std::vector<int64_t> perm, node.integers({1, "dims"}));
  const auto rank = static_cast<int64_t>(node.shape_of(x).size());
  for (int64_t& d : perm) d += d < 0 ? rank : 0;
  return node.set(permuted(node, x, perm));
}

Result<void> lower_transpose(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  const size_t rank = node.shape_of(x).size();
  PANTOUM_ASSIGN(const int64_t a, node.dimension({1, "dim0"}, rank, 0));
  PANTOUM_ASSIGN(const int64_t b, node.dimension({2, "dim1"}, rank, 1));
  std::vector<int64_t> perm(rank);
  for (size_t d = 0; d < rank; ++d) perm[d] = static_cast<int64_t>(d);
  if (rank > 0) std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  return node.set(permuted(node, x, perm));
}

Result<void> lower_t(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  if (node.shape_of(x).size() < 2) return node.set(0, x);
  return node.set(permuted(node, x, {1, 0}));
}

// Nothing to compute: a statement about the data that capturing has seen.
Result<void> lower_nothing(Node&) {
  return {};
}

constexpr std::array kShape = {OperatorEntry{"view.default", lower_view},
                               OperatorEntry{"_unsafe_view.default", lower_view},
                               OperatorEntry{"reshape.default", lower_view},
                               OperatorEntry{"_reshape_copy.default", lower_view},
                               OperatorEntry{"view_copy.default", lower_view},
                               OperatorEntry{"flatten.using_ints", lower_view},
                               OperatorEntry{"unflatten.int", lower_view},
                               OperatorEntry{"squeeze.default", lower_view},
                               OperatorEntry{"squeeze.dim", lower_view},
                               OperatorEntry{"squeeze.dims", lower_view},
                               OperatorEntry{"squeeze_copy.dims", lower_view},
                               OperatorEntry{"unsqueeze.default", lower_view},
                               OperatorEntry{"unsqueeze_copy.default", lower_view},
                               OperatorEntry{"atleast_1d.default", lower_view},
                               OperatorEntry{"clone.default", lower_same},
                               OperatorEntry{"contiguous.default", lower_same},
                               OperatorEntry{"alias.default", lower_same},
                               OperatorEntry{"lift_fresh_copy.default", lower_same},
                               OperatorEntry{"positive.default", lower_same},
                               OperatorEntry{"copy.default", lower_copy},
                               OperatorEntry{"_to_copy.default", lower_same},
                               OperatorEntry{"to.dtype", lower_same},
                               OperatorEntry{"_conj.default", lower_same},
                               OperatorEntry{"detach.default", lower_detach},
                               OperatorEntry{"detach_copy.default", lower_detach},
                               OperatorEntry{"expand.default", lower_expand},
                               OperatorEntry{"expand_copy.default", lower_expand},
                               OperatorEntry{"expand_as.default", lower_expand},
                               OperatorEntry{"broadcast_to.default", lower_expand},
                               OperatorEntry{"permute.default", lower_permute},
                               OperatorEntry{"permute_copy.default", lower_permute},
                               OperatorEntry{"transpose.int", lower_transpose},
                               OperatorEntry{"t.default", lower_t},
                               OperatorEntry{"_assert_async.msg", lower_nothing, false},
                               OperatorEntry{"_assert_tensor_metadata.default", lower_nothing, false},
                               OperatorEntry{"_assert_scalar.default", lower_nothing, false}};

}  // namespace

std::span<const OperatorEntry> shape_operators() {
  return kShape;
}

}  // namespace pantoum::aten
