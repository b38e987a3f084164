// An emitted project is built and run, and its bits are compared with the host's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "emit/count.h"
#include "emit/host_run.h"
#include "emit/program_memory.h"

namespace pantoum::pipeline {

struct FirmwareRunRequest {
  std::string folder;
  uint64_t steps = 0;  // of the whole training; 0: as many as it was emitted for
  bool fresh = false;  // from an empty storage
  bool count = false;  // instructions, by a plugin of QEMU
};

// Whether `folder` is a project. E0294.
[[nodiscard]] Result<void> check_project(const std::string& folder);

// What the project printed (emit/project/print.h).
struct FirmwareOutput {
  std::map<uint64_t, float> losses;  // by step
  std::string state, stack, paged, written, features, test;
  uint64_t stack_used = 0, stack_reserved = 0;  // 0: not measured
  uint64_t paged_in = 0, paged_out = 0;         // bytes, in this run
  std::optional<float> test_loss;               // of the evaluation at the end
  uint64_t right = 0, counted = 0;              // its answers
  uint64_t predicted_right = 0, predicted = 0;  // samples that the outputs classify
  std::string rest;                             // every other line
  uint64_t resumed = 0;                         // steps of earlier runs
  uint64_t storage_bytes = 0;                   // that this run's steps wrote to storage
  int exit_code = 0;
};

// Adds one line of the project's to `output`.
void read_firmware_line(const std::string& line, FirmwareOutput& output);

struct FirmwareRun {
  FirmwareOutput output;
  emit::ProgramMemory memory;
  emit::HostRun host;
  std::string host_state;      // as the project prints its own
  uint64_t compared = 0;       // losses
  bool equal = false;          // parameters, state and losses, to the bit
  bool is_comparable = true;   // false: earlier steps followed a schedule of a number of steps that is not known
  double bytes_a_step = 0;     // written to storage
  double endurance_steps = 0;  // until the storage's endurance is written; 0: nothing is
  std::optional<emit::Counted> counted;
};

// `step_done` is called as the project prints its losses. E0294 no project; E0295 it did not run to its end, or make
// cannot be started; E0298 what counting needs is not there; those of emit::run_on_host.
[[nodiscard]] Result<FirmwareRun> run_firmware(const FirmwareRunRequest& request,
                                               const std::function<void(uint64_t step, float loss)>& step_done);

// Which runs of a project made what its storage holds. A schedule follows the number of steps that a run was told, so the
// host needs the runs of before to compute what the device computed.

struct FirmwareRuns {
  std::vector<emit::Stretch> stretches;  // the last one is that of this run
  bool are_known = true;                 // false: others ran in between, by make
};

// The runs of a training of `steps` steps that went on from step `resumed`.
[[nodiscard]] FirmwareRuns firmware_runs(const std::string& folder, uint64_t resumed, uint64_t steps);
// Keeps them beside the project's storage for the next run; `reached` is the last step that was done. E0901.
[[nodiscard]] Result<void> keep_firmware_runs(const std::string& folder, const FirmwareRuns& runs, uint64_t reached);

}  // namespace pantoum::pipeline
