#include "import/lower_model.h"

#include <algorithm>
#include <deque>

#include "import/catalog.h"
#include "import/compose.h"
#include "import/given_shapes.h"
#include "import/node.h"
#include "import/onnx_messages.h"
#include "import/operator_forms.h"
#include "import/operators.h"
#include "import/parameter_marks.h"
#include "pantoum/pantoum.h"

namespace pantoum::import {

namespace {

bool is_usable(const Shape& shape) {
  return shape.size() <= PT_MAX_RANK && count_elements(shape).value_or(0) > 0;
}

Integers list_of(Attributes& attributes, const char* name, size_t count, int64_t otherwise) {
  Integers list = attributes.integers(name).value_or(Integers());
  list.resize(count, otherwise);
  return list;
}

// A window that slides over any number of dimensions of space; none where it does not fit or pads by itself.
std::optional<Shape> slide(const onnx::NodeProto& node, const Shape& image, const Shape& window, int64_t channels) {
  Attributes attributes(node);
  const size_t space = window.size();
  if (image.size() != space + 2 || attributes.text("auto_pad", "NOTSET") != "NOTSET") return std::nullopt;
  const Integers strides = list_of(attributes, "strides", space, 1);
  const Integers dilations = list_of(attributes, "dilations", space, 1);
  const Integers pads = list_of(attributes, "pads", 2 * space, 0);
  Shape result{image[0], channels};
  constexpr int64_t kMost = int64_t{1} << 31;
  const auto small = [](int64_t number) { return number >= 0 && number < kMost; };
  for (size_t d = 0; d < space; ++d) {
    const bool sane = small(pads[d]) && small(pads[d + space]) && small(dilations[d]) && small(window[d]) &&
                      small(image[d + 2]) && strides[d] > 0 && window[d] > 0;
    const int64_t room = sane ? image[d + 2] + pads[d] + pads[d + space] - dilations[d] * (window[d] - 1) - 1 : -1;
    if (room < 0) return std::nullopt;
    result.push_back(room / strides[d] + 1);
  }
  return result;
}

std::optional<Shape> windowed(const onnx::NodeProto& node, const Shape& image, const std::optional<Shape>& kernel) {
  const std::string& op_type = node.op_type();
  if (image.size() < 3) return std::nullopt;
  if (op_type == "Conv" && kernel && kernel->size() == image.size())
    return slide(node, image, Shape(kernel->begin() + 2, kernel->end()), (*kernel)[0]);
  if (op_type == "MaxPool" || op_type == "AveragePool") {
    const auto window = Attributes(node).integers("kernel_shape");
    return window ? slide(node, image, *window, image[1]) : std::nullopt;
  }
  if (op_type != "GlobalAveragePool" && op_type != "GlobalMaxPool") return std::nullopt;
  Shape one(image.size(), 1);
  one[0] = image[0];
  one[1] = image[1];
  return one;
}

// Declared by the file, by value_info; the batch bound.
class StandIns {
 public:
  StandIns(const Model& model, const Batch& batch);

  // The type of an output of `node`, given the shapes of image and kernel as far as they are known; none if nothing tells the type.
  std::optional<TensorType> type_of(const onnx::NodeProto& node, const std::string& output,
                                    const std::optional<Shape>& image, const std::optional<Shape>& kernel) const;

 private:
  std::map<std::string, TensorType> declared_;
};

StandIns::StandIns(const Model& model, const Batch& batch) {
  const auto add = [&](const onnx::ValueInfoProto& value) {
    const std::optional<Shape> shape = bound_shape(value, batch);
    const auto dtype = dtype_of(value.type().tensor_type().elem_type());
    if (shape && is_usable(*shape) && dtype && *dtype != DType::kF64)
      declared_.try_emplace(value.name(), TensorType{*dtype, *shape});
  };
  for (const auto& value : model.proto->graph().value_info()) add(value);
}

std::optional<TensorType> StandIns::type_of(const onnx::NodeProto& node, const std::string& output,
                                            const std::optional<Shape>& image,
                                            const std::optional<Shape>& kernel) const {
  if (const auto found = declared_.find(output); found != declared_.end()) return found->second;
  const std::optional<Shape> shape = image ? windowed(node, *image, kernel) : std::nullopt;
  if (!shape || !is_usable(*shape)) return std::nullopt;
  return TensorType{DType::kF32, *shape};
}

constexpr int64_t kMostInnerWork = int64_t{1} << 17;

Failure no_such_operator(const onnx::NodeProto& message) {
  const bool standard = message.domain().empty() || message.domain() == "ai.onnx";
  if (standard && message.op_type() == "NonZero")
    return unsupported("how much it finds depends on the data", "choose by Where, or by a constant mask");
  if (standard && is_folded(message.op_type()))
    return unsupported("it is computed while importing, and an operand depends on the data",
                       "export with fixed shapes, so that the exporter can fold it");
  const RefusedOperator refused = refusal_of(message.domain(), message.op_type());
  return unsupported(fmt::format("there is no such operator here: {}", refused.why), refused.help);
}

bool takes_sequences(const std::string& op_type) {
  return op_type == "Loop" || op_type == "Identity" || op_type.find("Sequence") != std::string::npos;
}

// Has it no gradient, and is not what draws numbers, or makes positions that the node's later ops read?
bool stops_learning(const Graph& graph, size_t at) {
  const Op& op = graph.ops[at];
  if (op.inputs.empty() || ir::has_gradient(op, 0)) return false;
  return at + 1 == graph.ops.size() || ir::is_float(graph.value(op.outputs[0]).type.dtype);
}

bool is_known(const onnx::NodeProto& message) {
  return find_operator(message.domain(), message.op_type()) != nullptr ||
         ((message.domain().empty() || message.domain() == "ai.onnx") && is_folded(message.op_type()));
}

// False where a node before this one could not be made: it has been told there.
bool begins_here(const Operand& failed) {
  return failed.problem != "-" && failed.problem != "its shape is dynamic";
}

// Why a node cannot be lowered one of whose inputs could not be made.
Failure without_input(const onnx::NodeProto& message, const Operand& failed) {
  if (!is_known(message)) return no_such_operator(message);
  return unsupported(failed.problem, "export the model in float32, with fixed shapes");
}

class Driver {
 public:
  Driver(const Model& model, const Batch& batch, LoweredModel& out)
      : model_(model), out_(out), lowering_(model, out.graph), stand_ins_(model, batch) {
    lowering_.batch_chosen = batch.chosen;
    lowering_.recurrent_series = batch.recurrent_series;
    lowering_.batch_is_the_models = batch.name.empty() && batch.rebinds == 0;
    const auto& nodes = model.proto->graph().node();
    lowering_.some_norm_trains = std::any_of(nodes.begin(), nodes.end(), is_training_norm);
    lowering_.lower_body = [this](const onnx::GraphProto& body, const std::string& place) {
      return lower_body(body, place);
    };
    inner_position_ = model.proto->graph().node_size();
    out.graph.name = model.proto->graph().name();
    out.nodes.resize(static_cast<size_t>(model.proto->graph().node_size()));
    add_initializers();
    add_inputs(batch);
    note_conversions();
  }

  void run() {
    for (const int position : model_.order) lower_node(position);
    merge_statistics(lowering_.builder);
    add_outputs();
    add_notes();
    ir::drop_dead_ops(out_.graph);
    for (const ir::Value& value : out_.graph.values) lowering_.settings.erase(value.name);
    out_.fixed = std::move(lowering_.settings);
    out_.fixed.merge(lowering_.folded);
  }

 private:
  const Model& model_;
  LoweredModel& out_;
  Lowering lowering_;
  StandIns stand_ins_;
  std::vector<std::string> notes_;  // distinct, in the order of their first nodes
  std::map<std::string, std::vector<const NodeCoverage*>> noted_;
  std::deque<NodeCoverage> inner_;                              // of nodes of subgraphs that have a note
  std::map<const onnx::GraphProto*, std::vector<int>> needed_;  // nodes of subgraphs
  int inner_position_;                                          // of the next node of a subgraph
  int64_t inner_work_ = 0;                                      // nodes and ops that subgraphs became

  void add_initializers() {
    for (const auto& [name, initializer] : model_.initializers) {
      auto operand = std::make_shared<Operand>();
      operand->name = name;
      operand->problem = initializer.problem;
      operand->weight = initializer.is_parameter();
      if (initializer.problem.empty()) operand->known = std::make_shared<const Tensor>(initializer.tensor);
      lowering_.operands[name] = std::move(operand);
    }
  }

  void add_inputs(const Batch& batch) {
    std::vector<std::string> open;
    for (const auto& input : model_.proto->graph().input()) {
      if (model_.initializers.contains(input.name())) continue;
      auto operand = std::make_shared<Operand>();
      operand->name = input.name();
      const std::optional<Shape> shape = bound_shape(input, batch);
      const auto dtype = dtype_of(input.type().tensor_type().elem_type());
      const bool sane = shape && count_elements(*shape).value_or(0) > 0 &&
                        std::ranges::all_of(*shape, [](int64_t extent) { return extent <= kMostExtent; });
      if (!shape) {
        open.push_back(
            fmt::format("input '{}' {}", input.name(),
                        declared_shape(input) != nullptr ? show_dims(*declared_shape(input)) : "of unknown shape"));
        operand->problem = "its shape is dynamic";
      } else if (!dtype) {
        operand->problem = fmt::format("input '{}' is {}, which is not supported", input.name(),
                                       onnx_type_name(input.type().tensor_type().elem_type()));
      } else if (shape->size() > PT_MAX_RANK) {
        operand->problem =
            fmt::format("input '{}' has {} dimensions, more than {}", input.name(), shape->size(), int{PT_MAX_RANK});
      } else if (!sane) {
        operand->problem = fmt::format("input '{}' has the shape {}", input.name(), ir::to_text(*shape));
      } else {
        operand->id = lowering_.builder.input(input.name(), {runtime_dtype(*dtype), *shape});
      }
      lowering_.operands[input.name()] = std::move(operand);
    }
    if (open.empty()) return;
    out_.dynamic = Error{"E0210", "the model has dynamic shapes", "", open, shapes_to_give(model_)};
  }

  // Tensors that are not in float32 in the file; single numbers, which exporters write in any type, are not worth a word.
  void note_conversions() {
    std::map<std::string, int> counts;
    for (const auto& tensor : model_.proto->graph().initializer()) {
      const Shape shape(tensor.dims().begin(), tensor.dims().end());
      if (is_converted(tensor.data_type()) && count_elements(shape).value_or(0) > 1)
        ++counts[onnx_type_name(tensor.data_type())];
    }
    for (const auto& input : model_.proto->graph().input()) {
      const int32_t type = input.type().tensor_type().elem_type();
      if (is_converted(type) && !model_.initializers.contains(input.name())) ++counts[onnx_type_name(type)];
    }
    for (const auto& [type, count] : counts)
      out_.graph.notes.push_back(
          fmt::format("{} tensor{} of {}: computed in float32", count, count == 1 ? "" : "s", type));
  }

  void add_outputs() {
    for (const auto& output : model_.proto->graph().output()) {
      Operand& operand = *lowering_.operands.at(output.name());
      if (operand.problem.empty()) {
        const Result<ValueId> id = materialize(lowering_, operand);
        if (id) {
          out_.graph.outputs.push_back(*id);
          out_.graph.output_names.push_back(output.name());
          continue;
        }
      }
      out_.lost_outputs.push_back(output.name());
    }
  }

  // One line for all nodes that have the same to say.
  void add_notes() {
    for (const std::string& note : notes_) {
      const std::vector<const NodeCoverage*>& nodes = noted_[note];
      out_.graph.notes.push_back(nodes.size() == 1
                                     ? fmt::format("{} ({}): {}", nodes[0]->name, nodes[0]->op_type, note)
                                     : fmt::format("{} nodes ({}, ...): {}", nodes.size(), nodes[0]->op_type, note));
    }
  }

  const Operand* failed_input(const onnx::NodeProto& message) const {
    for (const std::string& input : message.input()) {
      if (input.empty()) continue;
      const Operand& operand = *lowering_.operands.at(input);
      const bool read_apart = operand.sequence && takes_sequences(message.op_type());
      if (!operand.problem.empty() && !read_apart) return &operand;
    }
    return nullptr;
  }

  // `read`: nodes behind it are checked. A model that is not refused has no stand-in: it would be an input.
  void fail_outputs(const onnx::NodeProto& message, bool read = true) {
    for (const std::string& output : message.output()) {
      if (output.empty()) continue;
      std::shared_ptr<Operand>& operand = lowering_.operands[output];
      if (operand && (operand->id != ir::kNone || operand->known)) continue;
      operand = std::make_shared<Operand>();
      operand->name = output;
      operand->problem = "-";  // told at the node where it began
      if (read) stand_in(*operand, message);
    }
  }

  std::optional<Shape> shape_of_input(const onnx::NodeProto& message, int input) const {
    if (input >= message.input_size() || message.input(input).empty()) return std::nullopt;
    const Operand& operand = *lowering_.operands.at(message.input(input));
    if (!operand.problem.empty()) return std::nullopt;
    return operand.known ? operand.known->type.shape : out_.graph.value(operand.id).type.shape;
  }

  // The model is refused in any case: an input in the value's place lets the nodes behind it be checked.
  void stand_in(Operand& operand, const onnx::NodeProto& message) {
    const auto type = stand_ins_.type_of(message, operand.name, shape_of_input(message, 0), shape_of_input(message, 1));
    if (!type) return;
    operand.problem.clear();
    operand.id = lowering_.builder.input(operand.name, *type);
  }

  Result<void> lower(Node& node) {
    const std::string& domain = node.message().domain();
    const OperatorEntry* entry = find_operator(domain, node.op_type());
    const bool standard = domain.empty() || domain == "ai.onnx";
    if (standard) {
      const Result<bool> folded = fold(lowering_, node);
      const bool computed_later = !folded && folded.error().code == "E0401" && entry != nullptr;  // too large to fold
      if (!folded && !computed_later) return Failure(folded.error());
      if (folded.value_or(false)) return {};
    }
    if (entry == nullptr) return no_such_operator(node.message());
    PANTOUM_TRY(lower_by(*entry, node));
    for (size_t output = 0; output < node.output_count(); ++output) {
      if (!node.wants(output)) continue;
      if (lowering_.operands.contains(node.output_name(output))) continue;
      return unsupported(fmt::format("its output {} is used", output));
    }
    return {};
  }

  // What ONNX says of every node, before the operator's own rules. Operators that are refused anyway are not judged.
  Result<void> check_rules(const onnx::NodeProto& message) const {
    if (!is_known(message)) return {};
    PANTOUM_TRY(check_form(message, model_.opset));
    std::vector<std::optional<GivenType>> given;
    for (const std::string& input : message.input()) {
      given.emplace_back();
      if (input.empty()) continue;
      const Operand& operand = *lowering_.operands.at(input);
      if (operand.sequence)
        given.back() = GivenType{.sequence = true};
      else if (operand.problem.empty())
        given.back() = GivenType{operand.known ? operand.known->type.dtype : out_.graph.value(operand.id).type.dtype};
    }
    return check_types(message, model_.opset, given);
  }

  Result<void> lower_inner(const onnx::NodeProto& message) {
    const size_t first_op = out_.graph.ops.size();
    for (const std::string& output : message.output()) lowering_.operands.erase(output);  // of an iteration before
    Node node(lowering_, message, inner_position_++);
    PANTOUM_TRY(check_rules(message));
    if (const Operand* failed = failed_input(message)) return without_input(message, *failed);
    PANTOUM_TRY(lower(node));
    if (!node.note().empty()) {
      NodeCoverage& coverage = inner_.emplace_back();
      coverage.name = node.label();
      coverage.op_type = message.op_type();
      tell(node.note(), coverage);
    }
    return spend_inner_work(1 + static_cast<int64_t>(out_.graph.ops.size() - first_op));
  }

  Result<void> spend_inner_work(int64_t work) {
    inner_work_ += work;
    if (inner_work_ <= kMostInnerWork) return {};
    return unsupported(fmt::format("its subgraphs become more than {} nodes and ops", kMostInnerWork),
                       "train on shorter sequences, or compute with whole tensors instead of a loop");
  }

  Result<void> lower_body(const onnx::GraphProto& body, const std::string& place) {
    PANTOUM_TRY(spend_inner_work(1));  // iterations of empty bodies count, too
    const auto [nodes, fresh] = needed_.try_emplace(&body);
    if (fresh) nodes->second = needed_nodes(body);
    for (const int at : nodes->second) {
      const onnx::NodeProto& message = body.node(at);
      Result<void> lowered = lower_inner(message);
      if (lowered) continue;
      const std::string name = message.name().empty() ? message.output(0) : message.name();
      lowered.error().message =
          fmt::format("in its {}, node '{}' ({}): {}", place, name, message.op_type(), lowered.error().message);
      return lowered;
    }
    return {};
  }

  // Did a node before this one fail on which only its subgraphs depend?
  bool captures_failed(int position) const {
    const std::vector<std::string>& captured = model_.captures.of_node[static_cast<size_t>(position)];
    return std::ranges::any_of(captured, [&](const std::string& name) {
      const Operand& operand = *lowering_.operands.at(name);
      return !operand.problem.empty() && !begins_here(operand);
    });
  }

  // An op without a gradient stops learning unless it makes integers or only keeps statistics.
  void record_ops(size_t first_op, NodeCoverage& coverage) const {
    coverage.gradient = true;
    for (size_t op = first_op; op < out_.graph.ops.size(); ++op) {
      const Kind kind = out_.graph.ops[op].kind;
      if (kind != Kind::k_alias) coverage.ops.emplace_back(ir::name_of(kind));
      if (kind == Kind::k_batch_norm_stats || !stops_learning(out_.graph, op)) continue;
      coverage.gradient = false;
    }
  }

  void record_types(const onnx::NodeProto& message, NodeOutcome& outcome) const {
    for (const std::string& output : message.output()) {
      const auto entry = lowering_.operands.find(output);
      if (output.empty() || entry == lowering_.operands.end() || !entry->second->problem.empty()) {
        outcome.types.emplace_back();
        continue;
      }
      const Operand& operand = *entry->second;
      outcome.types.emplace_back(operand.known ? operand.known->type : out_.graph.value(operand.id).type);
    }
  }

  void lower_node(int position) {
    const onnx::NodeProto& message = model_.proto->graph().node(position);
    NodeOutcome& outcome = out_.nodes[static_cast<size_t>(position)];
    NodeCoverage& coverage = outcome.coverage;
    Node node(lowering_, message, position);
    coverage.name = message.name().empty() || !call_in_module(message).empty() ? node.label() : message.name();
    coverage.op_type = message.op_type();
    coverage.domain = message.domain();
    if (!model_.live[static_cast<size_t>(position)]) {
      coverage.forward = coverage.gradient = true;
      coverage.note = "no output depends on it: left out";
      return fail_outputs(message, false);
    }
    const size_t first_op = out_.graph.ops.size();
    const Operand* failed = failed_input(message);
    if ((failed != nullptr && is_known(message) && !begins_here(*failed)) || captures_failed(position)) {
      coverage.note = "not checked: an input could not be made";
      return fail_outputs(message);
    }
    Result<void> lowered = check_rules(message);
    if (lowered) lowered = failed != nullptr ? without_input(message, *failed) : lower(node);
    coverage.note = node.note();
    if (!lowered) {
      outcome.code = lowered.error().code;
      coverage.problem = lowered.error().message;
      if (!lowered.error().help.empty()) coverage.problem += "; " + lowered.error().help;
      return fail_outputs(message);
    }
    coverage.forward = true;
    record_ops(first_op, coverage);
    record_types(message, outcome);
    if (!coverage.note.empty()) tell(coverage.note, coverage);
  }

  void tell(const std::string& note, const NodeCoverage& coverage) {
    if (!noted_.contains(note)) notes_.push_back(note);
    noted_[note].push_back(&coverage);
  }
};

}  // namespace

bool is_open(const onnx::TensorShapeProto_Dimension& dim) {
  return !dim.has_dim_value() || dim.dim_value() < 0;
}

const onnx::TensorShapeProto* declared_shape(const onnx::ValueInfoProto& input) {
  return input.type().tensor_type().has_shape() ? &input.type().tensor_type().shape() : nullptr;
}

std::string show_dims(const onnx::TensorShapeProto& shape) {
  std::vector<std::string> dims;
  for (const auto& dim : shape.dim()) {
    if (dim.has_dim_value()) {
      dims.push_back(std::to_string(dim.dim_value()));
    } else {
      dims.push_back(dim.dim_param().empty() ? "?" : dim.dim_param());
    }
  }
  return fmt::format("[{}]", fmt::join(dims, ","));
}

Result<Batch> bind_batch(const Model& model, const OnnxOptions& options) {
  if (options.batch < 0 || options.batch > kMostExtent) {
    return fail("E0210", fmt::format("a batch of {} is out of range", options.batch));
  }
  Batch batch;
  batch.chosen = options.batch != 0;
  batch.recurrent_series = options.recurrent_series;
  batch.size = std::max<int64_t>(options.batch, 1);
  int64_t own = 0;
  for (const auto& input : model.proto->graph().input()) {
    const onnx::TensorShapeProto* shape = declared_shape(input);
    if (model.initializers.contains(input.name()) || shape == nullptr || shape->dim_size() == 0) continue;
    const auto& first = shape->dim(0);
    if (is_open(first)) {
      batch.name = first.dim_param().empty() ? "N" : first.dim_param();
      return batch;
    }
    if (own == 0) own = first.dim_value();
  }
  if (options.batch != 0 && own != options.batch) batch.rebinds = own;
  if (options.batch == 0 && own > 0) batch.size = own;
  return batch;
}

std::optional<Shape> bound_shape(const onnx::ValueInfoProto& value, const Batch& batch) {
  const onnx::TensorShapeProto* declared = declared_shape(value);
  if (declared == nullptr) return std::nullopt;
  Shape shape;
  for (int d = 0; d < declared->dim_size(); ++d) {
    const auto& dim = declared->dim(d);
    if (!is_open(dim)) {
      const bool rebound = d == 0 && batch.rebinds != 0 && dim.dim_value() == batch.rebinds;
      shape.push_back(rebound ? batch.size : dim.dim_value());
    } else if (d == 0 && (dim.dim_param().empty() || dim.dim_param() == batch.name)) {
      shape.push_back(batch.size);
    } else {
      return std::nullopt;
    }
  }
  return shape;
}

LoweredModel lower_model(const Model& model, const Batch& batch) {
  LoweredModel lowered;
  Driver(model, batch, lowered).run();
  return lowered;
}

}  // namespace pantoum::import
