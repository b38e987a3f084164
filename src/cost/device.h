// Device profiles: TOML files under devices/, and the cost model from flops and bytes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "problem/cost_graph.h"

namespace pantoum::cost {

using problem::Bytes;
using problem::Device;
using problem::Seconds;
using problem::Watts;

struct CacheLevel {
  Bytes bytes = 0;
  double bytes_per_s = 0;  // at which an op streams whose operands fit
};

enum class Roofline { kSum, kMax };  // seconds of computing and of memory traffic: one after the other, or at once

struct Compute {  // of the (one) engine; roofline.h has the formula
  double flops_per_s = 1;
  double joules_per_flop = 0;
  double bytes_per_s = 0;  // memory traffic; 0: not modelled
  double joules_per_byte = 0;
  Seconds op_overhead_s = 0;
  Watts active_w = 0;  // when > 0, energy = seconds * active_w instead of the per-flop figures
  Watts core_w = 0;    // beyond active_w, of each further thread that an op computes on (thread_counts.h)
  Roofline roofline = Roofline::kSum;
  int vector_lanes = 1;                 // 4-byte numbers that one instruction computes; flops_per_s is of full vectors
  std::vector<CacheLevel> caches = {};  // ascending by size; a smaller one is no slower
};

// One of the speeds that the device may run an op at (clock_levels.h); factors are of compute's rates.
struct ClockLevel {
  std::string name;
  double flops_factor = 1, bytes_factor = 1;
  Watts active_w = 0;  // while it computes, beyond idle_w
};

struct DeviceProfile {
  Device device;
  Compute compute;
  std::string description, source;                  // where the constants come from
  Bytes rom_bytes = 0;                              // that kernels read in place (flash); 0: there is none
  bool host = false;                                // times and storage speed can be measured on this machine
  std::vector<ClockLevel> clocks = {};              // none: compute's rates are the only ones
  std::map<std::string, std::string> sources = {};  // of each constant, by its key ("pager.in.w"), as far as it is told
};

// How sure a constant is: the word that its source begins with, as in "measured: ...".
//   published  in a data sheet or a paper     derived  computed from such figures, as the source says
//   measured   by whom the source names       assumed  of something like it, or a guess that the source explains
inline constexpr const char* kSourceKinds[] = {"published", "measured", "derived", "assumed"};

inline constexpr size_t kMostClockLevels = 16, kMostCaches = 8;
inline constexpr size_t kMostProfileBytes = 1 << 16, kMostProfileDots = 1 << 10;  // of a profile's file

// Profiles compiled in (the TOML files of devices/) by name, or a path that ends in .toml. E0270 unknown name (with the
// known ones), E0271 bad file: line, key, what to do. Unknown keys are refused.
[[nodiscard]] Result<DeviceProfile> load_device(const std::string& name_or_path);
[[nodiscard]] Result<DeviceProfile> parse_device(const std::string& toml_text, const std::string& where);
[[nodiscard]] std::vector<std::string> device_names();

}  // namespace pantoum::cost
