#include "emit/export_onnx.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/inputs_in_use.h"
#include "base/owned_file.h"
#include "emit/inference_form.h"
#include "import/constant_tables.h"
#include "import/onnx.h"
#include "import/onnx_messages.h"
#include "import/restore_parameters.h"
#include "import/subgraphs.h"
#include "import/tensor.h"
#include "weights/safetensors.h"

namespace pantoum::emit {
namespace {

constexpr int64_t kMostInside = int64_t{3} << 29;  // bytes in the model's file itself: protobuf ends at 2^31
constexpr uint64_t kDataAlign = 4096, kPiece = 1 << 20;

using Entries = std::map<std::string, const weights::SafetensorEntry*>;

Result<onnx::ModelProto> read_message(const std::string& path) {
  PANTOUM_ASSIGN(const std::string bytes, base::read_file(path));
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return fail("E0202", "this is not an ONNX model, or it is truncated", path);
  return model;
}

// The file's entry for every parameter and running statistic of the model.
Result<Entries> find_entries(const ir::Graph& graph, const weights::SafetensorFile& weights) {
  Entries entries;
  std::vector<std::string> problems;
  for (const ir::Value& value : graph.values) {
    if (value.producer != ir::kNone || (value.role != ir::Role::kParameter && value.role != ir::Role::kBuffer))
      continue;
    const weights::SafetensorEntry* entry = weights.find(value.name);
    if (entry == nullptr) {
      problems.push_back(fmt::format("'{}' {} is missing", value.name, ir::to_text(value.type)));
    } else if (entry->dtype != value.type.dtype || entry->shape != value.type.shape) {
      problems.push_back(fmt::format("'{}' is {}, the model has {}", value.name,
                                     ir::to_text(ir::TensorType{entry->dtype, entry->shape}), ir::to_text(value.type)));
    } else {
      entries[value.name] = entry;
    }
  }
  if (problems.empty()) return entries;
  const std::string what = fmt::format("{} tensors of the model do not fit the file", problems.size());
  return fail("E0242", what, weights.path, "give the weights that `pantoum train` wrote for this model",
              std::move(problems));
}

// Adds initializers that --train named and that this import does not count as parameters, if the file holds them in their own type.
void add_trained_by_name(const onnx::GraphProto& graph, const weights::SafetensorFile& weights, Entries& entries) {
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    const weights::SafetensorEntry* entry = weights.find(tensor.name());
    if (entry == nullptr || tensor.data_type() != onnx::TensorProto::FLOAT || entry->dtype != ir::DType::kF32) continue;
    const bool fits = std::equal(entry->shape.begin(), entry->shape.end(), tensor.dims().begin(), tensor.dims().end());
    if (fits) entries.emplace(tensor.name(), entry);
  }
}

// Makes initializers of the tables in Constant nodes that --train named.
void lift_trained_tables(onnx::GraphProto& graph, const weights::SafetensorFile& weights) {
  const auto is_trained = [&](const std::string& name, const ir::TensorType&) { return weights.find(name) != nullptr; };
  import::lift_tables(graph, is_trained);
}

// Writes the contents of initializers into the message, or into a file beside the message.
class Contents {
 public:
  static Result<Contents> open(const std::string& data_file) {
    Contents contents;
    if (data_file.empty()) return contents;
    PANTOUM_ASSIGN(base::AtomicFile file, base::AtomicFile::create(data_file, 0644));
    contents.location_ = std::filesystem::path(data_file).filename().string();
    contents.file_.emplace(std::move(file));
    return contents;
  }

  // `read` fills pieces of `bytes` bytes in all.
  template <class Read>
  Result<void> put(onnx::TensorProto& tensor, uint64_t bytes, Read read) {
    forget(tensor);
    if (!file_) {
      std::string& raw = *tensor.mutable_raw_data();
      raw.resize(bytes);
      return bytes > 0 ? read(0, std::as_writable_bytes(std::span(raw))) : Result<void>();
    }
    point_to(tensor, bytes);
    std::vector<std::byte> piece(static_cast<size_t>(std::min(bytes, kPiece)));
    for (uint64_t at = 0; at < bytes; at += piece.size()) {
      const auto part = std::span(piece).first(static_cast<size_t>(std::min<uint64_t>(piece.size(), bytes - at)));
      PANTOUM_TRY(read(at, part));
      PANTOUM_TRY(file_->append(part));
    }
    next_ += bytes;
    piece.assign(static_cast<size_t>((kDataAlign - next_ % kDataAlign) % kDataAlign), std::byte{0});
    next_ += piece.size();
    return file_->append(piece);
  }
  Result<void> commit() { return file_ ? file_->commit() : Result<void>(); }

 private:
  std::string location_;
  std::optional<base::AtomicFile> file_;
  uint64_t next_ = 0;

  static void forget(onnx::TensorProto& tensor) {
    const std::string name = tensor.name();
    const int32_t type = tensor.data_type();
    const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
    tensor.Clear();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const int64_t dim : dims) tensor.add_dims(dim);
  }
  void point_to(onnx::TensorProto& tensor, uint64_t bytes) const {
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair{"location", location_}, std::pair{"offset", std::to_string(next_)},
                                     std::pair{"length", std::to_string(bytes)}}) {
      auto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
  }
};

Result<void> put_all(onnx::TensorProto& tensor, std::span<const std::byte> bytes, Contents& contents) {
  return contents.put(tensor, bytes.size(), [&](uint64_t at, std::span<std::byte> piece) -> Result<void> {
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), piece.size(), piece.begin());
    return {};
  });
}

// float32 weights of a model that has them in float16, bfloat16 or float64.
Result<void> put_converted(onnx::TensorProto& tensor, const weights::SafetensorFile& weights,
                           const weights::SafetensorEntry& entry, Contents& contents) {
  std::vector<std::byte> floats(static_cast<size_t>(entry.bytes));
  PANTOUM_TRY(weights::read_tensor(weights, entry, 0, std::span(floats)));
  return put_all(tensor, import::converted_back(tensor.data_type(), floats), contents);
}

// Writes trained contents from the weights. Contents of other initializers that lie in an external file are copied from that file.
Result<Exported> fill(onnx::GraphProto& graph, const Entries& entries, const weights::SafetensorFile& weights,
                      import::ExternalData external, Contents& contents) {
  Exported exported;
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    if (const auto found = entries.find(tensor.name()); found != entries.end()) {
      const weights::SafetensorEntry& entry = *found->second;
      if (import::is_converted(tensor.data_type()))
        PANTOUM_TRY(put_converted(tensor, weights, entry, contents));
      else
        PANTOUM_TRY(contents.put(tensor, entry.bytes, [&](uint64_t at, std::span<std::byte> piece) {
          return weights::read_tensor(weights, entry, at, piece);
        }));
      ++exported.tensors;
      exported.bytes += static_cast<int64_t>(entry.bytes);
    } else if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
      onnx::TensorProto message = tensor;
      PANTOUM_ASSIGN(const import::Tensor read,
                     import::read_tensor(message, external, fmt::format("initializer '{}'", tensor.name())));
      const bool converted = import::is_converted(tensor.data_type()) && read.type.dtype == ir::DType::kF32;
      if (converted)
        PANTOUM_TRY(put_all(tensor, import::converted_back(tensor.data_type(), *read.data), contents));
      else
        PANTOUM_TRY(put_all(tensor, *read.data, contents));
    }
  }
  return exported;
}

// Every trained tensor must have its place in the message.
Result<void> check_places(const onnx::GraphProto& graph, const Entries& entries, const std::string& model) {
  Entries left = entries;
  for (const auto& tensor : graph.initializer()) left.erase(tensor.name());
  if (left.empty()) return {};
  std::vector<std::string> names;
  for (const auto& [name, entry] : left) names.push_back(fmt::format("'{}'", name));
  return fail("E0401", "trained tensors are no initializers of the model's graph", model,
              "export the model again, so that its weights are initializers", std::move(names));
}

int64_t bytes_of(const Entries& entries) {
  int64_t bytes = 0;
  for (const auto& [name, entry] : entries) bytes += static_cast<int64_t>(entry->bytes);
  return bytes;
}

}  // namespace

Result<Exported> export_onnx(const ExportOptions& options) {
  base::InputsInUse inputs;
  const base::RecordInputs recorded(&inputs);
  PANTOUM_ASSIGN(const import::Imported imported, import::load_onnx(options.model, {.shapes = options.shapes, .accept_folded = true}));
  PANTOUM_ASSIGN(const weights::SafetensorFile weights, weights::open_safetensors(options.weights));
  PANTOUM_ASSIGN(Entries entries, find_entries(imported.graph, weights));
  PANTOUM_ASSIGN(onnx::ModelProto model, read_message(options.model));
  PANTOUM_TRY(import::settle_subgraphs(*model.mutable_graph()));  // as load_onnx did: weights may lie in subgraphs
  import::restore_message(*model.mutable_graph(), imported.restorations);
  lift_trained_tables(*model.mutable_graph(), weights);
  add_trained_by_name(model.graph(), weights, entries);
  PANTOUM_TRY(check_places(model.graph(), entries, options.model));
  PANTOUM_TRY(make_inference_form(*model.mutable_graph()));
  PANTOUM_TRY(base::check_no_input(options.output));
  const bool outside = options.external_data || bytes_of(entries) > kMostInside;
  PANTOUM_ASSIGN(Contents contents, Contents::open(outside ? options.output + ".data" : ""));
  const std::string folder = std::filesystem::path(options.model).parent_path().string();
  PANTOUM_ASSIGN(Exported exported,
                 fill(*model.mutable_graph(), entries, weights, import::ExternalData(folder), contents));
  std::string bytes;
  if (!model.SerializeToString(&bytes))
    return fail("E0901", "the model is too large for one file", options.output, "write it with --external-data");
  if (outside) exported.data_file = options.output + ".data";
  PANTOUM_TRY(contents.commit());
  PANTOUM_TRY(base::write_file_atomically(options.output, bytes));
  return exported;
}

}  // namespace pantoum::emit
