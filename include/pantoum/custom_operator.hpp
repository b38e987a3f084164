// Operators and optimizers of your own: rules and kernels that the compiler and the trainer use as their own.
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

// What an op reads, and its attributes in the order of CustomOperator.
struct Operands {
  std::vector<TensorType> inputs;
  std::vector<int64_t> ints;
  std::vector<double> reals;
};

// One run of a kernel. Everything is valid during the call alone. Outputs hold anything before; write every element.
class PANTOUM_API KernelCall {
 public:
  [[nodiscard]] std::span<const TensorView> inputs() const { return inputs_; }  // read only
  [[nodiscard]] std::span<const TensorView> outputs() const { return outputs_; }
  [[nodiscard]] std::span<const int64_t> ints() const { return ints_; }
  [[nodiscard]] std::span<const double> reals() const { return reals_; }
  [[nodiscard]] std::byte* workspace() const { return workspace_; }  // as many bytes as were asked for
  [[nodiscard]] double lr() const { return lr_; }                    // of the step
  [[nodiscard]] uint64_t step() const { return step_; }              // 1 for the first
  [[nodiscard]] uint64_t seed() const { return seed_; }
  // Calls body(begin, end) for parts of [0, count), on several threads at once; returns when all are done. The bits do
  // not depend on the number of threads where each output element is written by one part. `body` throws nothing.
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

// Memory is not to be taken in a kernel: it would be RAM beside the budget. An error (of code E0262 for data that do not
// fit, or another) ends the step, and the trainer fails from then on; so does an exception.
using Kernel = std::function<Result<void>(const KernelCall& call)>;

// Makes gradients of inputs. Its kernel reads the gradients of all outputs, then what is named here, and writes the
// gradients of `of`. What it does not name need not be kept until backward: name little.
struct Gradient {
  std::vector<int> of;                 // inputs, by position
  std::vector<int> reads_inputs = {};  // of the operator
  std::vector<int> reads_outputs = {};
  Kernel kernel;
  double flops_per_element = 1;  // of what it writes; for devices whose kernels are not measured
  size_t workspace_bytes = 0;
};

struct OperatorAttribute {
  std::string name;                      // in ONNX nodes
  std::optional<double> otherwise = {};  // where a node lacks it; none: a node must have it
};

struct CustomOperator {
  // "my.company::Swish": ONNX nodes of domain my.company and type Swish, and ModelBuilder::node, name it.
  std::string name;
  int64_t version = 1;  // another one where results or costs change: plans and measured times are then made anew
  // Types of the outputs; an Error says what does not fit (its code and place are filled in).
  std::function<Result<std::vector<TensorType>>(const Operands& operands)> shape;
  Kernel kernel;
  std::vector<Gradient> gradients = {};  // inputs that none names get no gradient: a model that needs it is refused
  std::vector<OperatorAttribute> ints = {}, reals = {};
  std::function<double(const Operands& operands)> flops = {};            // without it: one per output element
  std::function<size_t(const Operands& operands)> workspace_bytes = {};  // without it: 0
  std::vector<std::pair<int, int>> in_place = {};  // (output, input) of one type: it may be written over it
  bool deterministic = true;                       // false: it is never computed again (rematerialized)
};

// Makes the operator known to this process, until it ends. From any thread, before models that use it are loaded.
// E0106 the name is none or is taken, or a rule is missing.
[[nodiscard]] PANTOUM_API Result<void> add_operator(CustomOperator op);

// An optimizer: its kernel gets parameter, gradient, states.. as inputs and the new parameter, states.. as outputs, all
// f32 of one shape, outputs perhaps in the memory of their inputs; element by element. `reals`: CustomUpdate::settings.
struct CustomOptimizer {
  std::string name;  // "my.company::Lion"
  int64_t version = 1;
  std::vector<std::string> states = {};  // zeros at first; kept in checkpoints as "optim.<state>.<parameter>"
  Kernel kernel;
};
[[nodiscard]] PANTOUM_API Result<void> add_optimizer(CustomOptimizer optimizer);

}  // namespace pantoum
