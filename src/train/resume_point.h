// Finds the checkpoint to resume from. A run keeps two: the newest, and beside it the one before.
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

// The newest checkpoint that is whole: `path`, or the one before where `path` is damaged or gone. Memory: the header and 64 KiB.
//   errors  where neither can be used, with what is wrong with both in the notes: E0201, E0240, E0241, E0244 damaged; E0243 it is no resume
//           point
[[nodiscard]] Result<ResumePoint> find_resume_point(const std::string& path);

}  // namespace pantoum::train
