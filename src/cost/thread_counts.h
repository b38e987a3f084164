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

#include "base/quantities.h"
#include "cost/device.h"
#include "cost/roofline.h"
#include "pantoum/pantoum.h"

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

// Has every thread of a pool a processor just now?
//
// Virtual machines lose a processor for seconds, and other processes take one: what two threads take meanwhile is what one
// takes. Times that are kept are better measured when all are there.

using base::Seconds;

// The seconds of a fixed chain of operations run by every thread at once, over those of one chain on the calling thread alone;
// each is the quickest of three runs. 1: every thread has a processor of the same speed; 2: two threads share one. 1 for one
// thread. Takes some milliseconds.
[[nodiscard]] double slowdown_on_all_threads(const pt_pool& pool);

// Does every thread have a processor: is the slowdown below that of two threads on one processor? `slowest`: the speed of the pool's
// fastest processor over that of its slowest.
[[nodiscard]] bool are_processors_present(const pt_pool& pool, double slowest = 1);

}  // namespace pantoum::cost
