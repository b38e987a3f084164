// The storage of a project as it is before the first step: initial values at their places, and a commit record of step 0.
#pragma once

#include <string>

#include "emit/firmware.h"

namespace pantoum::emit {

// Writes `blocks` blocks of 512 bytes to the file `path`: what the project's own trainer makes of an empty storage when it is opened with the initial
// values. Takes as much RAM. E0291 the plan is damaged, or a tensor has another size than in the weights; E0253 the trainer refuses the plan; E0901,
// E0906.
Result<void> write_storage_image(const Firmware& firmware, uint64_t blocks, const std::string& path);

}  // namespace pantoum::emit
