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

// One run of the project, which begins at step `from`. `steps` is the length of the whole training, which a schedule needs
// (0: as many as it was emitted for).
struct Stretch {
  uint64_t from = 0, steps = 0;
};

struct HostRun {
  uint64_t steps = 0;         // done in all
  bool has_schedule = false;  // true if the result depends on the number of steps of the training
  uint32_t state = 0;         // CRC-32 of parameters and optimizer state, as the project prints it
  uint64_t paged_in = 0, paged_out = 0;
  uint64_t endurance = 0;  // bytes that may be written to the storage in its life
  std::optional<float> test_loss;
  uint32_t right = 0, counted = 0;
};

// Trains the project in `folder` from its initial values through these stretches, one or more, in order. It ends after the
// `steps` of the last stretch, or at its `from` if that is larger. Storage is in memory. If two algorithms of a kernel give
// the same bits, this machine runs the one that the device does not use. E0294 `folder` is no project; E0253 its plan; E0240, E0241,
// E0291 its initial values.
Result<HostRun> run_on_host(const std::string& folder, const std::vector<Stretch>& stretches,
                            const std::function<void(uint64_t step, float loss)>& told);

}  // namespace pantoum::emit
