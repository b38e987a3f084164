// A concat of concats along one dimension is one concat of all parts.
//   where    a part is a concat along the same dimension that nobody else reads
//   not      more parts than an op may have (its own rule refuses them); a part that stands twice
#include <algorithm>

#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> merge_concats(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_concat || !is_ordinary(op)) return std::nullopt;
  for (size_t part = 0; part < op.inputs.size(); ++part) {
    const ir::Op* inner = maker_of(graph, op.inputs[part], Kind::k_concat);
    if (inner == nullptr || inner->attrs != op.attrs || !is_read_by_one(graph, op.inputs[part])) continue;
    std::vector<ir::ValueId> parts = op.inputs;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(part));
    parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(part), inner->inputs.begin(), inner->inputs.end());
    Edit edit(graph, at);
    edit.replace(op.outputs[0], edit.op(Kind::k_concat, op.name, std::move(parts), op.attrs));
    return edit.done();
  }
  return std::nullopt;
}

}  // namespace

const Rule kMergeConcats{"merge-concats", "a concat of concats is one concat", Preserves::kBits, 0, false,
                         merge_concats};

}  // namespace pantoum::rewrite
