#include "cost/meters/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/units.h"

namespace pantoum::cost {
namespace {

constexpr double kBridgedPeriods = 20;  // the longest gap in power that a straight line bridges
constexpr Seconds kLeastBridged = 2;
constexpr Joules kSlack = 10;  // counters are written in steps of up to so many joules

}  // namespace

MeterClock MeterClock::steady() {
  using Clock = std::chrono::steady_clock;
  return {.now = [] { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); },
          .sleep = [](Seconds seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }};
}

EnergyMeter::EnergyMeter(MeterSource source, MeterClock clock, bool sampling_thread)
    : source_(std::move(source)), clock_(std::move(clock)), sampling_thread_(sampling_thread) {}

EnergyMeter::~EnergyMeter() {
  stop_thread();
}

Result<void> EnergyMeter::begin() {
  stop_thread();
  {
    const std::lock_guard hold(mutex_);
    last_.assign(source_.rails.size(), {});
    joules_ = 0, health_ = {}, error_.reset(), begun_ = false;
    PANTOUM_TRY(read_first());
    begun_ = true, stop_ = false;
  }
  if (!sampling_thread_) return {};
  try {
    thread_ = std::thread([this] { sample(); });
  } catch (const std::system_error& error) {
    return fail("E0905", fmt::format("no thread to read {}: {}", source_.label, error.code().message()), {},
                "raise the limit (ulimit -u)");
  }
  return {};
}

Result<Joules> EnergyMeter::joules() {
  PANTOUM_ASSIGN(const MeterReading now, read());
  return now.joules;
}

Result<MeterReading> EnergyMeter::read() {
  const std::lock_guard hold(mutex_);
  PANTOUM_CHECK(begun_);
  if (!error_)
    if (auto read = read_on(); !read) error_ = std::move(read).error();
  if (error_) return Failure(*error_);
  return MeterReading{.joules = joules_, .at_s = at_};
}

void EnergyMeter::end() {
  stop_thread();
}

MeterHealth EnergyMeter::health() const {
  const std::lock_guard hold(mutex_);
  return health_;
}

Failure EnergyMeter::failure(const std::string& message, const std::string& help) const {
  return fail("E0909", fmt::format("{}: {}", source_.label, message), {}, help);
}

Result<void> EnergyMeter::read_first() {
  if (source_.check) PANTOUM_TRY(source_.check());
  at_ = clock_.now();
  for (size_t rail = 0; rail < source_.rails.size(); ++rail) {
    const Rail& from = source_.rails[rail];
    if (from.count) {
      PANTOUM_ASSIGN(last_[rail].count, from.count());
    } else {
      PANTOUM_ASSIGN(last_[rail].watts, from.watts());
    }
  }
  ++health_.readings;
  return {};
}

Result<void> EnergyMeter::read_on() {
  if (source_.check) PANTOUM_TRY(source_.check());
  const Seconds now = clock_.now(), passed = now - at_;
  if (!(passed >= 0))
    return failure(fmt::format("the clock went back by {}", base::show_seconds(-passed)), "measure again");
  PANTOUM_TRY(note_gap(passed));
  for (size_t rail = 0; rail < source_.rails.size(); ++rail)
    PANTOUM_TRY(read_rail(source_.rails[rail], last_[rail], passed));
  at_ = now;
  ++health_.readings;
  return {};
}

Result<void> EnergyMeter::note_gap(Seconds passed) {
  const bool power =
      std::any_of(source_.rails.begin(), source_.rails.end(), [](const Rail& rail) { return !rail.count; });
  if (!power || passed <= 2 * source_.period_s) return {};
  if (passed > std::max(kLeastBridged, kBridgedPeriods * source_.period_s))
    return failure(
        fmt::format("no sample for {}, so that what was drawn meanwhile is not known", base::show_seconds(passed)),
        "the machine slept or was too busy to read it: measure again");
  ++health_.gaps;
  health_.gap_s += passed;
  return {};
}

Result<void> EnergyMeter::read_rail(const Rail& rail, Last& last, Seconds passed) {
  if (rail.count) return count_on(rail, last, passed);
  PANTOUM_ASSIGN(const Watts now, rail.watts());
  if (!std::isfinite(now) || std::abs(now) > source_.most_w)
    return failure(fmt::format("{} reads {} W, which is no power", rail.name, now), "the driver is at fault");
  joules_ += (last.watts + now) / 2 * passed;
  last.watts = now;
  return {};
}

Result<void> EnergyMeter::count_on(const Rail& rail, Last& last, Seconds passed) {
  const auto joules = [&](uint64_t counts) { return static_cast<double>(counts) * rail.joules_per_count; };
  const Joules most = source_.most_w * (passed + 2 * source_.update_s) + kSlack;
  if (rail.range > 0 && passed * source_.most_w > joules(rail.range))
    return failure(fmt::format("nothing read {} for {}: it may have wrapped more than once", rail.name,
                               base::show_seconds(passed)),
                   "the machine slept or was too busy to read it: measure again");
  PANTOUM_ASSIGN(const uint64_t now, rail.count());
  if (rail.range > 0 && now > rail.range)
    return failure(fmt::format("{} reads {}, beyond its range of {}", rail.name, now, rail.range),
                   "the driver is at fault");
  if (now < last.count && rail.range == 0)
    return failure(fmt::format("{} went back from {} to {}", rail.name, last.count, now),
                   "its driver was loaded again, or the machine slept: measure again");
  const Joules step = joules(now >= last.count ? now - last.count : rail.range - last.count + now);
  if (step > most)
    return failure(fmt::format("{} went from {} to {} in {}, which would be more than {:.0f} W", rail.name, last.count,
                               now, base::show_seconds(passed), source_.most_w),
                   "it was set back, as after sleep: measure again");
  joules_ += step;
  last.count = now;
  return {};
}

void EnergyMeter::sample() {
  std::unique_lock hold(mutex_);
  const std::chrono::duration<double> period(source_.period_s);
  while (!stopped_.wait_for(hold, period, [this] { return stop_; }) && !error_)
    if (auto read = read_on(); !read) error_ = std::move(read).error();
}

void EnergyMeter::stop_thread() {
  {
    const std::lock_guard hold(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace pantoum::cost
