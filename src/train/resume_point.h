// Two checkpoints of a run are kept: the newest one, and the one before beside it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "train/checkpoint.h"

namespace pantoum::train {

// Where the checkpoint before the one at `path` is: `path`.previous.
[[nodiscard]] std::string previous_checkpoint(const std::string& path);

struct ResumePoint {
  std::string path;  // whole: all sums are right
  Progress progress;
  std::optional<Error> damaged;  // what is wrong with the newest one, where `path` is the one before
};

// The newest whole checkpoint: `path`, or where that is damaged or gone the one before. Its error where there is no
// other, with what is wrong with both in the notes: E0201, E0240, E0241, E0244 damaged; E0243 no resume point, for which
// there is no other. Memory: the header and 64 KiB.
[[nodiscard]] Result<ResumePoint> find_resume_point(const std::string& path);

}  // namespace pantoum::train
