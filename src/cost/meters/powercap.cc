#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>

#include "base/foreign_text.h"
#include "cost/meters/meter.h"

namespace pantoum::cost {
namespace {

constexpr const char* kZones = "/sys/class/powercap/";

struct Zone {
  std::string folder, name;  // "intel-rapl:0:2", "dram"
};

// The zones "intel-rapl:0", "intel-rapl:0:2"; without intel-rapl-mmio:0, which counts the package a second time.
std::vector<Zone> zones_of(const Sysfs& sysfs) {
  std::vector<Zone> zones;
  for (const std::string& folder : sysfs.names(kZones))
    if (folder.starts_with("intel-rapl:")) zones.push_back({folder, sysfs.text(kZones + folder + "/name")});
  return zones;
}

std::vector<Zone> named(const std::vector<Zone>& zones, const std::string& prefix) {
  std::vector<Zone> found;
  std::copy_if(zones.begin(), zones.end(), std::back_inserter(found),
               [&](const Zone& zone) { return zone.name.starts_with(prefix); });
  return found;
}

// The zones to count, of which no two count the same joules: cores are part of packages, and everything is part of psys.
std::vector<Zone> counted_zones(const std::vector<Zone>& zones, const std::string& filter) {
  if (!filter.empty()) return named(zones, filter);
  std::vector<Zone> counted = named(zones, "package");
  if (counted.empty()) return named(zones, "psys");
  const std::vector<Zone> memory = named(zones, "dram");
  counted.insert(counted.end(), memory.begin(), memory.end());
  return counted;
}

Failure no_permission(const Sysfs& sysfs, const Zone& zone) {
  const std::string path = sysfs.path(kZones + zone.folder + "/energy_uj");
  return fail("E0272",
              fmt::format("RAPL is there, but {} may be read by root alone, as since CVE-2020-8694 on every Linux (its "
                          "fine steps tell of other users' secrets)",
                          path),
              {},
              "run as root, or 'sudo chmod a+r " + base::shell_word(path) +
                  "' until the next start; for good a udev rule: SUBSYSTEM==\"powercap\", ACTION==\"add\", "
                  "RUN+=\"/bin/chmod a+r /sys%p/energy_uj\"");
}

Result<Rail> rail_of(const Sysfs& sysfs, const Zone& zone) {
  const std::string path = kZones + zone.folder + "/energy_uj";
  if (const int error = sysfs.read(path).error; error == EACCES || error == EPERM) return no_permission(sysfs, zone);
  const Result<uint64_t> range = sysfs.count(kZones + zone.folder + "/max_energy_range_uj");
  if (!range || *range == 0)
    return fail("E0272", fmt::format("{} does not tell where its counter wraps (max_energy_range_uj)", zone.folder), {},
                "try --meter perf");
  if (const Result<uint64_t> now = sysfs.count(path); !now)
    return fail("E0272", now.error().message, {}, now.error().help);
  return Rail{.name = zone.name,
              .count = [sysfs, path] { return sysfs.count(path); },
              .joules_per_count = 1e-6,
              .range = *range};
}

}  // namespace

Result<MeterSource> powercap_source(const MeterPlace& place, const std::string& filter) {
  const Sysfs sysfs(place.root);
  const std::vector<Zone> zones = zones_of(sysfs);
  if (zones.empty())
    return fail("E0272", fmt::format("{}{} has no zone of RAPL", place.root, kZones), {},
                "RAPL is a feature of Intel's and AMD's processors that virtual machines do not show; 'modprobe "
                "intel_rapl_msr' loads its driver");
  std::vector<std::string> names;
  MeterSource source{.kind = MeterKind::kPowercap, .word = filter.empty() ? "powercap" : "powercap:" + filter};
  Joules smallest = 1e18;
  for (const Zone& zone : counted_zones(zones, filter)) {
    PANTOUM_ASSIGN(Rail rail, rail_of(sysfs, zone));
    smallest = std::min(smallest, static_cast<double>(rail.range) * rail.joules_per_count);
    names.push_back(zone.name);
    source.rails.push_back(std::move(rail));
  }
  if (names.empty()) {
    for (const Zone& zone : zones) names.push_back(base::one_line(zone.name));
    return fail("E0272", fmt::format("RAPL has no zone '{}'", filter.empty() ? "package" : base::one_line(filter)), {},
                fmt::format("it has {}", fmt::join(names, ", ")));
  }
  source.label = base::one_line(fmt::format("RAPL by powercap ({})", fmt::join(names, ", ")));
  source.period_s = std::clamp(smallest / source.most_w / 4, 0.01, 5.0);  // much shorter than the time of one wrap
  return source;
}

}  // namespace pantoum::cost
