// What substitutions share: how they look at a graph, and how they change a copy of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/index.h"
#include "ir/builder.h"
#include "ir/graph.h"
#include "ir/op_registry.h"

namespace pantoum::rewrite {

using base::position_of;
using ir::Attrs;
using ir::DType;
using ir::Graph;
using ir::Kind;
using ir::kNone;
using ir::Op;
using ir::OpId;
using ir::Shape;
using ir::TensorType;
using ir::Value;
using ir::ValueId;

// ---- looking ----

// The op that makes a value; null: it is there from the start, or nobody makes it.
[[nodiscard]] const Op* maker_of(const Graph& graph, ValueId value);
// The same, where it is of this kind and ordinary.
[[nodiscard]] const Op* maker_of(const Graph& graph, ValueId value, Kind kind);
// May it be moved, merged or made again: no effect, no draw at random, no alternatives?
[[nodiscard]] bool is_ordinary(const Op& op);
// Who sees a value. `readers_of`: all ops, ascending, those with an alternative that reads it included; one pass over the
// ops. `kept_values`, by value, and `is_kept`: is it an output, a result or a successor, which outlives the step? One pass
// over the values. `is_read_by_one`: by one op at one position, and not kept.
[[nodiscard]] std::vector<OpId> readers_of(const Graph& graph, ValueId value);
[[nodiscard]] std::vector<char> kept_values(const Graph& graph);
[[nodiscard]] bool is_kept(const Graph& graph, ValueId value);
[[nodiscard]] bool is_read_by_one(const Graph& graph, ValueId value);

// The readers of all values of a graph, as they were when this was made.
class Readers {
 public:
  explicit Readers(const Graph& graph) : of_(ir::users_of(graph)), kept_(kept_values(graph)) {}

  [[nodiscard]] std::vector<OpId>& of(ValueId value) { return of_[position_of(value)]; }
  [[nodiscard]] const std::vector<OpId>& of(ValueId value) const { return of_[position_of(value)]; }
  [[nodiscard]] bool is_kept(ValueId value) const { return kept_[position_of(value)] != 0; }
  // The one op that reads the value; kNone where several do, or where the value outlives the step.
  [[nodiscard]] OpId only(ValueId value) const {
    return of(value).size() == 1 && !is_kept(value) ? of(value)[0] : kNone;
  }

 private:
  std::vector<std::vector<OpId>> of_;
  std::vector<char> kept_;
};

// One output whose element e depends on the inputs' elements e alone, broadcast.
[[nodiscard]] bool is_pointwise(const Op& op);
// Of a pointwise op: the inputs of the output's shape. Nothing where another one is broadcast that is not a single number.
[[nodiscard]] std::optional<std::vector<size_t>> full_inputs(const Graph& graph, const Op& op);

// The number that every element of a constant is; none: it is none, or they differ, or it is no float or integer.
[[nodiscard]] std::optional<double> uniform_constant(const Graph& graph, ValueId value);
// The same type but along one dimension?
[[nodiscard]] bool differ_along(const TensorType& a, const TensorType& b, size_t axis);

// ---- changing ----

// A copy of a graph under a change at one op. New ops stand before that op, and earlier or later as what they read and
// what reads them wants it.
class Edit {
 public:
  Edit(const Graph& graph, OpId at);

  // As ir::Builder has them.
  std::vector<ValueId> add(Kind kind, const std::string& name, std::vector<ValueId> inputs, Attrs attrs,
                           std::vector<TensorType> given = {});
  ValueId op(Kind kind, const std::string& name, std::vector<ValueId> inputs, Attrs attrs,
             std::vector<TensorType> given = {});
  // The op on other inputs, for an output of that shape.
  ValueId again(const Op& op, std::vector<ValueId> inputs, Shape shape);
  ValueId reshape(const std::string& name, ValueId value, Shape shape);
  ValueId scale(const std::string& name, ValueId value, double a, double b = 0);
  // One number in every element, float32 or float64.
  ValueId constant(const std::string& name, const TensorType& type, double number);
  ValueId concat(const std::string& name, std::vector<ValueId> parts, size_t axis);

  // `old` and `instead` are equal: readers get one of them, and what is kept keeps its name. It fails (`done`) where
  // their types differ, or where both are kept, or the kept one has no maker.
  void replace(ValueId old, ValueId instead);

  [[nodiscard]] TensorType type(ValueId value) const { return graph_.value(value).type; }
  [[nodiscard]] Graph& graph() { return graph_; }
  [[nodiscard]] bool is_kept(ValueId value) const;

  // The graph in topological order, without what became dead; none where an op's rule refused what was built, where a value
  // could not be replaced, or where an op would wait for itself.
  [[nodiscard]] std::optional<Graph> done();

 private:
  Graph graph_;
  ir::Builder builder_;
  OpId at_;
  size_t old_ops_, old_values_;
  std::vector<char> kept_;
  bool failed_ = false;

  void read_instead(ValueId old, ValueId instead);
  [[nodiscard]] bool order();
};

}  // namespace pantoum::rewrite
