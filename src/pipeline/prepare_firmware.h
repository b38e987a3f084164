// From a plan file to a C project that trains as planned (emit/firmware.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "emit/firmware.h"
#include "pipeline/training_data.h"
#include "train/schedule.h"

namespace pantoum::pipeline {

// What is empty or absent is as it was planned.
struct FirmwareRequest {
  std::string plan_path;
  std::string model, weights;  // paths
  DataRequest data;            // its path "": the project has no samples
  int64_t samples = 0;         // of the training set, the first ones; 0: all
  int64_t test_samples = 0;    // of the test set; 0: none
  std::optional<double> lr;
  std::optional<uint64_t> steps;
  train::Schedule schedule;
  std::string target, board;
  std::optional<int64_t> ram_bytes;  // of the device, everything in all
  int64_t stack_bytes = 0, endurance_bytes = 0;
  bool check_blocks = false;
  std::string folder;  // of the project
};

// Makes the graph of the plan again, checks that the plan is of it, and writes the project.
//   errors  E0293 the plan does not say which model it is of; E0230 it says so in a way that is not understood; E0231,
//           E0291 it is of another step, of micro-batches, or of kernels that firmware does not have; E0289 the samples'
//           features are more than the plan allows; those of emit_firmware
[[nodiscard]] Result<emit::FirmwareSizes> prepare_firmware(const FirmwareRequest& request,
                                                           const std::function<void(const std::string&)>& note,
                                                           const std::function<void(const std::string&)>& warning);

}  // namespace pantoum::pipeline
