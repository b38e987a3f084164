// Device profiles: TOML files under devices/, and the cost model from flops and bytes.
#pragma once

#include <string>
#include <vector>

#include "problem/cost_graph.h"

namespace pantoum::cost {

using problem::Bytes;
using problem::Device;
using problem::Seconds;
using problem::Watts;

struct Compute {  // of the (one) engine
  double flops_per_s = 1;
  double joules_per_flop = 0;
  double bytes_per_s = 0;  // memory traffic; 0: not modelled
  double joules_per_byte = 0;
  Seconds op_overhead_s = 0;
  Watts active_w = 0;  // when > 0, energy = seconds * active_w instead of the per-flop figures
};

struct DeviceProfile {
  Device device;
  Compute compute;
  std::string description, source;  // where the constants come from
  Bytes reserve_bytes = 0;          // kept free for stack and application
  Bytes rom_bytes = 0;              // that kernels read in place (flash); 0: there is none
  bool host = false;                // times and storage speed can be measured on this machine
};

inline constexpr size_t kMostProfileBytes = 1 << 16, kMostProfileDots = 1 << 10;  // of a profile's file

// Profiles compiled in (the TOML files of devices/) by name, or a path that ends in .toml. E0270 unknown name (with the
// known ones), E0271 bad file: line, key, what to do. Unknown keys are refused.
[[nodiscard]] Result<DeviceProfile> load_device(const std::string& name_or_path);
[[nodiscard]] Result<DeviceProfile> parse_device(const std::string& toml_text, const std::string& where);
[[nodiscard]] std::vector<std::string> device_names();

}  // namespace pantoum::cost
