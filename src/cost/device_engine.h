// An engine that is a device, not processors: which ops of a graph its kernels compute, and how long they take.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "cost/measure.h"

namespace pantoum::cost {

struct DeviceKernels {
  const pt_kernel_table* table = nullptr;
  const pt_pool* pool = nullptr;  // that its kernels are asked with
  uint16_t algorithm = 0;         // of all of them
  uint8_t engine = 0;             // of their keys
};

// The device computes an op as one of the op's choices does, by a kernel of its own.
struct DeviceWay {
  size_t op = 0, like = 0;  // the choice
  const pt_kernel* kernel = nullptr;
  Bytes workspace = 0;  // a multiple of the alignment
  Seconds seconds = 0;
};

// Finds the ways of all ops. A way is assumed to take as long as the choice that it is like.
//   `classes`  by an op's name: the only class of numerics that its ways may have
[[nodiscard]] std::vector<DeviceWay> ways_on(const DeviceKernels& kernels, const ir::Graph& graph,
                                             const BuiltCostGraph& built,
                                             const std::map<std::string, std::string>& classes);

// One kernel of the device on some shapes.
struct DeviceKernel {
  OpKey key;
  int64_t ops = 0;                      // of the graph that it can compute
  Seconds beside_s = 0;                 // of the choice that its first way is like
  std::optional<OpSample> sample = {};  // none: its time is assumed
};

struct DeviceTimes {
  size_t kernels = 0, known = 0, now = 0;  // of all; times of the store; times measured by this call
  Seconds least = 0;                       // that a kernel took: the launch is in every time. 0: none is known
  std::vector<DeviceKernel> found = {};    // those whose class of numerics may be chosen, the heaviest first
  std::optional<Error> store_failure = {};
};

// What the keys of ways have beside kernel, op and machine.
struct WayKey {
  std::string engine = "opencl";
  int threads = 1;
};

// Sets the seconds of the ways: those of the store, or measured on operands in `memory`, the heaviest first, and kept. A way that was not measured is
// assumed to be slower than the choice that it is like by as much as those that were, in the middle. `limits`: seconds, anew,
// pool, numerics, settle, machine and stop.
[[nodiscard]] DeviceTimes measure_ways(std::vector<DeviceWay>& ways, const ir::Graph& graph,
                                       const BuiltCostGraph& built, std::span<std::byte> memory, Bytes align,
                                       ProfileStore& store, const MeasuringLimits& limits, const WayKey& key = {});

}  // namespace pantoum::cost
