// A view of a view is a view: the same bytes under the last shape.
//   where    an alias of an alias; one to the shape of the first input is none at all
//   not      the mark that stops gradients is dropped: autodiff has been there, and inference has none
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> merge_reshapes(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_alias || !is_ordinary(op)) return std::nullopt;
  const ir::Op* inner = maker_of(graph, op.inputs[0], Kind::k_alias);
  if (inner == nullptr) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], edit.reshape(op.name, inner->inputs[0], edit.type(op.outputs[0]).shape));
  return edit.done();
}

}  // namespace

const Rule kMergeReshapes{"merge-reshapes", "a view of a view is one view, or none", Preserves::kBits, 0, false,
                          merge_reshapes};

}  // namespace pantoum::rewrite
