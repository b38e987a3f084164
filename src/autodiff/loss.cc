#include "autodiff/loss.h"

#include <fmt/format.h>

#include "ir/op_registry.h"

namespace pantoum::autodiff {
namespace {

using ir::Builder;
using ir::Kind;
using ir::Op;
using ir::Shape;
using ir::TensorType;
using ir::ValueId;

// The op that makes a value, aliases to the same shape passed over; null: none.
const Op* maker_of(const ir::Graph& graph, ValueId value) {
  while (graph.value(value).producer != ir::kNone) {
    const Op& op = graph.op(graph.value(value).producer);
    if (op.kind != Kind::k_alias || graph.value(op.inputs[0]).type != graph.value(value).type) return &op;
    value = op.inputs[0];
  }
  return nullptr;
}

ValueId classes_to_dimension_1(Builder& builder, ValueId logits) {
  const auto rank = static_cast<int64_t>(builder.type(logits).shape.size());
  std::vector<int64_t> perm{0, rank - 1};
  for (int64_t d = 1; d + 1 < rank; ++d) perm.push_back(d);
  return builder.transpose(logits, perm);
}

// The input of a final softmax over the classes: cross-entropy applies its own.
ValueId logits_of(Builder& builder, ValueId output) {
  const Op* last = maker_of(builder.graph(), output);
  if (last == nullptr || (last->kind != Kind::k_softmax && last->kind != Kind::k_log_softmax)) return output;
  const auto rank = static_cast<int64_t>(builder.type(output).shape.size());
  const int64_t axis = last->attrs.ints[0];
  if (rank < 2 || (axis != 1 && axis != rank - 1)) return output;
  const ValueId logits = last->inputs[0];
  builder.graph().notes.push_back(fmt::format("the final {} '{}' is left out: the cross-entropy loss includes it",
                                              ir::name_of(last->kind), last->name));
  return axis == 1 ? logits : classes_to_dimension_1(builder, logits);
}

Result<TensorType> label_type(const Builder& builder, ValueId prediction, Loss loss) {
  const TensorType type = builder.type(prediction);
  const std::string& name = builder.graph().value(prediction).name;
  if (!ir::is_float(type.dtype)) return fail("E0403", "the model's output is not floating point", name);
  if (loss == Loss::kMse) return type;
  if (type.shape.size() < 2 || type.shape[1] < 2) {
    return fail("E0403",
                fmt::format("cross-entropy wants an output [N, classes, ..], and the model's is {}", ir::to_text(type)),
                name, "give the model one output per class, or use --loss mse");
  }
  Shape shape = type.shape;
  shape.erase(shape.begin() + 1);
  return TensorType{ir::DType::kI64, shape};
}

}  // namespace

Result<LossSite> add_loss(Builder& builder, Loss loss) {
  ir::Graph& graph = builder.graph();
  if (graph.outputs.empty()) return fail("E0403", "the model has no output to compute a loss of", graph.name);
  if (graph.outputs.size() > 1) {
    graph.notes.push_back(fmt::format("the loss is taken on the first of {} outputs, '{}'", graph.outputs.size(),
                                      graph.value(graph.outputs[0]).name));
  }
  LossSite site;
  site.prediction = loss == Loss::kCrossEntropy ? logits_of(builder, graph.outputs[0]) : graph.outputs[0];
  PANTOUM_ASSIGN(TensorType type, label_type(builder, site.prediction, loss));
  site.label = builder.input("label", std::move(type), ir::Role::kLabel);
  const Kind kind = loss == Loss::kCrossEntropy ? Kind::k_cross_entropy : Kind::k_mse;
  site.loss = builder.op(kind, "loss", {site.prediction, site.label});
  if (builder.error()) return Failure(*builder.error());
  return site;
}

}  // namespace pantoum::autodiff
