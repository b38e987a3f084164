#include "rewrite/edit.h"
#include "rewrite/passes.h"

#include <limits>

namespace pantoum::rewrite {
namespace {

using ir::Bytes;

constexpr OpId kAlways = std::numeric_limits<OpId>::max();

class Walk {
 public:
  explicit Walk(const Graph& graph)
      : graph_(graph),
        root_(graph.values.size()),
        last_(graph.values.size(), kNone),
        successor_(graph.values.size(), 0),
        bytes_(graph.values.size(), 0) {
    for (size_t id = 0; id < root_.size(); ++id) root_[id] = static_cast<ValueId>(id);
    for (size_t id = 0; id < graph.ops.size(); ++id) {
      const Op& op = graph.ops[id];
      if (op.kind == Kind::k_alias)
        root_[position_of(op.outputs[0])] = root_[position_of(op.inputs[0])];
      else
        for (const ValueId input : op.inputs) last_[position_of(root_[position_of(input)])] = static_cast<OpId>(id);
    }
    for (const auto* list : {&graph.outputs, &graph.results})
      for (const ValueId id : *list) last_[position_of(root_[position_of(id)])] = kAlways;
    for (const Value& value : graph.values)
      if (value.next != kNone)
        successor_[position_of(value.next)] = 1, last_[position_of(root_[position_of(value.next)])] = kAlways;
  }

  std::vector<Bytes> live() {
    std::vector<Bytes> live;
    for (size_t id = 0; id < graph_.ops.size(); ++id)
      live.push_back(graph_.ops[id].kind == Kind::k_alias ? live_ : run(static_cast<OpId>(id)));
    return live;
  }

 private:
  Bytes other_layout(const Op& op) const {
    if (op.kind == Kind::k_conv2d || op.kind == Kind::k_conv2d_dx) return graph_.value(op.inputs[1]).type.bytes();
    return op.kind == Kind::k_conv2d_dw ? graph_.value(op.outputs[0]).type.bytes() : 0;
  }

  // The bytes while it runs.
  Bytes run(OpId id) {
    const Op& op = graph_.op(id);
    std::vector<char> yielded(op.inputs.size(), 0);
    const auto pairs = ir::in_place_pairs(graph_, op);
    for (size_t output = 0; output < op.outputs.size(); ++output) {
      const ValueId made = op.outputs[output];
      if (successor_[position_of(made)]) continue;  // takes over what it follows
      const Bytes bytes = graph_.value(made).type.bytes();
      bytes_[position_of(made)] = bytes;
      live_ += bytes;
      for (const auto& [to, from] : pairs) {
        const ValueId over = root_[position_of(op.inputs[static_cast<size_t>(from)])];
        if (static_cast<size_t>(to) != output || yielded[static_cast<size_t>(from)] || last_[position_of(over)] != id)
          continue;
        if (bytes_[position_of(over)] != bytes || bytes == 0) continue;
        yielded[static_cast<size_t>(from)] = 1;
        live_ -= bytes;
        bytes_[position_of(over)] = 0;
        break;
      }
    }
    const Bytes running = live_ + other_layout(op);
    for (const ValueId input : op.inputs) release(root_[position_of(input)], id);
    for (const ValueId output : op.outputs) release(output, id);
    return running;
  }

  // After its last use; what nobody reads, at once.
  void release(ValueId value, OpId now) {
    if (last_[position_of(value)] > now) return;
    live_ -= bytes_[position_of(value)];
    bytes_[position_of(value)] = 0;
  }

  const Graph& graph_;
  std::vector<ValueId> root_;
  std::vector<OpId> last_;       // by root: the op that reads it last
  std::vector<char> successor_;  // by value: of what outlives the step
  std::vector<Bytes> bytes_;     // by value: that it holds; 0 for what the step begins with
  Bytes live_ = 0;
};

}  // namespace

std::vector<Bytes> unplanned_bytes(const Graph& graph) {
  return Walk(graph).live();
}

}  // namespace pantoum::rewrite
