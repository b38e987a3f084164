// Instructions that an emitted project executes in QEMU: the plugin of src/emit/count, built with this machine's cc,
// and what it has counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "emit/step_work.h"

namespace pantoum::emit {

// Writes the plugin and the names of the project's kernels into build/ of the project, builds both, and returns what
// QEMU is to be told (the Makefile's QEMU_MORE). `make_words`: the variables that the run will have. E0294 no project;
// E0298 what counting needs is not there: a project for QEMU, cc, nm; E0901.
Result<std::string> prepare_count(const std::string& folder, const std::string& make_words);

struct CountedKernel {
  KernelWork work;  // of one step
  uint64_t instructions = 0, calls = 0;
};

// Of `steps` whole turns of the training loop: samples, ops, transfers, commits, what is printed in between. What the
// interpreter executes outside of kernels is in `instructions` alone.
struct Counted {
  uint64_t steps = 0, instructions = 0;
  std::vector<CountedKernel> kernels;
  double energy_j = 0;  // of a step, modelled; NaN: unknown
};

// After the run. E0294 no project; E0298 fewer than two steps ran, or the device ran other kernels than are planned.
Result<Counted> counted_steps(const std::string& folder);

}  // namespace pantoum::emit
