#include "import/onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/files.h"
#include "import/given_shapes.h"
#include "import/lower_model.h"
#include "import/onnx_messages.h"
#include "import/tensor.h"
#include "import/weight_roles.h"

namespace pantoum::import {

namespace {

constexpr uint64_t kMappedBytes = 16 << 20;  // an ONNX file of this size or more is mapped

using Declared = std::unordered_map<std::string, const onnx::TypeProto_Tensor*>;

Declared declared_values(const onnx::GraphProto& graph) {
  Declared declared;
  for (const auto* values : {&graph.output(), &graph.value_info()})
    for (const auto& value : *values)
      if (value.type().has_tensor_type()) declared.try_emplace(value.name(), &value.type().tensor_type());
  return declared;
}

// Is the dimension what the file declares? `other` is its extent at another batch.
bool agrees(const onnx::TensorShapeProto_Dimension& declared, int64_t extent, int64_t other, const Batch& batch) {
  if (!declared.has_dim_value() || declared.dim_value() < 0 || declared.dim_value() == extent) return true;
  return batch.rebinds != 0 || extent != other;
}

bool agrees(const onnx::TensorShapeProto& declared, const Shape& shape, const Shape& other, const Batch& batch) {
  if (static_cast<size_t>(declared.dim_size()) != shape.size() || other.size() != shape.size()) return false;
  for (int d = 0; d < declared.dim_size(); ++d) {
    const auto at = static_cast<size_t>(d);
    if (!agrees(declared.dim(d), shape[at], other[at], batch)) return false;
  }
  return true;
}

std::string problem_of(const onnx::TypeProto_Tensor& declared, const TensorType& type, const Shape& other,
                       const Batch& batch) {
  const auto dtype = dtype_of(declared.elem_type());
  if (dtype && runtime_dtype(*dtype) != runtime_dtype(type.dtype))
    return fmt::format("{}, and the file declares {}", ir::name_of(type.dtype), onnx_type_name(declared.elem_type()));
  if (!declared.has_shape() || agrees(declared.shape(), type.shape, other, batch)) return {};
  return fmt::format("{}, and the file declares {}", ir::to_text(type.shape), show_dims(declared.shape()));
}

void refuse(NodeOutcome& outcome, size_t output, const std::string& problem) {
  outcome.code = "E0211";
  outcome.coverage.forward = outcome.coverage.gradient = false;
  outcome.coverage.problem =
      fmt::format("its output {} is {}; export the model again, or correct what the file declares", output, problem);
}

// Makes a node whose result is of another type or shape than the file declares a problem (E0211). A dimension that the
// batch changes is not judged, nor is one that the file leaves open.
//   wider    the same model lowered at batch.size + 1; null when the batch is static
//   returns  one warning, or "": files of PyTorch are warned of alone, since its tracing exporter declares wrong shapes
//            for nodes that are right (scatter_reduce and what follows it)
std::string check_declared(const Model& model, const Batch& batch, LoweredModel& lowered, const LoweredModel* wider) {
  const Declared declared = declared_values(model.proto->graph());
  const bool warns = model.proto->producer_name() == "pytorch";
  std::vector<std::string> told;
  for (size_t node = 0; node < lowered.nodes.size(); ++node) {
    NodeOutcome& outcome = lowered.nodes[node];
    const auto& names = model.proto->graph().node(static_cast<int>(node)).output();
    for (size_t output = 0; output < outcome.types.size() && outcome.code.empty(); ++output) {
      const std::string& name = names[static_cast<int>(output)];
      const auto found = declared.find(name);
      const std::optional<TensorType>& type = outcome.types[output];
      if (!type || found == declared.end()) continue;
      const auto* at_more = wider != nullptr ? &wider->nodes[node].types : nullptr;
      const bool both = at_more != nullptr && output < at_more->size() && (*at_more)[output];
      const std::string problem =
          problem_of(*found->second, *type, both ? (*at_more)[output]->shape : type->shape, batch);
      if (problem.empty()) continue;
      if (warns)
        told.push_back(fmt::format("'{}' is {}", name, problem));
      else
        refuse(outcome, output, problem);
    }
  }
  if (told.empty()) return {};
  return fmt::format("of {} value{} the file declares another type than its nodes compute, which holds: {}{}",
                     told.size(), told.size() == 1 ? "" : "s", told[0], told.size() == 1 ? "" : ", ...");
}

struct Read {
  std::vector<Restoration> restorations;
  LoweredModel lowered;
  ModelInfo info;
  std::map<std::string, Tensor> fixed;
};

std::map<std::string, Tensor> find_fixed(const Model& model, const std::set<std::string>& names) {
  std::map<std::string, Tensor> fixed;
  for (const auto& [name, initializer] : model.initializers)
    if (names.contains(name)) fixed.emplace(name, initializer.tensor);
  return fixed;
}

void tell_folded(const Model& model, const OnnxOptions& options, ModelInfo& info) {
  info.notes.insert(info.notes.end(), model.export_notes.begin(), model.export_notes.end());
  info.warnings.insert(info.warnings.end(), model.export_warnings.begin(), model.export_warnings.end());
  if (!options.accept_folded)
    info.folded = model.folded;
  else if (!model.folded.empty())
    info.warnings.push_back(
        fmt::format("accepted as folded, other than the program trains: {}", fmt::join(model.folded, "; ")));
}

Result<void> check_folded(const ModelInfo& info) {
  if (info.folded.empty()) return {};
  return fail(
      "E0406", "the exporter folded what trains: training would not be that of the program", {},
      "export again with torch.onnx.export(model, args, \"m.onnx\", dynamo=True, optimize=False), or with "
      "dynamo=False, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False; --accept-folded trains "
      "the file as it is",
      info.folded);
}

std::string tell_problem(const NodeCoverage& node) {
  return fmt::format("node '{}' ({}): {}", node.name, node.op_type, node.problem);
}

// All problems in one error; E0401 goes before E0211.
Result<void> check_problems(const LoweredModel& lowered) {
  if (lowered.dynamic) return Failure(*lowered.dynamic);
  std::vector<std::string> notes;
  bool unsupported = false;
  for (const NodeOutcome& node : lowered.nodes) {
    if (node.code.empty()) continue;
    notes.push_back(tell_problem(node.coverage));
    unsupported = unsupported || node.code == "E0401";
  }
  if (notes.empty() && lowered.lost_outputs.empty()) return {};
  if (notes.empty()) {
    return fail("E0401", "an output of the model cannot be made", lowered.lost_outputs.front(),
                "make it float32, with one element or more");
  }
  const std::string what = unsupported ? "that cannot be trained here" : "whose shapes do not fit";
  const size_t count = notes.size();
  return fail(unsupported ? "E0401" : "E0211",
              fmt::format("the model has {} node{} {}", count, count == 1 ? "" : "s", what), {},
              "`pantoum inspect` lists every node", std::move(notes));
}

Result<Read> read(const ModelBytes& file, ExternalData external, const OnnxOptions& options) {
  PANTOUM_ASSIGN(Model model, read_model(file, external, options.train));
  if (const std::set<std::string> weights = find_weights_in_constants(model); !weights.empty()) {
    PANTOUM_ASSIGN(model, read_model(file, external, options.train, weights));
  }
  PANTOUM_TRY(assign_weight_roles(model, options));
  PANTOUM_TRY(bind_shapes(model, options.shapes, options.batch));
  PANTOUM_ASSIGN(const Batch batch, bind_batch(model, options));
  Read result{model.restorations, lower_model(model, batch), {}, {}};
  std::optional<LoweredModel> wider;
  if (!batch.name.empty()) {
    Batch next = batch;
    ++next.size;
    wider = lower_model(model, next);
  }
  const std::string declared = check_declared(model, batch, result.lowered, wider ? &*wider : nullptr);
  result.info = describe_model(model, batch, result.lowered, wider ? &*wider : nullptr);
  tell_folded(model, options, result.info);
  result.fixed = find_fixed(model, result.lowered.fixed);
  if (!declared.empty()) result.info.warnings.push_back(declared);
  Result<void> fits = check_problems(result.lowered);
  if (fits) fits = check_folded(result.info);
  if (!fits) result.info.refusal = fits.error();
  return result;
}

Result<Imported> load(const ModelBytes& file, ExternalData external, const OnnxOptions& options) {
  PANTOUM_ASSIGN(Read result, read(file, std::move(external), options));
  if (result.info.refusal) return Failure(*std::move(result.info.refusal));
  PANTOUM_TRY(ir::validate(result.lowered.graph));
  return Imported{std::move(result.restorations), std::move(result.lowered.graph), std::move(result.info),
                  std::move(result.fixed)};
}

template <class Value>
Result<Value> with_path(Result<Value> result, const std::string& path) {
  if (!result) {
    std::string& where = result.error().where;
    where = where.empty() || where == path ? path : path + ", " + where;
  }
  return result;
}

// A small file is read; a large one is mapped.
struct OpenModel {
  std::string read;
  ModelBytes file;
};

Result<std::unique_ptr<OpenModel>> open_model(const std::string& path) {
  auto made = std::make_unique<OpenModel>();
  std::error_code problem;
  if (std::filesystem::is_regular_file(path, problem) && std::filesystem::file_size(path, problem) >= kMappedBytes) {
    PANTOUM_ASSIGN(made->file.file, base::MappedFile::open(path, INT64_MAX));
    made->file.bytes = made->file.file->bytes();
  } else {
    PANTOUM_ASSIGN(made->read, base::read_file(path));
    made->file.bytes = std::as_bytes(std::span(made->read));
  }
  return made;
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

// The file's name in place of one that an exporter gives every graph.
std::string name_of(const std::string& graph, const std::string& path) {
  constexpr std::array<std::string_view, 6> kOfExporters{
      "", "graph", "main_graph", "tf2onnx", "torch-jit-export", "torch_jit"};
  const bool given = std::find(kOfExporters.begin(), kOfExporters.end(), graph) == kOfExporters.end();
  const std::string stem = std::filesystem::path(path).stem().string();
  return given || stem.empty() ? graph : stem;
}

}  // namespace

Result<ModelInfo> inspect_onnx(const std::string& path, const OnnxOptions& options) {
  PANTOUM_ASSIGN(const std::unique_ptr<OpenModel> model, open_model(path));
  Result<Read> result = with_path(read(model->file, ExternalData(folder_of(path)), options), path);
  if (!result) return Failure(std::move(result).error());
  result->info.graph_name = name_of(result->info.graph_name, path);
  return std::move(result->info);
}

Result<Imported> load_onnx(const std::string& path, const OnnxOptions& options) {
  PANTOUM_ASSIGN(const std::unique_ptr<OpenModel> model, open_model(path));
  Result<Imported> result = with_path(load(model->file, ExternalData(folder_of(path)), options), path);
  if (result) result->graph.name = result->info.graph_name = name_of(result->graph.name, path);
  if (model->file.file) model->file.file->give_back();
  return result;
}

Result<Imported> parse_onnx(const void* bytes, size_t size, const std::string& folder, const OnnxOptions& options) {
  return load({.bytes = {static_cast<const std::byte*>(bytes), size}, .file = nullptr},
              ExternalData(folder, !folder.empty()), options);
}

}  // namespace pantoum::import
