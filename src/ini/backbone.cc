#include "ini/backbone.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "tflite/model.h"

namespace pantoum::ini {
namespace {

constexpr size_t kSampleRank = 3;  // channels, rows, columns
constexpr const char* kDefaultHelp = "mend the file, or export it again";

// The extents of one sample, filled up with 1 from the left; -1 where the file leaves one open.
std::vector<int64_t> sample_of(const layers::PartInput& input) {
  std::vector<int64_t> extents(input.shape.begin() + (input.shape.empty() ? 0 : 1), input.shape.end());
  extents.insert(extents.begin(), kSampleRank - std::min(extents.size(), kSampleRank), 1);
  return extents;
}

bool fits(const std::vector<int64_t>& of_file, const std::vector<int64_t>& given) {
  return std::ranges::equal(of_file, given, [](int64_t has, int64_t wants) { return has < 0 || has == wants; });
}

std::string told(const std::vector<int64_t>& extents) {
  std::string text;
  for (const int64_t extent : extents) text += (text.empty() ? "" : ":") + (extent < 0 ? "?" : std::to_string(extent));
  return text;
}

}  // namespace

Failure Backbone::refuse(const char* key, const std::string& problem, const std::string& help) const {
  const Entry* const entry = layer_->section->find(key);
  return fail("E0214", fmt::format("[{}]: {}", layer_->name, problem),
              place_of(*layer_->path, entry == nullptr ? layer_->section->line : entry->line), help);
}

// An error of the file, at the line that names it.
Failure Backbone::refused(Error error) const {
  error.message = fmt::format("[{}]: the backbone '{}' cannot be joined: {}", layer_->name,
                              std::filesystem::path(layer_->backbone).filename().string(), error.message);
  if (!error.where.empty() && error.where != layer_->backbone) error.notes.insert(error.notes.begin(), error.where);
  error.where = place_of(*layer_->path, layer_->section->find("backbone")->line);
  if (error.help.empty()) error.help = kDefaultHelp;
  return Failure(std::move(error));
}

Result<Backbone> Backbone::read(const NetworkLayer& layer) {
  const std::string& path = layer.backbone;
  Backbone made(layer, {});
  made.is_tflite_ = lower_case(path).ends_with(".tflite");
  std::string onnx;
  if (made.is_tflite_) {
    Result<tflite::Model> read = tflite::read_model(path);
    if (!read) return made.refused(read.error());
    onnx = std::move(read->onnx);
    for (const std::string& note : read->notes) made.notes_.push_back(fmt::format("[{}]: {}", layer.name, note));
  } else {
    Result<std::string> read = base::read_file(path);
    if (!read) return made.refused(read.error());
    onnx = *std::move(read);
  }
  Result<layers::PartSource> source =
      layers::PartSource::read(onnx, std::filesystem::path(path).parent_path().string());
  if (!source) return made.refused(source.error());
  made.source_ = *std::move(source);
  const std::vector<layers::PartInput>& inputs = made.source_.inputs();
  if (inputs.empty()) return made.refuse("backbone", "the backbone has no input", "name another file");
  if (made.source_.outputs().size() != 1)
    return made.refuse("backbone",
                       fmt::format("the backbone has {} outputs ({}), and a layer reads one",
                                   made.source_.outputs().size(), fmt::join(made.source_.outputs(), ", ")),
                       "export it with the output that the next layer reads");
  for (const layers::PartInput& input : inputs)
    if (input.has_shape && (input.shape.empty() || input.shape.size() > kSampleRank + 1))
      return made.refuse("backbone",
                         fmt::format("the backbone's input '{}' has {} dimensions, and layers here have from 1 to 3 "
                                     "behind the batch",
                                     input.name, input.shape.size()),
                         "export it with inputs of at most 4 dimensions, the batch first");
  return made;
}

Failure Backbone::other_shape(const layers::PartInput& input, const std::vector<int64_t>& given) const {
  const std::vector<int64_t> has = sample_of(input);
  const std::vector<int64_t> turned = {given[1], given[2], given[0]};
  const bool is_turned = is_tflite_ && fits(has, turned);
  return refuse("input_shape",
                fmt::format("the samples have the shape {}, and the input '{}' of the backbone has {}", told(given),
                            input.name, told(has)),
                is_turned ? fmt::format("a .tflite file has channels last: write input_shape = {}, and samples in this "
                                        "order: rows, columns, channels",
                                        told(has))
                          : "write input_shape as the file has it, or name a layer of this shape");
}

Result<std::vector<int64_t>> Backbone::sample_shape(const std::optional<std::vector<int64_t>>& given) const {
  const layers::PartInput& input = source_.inputs().front();
  if (source_.inputs().size() > 1)
    return refuse("input_layers", fmt::format("the backbone has {} inputs", source_.inputs().size()),
                  "name a layer for each of them: input_layers = a, b");
  const Entry* const entry = layer_->section->find("input_shape");
  if (entry != nullptr && !given)
    return refuse("input_shape", fmt::format("'{}' is no shape", entry->value),
                  "write the extents of a sample in the file's order, as 32:32:3");
  const std::vector<int64_t> has = sample_of(input);
  if (given && input.has_shape && !fits(has, *given)) return other_shape(input, *given);
  if (given) return *given;
  if (!input.has_shape || std::ranges::any_of(has, [](int64_t extent) { return extent < 0; }))
    return refuse("", fmt::format("the backbone's file leaves the shape of its input '{}' open", input.name),
                  "add input_shape with the extents of a sample, in the file's order");
  return has;
}

Result<Tensor> Backbone::join(LayerSite& site) const {
  const std::vector<layers::PartInput>& inputs = source_.inputs();
  if (site.inputs.size() != inputs.size())
    return refuse(
        "input_layers",
        fmt::format("the backbone has {} input{}, and {} {} given", inputs.size(), inputs.size() == 1 ? "" : "s",
                    site.inputs.size(), site.inputs.size() == 1 ? "is" : "are"),
        "name a layer for each of them: input_layers = a, b");
  std::vector<Tensor> operands;
  for (size_t at = 0; at < inputs.size(); ++at) {
    Tensor x = site.inputs[at];
    const std::vector<int64_t> shape = x.shape();
    const std::vector<int64_t> sample(shape.begin() + 1, shape.end());
    if (inputs[at].has_shape && !fits(sample_of(inputs[at]), sample)) return other_shape(inputs[at], sample);
    if (inputs[at].has_shape && inputs[at].shape.size() < shape.size()) {
      std::vector<int64_t> fewer(shape.end() - static_cast<std::ptrdiff_t>(inputs[at].shape.size()), shape.end());
      fewer.front() = 0;  // the batch
      x = site.net.reshape(x, fewer, site.place());
    }
    if (inputs[at].dtype != DType::f32) x = site.net.cast(x, inputs[at].dtype, site.place());
    if (!x.valid())
      return refuse("backbone",
                    fmt::format("the backbone's input '{}' is of a type that layers here do not give", inputs[at].name),
                    "export it with inputs of float32, int64 or int32");
    operands.push_back(x);
  }
  Result<layers::JoinedPart> part =
      source_.join(layer_->name, operands, {.trains = !layer_->frozen, .all_weights = is_tflite_});
  if (!part) return refused(part.error());
  for (layers::JoinedPart::Stored& tensor : part->stored)
    site.stored.push_back({std::move(tensor.name), std::move(tensor.shape), tensor.is_statistic});
  const Tensor y = part->outputs.front();
  const std::vector<int64_t> shape = y.shape();
  const bool is_batch_first = !shape.empty() && shape[0] == -1 && std::count(shape.begin(), shape.end(), -1) == 1;
  if (!is_batch_first || shape.size() > kSampleRank + 1 || y.dtype() != DType::f32)
    return refuse("backbone",
                  fmt::format("the backbone's output '{}' has the shape [{}], and layers here read float32 numbers "
                              "with the batch first and at most 3 dimensions behind it",
                              source_.outputs().front(), fmt::join(shape, ",")),
                  "export it with such an output, and with an open batch");
  std::vector<int64_t> wide(kSampleRank + 1, 1);
  std::copy(shape.begin() + 1, shape.end(), wide.end() - static_cast<std::ptrdiff_t>(shape.size() - 1));
  wide.front() = 0;
  return shape.size() == wide.size() ? y : site.net.reshape(y, wide, site.place());
}

}  // namespace pantoum::ini
