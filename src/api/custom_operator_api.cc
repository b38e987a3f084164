#include <array>

#include "api/access.h"
#include "base/custom_operators.h"
#include "ini/plugin.h"

namespace pantoum {

KernelCall Access::kernel_call(const pt_call& call, std::span<const TensorView> inputs,
                               std::span<const TensorView> outputs) {
  KernelCall made;
  made.inputs_ = inputs;
  made.outputs_ = outputs;
  made.ints_ = std::span(call.ints, call.int_count);
  made.reals_ = std::span(call.reals, call.real_count);
  made.workspace_ = static_cast<std::byte*>(call.workspace);
  if (call.scalars != nullptr) {
    made.lr_ = call.scalars->lr;
    made.step_ = call.scalars->step;
    made.seed_ = call.scalars->seed;
  }
  made.pool_ = call.pool;
  return made;
}

void KernelCall::parallel_for(size_t count, const std::function<void(size_t begin, size_t end)>& body) const {
  const auto* pool = static_cast<const pt_pool*>(pool_);
  if (count == 0) return;
  if (pool == nullptr || pool->threads <= 1 || pool->run == nullptr) return body(0, count);
  const auto part = [](void* arg, size_t begin, size_t end) {
    (*static_cast<const std::function<void(size_t, size_t)>*>(arg))(begin, end);
  };
  pool->run(pool->context, count, part, const_cast<void*>(static_cast<const void*>(&body)));
}

namespace {

// Views of a call's operands, without memory of their own.
class Operators {
 public:
  Operators(const pt_tensor* tensors, uint16_t count) : count_(std::min<size_t>(count, PT_MAX_OPERANDS)) {
    for (size_t at = 0; at < count_; ++at) add(tensors[at], at);
  }
  [[nodiscard]] std::span<const TensorView> views() const { return std::span(views_).first(count_); }

 private:
  void add(const pt_tensor& tensor, size_t at) {
    size_t elements = 1;
    for (size_t d = 0; d < tensor.rank; ++d) {
      shapes_[at][d] = tensor.dims[d];
      elements *= tensor.dims[d];
    }
    const auto dtype = static_cast<DType>(tensor.dtype);
    views_[at] = {"", dtype, std::span(shapes_[at]).first(tensor.rank),
                  std::span(static_cast<std::byte*>(tensor.data), elements * element_size(dtype))};
  }

  size_t count_;
  std::array<std::array<int64_t, PT_MAX_RANK>, PT_MAX_OPERANDS> shapes_;
  std::array<TensorView, PT_MAX_OPERANDS> views_;
};

std::function<Result<void>(const pt_call&)> run_of(Kernel kernel) {
  if (!kernel) return {};
  return [kernel = std::move(kernel)](const pt_call& call) {
    const Operators inputs(call.inputs, call.input_count), outputs(call.outputs, call.output_count);
    Result<void> done = kernel(Access::kernel_call(call, inputs.views(), outputs.views()));
    if (!done && done.error().code.empty()) done.error().code = "E0262";
    return done;
  };
}

std::vector<TensorType> public_types(std::span<const base::TensorType> types) {
  std::vector<TensorType> made;
  made.reserve(types.size());
  for (const base::TensorType& type : types) made.push_back({api::public_type(type.dtype), type.shape});
  return made;
}

Operands public_operands(const base::CustomOperands& operands) {
  return {public_types(operands.inputs),
          {operands.ints.begin(), operands.ints.end()},
          {operands.reals.begin(), operands.reals.end()}};
}

base::CustomGradient gradient_of(Gradient gradient) {
  base::CustomGradient made{.of = std::move(gradient.of),
                            .reads_inputs = std::move(gradient.reads_inputs),
                            .reads_outputs = std::move(gradient.reads_outputs),
                            .run = run_of(std::move(gradient.kernel)),
                            .workspace_bytes = {},
                            .flops_per_element = gradient.flops_per_element};
  if (gradient.workspace_bytes > 0)
    made.workspace_bytes = [bytes = gradient.workspace_bytes](std::span<const base::TensorType>) -> Result<size_t> {
      return bytes;
    };
  return made;
}

std::vector<base::CustomAttribute> attributes_of(const std::vector<OperatorAttribute>& attributes) {
  std::vector<base::CustomAttribute> made;
  made.reserve(attributes.size());
  for (const OperatorAttribute& attribute : attributes) made.push_back({attribute.name, attribute.otherwise});
  return made;
}

using ShapeRule = std::function<Result<std::vector<TensorType>>(const Operands& operands)>;

std::function<Result<std::vector<base::TensorType>>(const base::CustomOperands&)> rule_of(ShapeRule rule) {
  if (!rule) return {};
  return [rule = std::move(rule)](const base::CustomOperands& operands) -> Result<std::vector<base::TensorType>> {
    PANTOUM_ASSIGN(std::vector<TensorType> types, rule(public_operands(operands)));
    std::vector<base::TensorType> made;
    made.reserve(types.size());
    for (TensorType& type : types) made.push_back({static_cast<base::DType>(type.dtype), std::move(type.shape)});
    return made;
  };
}

}  // namespace

Result<void> add_operator(CustomOperator op) {
  base::CustomOperator made{.name = std::move(op.name),
                            .version = op.version,
                            .states = {},
                            .shape = rule_of(std::move(op.shape)),
                            .run = run_of(std::move(op.kernel)),
                            .workspace_bytes = {},
                            .flops = {},
                            .in_place = std::move(op.in_place),
                            .gradients = {},
                            .ints = attributes_of(op.ints),
                            .reals = attributes_of(op.reals),
                            .recompute = op.deterministic,
                            .concurrent = op.concurrent};
  for (Gradient& gradient : op.gradients) made.gradients.push_back(gradient_of(std::move(gradient)));
  if (op.flops)
    made.flops = [flops = std::move(op.flops)](const base::CustomOperands& operands) {
      return flops(public_operands(operands));
    };
  if (op.workspace_bytes)
    made.workspace_bytes = [bytes =
                                std::move(op.workspace_bytes)](const base::CustomOperands& operands) -> Result<size_t> {
      return bytes(public_operands(operands));
    };
  return base::add_custom_operator(std::move(made));
}

Result<void> add_optimizer(CustomOptimizer optimizer) {
  base::CustomOperator made{.name = std::move(optimizer.name),
                            .version = optimizer.version,
                            .is_update = true,
                            .states = std::move(optimizer.states),
                            .shape = {},
                            .run = run_of(std::move(optimizer.kernel)),
                            .workspace_bytes = {},
                            .flops = {},
                            .in_place = {},
                            .gradients = {},
                            .ints = {},
                            .reals = {}};
  made.shape = [](const base::CustomOperands& operands) -> Result<std::vector<base::TensorType>> {
    return std::vector<base::TensorType>(operands.inputs.size() - 1, operands.inputs.front());
  };
  return base::add_custom_operator(std::move(made));
}

Result<void> load_plugin(const std::string& path) {
  return ini::load_plugin(path);
}

}  // namespace pantoum
