// The parts of module pantoum._core, a file each.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <atomic>
#include <memory>

#include "pantoum/pantoum.hpp"
#include "settings/fields.h"

namespace pantoum::python {

// What stubs say of dicts and lists of figures.
using Row = nanobind::typed<nanobind::dict, nanobind::str, nanobind::any>;
using Rows = nanobind::typed<nanobind::list, Row>;
template <class... Types>
using TupleOf = nanobind::typed<nanobind::tuple, Types...>;

inline void put(nanobind::dict& /*row*/) {}
template <class Value, class... Others>
void put(nanobind::dict& row, const char* name, const Value& value, const Others&... others) {
  row[name] = value;
  put(row, others...);
}

// The dict of names and values that take turns: row_of("steps", 3, "loss", 0.5).
template <class... Fields>
Row row_of(const Fields&... fields) {
  nanobind::dict row;
  put(row, fields...);
  return Row(row);
}

// A forked process has none of its parent's threads: what needs them is refused there, and is never destroyed.

// Must be called before threads start. E0108: this process was forked from one that computes, and lacks the threads of its kernels.
[[nodiscard]] inline Result<void> enter_process() {
  static std::atomic<::pid_t> computes = 0;
  const ::pid_t self = ::getpid();
  ::pid_t none = 0;
  if (computes.compare_exchange_strong(none, self) || none == self) return {};
  return fail("E0108", "this process was forked from one that has planned or trained, and lacks its threads", {},
              "start it with multiprocessing's \"spawn\", or fork before anything is planned");
}

// A value with threads and files, which belongs to the process that made it.
template <class T>
class Owned {
 public:
  explicit Owned(T value) : value_(std::make_shared<T>(std::move(value))), process_(::getpid()) {}
  explicit Owned(std::shared_ptr<T> value) : value_(std::move(value)), process_(::getpid()) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { reset(); }

  [[nodiscard]] bool is_own() const { return process_ == ::getpid(); }
  [[nodiscard]] const std::shared_ptr<T>& get() const { return value_; }
  // A copy in a forked process waits for threads that are not there, and removes files of its parent: it is left alone.
  void reset() {
    if (value_ && !is_own()) static_cast<void>(new std::shared_ptr<T>(std::move(value_)));
    value_.reset();
  }

 private:
  std::shared_ptr<T> value_;
  ::pid_t process_;
};

using OwnedPlan = Owned<Plan>;
using OwnedTrainer = Owned<Trainer>;

void bind_custom(nanobind::module_& module);
void bind_units(nanobind::module_& module);
void bind_model(nanobind::module_& module);
void bind_plan(nanobind::module_& module);
void bind_deploy(nanobind::module_& module);
void bind_data(nanobind::module_& module);
void bind_trainer(nanobind::module_& module);

// The plan of a handle. E0108 of a forked process.
[[nodiscard]] const Plan& plan_of(const OwnedPlan& handle);

// Files are named by bytes: os.fsencode() keeps those that are no UTF-8.
[[nodiscard]] std::string path_of(nanobind::handle path);

// Sets the field `name` of a structure. E0100: there is no such field; E0116: the value is of another kind; else the errors
// of its option, at the place `name`.
void set_field(const settings::Fields& fields, const std::string& name, nanobind::handle value);

// A structure of settings, as an object whose fields are set by name.
template <class Options>
nanobind::class_<Options> bind_settings(nanobind::module_& module, const char* structure) {
  return nanobind::class_<Options>(module, structure)
      .def(nanobind::init<>())
      .def(
          "set",
          [](Options& self, const std::string& name, nanobind::handle value) {
            set_field(settings::fields_of(self), name, value);
          },
          nanobind::arg("name"), nanobind::arg("value"));
}

}  // namespace pantoum::python
