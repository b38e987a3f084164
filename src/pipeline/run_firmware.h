// An emitted project is built and run, and its bits are compared with the host's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "emit/count.h"
#include "emit/host_run.h"
#include "pantoum/result.h"

namespace pantoum::pipeline {

struct FirmwareRunRequest {
  std::string folder;
  uint64_t steps = 0;  // of the whole training; 0: as many as it was emitted for
  bool fresh = false;  // from an empty storage
  bool count = false;  // instructions, by a plugin of QEMU
};

// What the project printed (emit/project/print.h).
struct FirmwareOutput {
  std::map<uint64_t, float> losses;  // by step
  std::string state, stack, paged, written, features, test;
  std::string rest;            // every other line
  uint64_t resumed = 0;        // steps of earlier runs
  uint64_t storage_bytes = 0;  // that this run's steps wrote to storage
  int exit_code = 0;
};

// Adds one line of the project's to `output`.
void read_firmware_line(const std::string& line, FirmwareOutput& output);

struct FirmwareRun {
  FirmwareOutput output;
  emit::HostRun host;
  std::string host_state;      // as the project prints its own
  uint64_t compared = 0;       // losses
  bool equal = false;          // parameters, state and losses, to the bit
  double bytes_a_step = 0;     // written to storage
  double endurance_steps = 0;  // until the storage's endurance is written; 0: nothing is
  std::optional<emit::Counted> counted;
};

// `step_done` is called as the project prints its losses. E0294 no project; E0295 it did not run to its end, or make
// cannot be started; E0298 what counting needs is not there; those of emit::run_on_host.
[[nodiscard]] Result<FirmwareRun> run_firmware(const FirmwareRunRequest& request,
                                               const std::function<void(uint64_t step, float loss)>& step_done);

}  // namespace pantoum::pipeline
