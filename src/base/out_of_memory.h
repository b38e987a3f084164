// The one error for "the system gives no more memory".
#pragma once

#include <string>

#include "base/result.h"

namespace pantoum::base {

inline constexpr const char* kOutOfMemory = "E0910";
inline constexpr const char* kOutOfMemoryMessage = "out of memory";
inline constexpr const char* kOutOfMemoryHelp = "free some memory or raise the limit (ulimit -v, ulimit -d)";

[[nodiscard]] inline Failure out_of_memory(std::string where = {}) {
  return fail(kOutOfMemory, kOutOfMemoryMessage, std::move(where), kOutOfMemoryHelp);
}

}  // namespace pantoum::base
