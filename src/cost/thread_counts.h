// Numbers of threads: a processor whose cores draw watts each may compute an op on fewer of them.
//
// A choice ALGORITHM@2t is the same kernel on two threads. The portable kernels split outputs alone, so it has the bits of
// the choice with all threads; a back end promises no such thing: there it is a class of numerics of its own.
//
//   watts(n) = active_w + (n - 1) core_w          of the profile's compute, on n threads
//   seconds  = as modelled, with n / all of flops_per_s: memory traffic is not split, one core may saturate it. Measured
//              ones take their place (measure.h).
//
// Most that is bound by memory takes fewer joules on one thread and hardly more seconds: the form that the paper's
// algorithms of low power take on a CPU. The runtime does what the plan says (docs/plan-format.md).
#pragma once

#include <string>
#include <vector>

#include "cost/device.h"
#include "cost/roofline.h"

namespace pantoum::cost {

// Of a machine's `all` threads: those that ops are offered beside all, ascending (1 and 2). None where further threads
// draw nothing (core_w 0): then fewer would only be slower.
[[nodiscard]] std::vector<int> fewer_threads(const Compute& compute, int all);

// The name of an algorithm or a class of numerics on that many threads, and how many such a name tells (0: none).
[[nodiscard]] std::string of_threads(const std::string& name, int threads);
[[nodiscard]] int threads_of_class(const std::string& name);

// While an op computes on `threads`.
[[nodiscard]] problem::Watts watts_on(const Compute& compute, int threads);

// `choice`, made for `all` threads, on fewer: its name, its class of numerics where its bits may be others, its seconds
// and joules as modelled. Its workspace is the caller's to ask for.
[[nodiscard]] problem::Choice on_fewer_threads(const problem::Choice& choice, const Work& work, const Compute& compute,
                                               int threads, int all, bool keeps_bits);

}  // namespace pantoum::cost
