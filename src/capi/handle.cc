#include "capi/handle.h"

#include <exception>
#include <map>
#include <utility>

namespace pantoum::capi {
namespace {

struct Register {
  std::mutex guard;
  std::map<const void*, std::shared_ptr<Handle>> open;
};

// Never destroyed: threads may still call while the program ends.
Register& all() {
  static auto* const trainers = new Register;
  return *trainers;
}

}  // namespace

pt_trainer* enter(std::shared_ptr<Handle> handle) {
  auto* const name = reinterpret_cast<pt_trainer*>(handle.get());
  const std::lock_guard lock(all().guard);
  all().open.emplace(name, std::move(handle));
  return name;
}

std::shared_ptr<Handle> find(const pt_trainer* trainer) {
  const std::lock_guard lock(all().guard);
  const auto found = all().open.find(trainer);
  return found != all().open.end() ? found->second : nullptr;
}

std::shared_ptr<Handle> remove(const pt_trainer* trainer) {
  const std::lock_guard lock(all().guard);
  const auto found = all().open.find(trainer);
  if (found == all().open.end()) return nullptr;
  std::shared_ptr<Handle> handle = std::move(found->second);
  all().open.erase(found);
  return handle;
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
