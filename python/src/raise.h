// Errors of the library as Python exceptions (python/pantoum/errors.py).
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <utility>

#include "pantoum/result.hpp"

namespace pantoum::python {

// The exception of the error's class. Needs the GIL.
[[noreturn]] void raise(const Error& error);

// What an exception of C++ means to a user: memory that is lacking, or an error of Pantoum's own.
[[nodiscard]] Error error_of(const std::exception& thrown);

// The value, or the exception.
template <class T>
T value_of(Result<T>&& result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Runs without the GIL; the value, or the exception.
template <class Work>
auto without_gil(const Work& work) {
  auto result = [&] {
    nanobind::gil_scoped_release released;
    return work();
  }();
  return value_of(std::move(result));
}

}  // namespace pantoum::python
