// Turns the runtime's statuses into errors.
#pragma once

#include <string>

#include "base/result.h"
#include "pantoum/pantoum.h"

namespace pantoum::host {

// `what` says what was attempted ("step 12"). PT_E_IO, PT_E_FULL and PT_E_STATE: E0903; PT_E_DATA: E0262; PT_E_PLAN and
// PT_E_VERSION: E0251; PT_E_KERNEL: E0410 (of PT_E_DATA, PT_E_STATE and PT_E_KERNEL, what a custom operator or a device has told instead); PT_E_ARGUMENT: E0001. `status` is not PT_OK.
Failure status_failure(pt_status status, const std::string& what);

}  // namespace pantoum::host
