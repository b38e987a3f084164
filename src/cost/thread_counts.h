// Numbers of threads: on a processor each of whose cores draws watts, an op may run on fewer of them.
//
// The choice ALGORITHM@2t is the same kernel on two threads. The portable kernels split their outputs alone, so this choice has the
// same bits as the one with all threads. A back end does not promise that: there the choice has a class of numerics of its own.
//
//   watts(n) = active_w + (n - 1) core_w          of the profile's compute, on n threads
//   seconds  = as modelled with n / all of flops_per_s; memory traffic is not split, because one core may saturate it.
//              Measured seconds replace them (measure.h).
//
// Most ops that memory limits take fewer joules on one thread, and hardly more seconds. The runtime uses the number of threads
// that the plan names (docs/plan-format.md).
#pragma once

#include <string>
#include <vector>

#include "cost/device.h"
#include "cost/roofline.h"

namespace pantoum::cost {

// The numbers of threads that ops are offered beside `all`, ascending: 1 and 2. Empty where further threads draw nothing (core_w 0),
// because fewer threads would only be slower.
[[nodiscard]] std::vector<int> fewer_threads(const Compute& compute, int all);

// The name of an algorithm or a class of numerics on so many threads; and the number of threads that such a name says (0: none).
[[nodiscard]] std::string of_threads(const std::string& name, int threads);
[[nodiscard]] int threads_of_class(const std::string& name);

// The watts drawn while an op computes on so many threads.
[[nodiscard]] problem::Watts watts_on(const Compute& compute, int threads);

// The choice on `threads` in place of `all` threads: with its name, with its class of numerics where its bits may differ, and with
// modelled seconds and joules. The caller sets its workspace.
[[nodiscard]] problem::Choice on_fewer_threads(const problem::Choice& choice, const Work& work, const Compute& compute,
                                               int threads, int all, bool keeps_bits);

}  // namespace pantoum::cost
