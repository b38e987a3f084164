// Errors as values: every function that input, a device or time can make fail returns Result<T>. Example:
//
//   pantoum::Result<int> parse_batch(const std::string& text) {
//     const int batch = std::atoi(text.c_str());
//     if (batch < 1) return pantoum::fail("E0105", "the batch is not a positive number", text, "give a batch of 1 or more");
//     return batch;
//   }
//
//   std::string tell(const std::string& text) {
//     const pantoum::Result<int> batch = parse_batch(text);
//     return batch ? "" : to_text(batch.error());
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "pantoum/export.h"

namespace pantoum {

// An error: its code, what went wrong, where, and what to do. Codes are stable; their first two digits give the exit code:
//   E00xx internal (1)    E01xx usage (2)          E02xx input unreadable or invalid (3)
//   E03xx no plan: E0301 proved infeasible (5), E0302 limit reached without a plan (6), E0303 gap not reached (7)
//   E04xx unsupported operator or type (4)         E08xx verification failed (8)
//   E09xx device or storage failed (9)             E0999 interrupted (130)
struct Error {
  std::string code;                // "E0301"
  std::string message;             // one sentence, no full stop
  std::string where;               // file, node, line, key; may be empty
  std::vector<std::string> notes;  // each a "= ..." line: reasons, all problems of one kind
  std::string help;                // what to do; may be empty
  // E0301, E0302: the smallest RAM for which a plan is known, if any.
  std::optional<int64_t> min_ram_bytes = {};
};

// Returns the process exit code for an error, as listed above.
[[nodiscard]] PANTOUM_API int exit_code(const Error& error);

// Returns "error[E0301]: no plan fits ..." with notes and help, as docs/errors.md shows; ends with a newline.
[[nodiscard]] PANTOUM_API std::string to_text(const Error& error);

// An error that converts to a Result of any type.
class Failure {
 public:
  explicit Failure(Error error) : error_(std::move(error)) {}
  [[nodiscard]] Error& error() & { return error_; }
  [[nodiscard]] const Error& error() const& { return error_; }
  [[nodiscard]] Error&& error() && { return std::move(error_); }

 private:
  Error error_;
};

[[nodiscard]] inline Failure fail(std::string code, std::string message, std::string where = {}, std::string help = {},
                                  std::vector<std::string> notes = {}) {
  return Failure(Error{std::move(code), std::move(message), std::move(where), std::move(notes), std::move(help)});
}

// A value or an error. `*result` and `result->` require a value, and `error()` requires an error: test the result first. value() tests the result
// itself and throws std::runtime_error with the error's text, for programs that end at the first error.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(const Result&) = default;
  Result(Result&&) = default;
  Result& operator=(const Result&) = default;
  Result& operator=(Result&&) = default;
  ~Result() = default;

  Result() requires std::is_default_constructible_v<T> : holds_(std::in_place_index<0>) {}
  Result(Failure failure) : holds_(std::in_place_index<1>, std::move(failure).error()) {}
  template <class U = T>
  requires(!std::is_same_v<std::remove_cvref_t<U>, Result> && !std::is_same_v<std::remove_cvref_t<U>, Failure> &&
           std::is_constructible_v<T, U>) explicit(!std::is_convertible_v<U, T>) Result(U&& value)
      : holds_(std::in_place_index<0>, std::forward<U>(value)) {}
  template <class U>
  requires(!std::is_same_v<U, T> && std::is_convertible_v<U, T>) Result(Result<U>&& other)
      : holds_(other.has_value() ? Holds(std::in_place_index<0>, *std::move(other))
                                 : Holds(std::in_place_index<1>, std::move(other).error())) {}

  [[nodiscard]] bool has_value() const noexcept { return holds_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] T& operator*() & noexcept { return *std::get_if<0>(&holds_); }
  [[nodiscard]] const T& operator*() const& noexcept { return *std::get_if<0>(&holds_); }
  [[nodiscard]] T&& operator*() && noexcept { return std::move(*std::get_if<0>(&holds_)); }
  [[nodiscard]] T* operator->() noexcept { return std::get_if<0>(&holds_); }
  [[nodiscard]] const T* operator->() const noexcept { return std::get_if<0>(&holds_); }

  [[nodiscard]] T& value() & { return check(), **this; }
  [[nodiscard]] const T& value() const& { return check(), **this; }
  [[nodiscard]] T&& value() && { return check(), *std::move(*this); }
  template <class U>
  [[nodiscard]] T value_or(U&& otherwise) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(otherwise));
  }

  [[nodiscard]] Error& error() & noexcept { return *std::get_if<1>(&holds_); }
  [[nodiscard]] const Error& error() const& noexcept { return *std::get_if<1>(&holds_); }
  [[nodiscard]] Error&& error() && noexcept { return std::move(*std::get_if<1>(&holds_)); }

 private:
  using Holds = std::variant<T, Error>;
  Holds holds_;

  void check() const {
    if (!has_value()) throw std::runtime_error(to_text(error()));
  }
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Failure failure) : error_(std::move(failure).error()) {}

  [[nodiscard]] bool has_value() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  void operator*() const noexcept {}
  void value() const {
    if (error_) throw std::runtime_error(to_text(*error_));
  }

  [[nodiscard]] Error& error() & noexcept { return *error_; }
  [[nodiscard]] const Error& error() const& noexcept { return *error_; }
  [[nodiscard]] Error&& error() && noexcept { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace pantoum
