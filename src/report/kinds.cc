#include "report/kinds.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace pantoum::report {
namespace {

using problem::Home;

constexpr std::array kEndings{"dx", "dw", "db", "grad", "sum"};  // of ops that autodiff adds

class KindFinder {
 public:
  explicit KindFinder(const problem::CostGraph& graph) : graph_(graph) {
    for (const problem::Tensor& tensor : graph.tensors) {
      tensors_[tensor.id] = &tensor;
      if (tensor.next >= 0) before_[tensor.next] = tensor.id;
    }
    for (const problem::Op& op : graph.ops) ops_[op.id] = &op;
  }

  Kinds find() {
    const size_t boundary = boundary_of_names().value_or(boundary_of_crossings());
    for (size_t at = 0; at < graph_.order.size(); ++at) {
      const problem::Op& op = *ops_.at(graph_.order[at]);
      kinds_.ops[op.id] = at < boundary ? Phase::kForward : writes_successor(op) ? Phase::kUpdate : Phase::kBackward;
      for (const int64_t output : op.outputs) producer_[output] = op.id;
    }
    for (const problem::Tensor& tensor : graph_.tensors) kinds_.tensors[tensor.id] = kind_of(tensor);
    return std::move(kinds_);
  }

 private:
  [[nodiscard]] const std::string& name(int64_t tensor) const { return tensors_.at(tensor)->name; }

  [[nodiscard]] bool writes_successor(const problem::Op& op) const {
    return std::any_of(op.outputs.begin(), op.outputs.end(), [&](int64_t output) { return before_.contains(output); });
  }

  [[nodiscard]] std::optional<size_t> boundary_of_names() const {
    for (size_t at = 0; at < graph_.order.size(); ++at)
      for (const int64_t output : ops_.at(graph_.order[at])->outputs)
        if (name(output).starts_with("grad.")) return at;
    return std::nullopt;
  }

  // Activations pile up until the loss, and are used up behind it.
  [[nodiscard]] size_t boundary_of_crossings() const {
    std::unordered_map<int64_t, size_t> last;
    for (size_t at = 0; at < graph_.order.size(); ++at)
      for (const int64_t input : ops_.at(graph_.order[at])->inputs) last[input] = at;
    std::vector<int64_t> change(graph_.order.size() + 1, 0);
    for (size_t at = 0; at < graph_.order.size(); ++at)
      for (const int64_t output : ops_.at(graph_.order[at])->outputs)
        if (const auto end = last.find(output); end != last.end() && end->second > at)
          ++change[at], --change[end->second];
    size_t boundary = graph_.order.size();
    int64_t most = 0, now = 0;
    for (size_t at = 0; at < graph_.order.size(); ++at)
      if (now += change[at]; now > most) most = now, boundary = at + 1;
    return boundary;
  }

  [[nodiscard]] TensorKind kept(const problem::Tensor& tensor) const {
    if (tensor.name.starts_with("optim.")) return TensorKind::kOptimizerState;
    if (tensor.next >= 0 || tensor.pinned || tensor.start == Home::kRom) return TensorKind::kParameter;
    return TensorKind::kInput;
  }

  [[nodiscard]] TensorKind kind_of(const problem::Tensor& tensor) const {
    if (tensor.start != Home::kNone) return kept(tensor);
    if (const auto old = before_.find(tensor.id); old != before_.end()) return kept(*tensors_.at(old->second));
    if (tensor.name.starts_with("grad.")) return TensorKind::kGradient;
    const auto producer = producer_.find(tensor.id);
    const bool forward = producer == producer_.end() || kinds_.ops.at(producer->second) == Phase::kForward;
    return forward ? TensorKind::kActivation : TensorKind::kGradient;
  }

  const problem::CostGraph& graph_;
  std::unordered_map<int64_t, const problem::Tensor*> tensors_;
  std::unordered_map<int64_t, const problem::Op*> ops_;
  std::unordered_map<int64_t, int64_t> before_, producer_;  // successor -> tensor; tensor -> op
  Kinds kinds_;
};

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// "Conv_3", "conv12", "BatchNormalization#2", "Split:1" without the number.
std::string_view without_number(std::string_view name) {
  std::string_view rest = name;
  while (!rest.empty() && is_digit(rest.back())) rest.remove_suffix(1);
  while (!rest.empty() && rest.size() < name.size() && std::string_view("_#:-").find(rest.back()) != rest.npos)
    rest.remove_suffix(1);
  return rest;
}

std::string_view last_part(std::string_view name, char separator) {
  const size_t at = name.rfind(separator);
  return at == name.npos ? name : name.substr(at + 1);
}

}  // namespace

Kinds kinds_of(const problem::CostGraph& graph) {
  return KindFinder(graph).find();
}

std::string kind_of_op(std::string_view name) {
  const std::string_view local = last_part(name, '/');
  const std::string_view end = last_part(local, '.');
  const bool derived = end.size() < local.size() && std::find(kEndings.begin(), kEndings.end(), end) != kEndings.end();
  std::string kind;
  if (derived) {
    kind = without_number(last_part(local.substr(0, local.size() - end.size() - 1), '.'));
    if (!kind.empty()) kind += "." + std::string(end);
  } else {
    kind = without_number(end);
  }
  return kind.empty() ? "other" : kind;
}

const char* name_of(TensorKind kind) {
  constexpr std::array kNames{"parameters", "optimizer state", "inputs", "activations", "gradients"};
  return kNames[static_cast<size_t>(kind)];
}

const char* name_of(Phase phase) {
  constexpr std::array kNames{"forward", "backward", "update"};
  return kNames[static_cast<size_t>(phase)];
}

}  // namespace pantoum::report
