#include "import/onnx.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "import/declared_types.h"
#include "import/model_info.h"
#include "import/weight_roles.h"

namespace pantoum::import {
namespace {

struct Read {
  std::vector<Restoration> restorations;
  LoweredModel lowered;
  ModelInfo info;
};

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

Result<Read> read(const void* bytes, size_t size, ExternalData external, const OnnxOptions& options) {
  PANTOUM_ASSIGN(Model model, read_model(bytes, size, external, options.train));
  PANTOUM_TRY(assign_weight_roles(model, options));
  PANTOUM_ASSIGN(const Batch batch, bind_batch(model, options));
  Read result{model.restorations, lower_model(model, batch), {}};
  std::optional<LoweredModel> wider;
  if (!batch.name.empty()) {
    Batch next = batch;
    ++next.size;
    wider = lower_model(model, next);
  }
  const std::string declared = check_declared(model, batch, result.lowered, wider ? &*wider : nullptr);
  result.info = describe_model(model, batch, result.lowered, wider ? &*wider : nullptr);
  tell_folded(model, options, result.info);
  if (!declared.empty()) result.info.warnings.push_back(declared);
  Result<void> fits = check_problems(result.lowered);
  if (fits) fits = check_folded(result.info);
  if (!fits) result.info.refusal = fits.error();
  return result;
}

Result<Imported> load(const void* bytes, size_t size, ExternalData external, const OnnxOptions& options) {
  PANTOUM_ASSIGN(Read result, read(bytes, size, std::move(external), options));
  if (result.info.refusal) return Failure(*std::move(result.info.refusal));
  PANTOUM_TRY(ir::validate(result.lowered.graph));
  return Imported{std::move(result.restorations), std::move(result.lowered.graph), std::move(result.info)};
}

template <class Value>
Result<Value> with_path(Result<Value> result, const std::string& path) {
  if (!result) {
    std::string& where = result.error().where;
    where = where.empty() || where == path ? path : path + ", " + where;
  }
  return result;
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

}  // namespace

Result<ModelInfo> inspect_onnx(const std::string& path, const OnnxOptions& options) {
  PANTOUM_ASSIGN(const std::string bytes, base::read_file(path));
  Result<Read> result = with_path(read(bytes.data(), bytes.size(), ExternalData(folder_of(path)), options), path);
  if (!result) return Failure(std::move(result).error());
  return std::move(result->info);
}

Result<Imported> load_onnx(const std::string& path, const OnnxOptions& options) {
  PANTOUM_ASSIGN(const std::string bytes, base::read_file(path));
  return with_path(load(bytes.data(), bytes.size(), ExternalData(folder_of(path)), options), path);
}

Result<Imported> parse_onnx(const void* bytes, size_t size, const std::string& folder, const OnnxOptions& options) {
  return load(bytes, size, ExternalData(folder, !folder.empty()), options);
}

}  // namespace pantoum::import
