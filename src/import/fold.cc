#include "import/fold.h"

#include <fmt/format.h>

#include <set>

#include "import/onnx_messages.h"
#include "pantoum/pantoum.h"

namespace pantoum::import {
namespace {

using ir::DType;
using Bytes = std::vector<std::byte>;

pt_tensor tensor_of(const ir::TensorType& type, Bytes& bytes) {
  pt_tensor tensor{};
  tensor.data = bytes.data();
  tensor.rank = static_cast<uint8_t>(type.shape.size());
  tensor.dtype = static_cast<uint8_t>(type.dtype);
  for (size_t d = 0; d < type.shape.size(); ++d) tensor.dims[d] = static_cast<uint32_t>(type.shape[d]);
  return tensor;
}

// The contents of the values of a graph in double: float32 is float64 here.
class Evaluation {
 public:
  explicit Evaluation(const ir::Graph& graph) : graph_(ir::to_double(graph)), bytes_(graph_.values.size()) {}

  void feed(ir::ValueId id, const Tensor& tensor) {
    graph_.value(id).data = ir::is_float(tensor.type.dtype) ? converted(tensor, DType::kF64).data : tensor.data;
  }

  Result<void> run(int64_t most_elements) {
    for (const ir::Value& value : graph_.values)
      if (value.type.elements() > most_elements)
        return unsupported(
            fmt::format("a constant of shape {} is too large to be folded", ir::to_text(value.type.shape)));
    for (const ir::Op& op : graph_.ops) {
      if (op.kind == ir::Kind::k_alias)
        contents(op.outputs[0]) = contents(op.inputs[0]);
      else
        PANTOUM_TRY(compute(op));
    }
    return {};
  }

  // In float64 or, rounded, in float32.
  Tensor result(ir::ValueId id, bool wide) {
    const Tensor tensor{graph_.value(id).type, std::make_shared<const Bytes>(contents(id))};
    return ir::is_float(tensor.type.dtype) && !wide ? converted(tensor, DType::kF32) : tensor;
  }

 private:
  ir::Graph graph_;
  std::vector<Bytes> bytes_;

  Bytes& contents(ir::ValueId id) {
    Bytes& bytes = bytes_[static_cast<size_t>(id)];
    const ir::Value& value = graph_.value(id);
    if (bytes.empty() && value.data) bytes = *value.data;
    bytes.resize(static_cast<size_t>(value.type.bytes()));
    return bytes;
  }

  Result<void> compute(const ir::Op& op) {
    std::vector<pt_tensor> inputs, outputs;
    for (const ir::ValueId id : op.inputs) inputs.push_back(tensor_of(graph_.value(id).type, contents(id)));
    for (const ir::ValueId id : op.outputs) outputs.push_back(tensor_of(graph_.value(id).type, contents(id)));
    const pt_kernel* kernel =
        pt_kernel_find(pt_portable_kernels_f64(), static_cast<uint16_t>(op.kind), outputs[0].dtype, 0, 0);
    if (kernel == nullptr) return unsupported(fmt::format("no kernel computes {}", ir::name_of(op.kind)));
    const pt_scalars scalars{};
    pt_call call{};
    call.inputs = inputs.data();
    call.outputs = outputs.data();
    call.input_count = static_cast<uint16_t>(inputs.size());
    call.output_count = static_cast<uint16_t>(outputs.size());
    call.ints = op.attrs.ints.data();
    call.reals = op.attrs.reals.data();
    call.int_count = static_cast<uint16_t>(op.attrs.ints.size());
    call.real_count = static_cast<uint16_t>(op.attrs.reals.size());
    call.scalars = &scalars;
    std::vector<std::max_align_t> workspace;
    if (kernel->workspace_bytes != nullptr) {
      workspace.resize(kernel->workspace_bytes(&call) / sizeof(std::max_align_t) + 1);
      call.workspace = workspace.data();
    }
    pt_status status = kernel->submit(&call);
    if (status == PT_OK && kernel->wait != nullptr) status = kernel->wait(&call);
    if (status == PT_OK) return {};
    return fail("E0211", "a constant index is out of range");
  }
};

}  // namespace

bool is_folded(const std::string& op_type) {
  static const std::set<std::string> folded = [] {
    std::set<std::string> all = {"Add",
                                 "Sub",
                                 "Mul",
                                 "Div",
                                 "Mod",
                                 "Neg",
                                 "Pow",
                                 "Exp",
                                 "Log",
                                 "Sin",
                                 "Cos",
                                 "Round",
                                 "Abs",
                                 "Relu",
                                 "Sign",
                                 "Reciprocal",
                                 "Sqrt",
                                 "Floor",
                                 "Ceil",
                                 "Cast",
                                 "Equal",
                                 "Less",
                                 "Greater",
                                 "LessOrEqual",
                                 "GreaterOrEqual",
                                 "And",
                                 "Or",
                                 "Xor",
                                 "Not",
                                 "BitwiseAnd",
                                 "BitwiseOr",
                                 "BitwiseXor",
                                 "BitwiseNot",
                                 "BitShift",
                                 "Max",
                                 "Min",
                                 "Clip",
                                 "IsNaN",
                                 "Where",
                                 "ReduceSum",
                                 "ReduceProd",
                                 "ReduceMean",
                                 "ReduceMax",
                                 "ReduceMin",
                                 "CumSum",
                                 "ArgMax",
                                 "ArgMin",
                                 "TopK",
                                 "Reshape",
                                 "Squeeze",
                                 "Unsqueeze",
                                 "Gather",
                                 "GatherND",
                                 "Concat",
                                 "Slice",
                                 "Transpose",
                                 "Expand",
                                 "Trilu",
                                 "Tile",
                                 "ScatterElements",
                                 "ScatterND",
                                 "GatherElements",
                                 "OneHot"};
    for (const OperatorEntry& entry : folded_operators()) all.insert(entry.op_type);
    return all;
  }();
  return folded.contains(op_type);
}

Result<bool> fold(Lowering& lowering, Node& node) {
  if (!is_folded(node.op_type()) || node.input_count() == 0) return false;
  ir::Graph graph;
  Lowering apart(lowering.model, graph);
  apart.folds = true;
  bool wide = false;
  int64_t elements = 0;
  for (size_t input = 0; input < node.input_count(); ++input) {
    if (!node.has(input)) continue;
    if (node.setting(input) == nullptr) return false;
    auto operand = std::make_shared<Operand>();
    operand->name = node.operand(input)->name;
    operand->known = node.operand(input)->known;
    wide = wide || operand->known->type.dtype == DType::kF64;
    elements += operand->known->type.elements();
    apart.operands[node.message().input(static_cast<int>(input))] = std::move(operand);
  }
  if (elements > lowering.constant_budget) return false;
  lowering.constant_budget -= elements;
  apart.constant_budget = lowering.constant_budget;
  const auto operands = apart.operands;
  Node inner(apart, node.message(), node.position());
  const OperatorEntry* entry = find_operator("", node.op_type());
  for (const OperatorEntry& each : folded_operators())
    if (node.op_type() == each.op_type) entry = &each;
  PANTOUM_TRY(lower_by(*entry, inner));
  if (!inner.attributes().problem().empty()) return fail("E0211", inner.attributes().problem());
  Evaluation evaluation(graph);
  for (const auto& [name, operand] : operands)
    if (operand->id != ir::kNone) evaluation.feed(operand->id, *operand->known);
  PANTOUM_TRY(evaluation.run(lowering.constant_budget));
  for (size_t output = 0; output < node.output_count(); ++output) {
    const auto made = inner.find(inner.output_name(output));
    if (made == nullptr || inner.output_name(output).empty()) continue;
    const Tensor result = made->known ? *made->known : evaluation.result(made->id, wide);
    lowering.constant_budget -= result.type.elements();
    PANTOUM_TRY(node.set_known(output, result));
  }
  return true;
}

}  // namespace pantoum::import
