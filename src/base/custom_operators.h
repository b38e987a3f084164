// Operators and optimizer updates whose rules and kernels come from outside the project: one table for the process.
//
// The compiler asks for shapes, costs and gradients, the host for kernels. In graphs and plans such an op is one of
// PT_OP_custom and PT_OP_custom_update; the first integer attribute is its key, the others are its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/tensor_type.h"
#include "pantoum/pantoum.h"

namespace pantoum::base {

// What an op reads and how it is set; its own attributes alone, without the key.
struct CustomOperands {
  std::span<const TensorType> inputs;
  std::span<const int64_t> ints;
  std::span<const double> reals;
};

// A kernel that makes the gradients of some inputs. It reads the gradients of all outputs, then the inputs and outputs
// of the op that are named here, and has the op's attributes.
struct CustomGradient {
  std::vector<int> of;            // inputs whose gradients it writes, in this order
  std::vector<int> reads_inputs;  // of the op
  std::vector<int> reads_outputs;
  std::function<Result<void>(const pt_call&)> run;
  std::function<Result<size_t>(std::span<const TensorType> operands)> workspace_bytes;  // empty: none
  double flops_per_element = 1;                                                         // of what it writes
};

struct CustomAttribute {
  std::string name;
  std::optional<double> otherwise;  // where a node lacks it; none: a node must have it
};

struct CustomOperator {
  std::string name;  // "domain::Type"
  int64_t version = 1;
  bool is_update = false;           // w g states.. -> w' states'..; PT_OP_custom_update
  std::vector<std::string> states;  // of an update
  std::function<Result<std::vector<TensorType>>(const CustomOperands&)> shape;
  std::function<Result<void>(const pt_call&)> run;
  std::function<Result<size_t>(const CustomOperands&)> workspace_bytes;  // empty: none
  std::function<double(const CustomOperands&)> flops;                    // empty: one per element of the outputs
  std::vector<std::pair<int, int>> in_place;                             // output over input
  std::vector<CustomGradient> gradients;                                 // empty: no gradient flows
  std::vector<CustomAttribute> ints, reals;                              // of ONNX nodes, in their order
  bool recompute = true;                                                 // the same inputs give the same bits
  bool concurrent = false;  // kernels may run at the same time as those of this and other operators
};

// What a key stands for: an operator, or one of its gradients.
struct CustomKernel {
  std::shared_ptr<const CustomOperator> op;
  int gradient = -1;  // of op->gradients; -1: the operator itself
};

// E0106 the operator is unsound, or its name is taken.
[[nodiscard]] Result<void> check_custom_operator(const CustomOperator& op);
// Adds the operator to the table, until the process ends. E0106 the name is none or is taken, or a rule is missing.
[[nodiscard]] Result<void> add_custom_operator(CustomOperator op);

// Null, or a CustomKernel without an op: not known. Any thread may ask at any time.
[[nodiscard]] std::shared_ptr<const CustomOperator> custom_operator(const std::string& name);
[[nodiscard]] CustomKernel custom_kernel(int64_t key);
[[nodiscard]] bool has_custom_operators();

// A positive number that depends on name, version and gradient.
[[nodiscard]] int64_t custom_key(const CustomOperator& op, int gradient = -1);

// The shapes of an op's outputs by its rule; whatever the rule throws is an error. E0211.
[[nodiscard]] Result<std::vector<TensorType>> custom_shapes(const CustomOperator& op, const CustomOperands& operands);

// Checks the operator's rules on an op with these operands. E0106 a gradient reads an operand that is not there; E0107 a cost is no number,
// or a rule throws.
[[nodiscard]] Result<void> check_custom_op(const CustomOperator& op, const CustomOperands& operands, size_t outputs);
// The flops of such an op; 0 where its rule gives no sensible number (check_custom_op finds that).
[[nodiscard]] double custom_flops(const CustomOperator& op, const CustomOperands& operands);

// Kernels of the runtime's table for every custom op, and the error that the last of them told on this thread, once.
[[nodiscard]] std::span<const pt_kernel> custom_kernel_rows();
[[nodiscard]] std::optional<Error> take_custom_error();
void keep_custom_error(Error error);  // as if a kernel had told it on this thread
// While one lives, custom kernels that are not concurrent run one after the other: a step computes on several engines.
class OneCustomKernelAtATime {
 public:
  OneCustomKernelAtATime();
  ~OneCustomKernelAtATime();
  OneCustomKernelAtATime(const OneCustomKernelAtATime&) = delete;
  OneCustomKernelAtATime& operator=(const OneCustomKernelAtATime&) = delete;
};
void forget_custom_error();  // before a run, drops the error of another run

}  // namespace pantoum::base
