// What substitutions share: how they look at a graph, and how they change a copy of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/graph.h"
#include "ir/op_registry.h"

namespace pantoum::rewrite {

// ---- looking ----

// The op that makes a value; null: it is there from the start, or nobody makes it.
[[nodiscard]] const ir::Op* maker_of(const ir::Graph& graph, ir::ValueId value);
// The same, where it is of this kind and ordinary.
[[nodiscard]] const ir::Op* maker_of(const ir::Graph& graph, ir::ValueId value, ir::Kind kind);
// May it be moved, merged or made again: no effect, no draw at random, no alternatives?
[[nodiscard]] bool is_ordinary(const ir::Op& op);
// Who sees a value. `readers_of`: all ops, ascending, those with an alternative that reads it included; one pass over the
// ops. `kept_values`, by value, and `is_kept`: is it an output, a result or a successor, which outlives the step? One pass
// over the values. `is_read_by_one`: by one op at one position, and not kept.
[[nodiscard]] std::vector<ir::OpId> readers_of(const ir::Graph& graph, ir::ValueId value);
[[nodiscard]] std::vector<char> kept_values(const ir::Graph& graph);
[[nodiscard]] bool is_kept(const ir::Graph& graph, ir::ValueId value);
[[nodiscard]] bool is_read_by_one(const ir::Graph& graph, ir::ValueId value);

// One output whose element e depends on the inputs' elements e alone, broadcast.
[[nodiscard]] bool is_pointwise(const ir::Op& op);
// Of a pointwise op: the inputs of the output's shape. Nothing where another one is broadcast that is not a single number.
[[nodiscard]] std::optional<std::vector<size_t>> full_inputs(const ir::Graph& graph, const ir::Op& op);

// The number that every element of a constant is; none: it is none, or they differ, or it is no float or integer.
[[nodiscard]] std::optional<double> uniform_constant(const ir::Graph& graph, ir::ValueId value);
// The same type but along one dimension?
[[nodiscard]] bool differ_along(const ir::TensorType& a, const ir::TensorType& b, size_t axis);

// ---- changing ----

// A copy of a graph under a change at one op. New ops stand before that op, and earlier or later as what they read and
// what reads them wants it.
class Edit {
 public:
  Edit(const ir::Graph& graph, ir::OpId at);

  // As ir::Builder has them.
  std::vector<ir::ValueId> add(ir::Kind kind, const std::string& name, std::vector<ir::ValueId> inputs, ir::Attrs attrs,
                               std::vector<ir::TensorType> given = {});
  ir::ValueId op(ir::Kind kind, const std::string& name, std::vector<ir::ValueId> inputs, ir::Attrs attrs,
                 std::vector<ir::TensorType> given = {});
  // The op on other inputs, for an output of that shape.
  ir::ValueId again(const ir::Op& op, std::vector<ir::ValueId> inputs, ir::Shape shape);
  ir::ValueId reshape(const std::string& name, ir::ValueId value, ir::Shape shape);
  ir::ValueId scale(const std::string& name, ir::ValueId value, double a, double b = 0);
  // One number in every element, float32 or float64.
  ir::ValueId constant(const std::string& name, const ir::TensorType& type, double number);
  ir::ValueId concat(const std::string& name, std::vector<ir::ValueId> parts, size_t axis);

  // `old` and `instead` are equal: readers get one of them, and what is kept keeps its name. It fails (`done`) where
  // their types differ, or where both are kept, or the kept one has no maker.
  void replace(ir::ValueId old, ir::ValueId instead);

  [[nodiscard]] ir::TensorType type(ir::ValueId value) const { return graph_.value(value).type; }
  [[nodiscard]] ir::Graph& graph() { return graph_; }
  [[nodiscard]] bool is_kept(ir::ValueId value) const;

  // The graph in topological order, without what became dead; none where an op's rule refused what was built, where a value
  // could not be replaced, or where an op would wait for itself.
  [[nodiscard]] std::optional<ir::Graph> done();

 private:
  ir::Graph graph_;
  ir::Builder builder_;
  ir::OpId at_;
  size_t old_ops_, old_values_;
  std::vector<char> kept_;
  bool failed_ = false;

  void read_instead(ir::ValueId old, ir::ValueId instead);
  [[nodiscard]] bool order();
};

}  // namespace pantoum::rewrite
