// What counts joules: rails of one source, read again and again, summed since a beginning.
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

// Where a meter's time comes from: never set back, in a test whatever the test says.
struct MeterClock {
  std::function<Seconds()> now;
  std::function<void(Seconds)> sleep;
  [[nodiscard]] static MeterClock steady();
};

// One thing that is counted. Either `count` or `watts` is set. E0909 from both: it cannot be read (any longer).
struct Rail {
  std::string name;
  std::function<Result<uint64_t>()> count = {};
  Joules joules_per_count = 1;
  uint64_t range = 0;  // the count goes from here to 0; 0: it never wraps
  std::function<Result<Watts>()> watts = {};
};

struct MeterSource {
  MeterKind kind = MeterKind::kPowercap;
  std::string word;                          // opens it again: "powercap", "hwmon:ina3221"
  std::string label;                         // as figures name it: "RAPL by powercap (package-0, dram)"
  std::vector<Rail> rails;                   // all are summed: no one is part of another
  Seconds update_s = 1e-3;                   // how often its figures change
  Seconds period_s = 1;                      // how often it is read at least
  Watts most_w = 20e3;                       // of a rail: what is above it is no power but a counter that was set back
  std::function<Result<void>()> check = {};  // before every reading: E0909 it does not hold any longer
};

struct MeterReading {
  Joules joules = 0;  // since begin()
  Seconds at_s = 0;   // on the meter's clock
};

// What was lost between readings.
struct MeterHealth {
  int64_t readings = 0;
  int64_t gaps = 0;  // longer than twice the period, of power rails; bridged by a straight line
  Seconds gap_s = 0;
};

// Counts what `source` measures from begin() on. Any thread may call it; a thread of its own reads it between calls, so
// that no wrap and no peak is missed, unless `sampling_thread` is false.
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
  // The shortest window whose ends (known to one update) say no more than 2% about its energy.
  [[nodiscard]] Seconds least_window_s() const { return 100 * source_.update_s; }

  // From here on joules count from 0. E0909 a rail cannot be read; no thread (E0905).
  [[nodiscard]] Result<void> begin();
  // Joules since begin(). E0909 a rail vanished, the counter was set back or may have wrapped more than once, samples
  // are lost for longer than can be bridged, the clock went back; from then on the same error until begin().
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

}  // namespace pantoum::cost
