// Errors as values: every function that input, a device or time can make fail returns Result<T>. Example:
//
//   pantoum::Result<int> parse_batch(const std::string& text) {
//     const int batch = std::atoi(text.c_str());
//     if (batch < 1) return pantoum::fail("E0105", "the batch is not a positive number", text, "give --batch 1 or more");
//     return batch;
//   }
//
//   pantoum::Result<int> samples_of_step(const std::string& batch, int micro_batches) {
//     PANTOUM_ASSIGN(const int samples, parse_batch(batch));  // an error goes to the caller
//     return samples * micro_batches;
//   }
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace pantoum {

// What went wrong, where, and what to do about it. Codes are stable; the first two digits give the exit code:
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
};

template <class T>
using Result = tl::expected<T, Error>;

using Failure = tl::unexpected<Error>;

[[nodiscard]] inline Failure fail(std::string code, std::string message, std::string where = {}, std::string help = {},
                                  std::vector<std::string> notes = {}) {
  return Failure(Error{std::move(code), std::move(message), std::move(where), std::move(notes), std::move(help)});
}

// The process exit code for an error, as documented above.
[[nodiscard]] int exit_code(const Error& error);

// "error[E0301]: no plan fits ..." with its notes and help, as docs/errors.md shows; ends with a newline.
[[nodiscard]] std::string to_text(const Error& error);

}  // namespace pantoum

// Returns the error of a Result expression to the caller, or goes on.
#define PANTOUM_TRY(expression)                                                                   \
  do {                                                                                            \
    auto&& pantoum_try_result = (expression);                                                     \
    if (!pantoum_try_result) return ::tl::make_unexpected(std::move(pantoum_try_result).error()); \
  } while (false)

#define PANTOUM_CONCAT_(a, b) a##b
#define PANTOUM_CONCAT(a, b) PANTOUM_CONCAT_(a, b)

// PANTOUM_ASSIGN(auto x, f()): x = the value of f(), or the error goes to the caller.
#define PANTOUM_ASSIGN(declaration, expression) \
  PANTOUM_ASSIGN_(PANTOUM_CONCAT(pantoum_result_, __LINE__), declaration, expression)
#define PANTOUM_ASSIGN_(name, declaration, expression)              \
  auto name = (expression);                                         \
  if (!name) return ::tl::make_unexpected(std::move(name).error()); \
  declaration = std::move(*name)

// A programmer's error, never reachable by input: prints the condition and aborts.
#define PANTOUM_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::pantoum::check_failed(#condition, __FILE__, __LINE__))

namespace pantoum {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}
