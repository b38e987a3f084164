#include "import/restore_parameters.h"

#include <fmt/format.h>

#include <algorithm>

#include "import/onnx_messages.h"
#include "import/weight_roles.h"

namespace pantoum::import {
namespace {

using Initializers = std::map<std::string, Initializer>;

constexpr size_t kMostTold = 4;

bool is_real(const Initializer& initializer) {
  return initializer.problem.empty() && ir::is_float(initializer.tensor.type.dtype) &&
         initializer.tensor.type.elements() > 0;
}

bool is_uniform(const Tensor& tensor) {
  const std::span<const std::byte> data = *tensor.data;
  const auto element = static_cast<size_t>(ir::size_of(tensor.type.dtype));
  return std::equal(data.begin() + static_cast<std::ptrdiff_t>(element), data.end(), data.begin());
}

// "'b' (as 'a'), ..": the first few of them.
std::string listed(const std::vector<std::string>& pairs) {
  const size_t told = std::min(pairs.size(), kMostTold);
  const std::string list = fmt::format("{}", fmt::join(pairs.begin(), pairs.begin() + static_cast<int>(told), ", "));
  return told == pairs.size() ? list : fmt::format("{} and {} more", list, pairs.size() - told);
}

class Finder {
 public:
  Finder(const onnx::GraphProto& graph, const Initializers& initializers) : graph_(graph), initializers_(initializers) {
    for (const auto& output : graph.output()) outputs_.insert(output.name());
  }

  Restorations find() {
    for (int node = 0; node < graph_.node_size(); ++node) look_at(node);
    if (!separate_.empty())
      found_.notes.push_back(
          fmt::format("parameters that the exporter merged because they begin with equal contents, separate here: {}",
                      listed(separate_)));
    if (!tied_.empty() && (!separate_.empty() || has_computed_weight()))
      found_.warnings.push_back(
          fmt::format("{} one tensor in the file, and train as one; if they are not tied in the program but copies "
                      "that begin with equal "
                      "contents, export with training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False",
                      listed(tied_)));
    return std::move(found_);
  }

 private:
  const onnx::GraphProto& graph_;
  const Initializers& initializers_;
  std::set<std::string> outputs_;
  std::vector<std::string> separate_, tied_;
  Restorations found_;

  void look_at(int position) {
    const onnx::NodeProto& node = graph_.node(position);
    if (node.op_type() != "Identity" || node.input_size() != 1 || node.output_size() != 1) return;
    const std::string& name = node.output(0);
    const auto source = initializers_.find(node.input(0));
    if (source == initializers_.end() || !is_real(source->second) || initializers_.contains(name)) return;
    const bool computed = name.starts_with("onnx::");  // from a parameter, perhaps
    if (name.empty() || (is_invented_name(name) && !computed) || outputs_.contains(name)) return;
    if (!is_uniform(source->second.tensor))
      return tied_.push_back(fmt::format("'{}' and '{}' are", name, node.input(0)));
    if (!computed) separate_.push_back(fmt::format("'{}' (as '{}')", name, node.input(0)));
    found_.list.push_back({.kind = Restoration::Kind::kCopied,
                           .parameter = name,
                           .value = node.input(0),
                           .readers = {{position, 0}},
                           .shape = source->second.tensor.type.shape});
  }

  // The exporter computes ahead of time, and merges by contents, in the same calls: those that are not for training.
  bool has_computed_weight() const {
    return std::ranges::any_of(initializers_, [](const auto& each) {
      return each.first.starts_with("onnx::") && is_real(each.second) && !each.second.tensor.type.shape.empty();
    });
  }
};

}  // namespace

Restorations find_merged_identities(const onnx::GraphProto& graph, const Initializers& initializers) {
  return Finder(graph, initializers).find();
}

std::vector<std::string> find_copies(const Initializers& initializers) {
  const auto trains = [](const Initializer& each) {
    return each.is_parameter() && is_real(each) && each.tensor.type.dtype == DType::kF32 &&
           !is_uniform(each.tensor);  // else equal by chance
  };
  std::map<int64_t, std::vector<Initializers::const_iterator>> named;  // by how many elements they have
  for (auto each = initializers.begin(); each != initializers.end(); ++each)
    if (trains(each->second) && !each->first.starts_with("onnx::"))
      named[each->second.tensor.type.elements()].push_back(each);
  std::vector<std::string> found;
  for (const auto& [name, initializer] : initializers) {
    if (!name.starts_with("onnx::") || !trains(initializer)) continue;
    const Tensor& tensor = initializer.tensor;
    const bool matrix = tensor.type.shape.size() == 2;
    const auto turned = matrix ? transposed(tensor).data : tensor.data;
    for (const auto& each : named[tensor.type.elements()]) {
      const std::span<const std::byte> data = *each->second.tensor.data;
      const bool same = ir::same_bytes(data, *tensor.data);
      if (!same && !ir::same_bytes(data, *turned)) continue;
      found.push_back(
          fmt::format("'{}' holds the {} of '{}': if the program ties them, they train apart here; export with "
                      "do_constant_folding=False",
                      name, same ? "elements" : "transpose", each->first));
      break;
    }
  }
  return found;
}

}  // namespace pantoum::import
