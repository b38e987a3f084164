// From a plan's bytes and a caller's options to a trainer.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "capi/handle.h"

namespace pantoum::capi {

// Fills the handle's kernels and trainer. Errors as pt_train_open has them.
[[nodiscard]] Result<void> open_trainer(Handle& handle, std::vector<std::byte> plan, const std::string& weights,
                                        const pt_train_options& options, const char* function);

}  // namespace pantoum::capi
