// Device profiles (TOML files under devices/), and the cost model of flops and bytes.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "problem/cost_graph.h"

namespace pantoum::cost {

using problem::Bytes;
using problem::Device;
using problem::Seconds;
using problem::Watts;

struct CacheLevel {
  Bytes bytes = 0;
  double bytes_per_s = 0;  // of an op whose operands fit into this cache
};

enum class Roofline { kSum, kMax };  // computing and memory traffic run one after the other, or at the same time

struct Compute {  // rates of the one engine; roofline.h has the formula
  double flops_per_s = 1;
  double joules_per_flop = 0;
  double bytes_per_s = 0;  // of memory traffic; 0: not modelled
  double joules_per_byte = 0;
  Seconds op_overhead_s = 0;
  Seconds slice_overhead_s = 0;  // of each step of an op that streams, beside kernel and transfers; at least op_overhead_s
  Watts active_w = 0;  // when > 0, energy = seconds * active_w instead of the per-flop figures
  Watts core_w = 0;    // added to active_w for each further thread that an op computes on (thread_counts.h)
  Roofline roofline = Roofline::kSum;
  int vector_lanes = 1;  // number of 4-byte numbers that one instruction computes; flops_per_s applies to full vectors
  std::vector<CacheLevel> caches = {};  // ascending by size; a smaller cache is at least as fast
};

// One of the clocks at which the device may run an op (build_cost_graph.h). The factors multiply the rates of `compute`.
struct ClockLevel {
  std::string name;
  double flops_factor = 1, bytes_factor = 1;
  Watts active_w = 0;  // while an op computes, in addition to idle_w
};

// An engine beside the processor that `compute` is of: a GPU, an NPU, a second cluster of cores. All share the RAM.
struct EngineProfile {
  std::string name;
  Compute compute = {};
  bool is_modelled = false;  // it has flops_per_s; else it computes ops of which the store has times (profile_engines.h)
  bool same_bits = false;    // its kernels give the bits of the processor's
  Watts idle_w = 0;          // while a plan uses it
  Seconds launch_s = 0, handoff_s = 0;  // docs/design/semantics.md, "Several engines on one RAM"
};

struct DeviceProfile {
  Device device;
  Compute compute;
  std::string description, source;          // where the constants come from
  Bytes rom_bytes = 0;                      // of memory that kernels read in place (flash); 0: there is none
  bool host = false;                        // the device is this machine, so times and storage speed can be measured
  bool battery = false;                     // it runs on a battery, so plans minimize energy unless asked otherwise
  std::vector<ClockLevel> clocks = {};      // empty: the device has the one clock of `compute`
  std::vector<EngineProfile> engines = {};  // beside "cpu", which is `compute`; a plan uses those that it is asked for
  std::map<std::string, std::string> sources =
      {};  // where a constant comes from, by its key ("pager.in.w"); some have none
};

inline constexpr const char* kProcessor = "cpu";  // the engine that `compute` is of
inline constexpr const char* kMemory = "memory";  // an engine that stands for the bandwidth of memory

// The word with which a constant's source begins, as in "measured: ...", says how sure it is.
//   published  in a data sheet or a paper     derived  computed from such figures, as the source says
//   measured   by whom the source names       assumed  of something like it, or a guess that the source explains
inline constexpr const char* kSourceKinds[] = {"published", "measured", "derived", "assumed"};

inline constexpr size_t kMostClockLevels = 16, kMostCaches = 8, kMostOtherEngines = 7;
inline constexpr size_t kMostProfileBytes = 1 << 16, kMostProfileDots = 1 << 10;  // of a profile file

// Reads a profile: one that is compiled in (the TOML files of devices/), by name, or the file at a path that ends in .toml.
//   errors  E0270: the name is unknown (the help lists the known names); E0271: the file is invalid (with line, key and advice); unknown keys are
//   invalid
[[nodiscard]] Result<DeviceProfile> load_device(const std::string& name_or_path);
[[nodiscard]] Result<DeviceProfile> parse_device(const std::string& toml_text, const std::string& where);
[[nodiscard]] std::vector<std::string> device_names();
// "cpu", and the names of the other engines.
[[nodiscard]] std::vector<std::string> engine_names(const DeviceProfile& device);
// Returns the profiles that are compiled in: name and TOML text, ascending by name.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& builtin_devices();

}  // namespace pantoum::cost
