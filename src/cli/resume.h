// What a run takes from --resume: the checkpoint to continue from, and the kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/kernel_set.h"
#include "pipeline/prepare_training.h"
#include "pipeline/request.h"
#include "train/checkpoint.h"
#include "train/run_loop.h"

namespace pantoum::cli {

// The checkpoint to go on from; none where `path` is "". A warning tells of a damaged one in whose place the one before
// is taken. E0243 also where a seed or batch that is given is not the checkpoint's; the errors of find_resume_point.
[[nodiscard]] Result<std::optional<train::ResumePoint>> resume_point_of(const std::string& path,
                                                                        std::optional<uint64_t> seed,
                                                                        std::optional<int64_t> batch);

// The kernels that a user names; none: they are those of the resume point or the plan.
using NamedKernels = std::optional<Kernels>;

// Are the kernels that a user names, if any, those of the resume point?
[[nodiscard]] bool has_kernels_of(const train::ResumePoint& point, NamedKernels named);

// Unless the user has named kernels, a run has those of its resume point: their bits are its bits. E0243 kernels that
// nobody knows.
[[nodiscard]] Result<void> take_kernels_of(const train::ResumePoint& point, NamedKernels named,
                                           pipeline::PlanRequest& request);

// Adds to the error which file named kernels that cannot be loaded, if the user did not. `named_by`: the file; "": none.
[[nodiscard]] Error with_origin_of_kernels(Error error, NamedKernels named, const std::string& named_by);

// Tells what makes other bits than the run had until now.
void note_other_bits(const train::ResumePoint& point, const std::string& kernels, int threads);

// Which file is at `checkpoint` when a run begins that was asked to resume `from` ("": it was not asked).
[[nodiscard]] train::OldCheckpoint old_checkpoint_of(const std::optional<train::ResumePoint>& point,
                                                     const std::string& from, const std::string& checkpoint);

}  // namespace pantoum::cli
