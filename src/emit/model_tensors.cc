#include "emit/model_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include "runtime/plan_bytes.h"

namespace pantoum::emit {
namespace {

struct Found {
  uint32_t tensor = 0, rows = 0, row_bytes = 0;
};

Result<Found> find_rows(const pt_plan& plan, const std::string& name) {
  const int32_t tensor = pt_plan_tensor(&plan, name.c_str());
  pt_tensor_info info;
  if (tensor < 0 || pt_plan_tensor_info(&plan, static_cast<uint32_t>(tensor), &info) != PT_OK || info.rank == 0)
    return fail("E0291", "the plan has no such tensor of the batch", name);
  return Found{static_cast<uint32_t>(tensor), info.dims[0], static_cast<uint32_t>(info.payload / info.dims[0])};
}

bool has_initial_value(const pt_plan& plan, uint32_t tensor, const pt_tensor_info& info,
                       const std::vector<std::string>& batch) {
  const std::string name = info.name;
  const bool is_successor = pt_is_successor(&plan, tensor) != 0;
  return info.home != PT_HOME_NONE && !is_successor && !name.empty() && std::ranges::find(batch, name) == batch.end();
}

void place_in_rom(const pt_plan& plan, uint32_t tensor, const std::vector<std::byte>& data,
                  std::vector<std::byte>& rom) {
  const size_t at = size_t{pt_tensor_place(&plan, tensor)} * plan.align_bytes;
  rom.resize(std::max(rom.size(), at + data.size()));
  std::ranges::copy(data, rom.begin() + static_cast<std::ptrdiff_t>(at));
}

Result<std::vector<std::byte>> contents_of(const weights::SafetensorFile& weights,
                                           const weights::SafetensorEntry& entry, uint64_t bytes) {
  if (entry.bytes != bytes)
    return fail("E0291", "a tensor of the weights has another size than in the plan", entry.name);
  std::vector<std::byte> data(static_cast<size_t>(bytes));
  PANTOUM_TRY(weights::read_tensor(weights, entry, 0, data));
  return data;
}

// Does storage hold the tensor when a step is committed?
bool is_stored(const pt_plan& plan, uint32_t tensor, uint8_t home) {
  return home == PT_HOME_AUX || (home == PT_HOME_RAM && pt_tensor_pair(&plan, tensor) != PT_NOWHERE);
}

bool all_finite(const std::vector<std::byte>& data) {
  for (size_t at = 0; at + sizeof(float) <= data.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, data.data() + at, sizeof value);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

// "predict.<k>:<output>", by k.
Result<void> find_outputs(const pt_plan& plan, BatchTensors& all) {
  std::map<unsigned long, std::pair<pt_output, std::string>> outputs;
  if (pt_plan_program(&plan, "predict") < 0) return {};
  for (uint32_t tensor = 0; tensor < plan.tensor_count; ++tensor) {
    pt_tensor_info info;
    if (pt_plan_tensor_info(&plan, tensor, &info) != PT_OK) return fail("E0291", "the binary plan is damaged", "plan");
    const std::string name = info.name;
    constexpr std::string_view kBegin = "predict.";
    if (!name.starts_with(kBegin) || name.find(':') == std::string::npos || info.rank == 0) continue;
    outputs[std::strtoul(name.c_str() + kBegin.size(), nullptr, 10)] = {
        {tensor, static_cast<uint32_t>(info.payload / info.dims[0])}, name.substr(name.find(':') + 1)};
  }
  for (const auto& [number, output] : outputs) {
    all.outputs.push_back(output.first);
    all.output_names.push_back(output.second);
  }
  return {};
}

}  // namespace

Result<BatchTensors> batch_tensors(const pt_plan& plan, const std::vector<BatchName>& rows,
                                   const std::vector<std::string>& features) {
  BatchTensors all;
  for (const BatchName& row : rows) {
    PANTOUM_ASSIGN(const Found found, find_rows(plan, row.name));
    all.batch = found.rows;
    all.rows.push_back({found.tensor, found.row_bytes, row.readers});
  }
  for (const std::string& name : features) {
    PANTOUM_ASSIGN(const Found read, find_rows(plan, name));
    PANTOUM_ASSIGN(const Found made, find_rows(plan, "features." + name));
    if (read.row_bytes != made.row_bytes || read.rows != made.rows || read.rows != all.batch)
      return fail("E0291", "the plan does not make this feature as its step reads it", name);
    all.features.push_back({made.tensor, read.tensor, read.row_bytes});
  }
  PANTOUM_TRY(find_outputs(plan, all));
  return all;
}

pt_initial_value FirstContent::value(bool image) const {
  const auto flags =
      static_cast<uint8_t>((image && in_image ? PT_VALUE_IN_IMAGE : 0) | (is_finite ? 0 : PT_VALUE_NOT_FINITE));
  const bool has_data = data && (flags & PT_VALUE_IN_IMAGE) == 0;
  return {tensor, bytes, has_data ? reinterpret_cast<const uint8_t*>(data->data()) : nullptr, flags};
}

uint32_t storage_blocks(const pt_plan& plan, const BatchTensors& tensors, uint32_t samples, bool check_blocks) {
  if (plan.storage_bytes == 0 && tensors.features.empty()) return 0;
  return pt_journal_blocks(&plan, check_blocks ? 1 : 0) +
         pt_feature_blocks(tensors.features.data(), static_cast<uint32_t>(tensors.features.size()), samples,
                           check_blocks ? 1 : 0);
}

std::vector<std::string> names_of(const std::vector<BatchName>& rows) {
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const BatchName& row : rows) names.push_back(row.name);
  return names;
}

Result<InitialValues> initial_values(const pt_plan& plan, const weights::SafetensorFile& weights,
                                     const std::vector<std::string>& batch) {
  InitialValues all;
  for (uint32_t tensor = 0; tensor < plan.tensor_count; ++tensor) {
    pt_tensor_info info;
    if (pt_plan_tensor_info(&plan, tensor, &info) != PT_OK) return fail("E0291", "the binary plan is damaged", "plan");
    if (!has_initial_value(plan, tensor, info, batch)) continue;
    const std::string name = info.name;
    const weights::SafetensorEntry* entry = weights.find(name);
    if (entry == nullptr && info.home == PT_HOME_ROM)
      return fail("E0291", "the weights lack a tensor that is read in place", name);
    if (entry == nullptr && !name.starts_with("optim.")) continue;
    FirstContent content{.name = name, .tensor = tensor, .bytes = static_cast<uint32_t>(info.payload), .data = {}};
    content.in_image = is_stored(plan, tensor, info.home);
    if (entry != nullptr) {
      PANTOUM_ASSIGN(content.data, contents_of(weights, *entry, info.payload));
      all.weight_bytes += info.payload;
      content.is_finite = info.dtype != PT_F32 || all_finite(*content.data);
    }
    if (info.home == PT_HOME_ROM && content.data)
      place_in_rom(plan, tensor, *content.data, all.rom);
    else
      all.tensors.push_back(std::move(content));
  }
  return all;
}

}  // namespace pantoum::emit
