// What becomes of a trained model: ONNX for inference, a C project for a microcontroller, a page about plan and run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pantoum/export.h"
#include "pantoum/model.hpp"
#include "pantoum/plan.hpp"
#include "pantoum/result.hpp"

namespace pantoum {

// The model with the weights of a safetensors file, in inference form, as ONNX. E0240 to E0242 the weights; E0901.
[[nodiscard]] PANTOUM_API Result<void> export_onnx(const Model& model, const std::string& weights,
                                                   const std::string& path, bool external_data = false);

struct FirmwareOptions {
  std::string target, board;            // "cortex-m4f"; a board's name (docs/firmware.md)
  std::string folder;                   // of the project
  std::string weights = {}, data = {};  // "": the model's own; no samples
  int64_t samples = 0, test_samples = 0;
  std::optional<uint64_t> steps = {};
  std::optional<double> lr = {};
  std::optional<Bytes> ram = {};  // of the device, everything in all
};

struct FirmwareSizes {
  uint64_t ram_bytes = 0, stack_bytes = 0, arena_bytes = 0, plan_bytes = 0, weight_bytes = 0, sample_bytes = 0;
};

// A C project that trains as planned. `plan_file`: what Plan::save wrote. E029x.
[[nodiscard]] PANTOUM_API Result<FirmwareSizes> emit_project(const std::string& plan_file,
                                                             const FirmwareOptions& options);
// The same of a plan that is no file. E029x.
[[nodiscard]] PANTOUM_API Result<FirmwareSizes> emit_project(const Plan& plan, const FirmwareOptions& options);

// An HTML page about a plan and the runs that followed it: logs of `pantoum train` or run-firmware (JSON lines). E0901.
[[nodiscard]] PANTOUM_API Result<void> write_report(const Plan& plan, const std::string& path,
                                                    const std::vector<std::string>& logs = {});

// Budgets times planners. Rows upward by budget, planner by planner.
[[nodiscard]] PANTOUM_API Result<std::vector<SweepRow>> sweep_budgets(const Model& model, const Device& device,
                                                                      const SweepOptions& options);

// Of this library, "0.1.0".
[[nodiscard]] PANTOUM_API std::string version();

}  // namespace pantoum
