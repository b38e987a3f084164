// Two transposes are one: dimension d of the last is dimension q[d] of the middle, which is dimension p[q[d]] of the first.
// Elements move and none is changed.
//   where    a transpose of a transpose; the inner one may have other readers
//   not      transposes with an op between them (sink-transpose, raise-transpose bring them together)
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> merge_transposes(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_transpose || !is_ordinary(op)) return std::nullopt;
  const ir::Op* inner = maker_of(graph, op.inputs[0], Kind::k_transpose);
  if (inner == nullptr) return std::nullopt;
  std::vector<int64_t> perm;
  bool moves = false;
  for (const int64_t middle : op.attrs.ints) {
    perm.push_back(inner->attrs.ints[static_cast<size_t>(middle)]);
    moves = moves || perm.back() != static_cast<int64_t>(perm.size()) - 1;
  }
  Edit edit(graph, at);
  edit.replace(op.outputs[0],
               moves ? edit.op(Kind::k_transpose, op.name, {inner->inputs[0]}, {perm, {}}) : inner->inputs[0]);
  return edit.done();
}

}  // namespace

const Rule kMergeTransposes{
    "merge-transposes", "a transpose of a transpose is one transpose, or none", Preserves::kBits, 0, false,
    merge_transposes};

}  // namespace pantoum::rewrite
