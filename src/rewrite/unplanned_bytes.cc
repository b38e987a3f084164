#include "rewrite/unplanned_bytes.h"

#include <limits>
#include <vector>

#include "ir/op_registry.h"

namespace pantoum::rewrite {
namespace {

using ir::Bytes;
using ir::Graph;
using ir::Kind;
using ir::kNone;
using ir::Op;
using ir::OpId;
using ir::ValueId;

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
        root_[at(op.outputs[0])] = root_[at(op.inputs[0])];
      else
        for (const ValueId input : op.inputs) last_[at(root_[at(input)])] = static_cast<OpId>(id);
    }
    for (const auto* list : {&graph.outputs, &graph.results})
      for (const ValueId id : *list) last_[at(root_[at(id)])] = kAlways;
    for (const ir::Value& value : graph.values)
      if (value.next != kNone) successor_[at(value.next)] = 1, last_[at(root_[at(value.next)])] = kAlways;
  }

  std::vector<Bytes> live() {
    std::vector<Bytes> live;
    for (size_t id = 0; id < graph_.ops.size(); ++id)
      live.push_back(graph_.ops[id].kind == Kind::k_alias ? live_ : run(static_cast<OpId>(id)));
    return live;
  }

 private:
  static size_t at(ValueId id) { return static_cast<size_t>(id); }

  [[nodiscard]] Bytes other_layout(const Op& op) const {
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
      if (successor_[at(made)]) continue;  // takes over what it follows
      const Bytes bytes = graph_.value(made).type.bytes();
      bytes_[at(made)] = bytes;
      live_ += bytes;
      for (const auto& [to, from] : pairs) {
        const ValueId over = root_[at(op.inputs[static_cast<size_t>(from)])];
        if (static_cast<size_t>(to) != output || yielded[static_cast<size_t>(from)] || last_[at(over)] != id) continue;
        if (bytes_[at(over)] != bytes || bytes == 0) continue;
        yielded[static_cast<size_t>(from)] = 1;
        live_ -= bytes;
        bytes_[at(over)] = 0;
        break;
      }
    }
    const Bytes running = live_ + other_layout(op);
    for (const ValueId input : op.inputs) release(root_[at(input)], id);
    for (const ValueId output : op.outputs) release(output, id);
    return running;
  }

  // After its last use; what nobody reads, at once.
  void release(ValueId value, OpId now) {
    if (last_[at(value)] > now) return;
    live_ -= bytes_[at(value)];
    bytes_[at(value)] = 0;
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
