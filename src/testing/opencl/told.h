// What an OpenCL library of the tests is told to do, by words in a variable of the environment that every call reads anew.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

namespace pantoum::opencl {

static std::atomic<int> started{0};  // kernels, of this library

// Does the variable hold the word?
static bool told(const char* variable, const std::string& word) {
  const char* const words = std::getenv(variable);
  return words != nullptr && (" " + std::string(words) + " ").find(" " + word + " ") != std::string::npos;
}
// Does it, and were more kernels started than its "after:N" says?
static bool told_by_now(const char* variable, const std::string& word) {
  const char* const words = std::getenv(variable);
  const char* const after = words != nullptr ? std::strstr(words, "after:") : nullptr;
  return told(variable, word) && (after == nullptr || started > std::atoi(after + 6));
}

}  // namespace pantoum::opencl
