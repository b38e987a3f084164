// A meter: it reads the rails of one source again and again, and sums their joules since a beginning.
//
//   counter rail   raw counts that may wrap:  count  ___/|___/|___     joules = steps, each taken modulo the range
//   power rail     watts now:                 watts  .-'\_.-           joules = area below the samples (trapezoids)
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "problem/cost_graph.h"

namespace pantoum::cost {

using problem::Joules;
using problem::Seconds;
using problem::Watts;

enum class MeterKind : uint8_t { kPowercap, kPerf, kNvml, kHwmon, kBattery };

// The clock of a meter. It never goes back; a test gives its own.
struct MeterClock {
  std::function<Seconds()> now;
  std::function<void(Seconds)> sleep;
  [[nodiscard]] static MeterClock steady();
};

// One thing that a meter measures. Either `count` or `watts` is set; both return E0909 where it cannot be read (any longer).
struct Rail {
  std::string name;
  std::function<Result<uint64_t>()> count = {};
  Joules joules_per_count = 1;
  uint64_t range = 0;  // the largest count, after which it begins at 0 again; 0: it never wraps
  std::function<Result<Watts>()> watts = {};
};

struct MeterSource {
  MeterKind kind = MeterKind::kPowercap;
  std::string word;         // with which open_meter opens it: "powercap", "hwmon:ina3221"
  std::string label;        // its name beside figures: "RAPL by powercap (package-0, dram)"
  std::vector<Rail> rails;  // all are summed, so none may be part of another
  Seconds update_s = 1e-3;  // time between changes of its figures
  Seconds period_s = 1;     // longest time between two readings
  Watts most_w = 20e3;      // of a rail; more can only come from a counter that was set back
  std::function<Result<void>()> check =
      {};  // called before every reading; E0909 the source no longer measures the machine
};

struct MeterReading {
  Joules joules = 0;  // since begin()
  Seconds at_s = 0;   // on the meter's clock
};

// What was lost between readings.
struct MeterHealth {
  int64_t readings = 0;
  int64_t gaps = 0;  // between readings of power rails: longer than twice the period, bridged by a straight line
  Seconds gap_s = 0;
};

// Sums what `source` measures from begin() on. Any thread may call it. Unless `sampling_thread` is false, a thread of its own reads the
// source between calls, so that no wrap and no peak is missed.
class EnergyMeter {
 public:
  EnergyMeter(MeterSource source, MeterClock clock, bool sampling_thread = true);
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  [[nodiscard]] const std::string& word() const { return source_.word; }
  [[nodiscard]] const std::string& label() const { return source_.label; }
  [[nodiscard]] MeterKind kind() const { return source_.kind; }
  [[nodiscard]] const MeterClock& clock() const { return clock_; }
  [[nodiscard]] Seconds update_s() const { return source_.update_s; }
  // The shortest window whose energy is known to 2%, where its ends are known to one update.
  [[nodiscard]] Seconds least_window_s() const { return 100 * source_.update_s; }

  // Sets the sum to 0. E0909 a rail cannot be read; E0905 no thread.
  [[nodiscard]] Result<void> begin();
  // Joules since begin(). E0909 a rail vanished, a counter was set back or may have wrapped more than once, samples are missing for longer
  // than can be bridged, or the clock went back. After an error every call returns the same error until begin().
  [[nodiscard]] Result<MeterReading> read();
  [[nodiscard]] Result<Joules> joules();
  // Stops reading.
  void end();
  [[nodiscard]] MeterHealth health() const;

 private:
  struct Last {
    uint64_t count = 0;
    Watts watts = 0;
  };

  [[nodiscard]] Result<void> read_first();
  [[nodiscard]] Result<void> read_on();
  [[nodiscard]] Result<void> read_rail(const Rail& rail, Last& last, Seconds passed);
  [[nodiscard]] Result<void> count_on(const Rail& rail, Last& last, Seconds passed);
  [[nodiscard]] Result<void> note_gap(Seconds passed);
  [[nodiscard]] Failure failure(const std::string& message, const std::string& help) const;
  void sample();  // what the thread does
  void stop_thread();

  MeterSource source_;
  MeterClock clock_;
  bool sampling_thread_;
  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
  std::vector<Last> last_;
  Seconds at_ = 0;
  Joules joules_ = 0;
  MeterHealth health_;
  std::optional<Error> error_ = {};
  bool begun_ = false;
};

// The kinds of meters. Each is one function, in a file of its own, that makes a source or says why there is none.
//
// Each returns E0272 where this machine has no such meter, or it may not be read; the help says what to do. `filter` is the part of a
// word after the colon ("psys" of powercap:psys); "" leaves the choice to the meter.

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

// The places in which meters are looked for; tests give another root, library, system calls and clock.
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
