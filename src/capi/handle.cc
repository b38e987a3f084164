#include "capi/handle.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace pantoum::capi {
namespace {

// Never destroyed: threads may still call while the program ends.
Register<Handle>& trainers() {
  static auto* const all = new Register<Handle>;
  return *all;
}

// The strings of the calling thread.
struct ErrorTexts {
  Error error;
  std::string notes, text;
  pt_train_error view{};
};

}  // namespace

pt_trainer* enter(std::shared_ptr<Handle> handle) {
  auto* const name = reinterpret_cast<pt_trainer*>(handle.get());
  trainers().enter(std::move(handle));
  return name;
}

std::shared_ptr<Handle> find(const pt_trainer* trainer) {
  return trainers().find(trainer);
}

std::shared_ptr<Handle> remove(const pt_trainer* trainer) {
  return trainers().remove(trainer);
}

const pt_train_error* tell(const std::optional<Error>& error) {
  thread_local ErrorTexts texts;
  if (!error) {
    texts.view = {0, "", "", "", "", "", ""};
    return &texts.view;
  }
  texts.error = *error;
  texts.notes = fmt::format("{}", fmt::join(error->notes, "\n"));
  texts.text = to_text(*error);
  texts.view = {status_of(*error),   texts.error.code.c_str(), texts.error.message.c_str(), texts.error.where.c_str(),
                texts.notes.c_str(), texts.error.help.c_str(), texts.text.c_str()};
  return &texts.view;
}

const pt_train_error& out_of_memory() {
  static const pt_train_error unknown = {
      910, "E0910", "out of memory", "", "", "free some memory", "error[E0910]: out of memory\n"};
  return unknown;
}

Failure misuse(std::string what, const char* function, std::string help) {
  return fail("E0150", std::move(what), function, std::move(help));
}

std::optional<Error>& error_without_trainer() {
  thread_local std::optional<Error> error;
  return error;
}

int status_of(const Error& error) {
  int status = 0;
  for (const char digit : error.code)
    if (digit >= '0' && digit <= '9') status = status * 10 + (digit - '0');
  return status != 0 ? status : 1;
}

Error caught(const char* function) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Error{.code = "E0910", .message = "out of memory", .where = function, .help = "free some memory"};
  } catch (const std::exception& thrown) {
    return Error{.code = "E0001", .message = std::string("internal: ") + thrown.what(), .where = function};
  } catch (...) {
    return Error{.code = "E0001", .message = "internal: something was thrown", .where = function};
  }
}

int failed(std::optional<Error>& place, Error error) noexcept {
  const int status = status_of(error);
  place = std::move(error);
  return status;
}

}  // namespace pantoum::capi
