// The quantities of a training step, in SI units.
#pragma once

#include <cstdint>

namespace pantoum::base {

using Bytes = int64_t;
using Seconds = double;
using Joules = double;
using Watts = double;

}  // namespace pantoum::base
