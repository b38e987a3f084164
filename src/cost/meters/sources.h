// The kinds of meters: one function each, in a file of its own, that makes a source or says why there is none.
//
// E0272 from each: no such meter on this machine, or it may not be read; the help says what to do. `filter` is what
// stands behind the colon of a word ("psys" of powercap:psys); "" leaves the choice to the meter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cost/meters/meter.h"
#include "cost/meters/sysfs.h"

namespace pantoum::cost {

// The two system calls that perf's counters take. Negative results are errors of errno.
struct PerfCalls {
  std::function<int(uint32_t type, uint64_t config, int cpu)> open;  // a descriptor
  std::function<int(int descriptor, uint64_t& count)> read;
  std::function<void(int descriptor)> close;
  [[nodiscard]] static PerfCalls system();
};

// Where meters are looked for. Another root is a recorded tree.
struct MeterPlace {
  std::string root = "";  // in front of /sys and /proc
  std::string nvml = "libnvidia-ml.so.1";
  PerfCalls perf = PerfCalls::system();
  MeterClock clock = MeterClock::steady();
  bool sampling_thread = true;
};

// RAPL through /sys/class/powercap: packages and their DRAM, or psys (the whole platform, packages included) alone. The
// filter: how the names of the zones begin: package, dram, core, uncore, psys.
[[nodiscard]] Result<MeterSource> powercap_source(const MeterPlace& place, const std::string& filter);

// RAPL through perf's power/energy-pkg/ and energy-ram, or energy-psys where that is all. The filter: pkg, ram, psys,
// cores, gpu.
[[nodiscard]] Result<MeterSource> perf_source(const MeterPlace& place, const std::string& filter);

// Nvidia's GPUs, all or the one with the number `filter`: total energy, or power where there is no such counter.
[[nodiscard]] Result<MeterSource> nvml_source(const MeterPlace& place, const std::string& filter);

// Chips of /sys/class/hwmon (and of the older iio driver of the INA3221) with energy, power, or voltage and current.
// The filter: CHIP, or CHIP/LABEL+LABEL; "": the INA3221s, else the only chip there is.
[[nodiscard]] Result<MeterSource> hwmon_source(const MeterPlace& place, const std::string& filter);

// Batteries, while they discharge. The filter: one of their names.
[[nodiscard]] Result<MeterSource> battery_source(const MeterPlace& place, const std::string& filter);

}  // namespace pantoum::cost
