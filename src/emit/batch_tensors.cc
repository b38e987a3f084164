#include "emit/batch_tensors.h"

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
  return all;
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

}  // namespace pantoum::emit
