#include "cost/energy_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units.h"

namespace pantoum::cost {
namespace {

constexpr int kIdleParts = 10;
constexpr Watts kOffset = 0.1;  // how far below zero a sensor without a current may read
constexpr Seconds kNap = 0.05;  // a wait that is to stop ends within this time

// The 97.5% quantile of Student's t with so many degrees of freedom.
double student(int64_t freedom) {
  constexpr std::array kTable{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                              2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                              2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (freedom <= static_cast<int64_t>(kTable.size())) return kTable[static_cast<size_t>(freedom - 1)];
  return 1.96 + 2.4 / static_cast<double>(freedom);
}

// Ends a meter when the scope is left, also after an error.
class Begun {
 public:
  explicit Begun(EnergyMeter& meter) : meter_(meter) {}
  ~Begun() { meter_.end(); }
  Begun(const Begun&) = delete;
  Begun& operator=(const Begun&) = delete;

 private:
  EnergyMeter& meter_;
};

Failure energy_stopped() {
  return fail("E0999", "interrupted while energy was measured");
}

// False: it was asked to stop.
bool wait(const MeterClock& clock, Seconds seconds, const std::stop_token& stop) {
  for (const Seconds end = clock.now() + seconds; !stop.stop_requested();) {
    const Seconds left = end - clock.now();
    if (left <= 0) return true;
    clock.sleep(std::min(left, kNap));
  }
  return false;
}

// Runs until the window is over; returns how often.
Result<int64_t> fill_window(const MeterClock& clock, const std::function<Result<void>()>& run, Seconds begun,
                            Seconds window) {
  int64_t runs = 0;
  do {
    PANTOUM_TRY(run());
    ++runs;
  } while (clock.now() - begun < window);
  return runs;
}

Result<IdleBaseline> idle_of(EnergyMeter& meter, const EnergyLimits& limits) {
  if (limits.idle) return *limits.idle;
  return measure_idle(meter, limits.idle_s, limits.stop);
}

// Refuses a measurement of 0 W or less: a machine that computes draws power, so the meter does not change or is wired the other way round.
Result<void> check_drawn(const EnergyMeter& meter, const MeasuredEnergy& found) {
  if (found.watts > 0) return {};
  return fail(
      "E0909",
      fmt::format("{}: {:.3g} W in all for {} of computing, which is no measurement", meter.label(), found.watts,
                  base::show_seconds(found.measured_s)),
      {},
      found.watts < 0
          ? "its sensor is wired the other way round: take another meter or rail (pantoum doctor lists them)"
          : fmt::format("it stands still (as on mains, or in a virtual machine), or changes only every {}: take "
                        "another meter or rail (pantoum doctor lists them), or run for longer",
                        base::show_seconds(meter.update_s())));
}

}  // namespace

Result<IdleBaseline> measure_idle(EnergyMeter& meter, Seconds seconds, const std::stop_token& stop) {
  if (!(seconds > 0) || !std::isfinite(seconds))
    return fail("E0120", fmt::format("an idle window of {} s", seconds), {}, "give it some time");
  const MeterClock& clock = meter.clock();
  const Begun end(meter);
  PANTOUM_TRY(meter.begin());
  const auto parts =
      static_cast<int>(std::clamp(std::floor(seconds / meter.least_window_s()), 2.0, double{kIdleParts}));
  WindowSums sums;
  PANTOUM_ASSIGN(MeterReading last, meter.read());
  for (int part = 0; part < parts; ++part) {
    if (!wait(clock, seconds / parts, stop)) return energy_stopped();
    PANTOUM_ASSIGN(const MeterReading now, meter.read());
    sums.add(now.joules - last.joules, now.at_s - last.at_s, 1);
    last = now;
  }
  const MeasuredEnergy all = sums.result({}, meter.update_s());
  const IdleBaseline idle{.watts = all.watts, .half_width = *all.half_width / all.seconds, .seconds = sums.seconds()};
  if (idle.watts + std::max(idle.half_width, kOffset) < 0)
    return fail("E0909", fmt::format("{}: {:.3g} W while idle, below zero", meter.label(), idle.watts), {},
                "its sensor is wired the other way round: take another meter or rail (pantoum doctor lists them)");
  return idle;
}

Result<MeasuredEnergy> measure_energy(EnergyMeter& meter, const std::function<Result<void>()>& run,
                                      const EnergyLimits& limits) {
  if (limits.fewest_windows < 2 || limits.most_windows < limits.fewest_windows || !(limits.most_s > 0))
    return fail("E0120", "limits that make no two windows", {}, "give two windows or more, and time");
  const Seconds window =
      std::min(std::max(limits.window_s, meter.least_window_s()), limits.most_s / limits.fewest_windows);
  PANTOUM_ASSIGN(const IdleBaseline idle, idle_of(meter, limits));
  PANTOUM_TRY(run());
  const MeterClock& clock = meter.clock();
  const Begun end(meter);
  PANTOUM_TRY(meter.begin());
  WindowSums sums;
  MeasuredEnergy found;
  PANTOUM_ASSIGN(MeterReading last, meter.read());
  for (const Seconds first = last.at_s; sums.windows() < limits.most_windows;) {
    if (limits.stop.stop_requested()) {
      if (sums.windows() < 2) return energy_stopped();
      break;
    }
    PANTOUM_ASSIGN(const int64_t runs, fill_window(clock, run, last.at_s, window));
    PANTOUM_ASSIGN(const MeterReading now, meter.read());
    sums.add(now.joules - last.joules, now.at_s - last.at_s, runs);
    last = now;
    found = sums.result(idle, meter.update_s());
    if (sums.windows() >= limits.fewest_windows && found.is_within(limits.precision)) break;
    if (sums.windows() >= 2 && last.at_s - first >= limits.most_s) break;
  }
  PANTOUM_TRY(check_drawn(meter, found));
  found.meter = meter.label(), found.health = meter.health();
  return found;
}

std::string to_text(const MeasuredEnergy& energy) {
  const std::string width = !energy.half_width  ? ""
                            : energy.joules > 0 ? fmt::format(" +- {:.2g}%", 100 * *energy.half_width / energy.joules)
                                                : " +- " + base::show_joules(*energy.half_width);
  const std::string idle = energy.idle.seconds > 0
                               ? fmt::format(" above {:.3g} W idle (measured for {})", energy.idle.watts,
                                             base::show_seconds(energy.idle.seconds))
                               : ", idle included";
  return fmt::format("{}{}{}, by {}", base::show_joules(energy.joules), width, idle, energy.meter);
}

void WindowSums::add(Joules joules, Seconds seconds, int64_t runs) {
  const auto count = static_cast<double>(runs);
  ++windows_, runs_ += runs, joules_ += joules, seconds_ += seconds;
  jj_ += joules * joules, ss_ += seconds * seconds, nn_ += count * count;
  js_ += joules * seconds, jn_ += joules * count, sn_ += seconds * count;
}

MeasuredEnergy WindowSums::result(const IdleBaseline& idle, Seconds update_s) const {
  const auto runs = static_cast<double>(runs_), windows = static_cast<double>(windows_);
  const Joules gross = joules_ / runs, net = gross - idle.watts * seconds_ / runs;
  MeasuredEnergy found{.joules = net,
                       .gross_joules = gross,
                       .watts = joules_ / seconds_,
                       .seconds = seconds_ / runs,
                       .idle = idle,
                       .runs = runs_,
                       .windows = windows_,
                       .measured_s = seconds_};
  if (windows_ < 2) return found;
  // The variance of a ratio of sums: the sum over windows of (joules - idle * seconds - net * runs)^2.
  const double i = idle.watts;
  const double squares = jj_ + i * i * ss_ + net * net * nn_ - 2 * i * js_ - 2 * net * jn_ + 2 * i * net * sn_;
  const double spread = std::sqrt(std::max(0.0, squares) / (windows - 1) / windows) / (runs / windows);
  const double ends = std::abs(found.watts) * update_s / runs;
  const double baseline = idle.half_width * found.seconds;
  found.half_width = std::hypot(student(windows_ - 1) * spread, ends, baseline);
  return found;
}

std::optional<MeterReading> StepEnergy::read() {
  const Result<void> begun = begun_ ? Result<void>{} : meter_.begin();
  begun_ = true;
  Result<MeterReading> reading = begun ? meter_.read() : Result<MeterReading>(Failure(begun.error()));
  if (reading) return *reading;
  error_ = std::move(reading).error();
  meter_.end();
  return {};
}

void StepEnergy::go_on() {
  if (error_ || running_) return;
  const auto reading = read();
  if (!reading) return;
  last_ = *reading, steps_ = 0, running_ = true;
}

void StepEnergy::step() {
  if (error_ || !running_) return;
  ++steps_;
  if (meter_.clock().now() - last_.at_s >= meter_.least_window_s()) close_window();
}

void StepEnergy::pause() {
  if (error_ || !running_) return;
  if (steps_ > 0) close_window();
  running_ = false;
}

void StepEnergy::close_window() {
  const auto now = read();
  if (!now) return;
  if (now->at_s > last_.at_s) sums_.add(now->joules - last_.joules, now->at_s - last_.at_s, steps_);
  last_ = *now, steps_ = 0;
}

Result<MeasuredEnergy> StepEnergy::result() {
  pause();
  if (error_) return Failure(*error_);
  if (sums_.windows() == 0) return fail("E0909", meter_.label() + ": no step was measured", {}, "train some steps");
  MeasuredEnergy found = sums_.result(idle_, meter_.update_s());
  PANTOUM_TRY(check_drawn(meter_, found));
  found.meter = meter_.label(), found.health = meter_.health();
  return found;
}

Result<MeasuredEnergy> energy_of(const Recording& recording, int64_t steps) {
  if (steps < 1) return fail("E0120", "no step was trained while it was recorded", {}, "train some steps");
  const IdleBaseline idle =
      recording.idle_w ? IdleBaseline{.watts = *recording.idle_w, .seconds = recording.idle_s} : IdleBaseline{};
  WindowSums sums;
  if (static_cast<int64_t>(recording.windows.size()) == steps)
    for (const RecordedWindow& window : recording.windows) sums.add(window.joules, window.end_s - window.begin_s, 1);
  else
    sums.add(recording.joules(), recording.seconds(), steps);
  MeasuredEnergy found = sums.result(idle, recording.period_s);
  found.meter = recording.label;
  found.health = {.readings = recording.samples,
                  .gaps = recording.gaps,
                  .gap_s = static_cast<double>(recording.lost_samples) * recording.period_s};
  return found;
}

}  // namespace pantoum::cost
