// What was joined and is taken apart again along the same dimension: a piece that begins and ends where parts do is those
// parts. Elements move and none is changed.
//   where    a split of a concat along one dimension, every piece a run of whole parts
//   not      pieces that cut through a part (slice-of-concat takes slices inside one)
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> cancel_concat(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_split || !is_ordinary(op)) return std::nullopt;
  const ir::Op* joined = maker_of(graph, op.inputs[0], Kind::k_concat);
  if (joined == nullptr || joined->attrs != op.attrs) return std::nullopt;
  const auto axis = static_cast<size_t>(op.attrs.ints[0]);
  const auto extent = [&](ir::ValueId value) { return graph.value(value).type.shape[axis]; };
  std::vector<std::vector<ir::ValueId>> runs;
  size_t part = 0;
  for (const ir::ValueId piece : op.outputs) {
    runs.emplace_back();
    int64_t left = extent(piece);
    while (left > 0 && part < joined->inputs.size()) {
      left -= extent(joined->inputs[part]);
      runs.back().push_back(joined->inputs[part++]);
    }
    if (left != 0) return std::nullopt;
  }
  Edit edit(graph, at);
  for (size_t piece = 0; piece < runs.size(); ++piece)
    edit.replace(op.outputs[piece],
                 runs[piece].size() == 1 ? runs[piece][0] : edit.concat(op.name + ".joined", runs[piece], axis));
  return edit.done();
}

}  // namespace

const Rule kCancelConcat{
    "cancel-concat", "a split where a concat joined gives back the parts", Preserves::kBits, 0, false, cancel_concat};

}  // namespace pantoum::rewrite
