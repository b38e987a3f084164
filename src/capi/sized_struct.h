// Structs of the C library that begin with their size: programs and libraries of different versions understand each
// other. What one of them does not know is zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/result.h"

namespace pantoum::capi {

// E0150: the function was called as its header does not allow.
[[nodiscard]] inline Failure misuse(std::string what, const char* function, std::string help = "see pantoum/train.h") {
  return fail("E0150", std::move(what), function, std::move(help));
}

// Options of the caller's version. E0150 `size` was not set, or a field that this version does not know is not zero.
template <class Options>
[[nodiscard]] Result<Options> options_of(const Options* given, const char* function) {
  Options options{};
  options.size = sizeof options;
  if (given == nullptr) return options;
  if (given->size < sizeof given->size || given->size > size_t{1} << 16)
    return misuse("the options' size is not set", function, "set .size = sizeof of the struct, and all else to zero");
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t at = sizeof options; at < given->size; ++at)
    if (bytes[at] != 0)
      return misuse("an option is set that this version does not know", function, "use a newer libpantoum_train");
  std::memcpy(&options, given, std::min(given->size, sizeof options));
  options.size = sizeof options;
  return options;
}

// E0150 null, or `size` was not set.
template <class Answer>
[[nodiscard]] Result<void> check_place(const Answer* into, const char* function) {
  if (into == nullptr) return misuse("the answer has no place: a null pointer", function);
  if (into->size < sizeof into->size || into->size > size_t{1} << 16)
    return misuse("the size of the struct for the answer is not set", function, "set .size = sizeof of the struct");
  return {};
}

// Fills as much of the caller's struct as it has room for. E0150 as check_place.
template <class Answer>
[[nodiscard]] Result<void> answer(Answer* into, const Answer& value, const char* function) {
  PANTOUM_TRY(check_place(into, function));
  const size_t size = into->size;
  std::memcpy(into, &value, std::min(size, sizeof value));
  if (size > sizeof value) std::memset(reinterpret_cast<char*>(into) + sizeof value, 0, size - sizeof value);
  into->size = size;
  return {};
}

}  // namespace pantoum::capi
