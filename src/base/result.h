// How Pantoum's own code passes errors on. Example:
//
//   pantoum::Result<int> samples_of_step(const std::string& batch, int micro_batches) {
//     PANTOUM_ASSIGN(const int samples, parse_batch(batch));  // an error goes to the caller
//     return samples * micro_batches;
//   }
#pragma once

#include "pantoum/result.hpp"

// Returns the error of a Result expression to the caller, or goes on.
#define PANTOUM_TRY(expression)                                                                \
  do {                                                                                         \
    auto&& pantoum_try_result = (expression);                                                  \
    if (!pantoum_try_result) return ::pantoum::Failure(std::move(pantoum_try_result).error()); \
  } while (false)

#define PANTOUM_CONCAT_(a, b) a##b
#define PANTOUM_CONCAT(a, b) PANTOUM_CONCAT_(a, b)

// PANTOUM_ASSIGN(auto x, f()): x = the value of f(), or the error goes to the caller.
#define PANTOUM_ASSIGN(declaration, expression) \
  PANTOUM_ASSIGN_(PANTOUM_CONCAT(pantoum_result_, __LINE__), declaration, expression)
#define PANTOUM_ASSIGN_(name, declaration, expression)           \
  auto name = (expression);                                      \
  if (!name) return ::pantoum::Failure(std::move(name).error()); \
  declaration = *std::move(name)

// A programmer's error, never reachable by input: prints the condition and aborts.
#define PANTOUM_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::pantoum::check_failed(#condition, __FILE__, __LINE__))

namespace pantoum {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}
