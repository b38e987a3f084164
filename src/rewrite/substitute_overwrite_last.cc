// The order of ops alone changes, none of them does: an op that could write over an input is moved behind the input's last
// reader, so that chains of pointwise ops need no second tensor.
//   where    the op has an output that may go over an input which an op made, which a later op reads, which is not kept, and
//            nothing reads the op's outputs before that
//   not      inputs that stay (parameters, outputs); readers that need what the op makes
#include <algorithm>

#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

bool reads_any(const ir::Op& op, const std::vector<ir::ValueId>& values) {
  const auto in = [&](ir::ValueId input) { return std::find(values.begin(), values.end(), input) != values.end(); };
  return std::any_of(op.inputs.begin(), op.inputs.end(), in) ||
         std::any_of(op.alternatives.begin(), op.alternatives.end(), [&](const ir::Alternative& other) {
           return std::any_of(other.inputs.begin(), other.inputs.end(), in);
         });
}

// The first op behind `at` that reads one of the values; the number of ops: none.
ir::OpId next_reader(const ir::Graph& graph, ir::OpId at, const std::vector<ir::ValueId>& values) {
  ir::OpId op = at + 1;
  while (op < static_cast<ir::OpId>(graph.ops.size()) && !reads_any(graph.op(op), values)) ++op;
  return op;
}

// The last op that the op at `at` must wait for to be an input's last reader, if it stands before `limit`; kNone: none.
ir::OpId reader_to_wait_for(const ir::Graph& graph, ir::OpId at, ir::OpId limit) {
  for (const auto& [output, input] : ir::in_place_pairs(graph, graph.op(at))) {
    const ir::ValueId over = graph.op(at).inputs[static_cast<size_t>(input)];
    if (graph.value(over).producer == ir::kNone || next_reader(graph, at, {over}) >= limit) continue;
    const ir::OpId last = readers_of(graph, over).back();
    if (last < limit && !is_kept(graph, over)) return last;
  }
  return ir::kNone;
}

std::optional<ir::Graph> overwrite_last(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (ir::op_def(op.kind).in_place == nullptr || op.kind == ir::Kind::k_alias || !is_ordinary(op)) return std::nullopt;
  const ir::OpId limit = next_reader(graph, at, op.outputs);  // the op stands before it
  if (limit == at + 1) return std::nullopt;
  const ir::OpId last = reader_to_wait_for(graph, at, limit);
  if (last == ir::kNone) return std::nullopt;
  ir::Graph moved = graph;
  const auto begin = moved.ops.begin() + at;
  std::rotate(begin, begin + 1, moved.ops.begin() + last + 1);
  for (ir::OpId each = at; each <= last; ++each)
    for (const ir::ValueId output : moved.op(each).outputs) moved.value(output).producer = each;
  return moved;
}

}  // namespace

const Rule kOverwriteLast{"overwrite-last",
                          "an op that may write over its input waits for the input's other readers",
                          Preserves::kBits,
                          0,
                          false,
                          overwrite_last};

}  // namespace pantoum::rewrite
