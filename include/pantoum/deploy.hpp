// Exports of a model and a plan: ONNX for inference, a C project for a microcontroller, an HTML page about plan and runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pantoum/export.h"
#include "pantoum/model.hpp"
#include "pantoum/plan.hpp"
#include "pantoum/result.hpp"

namespace pantoum {

// Writes the model in inference form as ONNX, with the weights of a safetensors file. E0240 to E0242: of the weights; E0901.
[[nodiscard]] PANTOUM_API Result<void> export_onnx(const Model& model, const std::string& weights,
                                                   const std::string& path, bool external_data = false);

// Whose tools build an emitted project: a Makefile (which run-firmware needs), a CMake project with a library, or a module of Zephyr.
enum class Layout : uint8_t { make, cmake, zephyr };
[[nodiscard]] constexpr std::array<const char*, 3> names_of(Layout) {
  return {"make", "cmake", "zephyr"};
}

// A setting that is nullopt has the value that the plan was made with.
struct FirmwareOptions {
  std::string target;                      // "cortex-m4f"
  std::optional<std::string> board = {};   // nullopt: the target's default board
  std::string folder = {};                 // of the project
  std::optional<std::string> weights = {}, data = {};
  std::optional<int64_t> samples = {}, test_samples = {};
  std::optional<uint64_t> steps = {};
  std::optional<double> lr = {};
  uint64_t seed = 0;
  std::string schedule = "constant";
  std::optional<Bytes> ram = {}, stack = {};
  Bytes endurance = Bytes(400'000'000'000);
  bool check_blocks = false, storage_image = false;
  Layout layout = Layout::make;
};

template <class Visitor>
void describe(Visitor& v, FirmwareOptions& o) {
  using enum Shown;
  v.group("device");
  v.field(o.target, {.name = "target", .help = "processor of the device", .option = "--target", .shown = common,
                     .recorded = false});
  v.field(o.board, {.name = "board", .help = "board on which the project runs (docs/firmware.md)", .option = "--board",
                    .shown = common, .otherwise = "the target's own", .holds = Holds::board, .recorded = false});
  v.field(o.check_blocks, {.name = "check_blocks", .help = "check each block that is read from storage by a CRC-32, "
                                                           "for which RAM holds 4 bytes a block",
                           .option = "--check-blocks", .recorded = false});
  v.field(o.storage_image, {.name = "storage_image", .help = "write the initial values of what lives in storage into an image of it, "
                                                             "model/storage.img, instead of ROM",
                            .option = "--storage-image", .recorded = false});
  v.field(o.layout, {.name = "layout", .help = "whose folder the project is: that of make, of CMake (a library and a "
                                               "program on it), or of Zephyr (a module and an application)",
                     .option = "--layout", .recorded = false});
  v.group("limits");
  v.field(o.ram, {.name = "ram", .help = "RAM of the device, everything in all", .option = "--ram", .shown = common,
                  .otherwise = "the plan's budget and reserve", .least = 1, .recorded = false});
  v.field(o.stack, {.name = "stack", .help = "part of the RAM that is the stack's", .option = "--stack",
                    .otherwise = "as much as the program's calls need", .least = 0, .recorded = false});
  v.field(o.endurance, {.name = "endurance", .help = "bytes that may be written to the storage in its life",
                        .option = "--endurance", .least = 1, .recorded = false});
  v.group("model");
  v.field(o.weights, {.name = "weights", .help = "safetensors file whose tensors replace the model's, by name",
                      .option = "--weights", .shown = common, .otherwise = "those of the plan",
                      .holds = Holds::weights, .recorded = false});
  v.group("training");
  v.field(o.lr, {.name = "lr", .help = "learning rate", .option = "--lr", .shown = common,
                 .otherwise = "that of the plan", .least = 0, .most = 1e30, .recorded = false});
  v.field(o.schedule, {.name = "schedule", .help = "learning rate over the training, as `pantoum train` has it",
                       .option = "--schedule", .recorded = false});
  v.field(o.seed, {.name = "seed", .help = "random seed for shuffling and dropout", .option = "--seed",
                   .shown = common, .recorded = false});
  v.field(o.steps, {.name = "steps", .help = "steps of the whole training", .option = "--steps", .shown = common,
                    .otherwise = "those of the plan, or 100", .least = 1, .most = 1e15, .recorded = false});
  v.group("data");
  v.field(o.data, {.name = "data", .help = "samples to train on, as `pantoum train` reads them", .option = "--data",
                   .shown = common, .holds = Holds::data, .recorded = false});
  v.field(o.samples, {.name = "samples", .help = "how many of the samples the project holds, the first ones",
                      .option = "--samples", .shown = common, .otherwise = "all", .least = 1, .most = 1e15,
                      .recorded = false});
  v.field(o.test_samples, {.name = "test_samples", .help = "how many of the test set's samples it holds, for an "
                                                           "evaluation at the end",
                           .option = "--test-samples", .otherwise = "none", .least = 1, .most = 1e15,
                           .recorded = false});
}

struct FirmwareSizes {
  uint64_t ram_bytes = 0, stack_bytes = 0, arena_bytes = 0, plan_bytes = 0, weight_bytes = 0, sample_bytes = 0;
};

// Writes a C project that trains by the plan. `plan_file`: a file of Plan::save. E029x.
[[nodiscard]] PANTOUM_API Result<FirmwareSizes> emit_project(const std::string& plan_file,
                                                             const FirmwareOptions& options);
// The same for a plan in memory. E029x.
[[nodiscard]] PANTOUM_API Result<FirmwareSizes> emit_project(const Plan& plan, const FirmwareOptions& options);

// Writes an HTML page about a plan and its runs, from the logs of `pantoum train` or run-firmware (JSON lines). E0901.
[[nodiscard]] PANTOUM_API Result<void> write_report(const Plan& plan, const std::string& path,
                                                    const std::vector<std::string>& logs = {});
// Returns what that page shows, with all digits: JSON of docs/schema/report-1.schema.json. E0290.
[[nodiscard]] PANTOUM_API Result<std::string> report_json(const Plan& plan, const std::vector<std::string>& logs = {});

// Plans for every budget with every planner. Returns the rows planner by planner, each by ascending budget.
[[nodiscard]] PANTOUM_API Result<std::vector<SweepRow>> sweep_budgets(const Model& model, const Device& device,
                                                                      const SweepOptions& options);

// Returns the version of this library, such as "0.1.0".
[[nodiscard]] PANTOUM_API std::string version();

}  // namespace pantoum
