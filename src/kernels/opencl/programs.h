// The engine's programs in OpenCL C: one for each family of operators, compiled when the first of them is wanted.
#pragma once

#include <string>

#include "kernels/opencl/rows.h"

namespace pantoum::opencl {

// The text of a program. Formulas and transcendental functions are those of the portable kernels, whose sources are a part of it.
std::string program_text(Source source, bool has_doubles);
const char* source_name(Source source);

}  // namespace pantoum::opencl
