#include "pipeline/import_model.h"

#include <cstring>
#include <fstream>
#include <optional>

#include "aten/import_torch.h"
#include "base/contents.h"
#include "base/special_files.h"
#include "pipeline/converted_model.h"
#include "weights/safetensors.h"

namespace pantoum::pipeline {
namespace {

constexpr const char* kGraphTensor = "pantoum.graph";
constexpr const char* kFormat = "pantoum.torch_graph/1";

// safetensors: eight bytes of length, then "{". An ONNX model begins with a field's key and a small number.
bool looks_like_safetensors(const char* begin, size_t size) {
  return size > 8 && begin[8] == '{' && begin[6] == 0 && begin[7] == 0;
}

bool is_torch_graph(const ModelFile& model) {
  if (model.bytes != nullptr) return looks_like_safetensors(model.bytes->data(), model.bytes->size());
  if (!base::why_no_file(model.path, base::Access::read).empty()) return false;  // to open it may wait for ever
  char first[9] = {};
  std::ifstream file(model.path, std::ios::binary);
  return file.read(first, sizeof first) && looks_like_safetensors(first, sizeof first);
}

// The tensors of a file, or of bytes.
class TensorFile {
 public:
  static Result<TensorFile> open(const ModelFile& model) {
    TensorFile made;
    made.bytes_ = model.bytes;
    PANTOUM_ASSIGN(made.file_, model.bytes == nullptr
                                   ? weights::open_safetensors(model.path)
                                   : weights::parse_safetensors_header(model.bytes->data(), model.bytes->size(),
                                                                       model.bytes->size(), "the torch graph"));
    const auto format = made.file_.metadata.find("format");
    if (format == made.file_.metadata.end() || format->second != kFormat || made.file_.find(kGraphTensor) == nullptr)
      return fail("E0202", "these are weights, and no model", made.file_.path,
                  "name the ONNX model, and the weights with --weights; pantoum.torch_graph() writes a module as a "
                  "torch graph");
    return made;
  }

  [[nodiscard]] const std::string& where() const { return file_.path; }

  Result<std::vector<std::byte>> read(const weights::SafetensorEntry& entry) const {
    if (entry.stored != weights::Stored::kAsTheyAre)
      return fail("E0241", "the contents of a tensor are not of the type that the graph says", entry.name,
                  "capture the module again");
    std::vector<std::byte> data(entry.bytes);
    if (bytes_ == nullptr) {
      PANTOUM_TRY(weights::read_tensor(file_, entry, 0, data));
    } else {
      std::memcpy(data.data(), bytes_->data() + entry.at, data.size());
    }
    return data;
  }

  Result<std::vector<std::byte>> read(const std::string& name, const base::TensorType& type) const {
    const weights::SafetensorEntry* entry = file_.find(name);
    if (entry == nullptr)
      return fail("E0241", "the torch graph lacks the contents of a tensor", name, "capture the module again");
    if (entry->dtype != type.dtype || entry->shape != type.shape)
      return fail("E0241", "the contents of a tensor are not of the type that the graph says", name,
                  "capture the module again");
    return read(*entry);
  }

  Result<std::string> graph() const {
    PANTOUM_ASSIGN(const std::vector<std::byte> data, read(*file_.find(kGraphTensor)));
    return std::string(reinterpret_cast<const char*>(data.data()), data.size());
  }

 private:
  weights::SafetensorFile file_;
  const std::string* bytes_ = nullptr;
};

template <class Made>
Result<Made> from_torch(const ModelFile& model, const import::OnnxOptions& options,
                        Result<Made> (*load)(const aten::TorchSource&, const import::OnnxOptions&)) {
  PANTOUM_ASSIGN(const TensorFile file, TensorFile::open(model));
  PANTOUM_ASSIGN(const std::string graph, file.graph());
  const aten::TorchSource source{
      .where = file.where(), .graph = graph, .read = [&](const std::string& name, const base::TensorType& type) {
        return file.read(name, type);
      }};
  return load(source, options);
}

}  // namespace

namespace {

std::vector<std::string>& notes_of(import::Imported& imported) {
  return imported.info.notes;
}
std::vector<std::string>& notes_of(import::ModelInfo& info) {
  return info.notes;
}

// Calls `read` with the ONNX model that the file of another tool makes, and adds the notes about the file.
template <class Read>
auto from_converted(const std::string& path, const Read& read) -> decltype(read(std::string())) {
  PANTOUM_ASSIGN(const ConvertedModel model, convert_model(path));
  auto made = read(model.onnx);
  if (!made) return made;
  std::vector<std::string>& notes = notes_of(*made);
  notes.insert(notes.begin(), model.notes.begin(), model.notes.end());
  return made;
}

// The model of an ONNX file; what the file is, where it is none.
template <class Made>
Result<Made> from_onnx(const std::string& path, const import::OnnxOptions& options,
                       Result<Made> (*load)(const std::string&, const import::OnnxOptions&)) {
  Result<Made> made = load(path, options);
  if (made || made.error().code != "E0202") return made;
  std::optional<Error> error = base::why_no_model(path);
  return Failure(error ? *std::move(error) : std::move(made).error());
}

}  // namespace

Result<import::Imported> import_model(const ModelFile& model, const import::OnnxOptions& options) {
  if (model.bytes == nullptr && is_converted(model.path))
    return from_converted(model.path, [&](const std::string& onnx) {
      return import_model({model.path, &onnx}, options);
    });
  if (is_torch_graph(model)) return from_torch(model, options, aten::load_torch);
  return model.bytes == nullptr ? from_onnx(model.path, options, import::load_onnx)
                                : import::parse_onnx(model.bytes->data(), model.bytes->size(), "", options);
}

Result<import::ModelInfo> inspect_model(const ModelFile& model, const import::OnnxOptions& options) {
  if (model.bytes == nullptr && is_converted(model.path))
    return from_converted(model.path, [&](const std::string& onnx) {
      return inspect_model({model.path, &onnx}, options);
    });
  if (is_torch_graph(model)) return from_torch(model, options, aten::inspect_torch);
  if (model.bytes == nullptr) return from_onnx(model.path, options, import::inspect_onnx);
  PANTOUM_ASSIGN(import::Imported imported, import_model(model, options));
  return std::move(imported.info);
}

Result<void> check_exportable(const ModelFile& model) {
  if (!is_torch_graph(model)) return {};
  return fail(
      "E0202", "a torch graph is a training step, and no model for inference", model.path,
      "in Python: trainer.copy_to(module) puts the trained weights into the module; torch.onnx.export writes it");
}

}  // namespace pantoum::pipeline
