#include "base/custom_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "base/checksum.h"

namespace pantoum::base {
namespace {

constexpr size_t kMostGradients = 8;

// A kernel is found by the key in a plan file, and the plan may outlive the code that added the operator.
struct Table {
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const CustomOperator>> by_name;
  std::unordered_map<int64_t, CustomKernel> by_key;
};

Table& table() {
  static Table all;
  return all;
}

thread_local std::optional<Error> last_error;
thread_local bool has_error = false;  // because the first use of last_error by a thread allocates, and steps must not

bool is_name(const std::string& name) {
  const size_t colons = name.find("::");
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
  return colons != std::string::npos && colons > 0 && colons + 2 < name.size() && name.size() <= 200 &&
         std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(colons), word) &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(colons) + 2, name.end(), word);
}

Failure unsound(const CustomOperator& op, const std::string& why) {
  return fail("E0106", fmt::format("the custom operator '{}' cannot be used: {}", op.name, why), op.name,
              "see docs/custom-operators.md");
}

Result<void> check_gradient(const CustomOperator& op, const CustomGradient& gradient, std::vector<int>& covered) {
  if (!gradient.run) return unsound(op, "a gradient has no kernel");
  if (gradient.of.empty()) return unsound(op, "a gradient is of no input");
  for (const std::vector<int>* positions : {&gradient.reads_inputs, &gradient.reads_outputs})
    for (const int position : *positions)
      if (position < 0 || position >= PT_MAX_OPERANDS)
        return unsound(op, fmt::format("a gradient reads operand {}", position));
  for (const int input : gradient.of) {
    if (input < 0 || input >= PT_MAX_OPERANDS) return unsound(op, fmt::format("a gradient of input {}", input));
    if (std::find(covered.begin(), covered.end(), input) != covered.end())
      return unsound(op, fmt::format("two gradients of input {}", input));
    covered.push_back(input);
  }
  return {};
}

Result<void> check_custom(const CustomOperator& op) {
  if (!is_name(op.name)) return unsound(op, "a name is a domain and a type, as in my.company::Swish");
  if (op.name.starts_with("ai.onnx::")) return unsound(op, "the domain ai.onnx is ONNX's own");
  if (!op.shape) return unsound(op, "it has no shape rule");
  if (!op.run) return unsound(op, "it has no kernel");
  if (op.gradients.size() > kMostGradients) return unsound(op, "it has too many gradients");
  if (op.ints.size() + op.reals.size() + 1 > PT_MAX_ATTRS) return unsound(op, "it has too many attributes");
  for (const auto& [output, input] : op.in_place)
    if (output < 0 || input < 0 || output >= PT_MAX_OPERANDS || input >= PT_MAX_OPERANDS)
      return unsound(op, fmt::format("output {} in place of input {}", output, input));
  std::vector<int> covered;
  for (const CustomGradient& gradient : op.gradients) PANTOUM_TRY(check_gradient(op, gradient, covered));
  return {};
}

TensorType type_of(const pt_tensor& tensor) {
  TensorType type{.dtype = static_cast<DType>(tensor.dtype)};
  type.shape.assign(tensor.dims, tensor.dims + tensor.rank);
  return type;
}

std::vector<TensorType> types_of(const pt_tensor* tensors, uint16_t count) {
  std::vector<TensorType> types;
  types.reserve(count);
  std::transform(tensors, tensors + count, std::back_inserter(types), type_of);
  return types;
}

// Turns what the user's code throws into an error, because C calls it.
template <class T, class Call>
Result<T> guarded(const std::string& name, const Call& call) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return fail("E0107", fmt::format("the custom operator '{}' threw: {}", name, thrown.what()), name);
  } catch (...) {
    return fail("E0107", fmt::format("the custom operator '{}' threw", name), name);
  }
}

std::atomic<int> several_engines = 0;  // steps that compute on several
std::mutex running;

pt_status run_custom(const pt_call* call) {
  const CustomKernel kernel = call->int_count > 0 ? custom_kernel(call->ints[0]) : CustomKernel{};
  if (!kernel.op) return PT_E_KERNEL;
  pt_call own = *call;
  ++own.ints;
  --own.int_count;
  const auto& run =
      kernel.gradient < 0 ? kernel.op->run : kernel.op->gradients[static_cast<size_t>(kernel.gradient)].run;
  std::unique_lock<std::mutex> alone;
  if (several_engines > 0 && !kernel.op->concurrent) alone = std::unique_lock(running);
  Result<void> done = guarded<void>(kernel.op->name, [&] { return run(own); });
  if (done) return PT_OK;
  keep_custom_error(std::move(done).error());
  return PT_E_DATA;
}

// Do the operands of a call from a plan file suit the operator? A gradient must write as many outputs as it has inputs to write gradients
// of, and read the gradients of some outputs.
bool operands_fit(const CustomKernel& kernel, const std::vector<TensorType>& inputs,
                  const std::vector<TensorType>& outputs, const pt_call& call) {
  if (kernel.gradient >= 0) {
    const CustomGradient& gradient = kernel.op->gradients[static_cast<size_t>(kernel.gradient)];
    return outputs.size() == gradient.of.size() &&
           inputs.size() > gradient.reads_inputs.size() + gradient.reads_outputs.size();
  }
  const std::span ints(call.ints + 1, static_cast<size_t>(call.int_count - 1));
  const auto wanted = custom_shapes(*kernel.op, {inputs, ints, std::span(call.reals, call.real_count)});
  return wanted && *wanted == outputs;
}

size_t workspace_of(const CustomKernel& kernel, const std::vector<TensorType>& inputs,
                    const std::vector<TensorType>& outputs, const pt_call& call) {
  const std::string& name = kernel.op->name;
  Result<size_t> bytes = size_t{0};
  if (kernel.gradient >= 0) {
    const CustomGradient& gradient = kernel.op->gradients[static_cast<size_t>(kernel.gradient)];
    std::vector<TensorType> operands = inputs;
    operands.insert(operands.end(), outputs.begin(), outputs.end());
    if (gradient.workspace_bytes) bytes = guarded<size_t>(name, [&] { return gradient.workspace_bytes(operands); });
  } else if (kernel.op->workspace_bytes) {
    const std::span ints(call.ints + 1, static_cast<size_t>(call.int_count - 1));
    bytes = guarded<size_t>(name, [&] {
      return kernel.op->workspace_bytes({inputs, ints, std::span(call.reals, call.real_count)});
    });
  }
  return bytes ? *bytes : PT_NO_KERNEL;
}

size_t custom_workspace(const pt_call* call) {
  const CustomKernel kernel = call->int_count > 0 ? custom_kernel(call->ints[0]) : CustomKernel{};
  if (!kernel.op) return PT_NO_KERNEL;
  const std::vector<TensorType> inputs = types_of(call->inputs, call->input_count),
                                outputs = types_of(call->outputs, call->output_count);
  return operands_fit(kernel, inputs, outputs, *call) ? workspace_of(kernel, inputs, outputs, *call) : PT_NO_KERNEL;
}

std::vector<pt_kernel> make_rows() {
  std::vector<pt_kernel> rows;
  for (const uint16_t op : {PT_OP_custom, PT_OP_custom_update})
    for (const uint8_t dtype : {PT_F32, PT_I64, PT_I32, PT_U8, PT_BOOL})
      rows.push_back({.op = op,
                      .dtype = dtype,
                      .engine = 0,
                      .algorithm = 0,
                      .algorithm_name = "custom",
                      .numerics = "custom",
                      .submit = run_custom,
                      .wait = nullptr,
                      .workspace_bytes = custom_workspace});
  return rows;
}

}  // namespace

int64_t custom_key(const CustomOperator& op, int gradient) {
  const std::string text = fmt::format("{}/{}/{}", op.name, op.version, gradient);
  return static_cast<int64_t>(checksum_of(std::as_bytes(std::span(text))) >> 1);
}

Result<void> check_custom_operator(const CustomOperator& op) {
  PANTOUM_TRY(check_custom(op));
  if (custom_operator(op.name)) return unsound(op, "an operator of this name is known already");
  return {};
}

Result<void> add_custom_operator(CustomOperator op) {
  PANTOUM_TRY(check_custom(op));
  const auto kept = std::make_shared<const CustomOperator>(std::move(op));
  Table& all = table();
  const std::unique_lock lock(all.mutex);
  if (all.by_name.contains(kept->name)) return unsound(*kept, "an operator of this name is known already");
  all.by_name.emplace(kept->name, kept);
  for (int gradient = -1; gradient < static_cast<int>(kept->gradients.size()); ++gradient)
    all.by_key.emplace(custom_key(*kept, gradient), CustomKernel{kept, gradient});
  return {};
}

std::shared_ptr<const CustomOperator> custom_operator(const std::string& name) {
  Table& all = table();
  const std::shared_lock lock(all.mutex);
  const auto found = all.by_name.find(name);
  return found == all.by_name.end() ? nullptr : found->second;
}

CustomKernel custom_kernel(int64_t key) {
  Table& all = table();
  const std::shared_lock lock(all.mutex);
  const auto found = all.by_key.find(key);
  return found == all.by_key.end() ? CustomKernel{} : found->second;
}

bool has_custom_operators() {
  Table& all = table();
  const std::shared_lock lock(all.mutex);
  return !all.by_name.empty();
}

Result<std::vector<TensorType>> custom_shapes(const CustomOperator& op, const CustomOperands& operands) {
  auto shapes = guarded<std::vector<TensorType>>(op.name, [&] { return op.shape(operands); });
  if (!shapes && shapes.error().code.empty()) shapes.error().code = "E0211";
  if (shapes && shapes->empty()) return fail("E0211", "its shape rule gives no output", op.name);
  return shapes;
}

Result<void> check_custom_op(const CustomOperator& op, const CustomOperands& operands, size_t outputs) {
  const auto beyond = [](const std::vector<int>& positions, size_t count) {
    return std::any_of(positions.begin(), positions.end(),
                       [&](int position) { return static_cast<size_t>(position) >= count; });
  };
  for (const CustomGradient& gradient : op.gradients)
    if (beyond(gradient.reads_inputs, operands.inputs.size()) || beyond(gradient.reads_outputs, outputs))
      return unsound(op, fmt::format("a gradient reads an operand that is not there: it has {} inputs and {} outputs",
                                     operands.inputs.size(), outputs));
  if (op.workspace_bytes) PANTOUM_TRY(guarded<size_t>(op.name, [&] { return op.workspace_bytes(operands); }));
  if (!op.flops) return {};
  PANTOUM_ASSIGN(const double flops, guarded<double>(op.name, [&]() -> Result<double> { return op.flops(operands); }));
  if (flops >= 0 && flops < 1e30) return {};
  return fail("E0107", fmt::format("the custom operator '{}' has {} flops", op.name, flops), op.name,
              "its rule must give a number from 0");
}

double custom_flops(const CustomOperator& op, const CustomOperands& operands) {
  const Result<double> flops = guarded<double>(op.name, [&]() -> Result<double> { return op.flops(operands); });
  return flops && *flops >= 0 && *flops < 1e30 ? *flops : 0;
}

std::span<const pt_kernel> custom_kernel_rows() {
  static const std::vector<pt_kernel> rows = make_rows();
  return rows;
}

void keep_custom_error(Error error) {
  last_error = std::move(error);
  has_error = true;
}

std::optional<Error> take_custom_error() {
  if (!std::exchange(has_error, false)) return std::nullopt;
  return std::exchange(last_error, std::nullopt);
}

OneCustomKernelAtATime::OneCustomKernelAtATime() {
  ++several_engines;
}

OneCustomKernelAtATime::~OneCustomKernelAtATime() {
  --several_engines;
}

void forget_custom_error() {
  if (std::exchange(has_error, false)) last_error.reset();
}

}  // namespace pantoum::base
