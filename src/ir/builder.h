// Appends ops to a graph; shapes come from the op's own rule.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/op_registry.h"

namespace pantoum::ir {

// Import and autodiff build through this, so that no graph holds a shape that its op's rule does not give.
// A rule that refuses is remembered: the builder goes on with values that no op makes, and `error()` tells the first
// refusal (E0211; where = the op's name). The graph is of no use then. Names that are taken get "#2", "#3", ...
class Builder {
 public:
  explicit Builder(Graph& graph);

  ValueId input(std::string name, TensorType type, Role role = Role::kInput);
  ValueId parameter(std::string name, TensorType type, Data data, bool trainable = true);
  ValueId state(std::string name, TensorType type);  // zeros
  ValueId buffer(std::string name, TensorType type, Data data);
  ValueId constant(std::string name, TensorType type, Data data, bool of_model = false);
  ValueId constant_f32(std::string name, Shape shape, std::vector<float> values);
  ValueId constant_i64(std::string name, Shape shape, std::vector<int64_t> values);

  // Appends one op; `given` are output types for ops whose inputs do not determine them. Returns its outputs, at least
  // one and as many as `given`. An op with one output names it as itself; with several, as itself with ":0", ":1", ...
  std::vector<ValueId> add(Kind kind, std::string name, std::vector<ValueId> inputs, Attrs attrs = {},
                           std::vector<TensorType> given = {});
  // The same for ops with one output.
  ValueId op(Kind kind, std::string name, std::vector<ValueId> inputs, Attrs attrs = {},
             std::vector<TensorType> given = {});

  // Short forms that gradient rules and the importer share.
  ValueId reshape(ValueId x, Shape shape);  // alias; x itself when the shape is the same already
  ValueId sum_to(ValueId x, Shape shape);   // undoes a broadcast: reduce_sum + alias; x itself when equal
  // A reshape where dimensions of 1 alone move past others.
  ValueId transpose(std::string name, ValueId x, std::vector<int64_t> perm);
  ValueId scale(ValueId x, double a, double b = 0);
  // As many parts as you like, in rounds where they are more than an op may have; the same parts are joined once.
  ValueId concat(std::string name, std::vector<ValueId> parts, int64_t axis);
  // Pieces of the given extents along the axis, in rounds; concat undoes it with the same parts in every round.
  std::vector<ValueId> split(std::string name, ValueId x, int64_t axis, const std::vector<int64_t>& extents);

  [[nodiscard]] TensorType type(ValueId id) const { return graph_.value(id).type; }
  [[nodiscard]] Graph& graph() { return graph_; }
  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  void rename(ValueId id, std::string name);
  void set_prefix(std::string prefix) {
    prefix_ = std::move(prefix);
  }  // put before names of ops and values made from now on

 private:
  Graph& graph_;
  std::optional<Error> error_;
  std::string prefix_;
  std::unordered_map<std::string, int> value_names_, op_names_;         // with the last number put behind each
  std::map<std::pair<int64_t, std::vector<ValueId>>, ValueId> joined_;  // by axis and parts, of one round

  ValueId value(std::string name, TensorType type, Role role, Data data);
  std::vector<ValueId> refused(Error error, const std::string& name, Kind kind, std::vector<TensorType> given);
};

}  // namespace pantoum::ir
