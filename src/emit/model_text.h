// What differs from model to model in a project, as C text: plan, kernel table, initial values, samples, memory.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "emit/firmware.h"
#include "host/crews.h"

namespace pantoum::emit {

// Rows of the portable kernels' table that a plan's ops use. E0291: it uses another kernel, or one whose workspace is too small on the threads of its
// crew. `crews`: empty for a plan of one engine, whose ops are computed on one thread.
Result<std::set<size_t>> kernels_used(const pt_plan& plan, std::span<const host::CrewThreads> crews);
// The function of a row, of these rows, and those that the interpreter calls.
std::string kernel_function(size_t row);
std::set<std::string> symbols_of(const std::set<size_t>& rows);

// model.c; `board_plan`: the plan's bytes without names. `sizes`: what it puts into ROM is added. E0291 contents or batch do not fit the plan.
Result<std::string> model_text(const Firmware& firmware, const pt_plan& plan, std::span<const std::byte> board_plan,
                               const BatchTensors& batch, FirmwareSizes& sizes);
// kernels.c, memory.c and model.h; `is_stored`: training needs storage.
std::string kernel_table(const std::set<size_t>& rows);
std::string memory_text(const pt_plan& plan, std::span<const host::CrewThreads> crews, bool is_stored,
                        bool check_blocks);
std::string model_header(const std::string& name, bool is_stored);
// The interpreter's limits as definitions for the compiler, as small as this plan allows: less stack.
std::string limits(const pt_plan& plan);

}  // namespace pantoum::emit
