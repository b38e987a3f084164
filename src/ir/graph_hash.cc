#include "ir/graph_hash.h"

#include <span>
#include <vector>

#include "base/checksum.h"

namespace pantoum::ir {

uint64_t graph_hash(const Graph& graph) {
  std::vector<int64_t> words;
  const auto add = [&](auto word) { words.push_back(static_cast<int64_t>(word)); };
  const auto add_all = [&](const auto& list) {
    add(list.size());
    for (const auto each : list) add(each);
  };
  add(graph.ops.size());
  for (const Op& op : graph.ops) {
    add(op.kind);
    add_all(op.inputs);
    add_all(op.outputs);
  }
  add(graph.values.size());
  for (const Value& value : graph.values) {
    add(value.type.dtype);
    add_all(value.type.shape);
    add(value.role);
    add(value.trainable);
    add(value.next);
  }
  return base::checksum_of(std::as_bytes(std::span(words)));
}

}  // namespace pantoum::ir
