#include "pipeline/probabilities.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/batch_loader.h"
#include "ir/kernel_call.h"
#include "ir/op_registry.h"

namespace pantoum::pipeline {
namespace {

using ir::Kind;
using ir::Op;
using ir::ValueId;
using Bytes = std::vector<std::byte>;

constexpr double kMostFlops = 1e9;
constexpr int64_t kMostElements = int64_t{1} << 24;

// What the loss reads, behind views.
ValueId unviewed(const ir::Graph& graph, ValueId value) {
  while (graph.value(value).producer != ir::kNone && graph.op(graph.value(value).producer).kind == Kind::k_alias)
    value = graph.op(graph.value(value).producer).inputs[0];
  return value;
}

// Products, sums and norms of rows give logits.
bool gives_logits(const ir::Graph& graph, ValueId value) {
  const ir::OpId producer = graph.value(unviewed(graph, value)).producer;
  if (producer == ir::kNone) return true;
  const Kind kind = graph.op(producer).kind;
  return kind == Kind::k_matmul || kind == Kind::k_conv2d || kind == Kind::k_add || kind == Kind::k_sub;
}

// The ops that `wanted` depends on, in order; none where they compute too much.
std::vector<const Op*> ops_of(const ir::Graph& graph, ValueId wanted) {
  std::vector<char> needed(graph.values.size());
  needed[static_cast<size_t>(wanted)] = 1;
  std::vector<const Op*> ops;
  double flops = 0;
  int64_t elements = 0;
  for (size_t at = graph.ops.size(); at-- > 0;) {
    const Op& op = graph.ops[at];
    const auto is_needed = [&](ValueId output) { return needed[static_cast<size_t>(output)] != 0; };
    if (std::ranges::none_of(op.outputs, is_needed)) continue;
    std::vector<ir::TensorType> inputs, outputs;
    for (const ValueId input : op.inputs) {
      needed[static_cast<size_t>(input)] = 1;
      inputs.push_back(graph.value(input).type);
    }
    for (const ValueId output : op.outputs) {
      outputs.push_back(graph.value(output).type);
      elements += outputs.back().elements();
    }
    flops += ir::op_def(op.kind).cost({inputs, outputs, op.attrs}).flops;
    if (flops > kMostFlops || elements > kMostElements) return {};
    ops.push_back(&op);
  }
  std::ranges::reverse(ops);
  return ops;
}

class Evaluation {
 public:
  explicit Evaluation(const ir::Graph& graph) : graph_(graph), contents_(graph.values.size()) {}

  Result<void> load(const data::Dataset& samples, const data::Preparation& preparation) {
    std::vector<data::BatchView> batch;
    for (const std::vector<ValueId>* ids : {&graph_.inputs, &graph_.labels})
      for (const ValueId id : *ids) {
        const ir::Value& value = graph_.value(id);
        batch.push_back({value.name, value.type.dtype, value.type.shape, std::span(of(id))});
      }
    if (batch.empty()) return {};
    data::BatchLoader loader(preparation, graph_.inputs.size(), graph_.labels.size());
    PANTOUM_TRY(loader.bind(samples, batch));
    for (int64_t row = 0; row < batch.front().shape.front(); ++row)
      PANTOUM_TRY(loader.load(row % samples.count(), batch, row));
    return {};
  }

  // False: no portable kernel computes it, or the kernel refuses.
  bool compute(const Op& op) {
    if (op.kind == Kind::k_alias) {
      of(op.outputs[0]) = of(op.inputs[0]);
      return true;
    }
    std::vector<pt_tensor> inputs, outputs;
    for (const ValueId id : op.inputs) inputs.push_back(ir::tensor_at(graph_.value(id).type, of(id).data()));
    for (const ValueId id : op.outputs) outputs.push_back(ir::tensor_at(graph_.value(id).type, of(id).data()));
    const pt_kernel* kernel =
        pt_kernel_find(pt_portable_kernels(), static_cast<uint16_t>(op.kind), outputs[0].dtype, 0, 0);
    return kernel != nullptr && ir::run_kernel(*kernel, op, inputs, outputs, {}) == PT_OK;
  }

  Bytes& of(ValueId id) {
    Bytes& bytes = contents_[static_cast<size_t>(id)];
    const ir::Value& value = graph_.value(id);
    if (bytes.empty() && value.data) bytes = value.data.copy();
    bytes.resize(static_cast<size_t>(value.type.bytes()));
    return bytes;
  }

 private:
  const ir::Graph& graph_;
  std::vector<Bytes> contents_;
};

// [N, classes, ..]: does every row lie in [0, 1] and sum to 1?
bool are_probabilities(const ir::Shape& shape, const Bytes& bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  const auto classes = static_cast<size_t>(shape[1]), rows = static_cast<size_t>(shape[0]);
  const size_t behind = numbers.size() / (classes * rows);
  constexpr float kSlack = 1e-4F;
  for (size_t at = 0; at < rows * behind; ++at) {
    double sum = 0;
    for (size_t c = 0; c < classes; ++c) {
      const float number = numbers[(at / behind * classes + c) * behind + at % behind];
      if (!(number >= 0 && number <= 1 + kSlack)) return false;
      sum += static_cast<double>(number);
    }
    if (std::abs(sum - 1) > static_cast<double>(kSlack)) return false;
  }
  return rows > 0;
}

}  // namespace

std::string warn_of_probabilities(const ir::Graph& evaluation, const data::Dataset& samples,
                                  const data::Preparation& preparation) {
  for (const Op& loss : evaluation.ops) {
    const bool is_weighted = loss.kind == Kind::k_log_softmax && loss.name.starts_with("loss.");  // autodiff's, of class weights
    if (loss.kind != Kind::k_cross_entropy && loss.kind != Kind::k_soft_cross_entropy && !is_weighted) continue;
    const ValueId prediction = loss.inputs[0];
    const ir::TensorType& type = evaluation.value(prediction).type;
    if (gives_logits(evaluation, prediction) || type.dtype != ir::DType::kF32 || type.shape.size() < 2) continue;
    const std::vector<const Op*> ops = ops_of(evaluation, prediction);
    Evaluation run(evaluation);
    if (ops.empty() || !run.load(samples, preparation)) continue;
    if (!std::ranges::all_of(ops, [&](const Op* op) { return run.compute(*op); })) continue;
    if (!are_probabilities(type.shape, run.of(prediction))) continue;
    return fmt::format(
        "on the given data the rows of '{}' lie in [0, 1] and sum to 1, as probabilities do, and the loss takes them "
        "for "
        "logits: let the model end before its softmax, or train with the loss nll on their logarithm",
        evaluation.value(unviewed(evaluation, prediction)).name);
  }
  return {};
}

}  // namespace pantoum::pipeline
