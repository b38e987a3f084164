#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include "pipeline/ini_files.h"
#include "pipeline/pipeline.h"
#include "weights/match_weights.h"
#include "weights/safetensors.h"

namespace pantoum::pipeline {
namespace {

Result<void> copy_data(const ir::Value& value, uint64_t at, std::span<std::byte> piece) {
  if (!value.data) {
    std::memset(piece.data(), 0, piece.size());
    return {};
  }
  if (at + piece.size() > value.data->size())
    return fail("E0001", "a parameter's data are shorter than its shape", value.name);
  return value.data.read(at, piece);
}

bool has_initial_value(const ir::Value& value) {
  return value.producer == ir::kNone &&
         (value.role == ir::Role::kParameter || value.role == ir::Role::kBuffer || value.role == ir::Role::kConstant);
}

struct Given {
  weights::SafetensorFile file;
  std::vector<weights::WantedWeight> wanted;  // beside the weights of `match`
  weights::WeightMatch match;
};

bool is_kept(const std::string& name, const std::vector<std::string>& globs) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return fnmatch(glob.c_str(), name.c_str(), 0) == 0; });
}

Result<std::optional<Given>> open_given(const ir::Graph& training, const ModelRequest& from,
                                        const std::set<std::string>& fixed) {
  if (!from.options.weights) return std::optional<Given>();
  Given given;
  PANTOUM_ASSIGN(given.file, open_weights(from));
  for (const ir::Value& value : training.values)
    if (has_initial_value(value) && !is_kept(value.name, from.options.keep_init))
      given.wanted.push_back({value.name, value.type, value.role != ir::Role::kConstant});
  PANTOUM_ASSIGN(given.match, weights::match_weights(given.file, given.wanted, fixed));
  return std::optional(std::move(given));
}

weights::SafetensorSource source_of(const ir::Value& value, const Given* given) {
  weights::MatchedWeight found;
  if (given != nullptr)
    for (size_t weight = 0; weight < given->wanted.size(); ++weight)
      if (given->wanted[weight].name == value.name) found = given->match.weights[weight];
  auto turned = std::make_shared<std::vector<std::byte>>();
  return {.name = value.name,
          .dtype = value.type.dtype,
          .shape = value.type.shape,
          .read = [&value, given, found, turned](uint64_t at, std::span<std::byte> piece) -> Result<void> {
            if (found.entry == nullptr) return copy_data(value, at, piece);
            if (!found.transposed) return weights::read_tensor(given->file, *found.entry, at, piece);
            if (turned->empty()) {
              PANTOUM_ASSIGN(*turned, weights::read_transposed(given->file, *found.entry));
            }
            std::memcpy(piece.data(), turned->data() + at, piece.size());
            if (at + piece.size() == turned->size()) turned->clear(), turned->shrink_to_fit();
            return {};
          }};
}

// Does a tensor of the file stand for the model's, perhaps behind a prefix that one of both has?
bool is_named(const std::string& in_file, const std::string& in_model) {
  const auto ends = [](const std::string& whole, const std::string& end) {
    return whole.size() > end.size() && whole.ends_with(end) && whole[whole.size() - end.size() - 1] == '.';
  };
  return in_file == in_model || ends(in_file, in_model) || ends(in_model, in_file);
}

// Does the file hold everything that PyTorch computed of this tensor?
bool is_with_computed(const weights::SafetensorFile& file, const std::string& name, const weights::Computed& computed) {
  bool any = false;
  for (const auto& [result, sources] : computed) {
    if (std::ranges::find(sources, name) == sources.end()) continue;
    if (file.find(result) == nullptr) return false;
    any = true;
  }
  return any;
}

}  // namespace

Result<void> check_fixed_tensors(const std::map<std::string, import::Tensor>& fixed, const weights::Computed& computed,
                                 const ModelRequest& from) {
  if (!from.options.weights || fixed.empty()) return {};
  PANTOUM_ASSIGN(const weights::SafetensorFile file, open_weights(from));
  std::vector<std::string> others;
  for (const auto& [name, tensor] : fixed) {
    if (is_kept(name, from.options.keep_init) || is_with_computed(file, name, computed)) continue;
    for (const weights::SafetensorEntry& entry : file.tensors) {
      if (!is_named(entry.name, name)) continue;
      std::vector<std::byte> contents(static_cast<size_t>(entry.bytes));
      PANTOUM_TRY(weights::read_tensor(file, entry, 0, contents));
      if (entry.dtype == tensor.type.dtype && entry.shape == tensor.type.shape &&
          ir::same_bytes(contents, *tensor.data))
        continue;
      others.push_back(fmt::format("'{}' {}", entry.name, ir::to_text(tensor.type)));
    }
  }
  if (others.empty()) return {};
  return fail("E0242", "tensors that the model's program was made with have other contents in the weights", file.path,
              "export the module again with these buffers, or keep the model's own with --keep-init NAME",
              std::move(others));
}

Result<void> check_initial_weights(const ir::Graph& training, const ModelRequest& from) {
  PANTOUM_TRY(open_given(training, from, {}));
  return {};
}

Result<std::vector<std::string>> write_initial_weights(const ir::Graph& training, const ModelRequest& from,
                                                       const std::string& path, const std::set<std::string>& fixed,
                                                       const weights::Computed& computed) {
  PANTOUM_ASSIGN(const std::optional<Given> given, open_given(training, from, fixed));
  std::vector<weights::SafetensorSource> sources;
  std::set<std::string> constants;
  for (const ir::Value& value : training.values) {
    if (!has_initial_value(value)) continue;
    sources.push_back(source_of(value, given ? &*given : nullptr));
    if (value.role == ir::Role::kConstant && !value.of_model) constants.insert(value.name);
  }
  std::map<std::string, std::string> metadata{{weights::kConstantsKey, weights::constants_text(constants)}};
  if (!computed.empty()) metadata[weights::kComputedKey] = weights::computed_text(computed);
  PANTOUM_TRY(weights::write_safetensors(path, sources, metadata));
  return given ? given->match.notes : std::vector<std::string>();
}

}  // namespace pantoum::pipeline
