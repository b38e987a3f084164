// The model that a builder has so far: values, nodes, names, and what went wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "pantoum/model_builder.hpp"

namespace pantoum::layers {

// The facts that are known about a value while a model is built.

using Shape = std::vector<int64_t>;
using Bytes = std::vector<std::byte>;

// Shapes are computed for two batches: what differs depends on the batch. Two primes that few programs name as an extent.
inline constexpr std::array<int64_t, 2> kBatches = {61, 67};
// An extent that the batch decides, as shapes that users see have it.
inline constexpr int64_t kBatch = -1;
// Extents and sizes above this are refused before anything is computed with them.
inline constexpr int64_t kMostExtent = INT32_MAX;
// The most bytes of elements that an ONNX file holds; the rest of its 2 GiB is for everything else.
inline constexpr int64_t kMostParameterBytes = (int64_t{1} << 31) - (int64_t{1} << 24);
// Contents of computed values are kept up to so many elements: what gives shapes, positions and sizes is short.
inline constexpr size_t kMostKnown = 4096;

struct KnownType {
  DType dtype = DType::f32;
  std::array<Shape, kBatches.size()> shapes;                                // by batch
  std::array<std::shared_ptr<const Bytes>, kBatches.size()> contents = {};  // null: they depend on data, or are many
};

// The shape with -1 for every extent that depends on the batch.
[[nodiscard]] Shape shown(const KnownType& type);
// "f32[N,3,8]".
[[nodiscard]] std::string to_text(const KnownType& type);
[[nodiscard]] std::string to_text(const Shape& shape);
// The product of the extents; nothing where one is below 1 or the product above `most`.
[[nodiscard]] std::optional<int64_t> count_of(const Shape& shape, int64_t most);
// The same extents for every batch.
[[nodiscard]] KnownType fixed_type(DType dtype, const Shape& shape);
// The type with each of kBatches in place of -1.
[[nodiscard]] KnownType batch_type(DType dtype, const Shape& shape);

// A number of ONNX's list of element types, and back.
[[nodiscard]] int32_t onnx_type(DType dtype);

using ValueId = int32_t;
inline constexpr ValueId kNoValue = -1;  // of a call that went wrong; an operand that is left out

enum class Role : uint8_t { kInput, kParameter, kStatistic, kConstant, kComputed };

struct Value {
  std::string name;  // of a computed value: what it is called where the name is free
  Role role = Role::kComputed;
  KnownType type;
  Bytes elements = {};  // of parameters, statistics and constants
};

struct Part;

struct NodeRecord {
  std::string op_type, domain, name;
  std::vector<ValueId> inputs, outputs;  // kNoValue: left out
  Attributes attributes = {};
  std::shared_ptr<const Part> part = nullptr;  // of a node that stands for the nodes of another model (part.h)
};

struct Output {
  std::string name;
  ValueId value = kNoValue;
};

// Every function takes what a program may give and reports what is wrong with it; none aborts.
class State : public std::enable_shared_from_this<State> {
 public:
  State(std::string name, uint64_t seed) : name_(std::move(name)), seed_(seed) {}

  // ---- Handles.
  [[nodiscard]] Tensor handle(ValueId value) { return {shared_from_this(), value}; }
  [[nodiscard]] ModelBuilder builder() { return ModelBuilder(shared_from_this()); }
  [[nodiscard]] static const std::shared_ptr<State>& of(const Tensor& tensor) { return tensor.state_; }
  [[nodiscard]] static ValueId id_of(const Tensor& tensor) { return tensor.value_; }

  // ---- What there is.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] uint64_t seed() const { return seed_; }
  [[nodiscard]] const std::vector<Value>& values() const { return values_; }
  [[nodiscard]] const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  [[nodiscard]] std::span<std::byte> elements(ValueId id) { return values_[static_cast<size_t>(id)].elements; }
  [[nodiscard]] const std::vector<NodeRecord>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<Output>& outputs() const { return outputs_; }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  [[nodiscard]] ValueId find_parameter(const std::string& name) const;

  ValueId add_value(Value value);
  // A short constant; the one that there is, if it is equal.
  ValueId add_constant(Value value);
  void add_node(NodeRecord node) { nodes_.push_back(std::move(node)); }
  void add_output(Output output) { outputs_.push_back(std::move(output)); }
  // All parameters and constants may have so many bytes together. spend_bytes takes them; false where there are no more.
  [[nodiscard]] bool has_bytes(int64_t bytes) const { return bytes <= kMostParameterBytes - bytes_; }
  [[nodiscard]] bool spend_bytes(int64_t bytes);

  // ---- Names. A layer's name that the program chose is claimed once; the second is a problem, unless a shared layer is called again.
  // Names that are made up give way.
  void report(const std::string& what, const Place& place, const std::string& problem);
  // "prefix.wanted"; of an empty name the kind and a number that is free.
  [[nodiscard]] std::string claim(std::string_view kind, const std::string& wanted, const Place& place);
  // Inputs, outputs and parameters share their names; false where there is one of this name.
  [[nodiscard]] bool claim_value(const std::string& name) { return values_named_.insert(name).second; }
  // Why a name is none; "" where it is one.
  [[nodiscard]] static std::string problem_of_name(const std::string& name);

  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }

  // While a shared layer is called again, its parameters are those that there are, and its names are claimed already.
  [[nodiscard]] bool is_called_again() const { return called_again_ > 0; }
  // Notes a call of the shared layer of this name. True if it was called before.
  [[nodiscard]] bool note_call(const std::string& shared) { return !called_.insert(shared).second; }
  void begin_again(const std::string& shared);
  void end_again() { --called_again_; }

 private:
  std::string name_;
  uint64_t seed_;
  std::vector<Value> values_;
  std::vector<NodeRecord> nodes_;
  std::vector<Output> outputs_;
  std::vector<std::string> problems_;
  std::map<std::string, ValueId> parameters_;
  std::map<std::tuple<DType, Shape, Bytes>, ValueId> constants_;  // the short ones
  std::set<std::string> names_, made_up_, values_named_, called_;
  std::map<std::string, int> counts_;  // of names that were made up, by prefix and kind
  std::string prefix_;                 // "" or "features."
  int64_t bytes_ = 0;
  int called_again_ = 0;
};

// The prefix of names below a layer, until it goes out of scope.
class Below {
 public:
  Below(State& state, const std::string& full_name) : state_(state), before_(state.prefix()) {
    state.set_prefix(full_name.empty() ? "" : full_name + ".");
  }
  ~Below() { state_.set_prefix(before_); }
  Below(const Below&) = delete;
  Below& operator=(const Below&) = delete;

 private:
  State& state_;
  std::string before_;
};

// Another call of a shared layer, until it goes out of scope.
class Again {
 public:
  Again(State& state, const std::string& shared) : state_(state) { state.begin_again(shared); }
  ~Again() { state_.end_again(); }
  Again(const Again&) = delete;
  Again& operator=(const Again&) = delete;

 private:
  State& state_;
};

// The types of a node's outputs, by the rules that the model is read by: a model of this node alone is read, once for each batch, so the
// time does not depend on the rest of the model. E0211, E0401 with the node's problem as the message, or E0211 where the outputs of different
// batches have different dimensions.
[[nodiscard]] Result<std::vector<KnownType>> infer_node(const State& state, const NodeRecord& node, size_t outputs);

// The same for the outputs of a part at inputs of these types.
[[nodiscard]] Result<std::vector<KnownType>> infer_part(const Part& part, const std::vector<KnownType>& inputs);

// A ModelProto of opset 21 in training form; the batch is a named dimension. The same calls give the same bytes.
// E0213 with every problem of the builder; no input or output; more than 2 GiB.
[[nodiscard]] Result<std::string> serialize(const State& state);

}  // namespace pantoum::layers
