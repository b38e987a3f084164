// For substitutions that take a pointwise op before or behind an op that moves elements: the op on other full inputs.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "rewrite/edit.h"

namespace pantoum::rewrite {

// The op with map(input) in place of each full input, each value mapped once; single numbers stay. Its output has `shape`.
template <class Map>
[[nodiscard]] ir::ValueId moved(Edit& edit, const ir::Op& op, const std::vector<size_t>& full, const ir::Shape& shape,
                                Map map) {
  std::vector<ir::ValueId> inputs = op.inputs;
  std::map<ir::ValueId, ir::ValueId> known;
  for (const size_t input : full) {
    const auto [entry, fresh] = known.try_emplace(inputs[input], ir::kNone);
    if (fresh) entry->second = map(inputs[input]);
    inputs[input] = entry->second;
  }
  return edit.again(op, std::move(inputs), shape);
}

// The full inputs of a pointwise op, all made by ops of `kind` that are equal by `same(first, other)`; nothing where one is
// not.
template <class Same>
[[nodiscard]] std::optional<std::vector<size_t>> full_inputs_by(const ir::Graph& graph, const ir::Op& op, ir::Kind kind,
                                                                Same same) {
  if (op.inputs.empty()) return std::nullopt;
  // Most ops fail here: no input is made so.
  bool any = false;
  for (const ir::ValueId input : op.inputs) any = any || maker_of(graph, input, kind) != nullptr;
  if (!any || !is_pointwise(op)) return std::nullopt;
  const auto full = full_inputs(graph, op);
  if (!full) return std::nullopt;
  const ir::Op* first = maker_of(graph, op.inputs[full->front()], kind);
  for (const size_t input : *full) {
    const ir::Op* other = maker_of(graph, op.inputs[input], kind);
    if (first == nullptr || other == nullptr || !same(*first, *other)) return std::nullopt;
  }
  return full;
}

// The pointwise op that alone makes what `value` is, for `value`'s one reader; with its full inputs.
struct PointwiseMaker {
  const ir::Op* op;
  std::vector<size_t> full;
};
[[nodiscard]] std::optional<PointwiseMaker> pointwise_maker(const ir::Graph& graph, ir::ValueId value);

}  // namespace pantoum::rewrite
