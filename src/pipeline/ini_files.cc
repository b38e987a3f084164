#include "pipeline/ini_files.h"

#include <charconv>
#include <vector>

#include "base/contents.h"
#include "base/files.h"
#include "import/onnx.h"
#include "ini/model.h"
#include "pipeline/converted_model.h"
#include "pipeline/import_model.h"

namespace pantoum::pipeline {
namespace {

// The tensors of a file as they lie in it.
std::vector<weights::SafetensorSource> sources_of(const weights::SafetensorFile& file) {
  std::vector<weights::SafetensorSource> sources;
  sources.reserve(file.tensors.size());
  for (const weights::SafetensorEntry& entry : file.tensors)
    sources.push_back({entry.name, entry.dtype, entry.shape, [&file, &entry](uint64_t at, std::span<std::byte> piece) {
                         return weights::read_tensor(file, entry, at, piece);
                       }});
  return sources;
}

// First values of parameters and statistics.
Result<void> write_first_values(const std::string& onnx, const std::string& path) {
  PANTOUM_ASSIGN(const import::Imported model, import::parse_onnx(onnx.data(), onnx.size(), ""));
  std::vector<weights::SafetensorSource> sources;
  for (const ir::Value& value : model.graph.values) {
    const bool is_kept = value.role == ir::Role::kParameter || value.role == ir::Role::kBuffer;
    if (value.producer != ir::kNone || !is_kept || !value.data) continue;
    sources.push_back({value.name, value.type.dtype, value.type.shape,
                       [&value](uint64_t at, std::span<std::byte> piece) { return value.data.read(at, piece); }});
  }
  return weights::write_safetensors(path, sources, {});
}

// Whether --weights names a .bin.
bool has_bin(const ModelRequest& model) {
  return model.bytes == nullptr && base::contents_of(*model.options.weights) != base::Contents::kSafetensors &&
         is_ini_model(model.path);
}

}  // namespace

bool is_ini_model(const std::string& path) {
  return base::contents_of(path) == base::Contents::kIni;
}

Result<weights::SafetensorFile> open_weights(const ModelRequest& model) {
  if (!has_bin(model)) return weights::open_safetensors(*model.options.weights);
  PANTOUM_ASSIGN(const ini::Model read, ini::read_model(model.path));
  return ini::open_bin(*model.options.weights, read.stored);
}

Result<std::optional<ContinuedBin>> continued_bin(const ModelRequest& model) {
  if (!model.options.weights || !has_bin(model)) return std::nullopt;
  PANTOUM_ASSIGN(const ini::Model read, ini::read_model(model.path));
  ContinuedBin bin;
  PANTOUM_ASSIGN(bin.file, ini::open_bin(*model.options.weights, read.stored));
  const auto iteration = bin.file.metadata.find("step");
  if (!read.training.continue_train || iteration == bin.file.metadata.end()) return std::nullopt;
  const std::string& text = iteration->second;
  std::from_chars(text.data(), text.data() + text.size(), bin.iteration);
  return std::optional(std::move(bin));
}

Result<void> write_as_bin(const std::string& model, const std::string& from, const std::string& path) {
  if (!is_ini_model(model))
    return fail("E0113", "a .bin holds the weights of an .ini model, and the model is none", path,
                "name a file that ends in .safetensors");
  PANTOUM_ASSIGN(const ExportSource source, export_source(model, from));
  PANTOUM_ASSIGN(const ini::Model read, ini::read_model(model));
  PANTOUM_ASSIGN(const weights::SafetensorFile file, weights::open_safetensors(source.weights));
  return ini::write_bin(path, read.stored, file);
}

Result<void> write_as_safetensors(const std::string& model, const std::string& from, const std::string& path) {
  PANTOUM_ASSIGN(const ExportSource source, export_source(model, from));
  PANTOUM_ASSIGN(const weights::SafetensorFile file, weights::open_safetensors(source.weights));
  return weights::write_safetensors(path, sources_of(file), file.metadata);
}

Result<ExportSource> export_source(const std::string& model, const std::string& weights) {
  ExportSource source{.model = model, .weights = weights};
  if (!is_converted(model)) {
    PANTOUM_TRY(check_exportable({model}));
    if (weights.empty())
      return fail("E0100", "--weights FILE is missing", model, "give the weights that pantoum train wrote");
    return source;
  }
  PANTOUM_ASSIGN(const ConvertedModel read, convert_model(model));
  PANTOUM_ASSIGN(source.made_model, base::TemporaryPath::create("model.onnx"));
  source.model = source.made_model->path();
  PANTOUM_TRY(base::write_file_atomically(source.model, read.onnx));
  const bool is_bin = is_ini_model(model) && base::contents_of(weights) != base::Contents::kSafetensors;
  if (!weights.empty() && !is_bin) return source;
  PANTOUM_ASSIGN(source.made_weights, base::TemporaryPath::create("weights.safetensors"));
  source.weights = source.made_weights->path();
  if (weights.empty()) {
    PANTOUM_TRY(write_first_values(read.onnx, source.weights));
    return source;
  }
  PANTOUM_ASSIGN(const ini::Model network, ini::read_model(model));
  PANTOUM_ASSIGN(const weights::SafetensorFile file, ini::open_bin(weights, network.stored));
  PANTOUM_TRY(weights::write_safetensors(source.weights, sources_of(file), file.metadata));
  return source;
}

}  // namespace pantoum::pipeline
