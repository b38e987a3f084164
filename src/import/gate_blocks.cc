#include "import/gate_blocks.h"

#include <algorithm>

namespace pantoum::import {
namespace {

constexpr int kMostOps = 64;  // that one search looks at

// Elements of a value in the order of its bytes.
struct Range {
  ValueId of = ir::kNone;
  int64_t first = 0, count = 0;
};

const Shape& shape_of(const Graph& graph, ValueId value) {
  return graph.value(value).type.shape;
}

// Are parts along the axis contiguous?
bool leads(const Shape& shape, size_t axis) {
  return std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis),
                     [](int64_t extent) { return extent == 1; });
}

std::optional<Range> through_concat(const Graph& graph, const Op& concat, Range range) {
  if (!leads(shape_of(graph, range.of), static_cast<size_t>(concat.attrs.ints[0]))) return std::nullopt;
  for (const ValueId part : concat.inputs) {
    const int64_t elements = graph.value(part).type.elements();
    if (range.first + range.count <= elements) return Range{part, range.first, range.count};
    if (range.first < elements) return std::nullopt;
    range.first -= elements;
  }
  return std::nullopt;
}

std::optional<Range> through_split(const Graph& graph, const Op& split, Range range) {
  if (!leads(shape_of(graph, range.of), static_cast<size_t>(split.attrs.ints[0]))) return std::nullopt;
  for (const ValueId part : split.outputs) {
    if (part == range.of) break;
    range.first += graph.value(part).type.elements();
  }
  return Range{split.inputs[0], range.first, range.count};
}

// A slice that takes a piece of one dimension without steps, and the dimensions behind it whole.
std::optional<Range> through_slice(const Graph& graph, const Op& slice, Range range) {
  const Shape &from = shape_of(graph, slice.inputs[0]), &to = shape_of(graph, slice.outputs[0]);
  if (from.empty()) return std::nullopt;
  size_t axis = 0;
  while (axis + 1 < from.size() && from[axis] == 1) ++axis;
  for (size_t d = 0; d < from.size(); ++d)
    if (slice.attrs.ints[2 * d + 1] != 1 || (d != axis && from[d] != to[d])) return std::nullopt;
  int64_t each = 1;  // elements at one index of the axis
  for (size_t d = axis + 1; d < from.size(); ++d) each *= from[d];
  return Range{slice.inputs[0], range.first + slice.attrs.ints[2 * axis] * each, range.count};
}

std::optional<Range> through(const Graph& graph, const Op& op, const Range& range) {
  switch (op.kind) {
    case Kind::k_alias:
      return Range{op.inputs[0], range.first, range.count};
    case Kind::k_concat:
      return through_concat(graph, op, range);
    case Kind::k_split:
      return through_split(graph, op, range);
    case Kind::k_slice:
      return through_slice(graph, op, range);
    default:
      return std::nullopt;
  }
}

Range origin_of(const Graph& graph, Range range) {
  for (int ops = 0; ops < kMostOps; ++ops) {
    const OpId producer = graph.value(range.of).producer;
    if (producer == ir::kNone) break;
    const std::optional<Range> from = through(graph, graph.op(producer), range);
    if (!from) break;
    range = *from;
  }
  return range;
}

}  // namespace

bool is_zero_part(const Graph& graph, ValueId x, int64_t first, int64_t count) {
  const ir::Value& source = graph.value(origin_of(graph, {x, first, count}).of);
  if (source.role != ir::Role::kConstant || !source.data || source.type.elements() != count) return false;
  const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
  return std::all_of(source.data->begin(), source.data->end(), zero);
}

std::optional<GateBlocks> gate_blocks(const Graph& graph, ValueId x, int64_t first, int64_t gates, int64_t block) {
  GateBlocks found;
  if (block < 1) return std::nullopt;
  for (int64_t gate = 0; gate < gates; ++gate) {
    const Range range = origin_of(graph, {x, first + gate * block, block});
    if (found.source == ir::kNone) found.source = range.of;
    if (range.of != found.source || range.first % block != 0) return std::nullopt;
    const int64_t at = range.first / block;
    if (std::ranges::count(found.blocks, at) != 0) return std::nullopt;
    found.blocks.push_back(at);
  }
  if (graph.value(found.source).type.elements() != gates * block) return std::nullopt;
  return found;
}

}  // namespace pantoum::import
