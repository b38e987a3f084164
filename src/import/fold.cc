#include "import/operators.h"

#include <set>

#include "import/catalog.h"
#include "import/onnx_messages.h"
#include "ir/kernel_call.h"

namespace pantoum::import {
namespace {

using Bytes = std::vector<std::byte>;

// The contents of the values of a graph in double: float32 is float64 here.
class Evaluation {
 public:
  explicit Evaluation(const Graph& graph) : graph_(ir::to_double(graph)), bytes_(graph_.values.size()) {}

  void feed(ValueId id, const Tensor& tensor) {
    graph_.value(id).data = ir::is_float(tensor.type.dtype) ? converted(tensor, DType::kF64).data : tensor.data;
  }

  Result<void> run(int64_t most_elements) {
    for (const ir::Value& value : graph_.values)
      if (value.type.elements() > most_elements)
        return unsupported(
            fmt::format("a constant of shape {} is too large to be folded", ir::to_text(value.type.shape)));
    for (const Op& op : graph_.ops) {
      if (op.kind == Kind::k_alias)
        contents(op.outputs[0]) = contents(op.inputs[0]);
      else
        PANTOUM_TRY(compute(op));
    }
    return {};
  }

  // The result in float64 if `wide`, else rounded to float32.
  Tensor result(ValueId id, bool wide) {
    const Tensor tensor{graph_.value(id).type, std::make_shared<const Bytes>(contents(id))};
    return ir::is_float(tensor.type.dtype) && !wide ? converted(tensor, DType::kF32) : tensor;
  }

 private:
  Graph graph_;
  std::vector<Bytes> bytes_;

  Bytes& contents(ValueId id) {
    Bytes& bytes = bytes_[static_cast<size_t>(id)];
    const ir::Value& value = graph_.value(id);
    if (bytes.empty() && value.data) bytes = value.data.copy();
    bytes.resize(static_cast<size_t>(value.type.bytes()));
    return bytes;
  }

  Result<void> compute(const Op& op) {
    std::vector<pt_tensor> inputs, outputs;
    for (const ValueId id : op.inputs) inputs.push_back(ir::tensor_at(graph_.value(id).type, contents(id).data()));
    for (const ValueId id : op.outputs) outputs.push_back(ir::tensor_at(graph_.value(id).type, contents(id).data()));
    const pt_kernel* kernel =
        pt_kernel_find(pt_portable_kernels_f64(), static_cast<uint16_t>(op.kind), outputs[0].dtype, 0, 0);
    if (kernel == nullptr) return unsupported(fmt::format("no kernel computes {}", ir::name_of(op.kind)));
    if (ir::run_kernel(*kernel, op, inputs, outputs, {}) == PT_OK) return {};
    return misfit("a constant index is out of range");
  }
};

}  // namespace

bool is_folded(const std::string& op_type) {
  static const std::set<std::string> folded = [] {
    const std::vector<std::string> names = words_of(
        "Add Sub Mul Div Mod Neg Pow Exp Log Sin Cos Round Abs Relu Sign Reciprocal Sqrt Floor Ceil Cast "
        "Equal Less Greater LessOrEqual GreaterOrEqual And Or Xor Not BitwiseAnd BitwiseOr BitwiseXor "
        "BitwiseNot BitShift Max Min Clip IsNaN Where ReduceSum ReduceProd ReduceMean ReduceMax "
        "ReduceMin CumSum ArgMax ArgMin TopK Reshape Squeeze Unsqueeze Gather GatherND Concat Slice "
        "Transpose Expand Trilu Tile ScatterElements ScatterND GatherElements OneHot");
    std::set<std::string> all(names.begin(), names.end());
    for (const OperatorEntry& entry : folded_operators) all.insert(entry.op_type);
    return all;
  }();
  return folded.contains(op_type);
}

Result<bool> fold(Lowering& lowering, Node& node) {
  if (!is_folded(node.op_type()) || node.input_count() == 0) return false;
  Graph graph;
  Lowering apart(lowering.model, graph);
  apart.folds = true;
  bool wide = false;
  int64_t elements = 0;
  for (size_t input = 0; input < node.input_count(); ++input) {
    if (!node.has(input)) continue;
    if (node.operand(input)->weight || !node.operand(input)->known) return false;
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
  for (const OperatorEntry& each : folded_operators)
    if (node.op_type() == each.op_type) entry = &each;
  PANTOUM_TRY(lower_by(*entry, inner));
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
  for (size_t input = 0; input < node.input_count(); ++input)
    if (node.has(input)) lowering.folded.insert(node.operand(input)->name);
  return true;
}

}  // namespace pantoum::import
