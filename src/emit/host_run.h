// The training of an emitted project on this machine: the same plan, trainer and samples with the host's kernels, whose
// bits a device's must equal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pantoum::emit {

// What a run of the project did: from step `from` on, told that the whole training has `steps`, which a schedule asks
// for (0: as many as it was emitted for).
struct Stretch {
  uint64_t from = 0, steps = 0;
};

struct HostRun {
  uint64_t steps = 0;         // done in all
  bool has_schedule = false;  // the steps of a training are in its bits
  uint32_t state = 0;         // CRC-32 of parameters and optimizer state, as the project prints it
  uint64_t paged_in = 0, paged_out = 0;
  uint64_t endurance = 0;  // bytes that may be written to the storage in its life
  std::optional<float> test_loss;
  uint32_t right = 0, counted = 0;
};

// Of the project in `folder`, from its initial values over these stretches, one or more, in their order; it ends after the
// steps of the last, or where that begins if that is later. Storage is in memory. Where two algorithms of a kernel give
// the same bits, the other one than the device's computes. E0294 `folder` is no project; E0253 its plan; E0240, E0241,
// E0291 its initial values.
[[nodiscard]] Result<HostRun> run_on_host(const std::string& folder, const std::vector<Stretch>& stretches,
                                          const std::function<void(uint64_t step, float loss)>& told);

}  // namespace pantoum::emit
