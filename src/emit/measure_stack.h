// The stack that a project's program needs, known before it runs.
#pragma once

#include <vector>

#include "emit/boards.h"
#include "emit/project_folder.h"
#include "emit/stack_depth.h"

namespace pantoum::emit {

// Builds the project, with its Makefile, in a temporary folder that is removed, and asks stack_depth. E0299 it cannot be
// built here (arm-none-eabi-gcc, its objdump and make), or it has no bound. Cost: a build.
[[nodiscard]] Result<StackDepth> measure_stack(const std::vector<ProjectFile>& files, const Board& board);

}  // namespace pantoum::emit
