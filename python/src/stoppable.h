// Long work that Ctrl-C ends: it runs on a thread of its own, while the caller's thread looks after Python.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "pantoum/plan.hpp"
#include "raise.h"

namespace pantoum::python {

using Tell = std::function<void(const PlanProgress&)>;
using Work = std::function<void(std::stop_token stop, const Tell& tell)>;

// Runs `work`, which holds no Python object and writes what it makes into memory that it shares, without the GIL. Several
// times a second and at its end signals are asked for, and `progress` (None, or called with seconds, best, bound) gets the
// latest news; an exception of either stops the work and is raised within seconds, even where the work takes longer to end.
void run_stoppable(Work work, nanobind::handle progress);

// Waits for work that was left behind; when the interpreter ends.
void join_abandoned();

template <class T>
using WorkFor = std::function<Result<T>(std::stop_token stop, const Tell& tell)>;

// As run_stoppable; returns what `work` returns.
template <class T>
Result<T> result_of_stoppable(WorkFor<T> work, nanobind::handle progress) {
  auto made = std::make_shared<std::optional<Result<T>>>();
  run_stoppable(
      [made, work = std::move(work)](std::stop_token stop, const Tell& tell) {
        try {
          made->emplace(work(std::move(stop), tell));
        } catch (const std::exception& thrown) {
          made->emplace(Failure(error_of(thrown)));
        }
      },
      progress);
  return *std::move(*made);
}

// As run_stoppable; returns the value, or raises the exception of the error.
template <class T>
T value_of_stoppable(WorkFor<T> work, nanobind::handle progress) {
  return value_of(result_of_stoppable<T>(std::move(work), progress));
}

// The options of a plan whose search can be stopped and tells its progress.
[[nodiscard]] inline PlanOptions watched(PlanOptions options, std::stop_token stop, const Tell& tell) {
  options.stop = std::move(stop);
  options.progress = tell;
  return options;
}

}  // namespace pantoum::python
