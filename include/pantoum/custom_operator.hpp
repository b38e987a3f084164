// Custom operators and optimizers: rules and kernels that the compiler and the trainer use like built-in ones.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pantoum/export.h"
#include "pantoum/result.hpp"
#include "pantoum/tensor.hpp"

namespace pantoum {

struct TensorType {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  // at most 6 dimensions, each at least 1
  bool operator==(const TensorType&) const = default;
};

// The types of an op's inputs, and its attributes in the order of CustomOperator.
struct Operands {
  std::vector<TensorType> inputs;
  std::vector<int64_t> ints;
  std::vector<double> reals;
};

// One run of a kernel. All views are valid only during the call. The outputs are not initialized; the kernel writes every element.
class PANTOUM_API KernelCall {
 public:
  [[nodiscard]] std::span<const TensorView> inputs() const { return inputs_; }  // read only
  [[nodiscard]] std::span<const TensorView> outputs() const { return outputs_; }
  [[nodiscard]] std::span<const int64_t> ints() const { return ints_; }
  [[nodiscard]] std::span<const double> reals() const { return reals_; }
  [[nodiscard]] std::byte* workspace() const { return workspace_; }  // the bytes that CustomOperator::workspace_bytes returned
  [[nodiscard]] double lr() const { return lr_; }                    // of the step
  [[nodiscard]] uint64_t step() const { return step_; }              // 1 for the first
  [[nodiscard]] uint64_t seed() const { return seed_; }
  // Calls body(begin, end) for parts of [0, count), on several threads at once; returns when all are done. The bits do not depend on the number of
  // threads if only one part writes each output element. `body` must not throw.
  void parallel_for(size_t count, const std::function<void(size_t begin, size_t end)>& body) const;

 private:
  friend struct Access;
  std::span<const TensorView> inputs_, outputs_;
  std::span<const int64_t> ints_;
  std::span<const double> reals_;
  std::byte* workspace_ = nullptr;
  double lr_ = 0;
  uint64_t step_ = 0, seed_ = 0;
  const void* pool_ = nullptr;
};

// A kernel must not allocate memory, because that RAM is not in the budget. An error (code E0262 for data that do not fit, or another code) or an
// exception ends the step, and every later call of the trainer fails.
using Kernel = std::function<Result<void>(const KernelCall& call)>;

// Computes gradients of inputs. Its kernel reads the gradients of all outputs, then the tensors named here, and writes the gradients of the inputs
// `of`. Tensors that are not named need not be kept until backward, so name few.
struct Gradient {
  std::vector<int> of;                 // inputs, by position
  std::vector<int> reads_inputs = {};  // of the operator
  std::vector<int> reads_outputs = {};
  Kernel kernel;
  double flops_per_element = 1;  // per element that the kernel writes; for devices whose kernels are not measured
  size_t workspace_bytes = 0;
};

struct OperatorAttribute {
  std::string name;                      // in ONNX nodes
  std::optional<double> otherwise = {};  // the value if a node lacks the attribute; nullopt: every node must have it
};

struct CustomOperator {
  // "my.company::Swish": ONNX nodes of domain my.company and type Swish, and ModelBuilder::node, name it.
  std::string name;
  int64_t version = 1;  // change it if results or costs change, so that plans and measured times are made anew
  // Returns the types of the outputs, or an Error whose message describes what does not fit (Pantoum sets its code and place).
  std::function<Result<std::vector<TensorType>>(const Operands& operands)> shape;
  Kernel kernel;
  std::vector<Gradient> gradients = {};  // an input that no Gradient names has none: a model that needs it is refused
  std::vector<OperatorAttribute> ints = {}, reals = {};
  std::function<double(const Operands& operands)> flops = {};            // without it: one per output element
  std::function<size_t(const Operands& operands)> workspace_bytes = {};  // without it: 0
  std::vector<std::pair<int, int>> in_place = {};  // (output, input) of one type: the output may be written over the input
  bool deterministic = true;                       // false: a plan never recomputes the op
  bool concurrent = false;                         // true: on several engines, kernels may run at the same time as those of custom operators
};

// Registers the operator until the process ends. May be called from any thread, before a model that uses the operator is loaded. E0106: the name is
// invalid or taken, or a rule is missing.
[[nodiscard]] PANTOUM_API Result<void> add_operator(CustomOperator op);

// An optimizer: its kernel gets parameter, gradient, states.. as inputs and the new parameter, states.. as outputs, all f32 of one shape; an output
// may lie in the memory of its input. The kernel computes element by element. `reals`: CustomUpdate::settings.
struct CustomOptimizer {
  std::string name;  // "my.company::Lion"
  int64_t version = 1;
  std::vector<std::string> states = {};  // initially zero; in checkpoints "optim.<state>.<parameter>"
  Kernel kernel;
};
[[nodiscard]] PANTOUM_API Result<void> add_optimizer(CustomOptimizer optimizer);

// Loads a shared object that adds operators, and layer types of NNTrainer's model files, until the process ends (pantoum/plugin.h). Does nothing if it
// was loaded before. A path without a slash is a file of the working folder. One call runs at a time.
// E0106: no shared object, no plug-in, another ABI version, an entry that fails, or a name that is invalid or taken; nothing is added then.
[[nodiscard]] PANTOUM_API Result<void> load_plugin(const std::string& path);

}  // namespace pantoum
