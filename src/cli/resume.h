// Finds the checkpoint and the kernels of a run with --resume.
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

// Returns the checkpoint from which to continue; nullopt if `path` is "". Prints a warning if the newest checkpoint is damaged and the one before is
// used. E0243: a given seed or order of samples differs from the checkpoint's; the errors of find_resume_point.
[[nodiscard]] Result<std::optional<train::ResumePoint>> resume_point_of(const std::string& path,
                                                                        std::optional<uint64_t> seed,
                                                                        std::optional<bool> shuffle);

// E0243: the checkpoint is of another model than the graph of a step, or of other batches. Asked before data are opened and a step is planned.
[[nodiscard]] Result<void> check_resume_point(const train::ResumePoint& point, const ir::Graph& training);

// Returns the kernels that the user names; nullopt: the kernels are those of the resume point or the plan.
using NamedKernels = std::optional<Kernels>;

// Returns whether the kernels that the user names, if any, are those of the resume point.
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
