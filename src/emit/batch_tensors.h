// The batch and a backbone's features, as a project's model lists them (project/trainer.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "emit/project/trainer.h"

namespace pantoum::emit {

// An input or target, and the programs that read it: PT_READ_BY_... .
struct BatchName {
  std::string name;
  uint8_t readers = PT_READ_BY_STEP | PT_READ_BY_EVAL;
};

struct BatchTensors {
  std::vector<pt_batch_tensor> rows;
  std::vector<pt_feature> features;
  uint32_t batch = 1;
};

// By their names in the plan; a feature NAME is made as "features.NAME". E0291 the plan has no such tensors.
[[nodiscard]] Result<BatchTensors> batch_tensors(const pt_plan& plan, const std::vector<BatchName>& rows,
                                                 const std::vector<std::string>& features);

// Blocks of storage that training needs in all, with features of so many samples; 0: it needs none.
[[nodiscard]] uint32_t storage_blocks(const pt_plan& plan, const BatchTensors& tensors, uint32_t samples,
                                      bool check_blocks);

[[nodiscard]] std::vector<std::string> names_of(const std::vector<BatchName>& rows);

}  // namespace pantoum::emit
