#include "aten/import_torch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "aten/operators.h"
#include "base/globs.h"
#include "import/compose.h"
#include "pantoum/pantoum.h"

namespace pantoum::aten {
namespace {

using import::Imported;
using import::ModelInfo;
using import::NodeCoverage;

class Importer {
 public:
  Importer(const TorchSource& source, const import::OnnxOptions& options, const TorchGraph& torch, Graph& graph)
      : source_(source), options_(options), torch_(torch), graph_(graph), build_(graph) {}

  Result<ModelInfo> run() {
    graph_.name = torch_.name;
    info_.graph_name = torch_.name;
    info_.producer = torch_.torch_version.empty() ? "torch" : "torch " + torch_.torch_version;
    info_.batch = torch_.batch;
    PANTOUM_TRY(add_inputs());
    PANTOUM_TRY(add_stored());
    PANTOUM_TRY(check_globs());
    for (size_t call = 0; call < torch_.calls.size(); ++call) lower(torch_.calls[call], static_cast<int>(call));
    add_outputs();
    move_buffers();
    finish();
    return std::move(info_);
  }

  // What PyTorch computed of which buffers, and the contents of these.
  void tell_computed(Imported& imported) const {
    for (const Stored& buffer : torch_.buffers)
      if (!buffer.of.empty()) imported.computed[buffer.name] = buffer.of;
    for (const auto& [name, sources] : imported.computed)
      for (const ir::Value& value : graph_.values)
        if (value.data && std::ranges::find(sources, value.name) != sources.end())
          imported.fixed[value.name] = {value.type, value.data};
  }

 private:
  const TorchSource& source_;
  const import::OnnxOptions& options_;
  const TorchGraph& torch_;
  Graph& graph_;
  Build build_;
  ModelInfo info_;
  std::vector<std::string> problems_;
  bool lacks_operator_ = false;

  // Has every input one row a sample? Otherwise a step is one sample, of everything.
  bool rows_are_samples() const {
    return std::ranges::all_of(torch_.inputs, [&](const GraphInput& input) {
      return !input.value.type.shape.empty() && input.value.type.shape[0] == torch_.batch;
    });
  }

  // The value that the calls read.
  ValueId add_input(const GraphInput& input, bool by_rows) {
    TensorType type = input.value.type;
    if (!by_rows) type.shape.insert(type.shape.begin(), 1);
    const ValueId id = builder().input(input.name, type);
    return by_rows ? id : builder().reshape(id, input.value.type.shape);
  }

  Result<void> add_inputs() {
    const bool by_rows = rows_are_samples();
    if (!by_rows) {
      info_.batch = 1;
      info_.notes.push_back(
          "the inputs do not all have the batch as their first dimension: a step takes all of them as one sample");
    }
    for (const GraphInput& input : torch_.inputs) {
      if (input.value.type.elements() == 0)
        return fail("E0211", fmt::format("the input '{}' has no elements", input.name), torch_.name);
      if (input.value.type.shape.size() + (by_rows ? 0 : 1) > PT_MAX_RANK)
        return fail("E0211", fmt::format("the input '{}' has more than {} dimensions", input.name, int{PT_MAX_RANK}),
                    torch_.name);
      build_.values[input.value.name] = add_input(input, by_rows);
      info_.inputs.push_back(fmt::format("{} {}", input.name, ir::to_text(input.value.type)));
    }
    return {};
  }

  Result<ir::Data> contents(const Stored& stored) {
    PANTOUM_ASSIGN(std::vector<std::byte> bytes, source_.read(stored.name, stored.value.type));
    return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  }

  void tell(const Stored& stored, const char* trains, std::string why) {
    info_.tensors.push_back({stored.name, ir::to_text(stored.value.type), trains, std::move(why)});
  }

  Result<void> add_parameter(const Stored& stored) {
    PANTOUM_ASSIGN(ir::Data data, contents(stored));
    const bool is_real = ir::is_float(stored.value.type.dtype);
    const bool trains = is_real && (stored.trains || base::matches_any(options_.train, stored.name)) &&
                        !base::matches_any(options_.freeze, stored.name);
    const ValueId id = is_real ? builder().parameter(stored.name, stored.value.type, std::move(data), trains)
                               : builder().constant(stored.name, stored.value.type, std::move(data), true);
    build_.values[stored.value.name] = id;
    if (trains) info_.parameter_count += stored.value.type.elements();
    tell(stored, trains ? "yes" : "no", stored.trains ? "a parameter" : "requires_grad is off");
    return {};
  }

  // A buffer that no step changes is a constant. `of_model`: false for the numbers that the captured code writes out.
  Result<void> add_buffer(const Stored& stored, bool of_model) {
    PANTOUM_ASSIGN(ir::Data data, contents(stored));
    const bool moves = !stored.becomes.empty() && stored.becomes != stored.value.name;
    build_.values[stored.value.name] =
        moves ? builder().buffer(stored.name, stored.value.type, std::move(data))
              : builder().constant(stored.name, stored.value.type, std::move(data), of_model);
    tell(stored, "no",
         moves               ? "a buffer that the forward moves"
         : stored.of.empty() ? "a buffer"
                             : fmt::format("computed by PyTorch of '{}'", fmt::join(stored.of, "', '")));
    return {};
  }

  Result<void> add_stored() {
    for (const auto* list : {&torch_.parameters, &torch_.buffers, &torch_.constants})
      for (const Stored& stored : *list) {
        if (stored.value.type.elements() == 0 || stored.value.type.shape.size() > PT_MAX_RANK) {
          build_.problems[stored.value.name] = fmt::format("'{}' is {}", stored.name, ir::to_text(stored.value.type));
          continue;
        }
        PANTOUM_TRY(list == &torch_.parameters ? add_parameter(stored) : add_buffer(stored, list == &torch_.buffers));
      }
    return {};
  }

  Result<void> check_globs() {
    std::vector<std::string> lost;
    for (const auto* globs : {&options_.train, &options_.freeze})
      for (const std::string& glob : *globs) {
        const auto names = [&](const Stored& stored) { return base::matches(glob, stored.name); };
        if (std::ranges::none_of(torch_.parameters, names)) lost.push_back(fmt::format("'{}'", glob));
      }
    if (lost.empty()) return {};
    return fail("E0104", "--train or --freeze names no parameter", torch_.name, "see the names with: pantoum inspect",
                std::move(lost));
  }

  Result<void> lower_call(const Call& call, int position, const OperatorEntry* entry) {
    if (entry == nullptr)
      return unsupported("there is no such operator here",
                         "write it with others, or register it (pantoum.custom_operator)");
    for (const TypedValue& output : call.outputs)
      if (!output.name.empty() && output.type.elements() == 0)
        return unsupported(fmt::format("its result {} has no elements", ir::to_text(output.type)));
    Node node(build_, call, position);
    const Result<void> lowered = entry->lower(node);
    PANTOUM_TRY(node.refusal());
    PANTOUM_TRY(lowered);
    for (const TypedValue& output : call.outputs)
      if (!output.name.empty() && !build_.values.contains(output.name))
        return unsupported("one of its results is not made here");
    return {};
  }

  void lower(const Call& call, int position) {
    NodeCoverage coverage{
        .name = call.name, .op_type = call.op, .domain = "aten", .forward = true, .problem = {}, .note = {}};
    const size_t first = graph_.ops.size();
    const OperatorEntry* entry = find_operator(call.op);
    const Result<void> lowered = lower_call(call, position, entry);
    coverage.forward = lowered.has_value();
    coverage.gradient = coverage.forward && entry->gradient;
    for (const TypedValue& output : call.outputs)
      coverage.output_shapes.push_back(output.name.empty() ? "?" : ir::to_text(output.type.shape));
    for (size_t op = first; op < graph_.ops.size(); ++op)
      if (graph_.ops[op].kind != Kind::k_alias) coverage.ops.emplace_back(ir::name_of(graph_.ops[op].kind));
    if (!lowered) refuse(call, lowered.error(), coverage);
    info_.nodes.push_back(std::move(coverage));
  }

  // A problem that follows from an earlier one is not reported again.
  void refuse(const Call& call, const Error& error, NodeCoverage& coverage) {
    for (const TypedValue& output : call.outputs)
      if (!output.name.empty())
        build_.problems[output.name] = fmt::format("it reads '{}', which could not be made", call.name);
    coverage.problem = error.help.empty() ? error.message : error.message + "; " + error.help;
    if (error.code == "E0212") return;
    lacks_operator_ = lacks_operator_ || error.code == "E0401";
    const std::string place = call.where.empty() ? "" : fmt::format(", {}", call.where);
    problems_.push_back(fmt::format("'{}' ({}{}): {}", call.name, call.op, place, coverage.problem));
  }

  void add_outputs() {
    for (const GraphOutput& output : torch_.outputs) {
      const auto found = build_.values.find(output.value);
      if (found == build_.values.end()) continue;  // told with its call
      graph_.outputs.push_back(found->second);
      graph_.output_names.push_back(output.name);
      info_.outputs.push_back(fmt::format("{} {}", output.name, ir::to_text(builder().type(found->second))));
    }
    if (torch_.loss.empty()) return;
    const auto found = build_.values.find(torch_.loss);
    if (found == build_.values.end()) return;
    if (builder().type(found->second) != TensorType{DType::kF32, {}})
      problems_.push_back(
          fmt::format("the captured loss is {}, and not one number", ir::to_text(builder().type(found->second))));
    graph_.outputs.push_back(found->second);
    graph_.output_names.push_back(std::string(ir::kCapturedLoss));
  }

  // Is it what an op of statistics makes of this very buffer?
  bool moved_in_place(ValueId from, ValueId to) const {
    const OpId maker = graph_.value(to).producer;
    if (maker == kNone || graph_.op(maker).kind != Kind::k_batch_norm_stats) return false;
    const ir::Op& op = graph_.op(maker);
    return std::find(op.inputs.begin(), op.inputs.begin() + 2, from) != op.inputs.begin() + 2;
  }

  // What a buffer becomes is assigned at the end of the step, but for statistics, whose op does it. Those that several
  // calls move are made one op's afterwards, where that can be.
  void move_buffers() {
    for (const Stored& stored : torch_.buffers) {
      if (stored.becomes.empty() || stored.becomes == stored.value.name) continue;
      const auto from = build_.values.find(stored.value.name), to = build_.values.find(stored.becomes);
      if (from == build_.values.end() || to == build_.values.end()) continue;
      if (builder().type(from->second) != builder().type(to->second)) {
        problems_.push_back(fmt::format("the buffer '{}' becomes {}, and was {}", stored.name,
                                        ir::to_text(builder().type(to->second)),
                                        ir::to_text(builder().type(from->second))));
        continue;
      }
      const bool moved = moved_in_place(from->second, to->second);
      graph_.value(from->second).next =
          moved ? to->second : builder().op(ir::Kind::k_assign, stored.name + ".assign", {from->second, to->second});
    }
  }

  void finish() {
    if (builder().error()) problems_.push_back(builder().error()->message);
    if (graph_.outputs.empty() && problems_.empty()) problems_.emplace_back("the module has no output");
    if (!problems_.empty()) {
      const size_t count = problems_.size();
      info_.refusal =
          Error{lacks_operator_ ? "E0401" : "E0211",
                fmt::format("the module has {} call{} that cannot be trained here", count, count == 1 ? "" : "s"),
                source_.where, problems_, "`pantoum inspect` lists every call"};
      return;
    }
    import::merge_statistics(builder());
    ir::drop_dead_ops(graph_);
  }

  ir::Builder& builder() { return build_.builder; }
};

Result<Imported> import(const TorchSource& source, const import::OnnxOptions& options) {
  PANTOUM_ASSIGN(const TorchGraph torch, parse_torch_graph(source.graph));
  if (options.batch != 0 && options.batch != torch.batch)
    return fail("E0210", fmt::format("the module was captured with a batch of {}, not {}", torch.batch, options.batch),
                source.where, "capture it again with an example of that batch");
  if (!options.shapes.empty())
    return fail("E0210", "a torch graph has the shapes that it was captured with", source.where,
                "capture the module again with an example of that shape, and leave --shape out");
  Imported imported;
  Importer importer(source, options, torch, imported.graph);
  PANTOUM_ASSIGN(imported.info, importer.run());
  importer.tell_computed(imported);
  return imported;
}

}  // namespace

Result<Imported> load_torch(const TorchSource& source, const import::OnnxOptions& options) {
  PANTOUM_ASSIGN(Imported imported, import(source, options));
  if (imported.info.refusal) return Failure(*std::move(imported.info.refusal));
  PANTOUM_TRY(ir::validate(imported.graph));
  return imported;
}

Result<ModelInfo> inspect_torch(const TorchSource& source, const import::OnnxOptions& options) {
  PANTOUM_ASSIGN(Imported imported, import(source, options));
  return std::move(imported.info);
}

}  // namespace pantoum::aten
