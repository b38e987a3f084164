// A model's tensors as a project lists them: the batch, a backbone's features, and what tensors hold before the first step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "emit/project/trainer.h"
#include "weights/safetensors.h"

namespace pantoum::emit {

// An input or target, and the programs that read it: PT_READ_BY_... .
struct BatchName {
  std::string name;
  uint8_t readers = PT_READ_BY_STEP | PT_READ_BY_EVAL;
};

struct BatchTensors {
  std::vector<pt_batch_tensor> rows;
  std::vector<pt_feature> features;
  std::vector<pt_output> outputs;
  std::vector<std::string> output_names;
  uint32_t batch = 1;
};

// Finds the tensors by their names in the plan; a feature NAME is made as "features.NAME". E0291 the plan has no such tensor.
Result<BatchTensors> batch_tensors(const pt_plan& plan, const std::vector<BatchName>& rows,
                                   const std::vector<std::string>& features);

// Blocks of storage that training needs in all, with features of so many samples; 0: it needs none.
uint32_t storage_blocks(const pt_plan& plan, const BatchTensors& tensors, uint32_t samples, bool check_blocks);

std::vector<std::string> names_of(const std::vector<BatchName>& rows);

// The initial value of a tensor that lives in RAM or storage between steps.
struct FirstContent {
  std::string name;
  uint32_t tensor = 0, bytes = 0;
  std::optional<std::vector<std::byte>> data;  // none: zeros
  bool in_image = false;                       // a run finds it in storage: it lives there, or is state of RAM
  bool is_finite = true;                       // false: floats, and one or more are infinite or no number

  // The value as the trainer reads it: `in_image` where the storage's image holds it, else from `data`.
  [[nodiscard]] pt_initial_value value(bool image) const;
};

struct InitialValues {
  std::vector<FirstContent> tensors;  // in the plan's order
  std::vector<std::byte> rom;         // what kernels read in place, where the plan has it
  uint64_t weight_bytes = 0;          // taken from the weights, rom included
};

// Weights by name, and zeros for the optimizer's state; the batch's tensors (`batch`), successors and what has no place
// of its own have none. E0291 the plan is damaged, or a tensor has another size than in the weights, or is in ROM and
// not among them; E0241.
Result<InitialValues> initial_values(const pt_plan& plan, const weights::SafetensorFile& weights,
                                     const std::vector<std::string>& batch);

}  // namespace pantoum::emit
