#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>

#include "base/foreign_text.h"
#include "cost/meters/meter.h"

namespace pantoum::cost {
namespace {

constexpr const char* kSupplies = "/sys/class/power_supply/";

std::string file_of(const std::string& supply, const char* name) {
  return kSupplies + supply + "/" + name;
}

// The batteries of the machine itself, without those of a mouse and the like.
std::vector<std::string> batteries_of(const Sysfs& sysfs, const std::string& filter) {
  std::vector<std::string> found;
  for (const std::string& name : sysfs.names(kSupplies))
    if (sysfs.text(file_of(name, "type")) == "Battery" && sysfs.text(file_of(name, "scope")) != "Device" &&
        sysfs.text(file_of(name, "present")) != "0" && (filter.empty() || filter == name))
      found.push_back(name);
  return found;
}

// What feeds the machine beside its batteries; "": nothing.
std::string other_feed(const Sysfs& sysfs, const std::vector<std::string>& batteries) {
  for (const std::string& name : sysfs.names(kSupplies))
    if (const std::string type = sysfs.text(file_of(name, "type"));
        (type == "Mains" || type == "USB") && sysfs.text(file_of(name, "online")) == "1")
      return name + " is plugged in";
  bool drains = false;
  for (const std::string& name : batteries) {
    const std::string status = sysfs.text(file_of(name, "status"));
    if (status == "Charging") return name + " is being charged";
    drains |= status == "Discharging";
  }
  return drains ? "" : fmt::format("no battery is discharging ({})", sysfs.text(file_of(batteries.front(), "status")));
}

// Some drivers count a discharge as negative.
Result<double> size_of_file(const Sysfs& sysfs, const std::string& path, double unit) {
  PANTOUM_ASSIGN(const int64_t value, sysfs.whole(path));
  return std::abs(static_cast<double>(value)) * unit;
}

Rail watts_rail(const Sysfs& sysfs, const std::string& name) {
  if (sysfs.whole(file_of(name, "power_now")))
    return {.name = name,
            .watts = [sysfs, path = file_of(name, "power_now")] { return size_of_file(sysfs, path, 1e-6); }};
  return {.name = name, .watts = [sysfs, name]() -> Result<Watts> {
            PANTOUM_ASSIGN(const double amperes, size_of_file(sysfs, file_of(name, "current_now"), 1e-6));
            PANTOUM_ASSIGN(const double volts, size_of_file(sysfs, file_of(name, "voltage_now"), 1e-6));
            return amperes * volts;
          }};
}

constexpr Joules kStep = 1e-3;
constexpr double kMostJoules = 1e9;  // of a battery; the rail counts this less what the battery holds

// Counts what has left a battery, in steps of kStep: from energy_now, or from charge_now at the voltage of the beginning.
Rail drained_rail(const Sysfs& sysfs, const std::string& name) {
  auto left = [sysfs, name, volts = 0.0]() mutable -> Result<Joules> {
    if (sysfs.exists(file_of(name, "energy_now"))) return size_of_file(sysfs, file_of(name, "energy_now"), 3600e-6);
    PANTOUM_ASSIGN(const double coulombs, size_of_file(sysfs, file_of(name, "charge_now"), 3600e-6));
    if (volts == 0) {
      PANTOUM_ASSIGN(volts, size_of_file(sysfs, file_of(name, "voltage_now"), 1e-6));
    }
    return coulombs * volts;
  };
  return {.name = name,
          .count = [left, name]() mutable -> Result<uint64_t> {
            PANTOUM_ASSIGN(const Joules joules, left());
            if (!(joules <= kMostJoules))
              return fail("E0909", fmt::format("{} holds {} J, which no battery does", name, joules), {},
                          "its driver is at fault");
            return static_cast<uint64_t>((kMostJoules - joules) / kStep);
          },
          .joules_per_count = kStep};
}

bool tells_watts(const Sysfs& sysfs, const std::string& name) {
  return sysfs.whole(file_of(name, "power_now")) ||
         (sysfs.whole(file_of(name, "current_now")) && sysfs.whole(file_of(name, "voltage_now")));
}

bool tells_charge(const Sysfs& sysfs, const std::string& name) {
  return sysfs.whole(file_of(name, "energy_now")) ||
         (sysfs.whole(file_of(name, "charge_now")) && sysfs.whole(file_of(name, "voltage_now")));
}

Result<void> check_feed(const Sysfs& sysfs, const std::vector<std::string>& batteries, const char* code) {
  const std::string feed = other_feed(sysfs, batteries);
  if (feed.empty()) return {};
  return fail(code, "a battery measures only what it alone gives: " + base::one_line(feed), {},
              "unplug the machine and measure again");
}

}  // namespace

Result<MeterSource> battery_source(const MeterPlace& place, const std::string& filter) {
  const Sysfs sysfs(place.root);
  const std::vector<std::string> batteries = batteries_of(sysfs, filter);
  if (batteries.empty())
    return fail("E0272", filter.empty() ? "the machine has no battery" : "no battery " + base::one_line(filter), {},
                "'ls /sys/class/power_supply' names them");
  PANTOUM_TRY(check_feed(sysfs, batteries, "E0272"));
  MeterSource source{.kind = MeterKind::kBattery, .word = filter.empty() ? "battery" : "battery:" + filter};
  bool counts = false;
  for (const std::string& name : batteries) {
    const bool power = tells_watts(sysfs, name);
    if (!power && !tells_charge(sysfs, name))
      return fail("E0272", fmt::format("{} tells neither power, current, energy nor charge", base::one_line(name)), {},
                  "its driver lacks them");
    counts |= !power;
    source.rails.push_back(power ? watts_rail(sysfs, name) : drained_rail(sysfs, name));
  }
  source.label = base::one_line(
      fmt::format("battery gauge ({}{})", fmt::join(batteries, ", "), counts ? ", by its charge" : ", by its power"));
  source.update_s = counts ? 10 : 1;  // as most gauges are written
  source.period_s = 0.5;
  source.most_w = 2000;
  source.check = [sysfs, batteries] { return check_feed(sysfs, batteries, "E0909"); };
  return source;
}

}  // namespace pantoum::cost
