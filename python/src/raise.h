// Errors of the library as Python exceptions (python/pantoum/errors.py).
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <utility>

#include "pantoum/result.hpp"

namespace pantoum::python {

// Raises the exception of the error's class. Needs the GIL.
[[noreturn]] void raise(const Error& error);
[[noreturn]] inline void raise(const Failure& failure) {
  raise(failure.error());
}

// What an exception of C++ means to a user: memory that is lacking, or an error of Pantoum's own.
[[nodiscard]] Error error_of(const std::exception& thrown);

// The value, or the exception.
template <class T>
T value_of(Result<T>&& result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Runs `work` without the GIL, and returns what it returns.
template <class Work>
auto result_without_gil(const Work& work) {
  nanobind::gil_scoped_release released;
  return work();
}

// Runs `work` without the GIL; returns the value, or raises the exception.
template <class Work>
auto without_gil(const Work& work) {
  return value_of(result_without_gil(work));
}

}  // namespace pantoum::python
