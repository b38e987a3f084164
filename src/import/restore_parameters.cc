#include "import/restore_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "import/onnx_messages.h"
#include "import/parameter_marks.h"

namespace pantoum::import {
namespace {

using Initializers = std::map<std::string, Initializer>;
using RestorationKind = Restoration::Kind;

using Reader = Restoration::Reader;

bool is_real(const Initializer& initializer) {
  return initializer.problem.empty() && initializer.tensor.type.dtype == DType::kF32;
}

// "features.bn" of "features.bn.weight".
std::string module_of(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind('.'));
}

// What the user may try instead of another export.
std::string hint_of(const FoldPath& path) {
  if (!path.known || !path.functions.empty()) return {};
  if (path.expands) return "; first contents that are not all equal would tell along which dimension";
  return "; first contents that all differ would tell its elements apart";
}

class Finder {
 public:
  Finder(const onnx::GraphProto& graph, const Initializers& initializers)
      : graph_(graph), initializers_(initializers), marks_(read_parameter_marks(graph)) {}

  Restorations find() {
    if (!marks_.any) return find_merged_identities(graph_, initializers_);
    for (int node = 0; node < graph_.node_size(); ++node) {
      calls_.push_back(read_fx_call(graph_.node(node)));
      for (int input = 0; input < graph_.node(node).input_size(); ++input)
        if (initializers_.contains(graph_.node(node).input(input)))
          readers_[graph_.node(node).input(input)].push_back({node, input});
    }
    for (int node = 0; node < graph_.node_size(); ++node) look_at(node);
    for (const auto& [name, readers] : readers_) look_at_folded(name, readers);
    for (const auto& [name, readers] : readers_) undo_path(name, readers);
    note_missing();
    warn_of_updates();
    return std::move(found_);
  }

 private:
  const onnx::GraphProto& graph_;
  const Initializers& initializers_;
  const ParameterMarks marks_;
  std::vector<FxCall> calls_;
  std::map<std::string, std::vector<Reader>> readers_;
  std::set<std::string> restored_, folded_;               // parameters
  std::map<std::string, FoldPath> paths_;                 // of folded values that no call of a reader explains
  std::map<std::string, std::set<std::string>> derived_;  // parameter -> those of them that were made of it
  std::set<std::pair<int, int>> separated_;               // node, input
  Restorations found_;

  std::optional<std::string> expected(const Reader& reader) const {
    return expected_operand(graph_.node(reader.node), reader.input, calls_[static_cast<size_t>(reader.node)], marks_);
  }
  const FxCall& call_of(const Reader& reader) const { return calls_[static_cast<size_t>(reader.node)]; }
  bool is_missing(const std::string& parameter) const {
    return (marks_.parameters.contains(parameter) || marks_.buffers.contains(parameter)) &&
           !initializers_.contains(parameter);
  }
  void add(Restoration restoration) {
    restored_.insert(restoration.parameter);
    found_.list.push_back(std::move(restoration));
  }

  void look_at(int position) {
    const onnx::NodeProto& node = graph_.node(position);
    const std::string rules = rewriter_rules(node);
    if (rules.find("FuseBatchNorm") != std::string::npos) return tell_batch_norm(position);
    if (rules.find("RemoveOptionalBias") != std::string::npos) add_bias(position);
    for (int input = 0; input < node.input_size(); ++input) separate({position, input});
  }

  void tell_batch_norm(int position) {
    const onnx::NodeProto& node = graph_.node(position);
    const std::vector<std::string> of_norm = parameters_of(calls_[static_cast<size_t>(position)], marks_);
    folded_.insert(of_norm.begin(), of_norm.end());
    found_.problems.push_back(fmt::format("node '{}' ({}): batch norm{} was folded into '{}'", node.name(),
                                          node.op_type(),
                                          of_norm.empty() ? "" : fmt::format(" '{}'", module_of(of_norm[0])),
                                          node.input_size() > 1 ? node.input(1) : ""));
  }

  bool is_marked(const std::string& value) const {
    return marks_.of(value) == Mark::kParameter || marks_.of(value) == Mark::kBuffer;
  }

  // Two parameters or buffers of equal contents became one initializer.
  void separate(const Reader& reader) {
    const std::string& value = graph_.node(reader.node).input(reader.input);
    const auto initializer = initializers_.find(value);
    const std::optional<std::string> wanted = expected(reader);
    if (initializer == initializers_.end() || !is_real(initializer->second) || !wanted) return;
    if (!is_marked(value) || *wanted == value || !is_missing(*wanted) || call_of(reader).alpha != 1) return;
    separated_.insert({reader.node, reader.input});
    add({.kind = RestorationKind::kSeparate,
         .parameter = *wanted,
         .value = value,
         .readers = {reader},
         .shape = initializer->second.tensor.type.shape});
  }

  // A bias of zeros was left out: as many as the weight has outputs.
  void add_bias(int position) {
    const onnx::NodeProto& node = graph_.node(position);
    const std::optional<std::string> bias = expected({position, 2});
    if (!bias || !is_missing(*bias) || node.input_size() != 2) return;
    const auto weight = initializers_.find(node.input(1));
    if (weight == initializers_.end() || weight->second.tensor.type.shape.size() < 2) return;
    const Shape& shape = weight->second.tensor.type.shape;
    int64_t groups = 1, turned = 0;
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "group") groups = attribute.i();
      if (attribute.name() == "transB") turned = attribute.i();
    }
    const int64_t elements = weight->second.tensor.type.elements();
    if (groups < 1 || groups > elements) return;  // shape[1] * groups below stays far from overflow
    const int64_t count = node.op_type() == "Gemm"            ? shape[turned != 0 ? 0 : 1]
                          : node.op_type() == "ConvTranspose" ? shape[1] * groups
                                                              : shape[0];
    if (count < 1 || count > elements) return;
    add({.kind = RestorationKind::kZeroBias, .parameter = *bias, .readers = {{position, 2}}, .shape = {count}});
  }

  // An initializer without a mark that was made of parameters.
  void look_at_folded(const std::string& name, const std::vector<Reader>& readers) {
    const auto sources = marks_.sources.find(name);
    const Initializer& initializer = initializers_.at(name);
    const bool real = initializer.problem.empty() && ir::is_float(initializer.tensor.type.dtype);
    if (sources == marks_.sources.end() || marks_.of(name) != Mark::kNone || !real) return;
    std::vector<std::string> parameters;
    for (const std::string& source : sources->second)
      if (marks_.parameters.contains(source)) parameters.push_back(source);
    if (parameters.empty()) return;
    folded_.insert(parameters.begin(), parameters.end());
    for (const std::string& parameter : parameters) derived_[parameter].insert(name);
    if (are_gates(readers, parameters)) return;
    if (parameters.size() == 1 && is_real(initializer)) {
      if (is_operand(readers, parameters[0]) && move_back(name, initializer, readers, parameters[0])) return;
      if (scale_back(name, initializer, readers, parameters[0])) return;
    }
    paths_.emplace(name, path_of(name, sources->second, readers));
  }

  // Does every reader's call say that it is given this parameter, or one that the file lacks?
  bool is_operand(const std::vector<Reader>& readers, const std::string& parameter) const {
    return std::ranges::all_of(readers, [&](const Reader& reader) {
      const std::optional<std::string> wanted = expected(reader);
      return wanted && (*wanted == parameter || is_missing(*wanted)) && call_of(reader).alpha == 1;
    });
  }

  // torch.add(x, p, alpha=2)
  bool scale_back(const std::string& name, const Initializer& folded, const std::vector<Reader>& readers,
                  const std::string& parameter) {
    const double alpha = call_of(readers[0]).alpha;
    const bool same = std::ranges::all_of(readers, [&](const Reader& reader) {
      return expected(reader) == parameter && reader.input == 1 && call_of(reader).alpha == alpha;
    });
    if (!same || alpha == 1 || !is_missing(parameter) || restored_.contains(parameter)) return false;
    if (!before_functions(folded.tensor, {}, alpha)) return false;
    add({.kind = RestorationKind::kComputed,
         .parameter = parameter,
         .value = name,
         .readers = readers,
         .shape = folded.tensor.type.shape,
         .factor = alpha});
    return true;
  }

  // The weights of a recurrent call in ONNX's order of gates: the parameters' own elements.
  bool are_gates(const std::vector<Reader>& readers, const std::vector<std::string>& parameters) const {
    return std::ranges::all_of(readers, [&](const Reader& reader) {
      const std::string& op_type = graph_.node(reader.node).op_type();
      const FxCall& call = calls_[static_cast<size_t>(reader.node)];
      const bool recurrent = (op_type == "LSTM" && call.target.starts_with("lstm.")) ||
                             (op_type == "GRU" && call.target.starts_with("gru.")) ||
                             (op_type == "RNN" && call.target.starts_with("rnn_"));
      const std::vector<std::string> given = parameters_of(call, marks_);
      return recurrent && reader.input <= 3 && std::ranges::all_of(parameters, [&](const auto& each) {
               return std::ranges::find(given, each) != given.end();
             });
    });
  }

  bool move_back(const std::string& name, const Initializer& folded, const std::vector<Reader>& readers,
                 const std::string& parameter) {
    const std::optional<Restoration> moved = movement(folded, readers);
    if (!moved) return false;
    if (const auto original = initializers_.find(parameter); original != initializers_.end()) {
      const bool is_its =
          std::ranges::all_of(readers, [&](const Reader& reader) { return expected(reader) == parameter; });
      if (!is_its || !holds(original->second, folded, *moved)) return false;
      add_moved(*moved, name, parameter, readers, true);
      return true;
    }
    // The exporter may have merged several of equal contents.
    std::map<std::string, std::vector<Reader>> by_parameter;
    for (const Reader& reader : readers) {
      const std::optional<std::string> wanted = expected(reader);
      if (!wanted || !is_missing(*wanted) || restored_.contains(*wanted)) return false;
      by_parameter[*wanted].push_back(reader);
    }
    for (const auto& [wanted, its_readers] : by_parameter) add_moved(*moved, name, wanted, its_readers, false);
    return true;
  }

  void add_moved(Restoration moved, const std::string& value, const std::string& parameter,
                 const std::vector<Reader>& readers, bool tied) {
    moved.value = value;
    moved.parameter = parameter;
    moved.readers = readers;
    moved.tied = tied;
    add(std::move(moved));
  }

  // How PyTorch's tensor became this one: a matrix for a product is the transpose, a vector got dimensions of 1.
  std::optional<Restoration> movement(const Initializer& folded, const std::vector<Reader>& readers) const {
    const Shape& shape = folded.tensor.type.shape;
    const bool factor = std::ranges::all_of(readers, [&](const Reader& reader) {
      const std::string& op_type = graph_.node(reader.node).op_type();
      return reader.input == 1 && (op_type == "MatMul" || op_type == "Gemm");
    });
    Restoration moved{.kind = RestorationKind::kTransposed};
    if (shape.size() == 2 && factor) {
      moved.shape = {shape[1], shape[0]};
      return moved;
    }
    if (std::ranges::count_if(shape, [](int64_t extent) { return extent != 1; }) > 1) return std::nullopt;
    moved.kind = RestorationKind::kReshaped;
    moved.shape = {folded.tensor.type.elements()};
    return moved;
  }

  // Does the file's own copy of the parameter have these contents?
  static bool holds(const Initializer& original, const Initializer& folded, const Restoration& restoration) {
    if (!is_real(original) || original.tensor.type.shape != restoration.shape) return false;
    const bool turned = restoration.kind == RestorationKind::kTransposed;
    return ir::same_bytes(*original.tensor.data, turned ? *transposed(folded.tensor).data : *folded.tensor.data);
  }

  // The calls between the parameters and a folded value, read from the names of the values that it was folded from.
  FoldPath path_of(const std::string& name, const std::vector<std::string>& sources,
                   const std::vector<Reader>& readers) const {
    if (std::ranges::all_of(readers, [&](const Reader& each) { return call_of(each).mentions(name); }))
      return read_fold_path(name, sources, marks_);
    // A linear call transposes its weight by itself.
    const FxCall& call = call_of(readers[0]);
    const std::string weight = call.args.size() > 1 && call.args[1].starts_with('%') ? call.args[1].substr(1) : "";
    const bool linear = std::ranges::all_of(readers, [&](const Reader& reader) {
      return reader.input == 1 && graph_.node(reader.node).op_type() == "MatMul" &&
             call_of(reader).target.starts_with("linear.") && call_of(reader).args.size() > 1 &&
             call_of(reader).args[1] == "%" + weight;
    });
    if (!linear || std::ranges::find(sources, weight) == sources.end()) return {};
    FoldPath path = read_fold_path(weight, sources, marks_);
    path.turned = true;
    return path;
  }

  void undo_path(const std::string& name, const std::vector<Reader>& readers) {
    const auto found = paths_.find(name);
    if (found == paths_.end()) return;
    const FoldPath& path = found->second;
    const Initializer& folded = initializers_.at(name);
    const bool turns = !path.turned || folded.tensor.type.shape.size() == 2;
    if (path.known && turns && is_real(folded) &&
        (tie_back(name, path, readers) || compute_back(name, path, readers) || expand_back(name, path, readers) ||
         leave(name, path, readers)))
      return;
    std::vector<std::string> parameters;
    for (const std::string& source : marks_.sources.at(name))
      if (marks_.parameters.contains(source)) parameters.push_back(source);
    found_.problems.push_back(
        fmt::format("'{}' was computed ahead of time from '{}'{}", name, fmt::join(parameters, "', '"),
                    path.calls.empty() ? "" : fmt::format(" (by {}){}", path.calls, hint_of(path))));
  }

  bool is_lone(const std::string& name, const FoldPath& path) const {
    return path.parameters.size() == 1 && is_missing(path.parameters[0]) && !restored_.contains(path.parameters[0]) &&
           derived_.at(path.parameters[0]) == std::set<std::string>{name};
  }

  // A matrix is the transpose of what the path leads to, or a reshape of it; none where the order is not known.
  std::optional<Restoration> moved_by(const FoldPath& path, const Initializer& folded) const {
    const Shape& shape = folded.tensor.type.shape;
    if (!path.in_order && !(path.only_turns && shape.size() == 2)) return std::nullopt;
    const bool odd = (path.turns + (path.turned ? 1 : 0)) % 2 != 0;
    if (odd) return Restoration{.kind = RestorationKind::kTransposed, .shape = {shape[1], shape[0]}};
    return Restoration{.kind = RestorationKind::kReshaped, .shape = shape};
  }

  // The file has the parameter, too, with the contents that the path starts from.
  bool tie_back(const std::string& name, const FoldPath& path, const std::vector<Reader>& readers) {
    const Initializer& folded = initializers_.at(name);
    const auto original = path.parameters.size() == 1 ? initializers_.find(path.parameters[0]) : initializers_.end();
    if (original == initializers_.end() || !is_real(original->second)) return false;
    if (!path.functions.empty()) return tie_function(name, path, readers, original->second);
    std::optional<Restoration> moved = moved_by(path, folded);
    if (!moved) return false;
    if (moved->kind == RestorationKind::kReshaped) moved->shape = original->second.tensor.type.shape;
    if (!holds(original->second, folded, *moved)) return false;
    add_moved(*moved, name, path.parameters[0], readers, true);
    return true;
  }

  bool tie_function(const std::string& name, const FoldPath& path, const std::vector<Reader>& readers,
                    const Initializer& original) {
    std::optional<Restoration> computed = computed_by(name, path);
    if (!computed || computed->shape != original.tensor.type.shape) return false;
    const Tensor before = *before_functions(initializers_.at(name).tensor, path.functions, 1);
    const auto found = to_reals(path.turned ? transposed(before) : before), held = to_reals(original.tensor);
    for (size_t at = 0; at < held->size(); ++at)
      if (!(std::fabs((*found)[at] - (*held)[at]) <= 4e-6 * std::max(1.0, std::fabs((*held)[at])))) return false;
    add_moved(*computed, name, path.parameters[0], readers, true);
    return true;
  }

  std::optional<Restoration> computed_by(const std::string& name, const FoldPath& path) const {
    const Tensor& folded = initializers_.at(name).tensor;
    if (path.functions.empty() || !path.in_order || !before_functions(folded, path.functions, 1)) return std::nullopt;
    Shape shape = folded.type.shape;
    if (path.turned) std::swap(shape[0], shape[1]);
    return Restoration{
        .kind = RestorationKind::kComputed, .shape = shape, .functions = path.functions, .turned = path.turned};
  }

  bool compute_back(const std::string& name, const FoldPath& path, const std::vector<Reader>& readers) {
    const std::optional<Restoration> computed = computed_by(name, path);
    if (!computed || !is_lone(name, path)) return false;
    add_moved(*computed, name, path.parameters[0], readers, false);
    return true;
  }

  bool expand_back(const std::string& name, const FoldPath& path, const std::vector<Reader>& readers) {
    if (!path.expands || !path.functions.empty() || path.turned || !is_lone(name, path)) return false;
    const Tensor& folded = initializers_.at(name).tensor;
    const std::optional<size_t> axis = repeated_axis(folded);
    if (!axis) return false;
    Restoration expanded{.kind = RestorationKind::kExpanded, .shape = folded.type.shape};
    expanded.shape[*axis] = 1;
    add_moved(expanded, name, path.parameters[0], readers, false);
    found_.notes.push_back(fmt::format("'{}' is '{}' repeated along dimension {}", name, path.parameters[0], *axis));
    return true;
  }

  // A tensor that holds elements of parameters, each element once, trains as those parameters do.
  bool leave(const std::string& name, const FoldPath& path, const std::vector<Reader>& readers) {
    if (!path.functions.empty() || !are_apart(name, path)) return false;
    const std::optional<Restoration> moved = moved_by(path, initializers_.at(name));
    if (moved && path.distinct && is_lone(name, path)) {
      add_moved(*moved, name, path.parameters[0], readers, false);
      return true;
    }
    found_.notes.push_back(
        fmt::format("'{}' holds elements of '{}' in the exporter's order, and trains under this name", name,
                    fmt::join(path.parameters, "', '")));
    return true;
  }

  // Is no element of a parameter in the value twice, nor in another value?
  bool are_apart(const std::string& name, const FoldPath& path) const {
    std::set<std::string> values;
    for (const std::string& parameter : path.parameters) {
      if (!is_missing(parameter) || restored_.contains(parameter)) return false;
      values.insert(derived_.at(parameter).begin(), derived_.at(parameter).end());
    }
    if (values == std::set<std::string>{name} && path.distinct) return true;
    std::vector<const Tensor*> tensors;
    for (const std::string& value : values) {
      const auto found = paths_.find(value);
      const bool moved = found != paths_.end() && found->second.known && found->second.functions.empty();
      if (!moved || !is_real(initializers_.at(value))) return false;
      tensors.push_back(&initializers_.at(value).tensor);
    }
    return all_distinct(tensors);
  }

  void separate_constants(const std::map<std::string, std::vector<Reader>>& constants) {
    for (const auto& [name, readers] : constants)
      found_.list.push_back({.kind = RestorationKind::kSeparate,
                             .parameter = name + ".constant",
                             .value = name,
                             .readers = readers,
                             .shape = initializers_.at(name).tensor.type.shape});
  }

  // Buffers of the program's own making that change in every step there, and not here.
  void warn_of_updates() {
    std::vector<std::string> changing;
    for (const std::string& buffer : marks_.updated) {
      const auto found = initializers_.find(buffer);
      const bool of_norm = buffer.ends_with("running_mean") || buffer.ends_with("running_var");
      if (found == initializers_.end() || of_norm || buffer.ends_with("num_batches_tracked")) continue;
      if (readers_.contains(buffer)) changing.push_back(fmt::format("'{}'", buffer));
    }
    if (!changing.empty())
      found_.warnings.push_back(fmt::format(
          "the program changes the buffer{} {} in its forward pass; here a step reads the contents of the file",
          changing.size() == 1 ? "" : "s", fmt::join(changing, ", ")));
  }

  // Batch norms count their batches in a buffer that no result depends on.
  bool lacks_buffers() const {
    return std::ranges::any_of(marks_.buffers, [&](const std::string& buffer) {
      return is_missing(buffer) && !restored_.contains(buffer) && !folded_.contains(buffer) && !is_source(buffer) &&
             !buffer.ends_with("num_batches_tracked");
    });
  }
  bool is_source(const std::string& name) const {
    return std::ranges::any_of(marks_.sources, [&](const auto& folded) {
      return std::ranges::find(folded.second, name) != folded.second.end();
    });
  }

  // Parameters that the file lacks: where a node still says that it is given one, training would leave it out.
  void note_missing() {
    std::set<std::string> given;
    for (const FxCall& call : calls_)
      for (std::string& each : parameters_of(call, marks_)) given.insert(std::move(each));
    std::vector<std::string> gone;
    for (const std::string& parameter : marks_.parameters) {
      if (!is_missing(parameter) || restored_.contains(parameter) || folded_.contains(parameter)) continue;
      if (given.contains(parameter))
        found_.problems.push_back(fmt::format("the parameter '{}' was left out", parameter));
      else
        gone.push_back(fmt::format("'{}'", parameter));
    }
    separate_constants(
        tell_merged({graph_, initializers_, marks_, calls_, separated_, gone, lacks_buffers()}, found_.problems));
    if (!gone.empty())
      found_.notes.push_back(fmt::format(
          "parameters of the program that the file lacks (unused, tied to others, or left out by the exporter): {}",
          fmt::join(gone, ", ")));
  }
};

}  // namespace

Restorations find_restorations(const onnx::GraphProto& graph, const Initializers& initializers) {
  return Finder(graph, initializers).find();
}

std::vector<std::string> find_computed_kernels(const onnx::GraphProto& graph, const Initializers& initializers) {
  std::vector<std::string> found;
  for (const auto& node : graph.node()) {
    const bool conv = node.op_type() == "Conv" || node.op_type() == "ConvTranspose";
    if (!conv || node.input_size() < 2 || !node.input(1).starts_with("onnx::Conv")) continue;
    if (initializers.contains(node.input(1)))
      found.push_back(
          fmt::format("node '{}' ({}): the exporter computed its weight '{}', as it does when it folds batch norm",
                      node.name(), node.op_type(), node.input(1)));
  }
  return found;
}

}  // namespace pantoum::import
