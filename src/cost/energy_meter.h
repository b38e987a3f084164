// Measures the joules of a run or of a step with a meter, above what the idle machine takes, with a 95% interval.
//
//   watts  ____|‾‾‾‾|‾‾‾‾|‾‾‾‾|   windows, each long enough for the meter and with many runs in it
//          idle  1    2    3      joules of a run = mean of (window's joules - idle watts * its seconds) / its runs
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "cost/meters/open_meter.h"
#include "cost/meters/recording.h"

namespace pantoum::cost {

// The power of the machine while nothing is computed.
struct IdleBaseline {
  Watts watts = 0, half_width = 0;  // 95%: watts +- half_width
  Seconds seconds = 0;              // duration of the measurement; 0: not measured, and nothing is subtracted
};

// Measures for `seconds` on the meter's clock while nothing else is done. Begins the meter and ends it. The result may be 0 W, of a rail
// that is off.
//   errors  E0909 as EnergyMeter::joules, or power below zero; E0999 `stop` was asked for; E0120 no time
[[nodiscard]] Result<IdleBaseline> measure_idle(EnergyMeter& meter, Seconds seconds, const std::stop_token& stop = {});

struct EnergyLimits {
  std::optional<IdleBaseline> idle = {};  // measured earlier; nullopt: measured for idle_s before the first run
  Seconds idle_s = 2;
  Seconds window_s = 0.25;  // at least the meter's least_window_s()
  int fewest_windows = 5, most_windows = 100;
  double precision = 0.03;  // measuring ends when half of the interval is this share of the mean
  Seconds most_s = 30;      // time limit of all windows; one run may exceed it
  std::stop_token stop = {};
};

struct MeasuredEnergy {
  std::string meter;  // the meter's label
  Joules joules = 0;  // of one run (or step), above idle; noise may make it negative
  std::optional<Joules> half_width =
      {};  // 95%: joules +- half_width, with the errors of the idle baseline and of the meter; none: not known
  Joules gross_joules = 0;  // idle included
  Watts watts = 0;          // while it ran, idle included
  Seconds seconds = 0;      // of one run
  IdleBaseline idle = {};
  int64_t runs = 0, windows = 0;
  Seconds measured_s = 0;  // of all windows
  MeterHealth health = {};
  // Is it clearly more than idle: is its whole interval above 0? Where no interval is known: is it above 0?
  [[nodiscard]] bool stands_out() const { return joules > half_width.value_or(0); }
  [[nodiscard]] bool is_within(double precision) const { return half_width && *half_width <= precision * joules; }
};

// Runs `run` once to warm up, then repeatedly in windows, until the precision or a limit is reached. Starts and stops the meter.
//   errors  those of `run`; E0909 the meter's, or 0 W or less were drawn in all; E0999 `stop` was asked for before there were two windows;
//           E0120 limits that make no two windows
[[nodiscard]] Result<MeasuredEnergy> measure_energy(EnergyMeter& meter, const std::function<Result<void>()>& run,
                                                    const EnergyLimits& limits = {});

// "1.2 J +- 2% above 12 W idle (measured by RAPL ...)": for a line of text.
[[nodiscard]] std::string to_text(const MeasuredEnergy& energy);

// Sums of windows, which may hold different numbers of runs.
class WindowSums {
 public:
  void add(Joules joules, Seconds seconds, int64_t runs);
  [[nodiscard]] int64_t windows() const { return windows_; }
  [[nodiscard]] Seconds seconds() const { return seconds_; }
  // `update_s`: how exactly the ends of each window are known. windows() > 0.
  [[nodiscard]] MeasuredEnergy result(const IdleBaseline& idle, Seconds update_s) const;

 private:
  int64_t windows_ = 0, runs_ = 0;
  Joules joules_ = 0;
  Seconds seconds_ = 0;
  // Sums of products of joules, seconds and runs of each window.
  double jj_ = 0, ss_ = 0, nn_ = 0, js_ = 0, jn_ = 0, sn_ = 0;
};

// Measures the steps of a training that pauses now and then for something else. A failure of the meter ends the measuring, not the
// training.
class StepEnergy {
 public:
  StepEnergy(EnergyMeter& meter, const IdleBaseline& idle) : meter_(meter), idle_(idle) {}

  void go_on();  // before steps
  void step();   // after each step
  void pause();  // before other work, which is not counted

  // Returns the energy of the steps so far. E0909: the meter failed, no step was measured, or the power in all was 0 W or less.
  [[nodiscard]] Result<MeasuredEnergy> result();

 private:
  [[nodiscard]] std::optional<MeterReading> read();
  void close_window();

  EnergyMeter& meter_;
  IdleBaseline idle_;
  WindowSums sums_;
  bool begun_ = false, running_ = false;
  MeterReading last_;
  int64_t steps_ = 0;
  std::optional<Error> error_ = {};
};

// The energy of a recording whose windows hold `steps` steps in all. The interval is known where each window holds one step. E0120 no
// step.
[[nodiscard]] Result<MeasuredEnergy> energy_of(const Recording& recording, int64_t steps);

}  // namespace pantoum::cost
