#include <algorithm>
#include <cstring>
#include <optional>

#include "artifact/compile_program.h"
#include "artifact/safetensors.h"
#include "pipeline/pipeline.h"

namespace pantoum::pipeline {
namespace {

Result<void> copy_data(const ir::Value& value, uint64_t at, std::span<std::byte> piece) {
  if (!value.data) {
    std::memset(piece.data(), 0, piece.size());
    return {};
  }
  if (at + piece.size() > value.data->size())
    return fail("E0001", "a parameter's data are shorter than its shape", value.name);
  std::memcpy(piece.data(), value.data->data() + at, piece.size());
  return {};
}

bool has_first_contents(const ir::Value& value) {
  return value.producer == ir::kNone &&
         (value.role == ir::Role::kParameter || value.role == ir::Role::kBuffer || value.role == ir::Role::kConstant);
}

}  // namespace

Result<std::vector<std::byte>> encode_programs(const Compiled& compiled, const Planned& planned) {
  std::vector<artifact::PlannedProgram> programs{
      {"train", "", compiled.training, compiled.training_cost, planned.training},
      {"eval", "eval.", compiled.evaluation, compiled.evaluation_cost, planned.evaluation}};
  if (planned.accumulation)
    programs.push_back(
        {"accumulate", "accumulate.", *compiled.accumulation, compiled.accumulation_cost, *planned.accumulation});
  PANTOUM_ASSIGN(const artifact::BinaryPlan binary, artifact::compile_programs(programs));
  return artifact::encode(binary);
}

Result<void> write_initial_weights(const ir::Graph& training, const std::string& weights, const std::string& path) {
  std::optional<artifact::SafetensorFile> given;
  if (!weights.empty()) {
    PANTOUM_ASSIGN(given, artifact::open_safetensors(weights));
  }
  std::vector<artifact::SafetensorSource> sources;
  std::vector<std::string> misfits;
  for (const ir::Value& value : training.values) {
    if (!has_first_contents(value)) continue;
    const artifact::SafetensorEntry* entry = given ? given->find(value.name) : nullptr;
    if (entry != nullptr && (entry->shape != value.type.shape || entry->dtype != value.type.dtype))
      misfits.push_back(value.name);
    sources.push_back({.name = value.name,
                       .dtype = value.type.dtype,
                       .shape = value.type.shape,
                       .read = [&value, &given, entry](uint64_t at, std::span<std::byte> piece) -> Result<void> {
                         return entry ? artifact::read_tensor(*given, *entry, at, piece) : copy_data(value, at, piece);
                       }});
  }
  if (!misfits.empty()) return fail("E0242", "weights of another shape or type than the model's", weights, "", misfits);
  return artifact::write_safetensors(path, sources, {});
}

}  // namespace pantoum::pipeline
