// The kinds of meters. Each is one function, in a file of its own, that makes a source or says why there is none.
//
// Each returns E0272 where this machine has no such meter, or it may not be read; the help says what to do. `filter` is the part of a
// word after the colon ("psys" of powercap:psys); "" leaves the choice to the meter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cost/meters/meter.h"

namespace pantoum::cost {

// Reads the small files of /sys and /proc, below any root, so that tests can give a recorded tree.
class Sysfs {
 public:
  explicit Sysfs(std::string root) : root_(std::move(root)) {}

  struct Text {
    std::string text;  // without the line's end
    int error = 0;     // errno; 0: it was read
  };
  // The first 4 KiB of a file.
  [[nodiscard]] Text read(const std::string& path) const;
  [[nodiscard]] std::string text(const std::string& path) const { return read(path).text; }  // "": none
  // A whole number and nothing else. E0909 with path and reason: it is gone, may not be read, or holds no such number.
  [[nodiscard]] Result<uint64_t> count(const std::string& path) const;
  [[nodiscard]] Result<int64_t> whole(const std::string& path) const;  // negative too
  [[nodiscard]] bool exists(const std::string& path) const;
  // Names in a folder, numbers in their order ("in2" before "in10"); none where there is no such folder.
  [[nodiscard]] std::vector<std::string> names(const std::string& folder) const;
  [[nodiscard]] std::string path(const std::string& path) const { return root_ + path; }

 private:
  std::string root_;
};

// The system calls for perf's counters. A negative result is an errno with its sign changed.
struct PerfCalls {
  std::function<int(uint32_t type, uint64_t config, int cpu)> open;  // a descriptor
  std::function<int(int descriptor, uint64_t& count)> read;
  std::function<void(int descriptor)> close;
  [[nodiscard]] static PerfCalls system();
};

// Where meters are looked for; tests give another root, library, system calls and clock.
struct MeterPlace {
  std::string root = "";  // in front of /sys and /proc
  std::string nvml = "libnvidia-ml.so.1";
  PerfCalls perf = PerfCalls::system();
  MeterClock clock = MeterClock::steady();
  bool sampling_thread = true;
};

// RAPL through /sys/class/powercap: packages and their DRAM, or psys alone (the whole platform with its packages). The filter is how the
// names of the zones begin: package, dram, core, uncore, psys.
[[nodiscard]] Result<MeterSource> powercap_source(const MeterPlace& place, const std::string& filter);

// RAPL through perf's power/energy-pkg/ and energy-ram, or energy-psys where that is all. The filter: pkg, ram, psys,
// cores, gpu.
[[nodiscard]] Result<MeterSource> perf_source(const MeterPlace& place, const std::string& filter);

// Nvidia's GPUs, all or the one whose number is `filter`: their energy, or their power where there is no counter of energy.
[[nodiscard]] Result<MeterSource> nvml_source(const MeterPlace& place, const std::string& filter);

// Chips of /sys/class/hwmon (and of the older iio driver of the INA3221) with energy, power, or voltage and current.
// The filter: CHIP, or CHIP/LABEL+LABEL; "": all INA3221s, or else the only chip there is.
[[nodiscard]] Result<MeterSource> hwmon_source(const MeterPlace& place, const std::string& filter);

// Batteries, while they discharge. The filter: one of their names.
[[nodiscard]] Result<MeterSource> battery_source(const MeterPlace& place, const std::string& filter);

}  // namespace pantoum::cost
