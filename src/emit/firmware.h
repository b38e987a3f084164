// A self-contained C99 project that trains a planned network on a device: the interpreter as it is in src/runtime, the
// kernels that the plan uses, the plan, initial values and samples as constants, a board, a Makefile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "emit/model_tensors.h"
#include "pantoum/deploy.hpp"
#include "pantoum/pantoum.h"
#include "train/schedule.h"
#include "weights/safetensors.h"

namespace pantoum::emit {

// One array of samples: how the project stores it, and how its elements become the batch's (project/samples.h).
struct SampleRows {
  std::vector<std::byte> data;
  uint32_t elements = 0;  // of a row
  uint8_t stored_bytes = 1, conversion = 0;
  std::vector<float> planes;  // mean, deviation, ...
};

struct Samples {
  std::vector<SampleRows> rows;  // of the inputs, then the targets
  uint32_t count = 0;
};

struct Firmware {
  std::string name;                        // of the model
  std::span<const std::byte> plan;         // a binary plan of the portable kernels
  std::vector<int> engines = {};           // threads of each, for a plan of several
  const weights::SafetensorFile* weights;  // initial values of parameters, buffers and constants
  std::vector<BatchName> inputs;           // tensors of the batch: the model's inputs, then the targets
  std::vector<std::string> features;       // inputs of a step that the program "features" makes, kept in storage
  std::optional<uint32_t> labels;  // which of `inputs` is one class for each sample; none: the model is no classifier
  std::optional<std::string> classes;  // the output that they are the labels of; none: the first that has classes
  Samples training, test;
  double lr = 0.01;
  std::vector<pt_group> groups;  // of parameters, by the plan's index
  train::Schedule schedule;      // of lr and of the groups' rates
  uint64_t seed = 0, steps = 100;
  double energy_j = 0;         // of a step, as planned; NaN: not predicted
  uint64_t ram_bytes = 0;      // of the device, everything in all
  uint64_t stack_bytes = 0;    // 0: as much as its calls need (stack_depth.h), or 2 KiB where that is not known
  uint64_t endurance = 0;      // bytes that may be written to the storage in its life
  bool check_blocks = false;   // a checksum of every block in storage, in RAM
  bool storage_image = false;  // initial values that live in storage lie in its image, not in ROM
  std::string target, board;
  Layout layout = Layout::make;
  std::string plan_path;  // where the plan was read from, for who looks at a run of it
};

// What a training writes to storage, and how long a card lasts.
struct StorageWrites {
  uint64_t paged = 0;         // bytes that the pages of a step write, whole blocks
  uint64_t commit = 0;        // bytes of a commit
  uint64_t commit_every = 1;  // steps

  // Steps until `endurance` bytes are written; 0: a step writes nothing.
  uint64_t life(uint64_t endurance) const;
};

// Bytes of what was written: for the user, and for the README of the project.
struct FirmwareSizes {
  uint64_t ram = 0, stack = 0, arena = 0, session = 0, sums = 0;
  std::vector<std::string> stack_calls;  // the deepest ones, where the stack is computed; empty: it is as was asked
  std::string stack_unknown;             // why it is not computed, where that was wanted
  uint64_t plan = 0, instructions = 0, code = 0, op_table = 0, tensor_table = 0;  // code: of the instructions
  uint64_t read_in_place = 0;                                                     // of the weights, by kernels
  uint64_t weights = 0, samples = 0;
  uint64_t image = 0;  // of the storage's image, as it is before the first step; 0: none is written
  uint64_t storage_blocks = 0, feature_blocks = 0;  // feature_blocks: of them, for what a frozen backbone gives
  StorageWrites writes;
};

// A project stays in the layout that it was emitted in: the files of two would stand beside each other. E0294: the folder holds another one.
Result<void> check_layout(const std::string& folder, Layout layout);

// Writes the project into `folder`, which is made; what stands there of an earlier one is replaced file by file, main.c
// is left alone, and so is what others put there (project_folder.h). E0294 others' files are in its place; E0297 an
// unknown target or board; E0291 the plan uses kernels or engines that the target does not have, or the weights lack a tensor of it, or an image of
// a storage is asked for that the plan does not use; E0292 more RAM or ROM than the board has; E0901.
Result<FirmwareSizes> emit_firmware(const Firmware& firmware, const std::string& folder);

}  // namespace pantoum::emit
