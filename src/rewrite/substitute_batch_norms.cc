// Batch norm treats each channel by itself: norms of the pieces of an image, split by channels, are the pieces of one norm of
// the image, scale and bias side by side; of its gradient too, and of the norm by stored statistics. What follows merged
// convolutions stays merged.
//   tolerance  the sums over a channel may be taken in another order
//   where      every piece of a split along the channels is normed with the same eps; the gradients of the pieces may come
//              from anywhere (they are joined, or taken whole where they are pieces of a split alike)
//   not        pieces with other readers alone, or none; splits along another dimension; the running statistics, which stay
//              one op for each norm
#include <algorithm>

#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

// How many of a norm's first inputs are images; 0: it is none.
size_t images_of_norm(const ir::Op& op) {
  if (op.kind == Kind::k_batch_norm || op.kind == Kind::k_batch_norm_eval) return 1;
  return op.kind == Kind::k_batch_norm_grad ? 2 : 0;
}

// The norm's likes on every piece of the split, in order; nothing where a piece has none.
std::optional<std::vector<const ir::Op*>> norms_of_pieces(const ir::Graph& graph, const ir::Op& op,
                                                          const ir::Op& split) {
  const size_t x = images_of_norm(op) - 1;
  std::vector<const ir::Op*> norms;
  for (const ir::ValueId piece : split.outputs) {
    const ir::Op* found = nullptr;
    for (const ir::OpId reader : readers_of(graph, piece)) {
      const ir::Op& other = graph.op(reader);
      if (found == nullptr && other.kind == op.kind && other.attrs == op.attrs && is_ordinary(other) &&
          other.inputs[x] == piece)
        found = &other;
    }
    if (found == nullptr) return std::nullopt;
    norms.push_back(found);
  }
  return norms;
}

// What the norms read at `input`, as one value: the image before it was split, or all side by side.
ir::ValueId together(Edit& edit, const ir::Graph& graph, const std::vector<const ir::Op*>& norms, size_t input,
                     size_t axis) {
  std::vector<ir::ValueId> parts(norms.size());
  std::transform(norms.begin(), norms.end(), parts.begin(), [&](const ir::Op* norm) { return norm->inputs[input]; });
  const ir::Op* split = maker_of(graph, parts[0], Kind::k_split);
  if (split != nullptr && split->outputs == parts && split->attrs.ints[0] == static_cast<int64_t>(axis))
    return split->inputs[0];
  return edit.concat(norms[0]->name + ".joined", std::move(parts), axis);
}

std::optional<ir::Graph> merge_batch_norms(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const size_t images = images_of_norm(op);
  if (images == 0 || !is_ordinary(op)) return std::nullopt;
  const ir::Op* split = maker_of(graph, op.inputs[images - 1], Kind::k_split);
  if (split == nullptr || split->attrs.ints[0] != 1 || split->outputs.size() < 2) return std::nullopt;
  if (split->outputs[0] != op.inputs[images - 1]) return std::nullopt;  // once for all pieces
  auto norms = norms_of_pieces(graph, op, *split);
  if (!norms) return std::nullopt;
  norms->front() = &op;
  Edit edit(graph, at);
  std::vector<ir::ValueId> inputs;
  for (size_t input = 0; input < op.inputs.size(); ++input)
    inputs.push_back(together(edit, graph, *norms, input, input < images ? 1 : 0));
  const auto made = edit.add(op.kind, op.name + ".merged", inputs, op.attrs);
  for (size_t output = 0; output < op.outputs.size() && output < made.size(); ++output) {
    std::vector<ir::TensorType> types;
    for (const ir::Op* norm : *norms) types.push_back(edit.type(norm->outputs[output]));
    const auto pieces = edit.add(Kind::k_split, op.name + ".split", {made[output]}, {{output == 0 ? 1 : 0}, {}}, types);
    for (size_t norm = 0; norm < norms->size() && norm < pieces.size(); ++norm)
      edit.replace((*norms)[norm]->outputs[output], pieces[norm]);
  }
  return edit.done();
}

}  // namespace

const Rule kMergeBatchNorms{
    "merge-batch-norms", "batch norms of all pieces of an image are one", Preserves::kValues, 1e-5, false,
    merge_batch_norms};

}  // namespace pantoum::rewrite
