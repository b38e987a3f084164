// Engines of the host that compute ops at the same time: teams of threads on its processors, and an OpenCL device.
#pragma once

#include <string>
#include <vector>

#include "cost/device_engine.h"

namespace pantoum::cost {

struct HostEngine {
  std::string name;          // as it was written: "cpu0", "cpu4-7", "opencl0"; "opencl0" for "opencl"
  int threads = 1;           // as many as it names processors; 0: "cpu", all of them, or a device
  std::optional<int> opencl = {};  // the number of the device
  std::vector<int> processors = {};  // that it names
};

// The seconds of choices on an engine whose processors are of another speed than those that were measured: by op and choice, for the choices on
// as many threads as it has. Empty: as measured.
using EngineSeconds = std::vector<std::vector<Seconds>>;

// Reads "cpu0,cpu1", "cpu0-3,cpu4-7" or "cpu,opencl". "cpu": empty, for one engine of all threads.
//   errors  E0115: the text is no such list; it names a processor twice; it has more engines than a plan can have; a device is the first, or one of two
[[nodiscard]] Result<std::vector<HostEngine>> parse_engines(const std::string& text, const std::string& where);

// Gives the device these engines, and one more that stands for the bandwidth of memory. A choice on as many threads as an engine has is offered on every
// such engine; any other is computed by all engines together. The ops' first choices keep their places: a plan of the graph before is one of the
// graph after. A choice that uses more than half of the device's bandwidth, with operands that no cache holds, takes the bandwidth too.
// The ways of the device among them become choices behind all others; its joules are assumed to be those of all threads for as long.
//   hand_off  seconds until one engine knows that another has ended
//   seconds   of each engine; none: as measured
void add_engines(BuiltCostGraph& built, const ir::Graph& graph, const DeviceProfile& device,
                 const std::vector<HostEngine>& engines, Seconds hand_off, const std::vector<DeviceWay>& ways = {},
                 const std::vector<EngineSeconds>& seconds = {});

// Takes the gangs out of what add_engines has made: in place of each choice on several engines stands the op's choice of the same kernel and operands on
// one. The ops' choices keep their places.
//   errors  E0117: an op has no such choice, or one of other bits, and `other_bits` is false
[[nodiscard]] Result<void> take_out_gangs(BuiltCostGraph& built, bool other_bits);

// Does an op that takes so many seconds, on an engine with these caches, move more than half of what memory can?
[[nodiscard]] bool takes_memory(const Work& work, const std::vector<CacheLevel>& caches, double bytes_per_s,
                                Seconds seconds);

}  // namespace pantoum::cost
