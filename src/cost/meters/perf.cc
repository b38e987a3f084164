#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/foreign_text.h"
#include "cost/meters/meter.h"

namespace pantoum::cost {
namespace {

constexpr const char* kPmu = "/sys/bus/event_source/devices/power/";
constexpr int kMostCpus = 1 << 16;

struct PerfEvent {
  std::string name;
  uint64_t config = 0;
  Joules scale = 0;
};

// "0,28", "0-1" -> cpus; empty where it is no such list.
std::vector<int> cpus_of(const std::string& text) {
  std::vector<int> cpus;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    int first = -1, last = -1;
    auto read = std::from_chars(at, end, first);
    last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || first < 0 || last < first || last >= kMostCpus) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    at = read.ptr;
    if (at != end && (*at++ != ',' || at == end)) return {};
  }
  return cpus;
}

// "event=0x02" and a scale in joules; none where the file says anything else.
std::optional<PerfEvent> event_of(const Sysfs& sysfs, const std::string& name) {
  const std::string path = kPmu + std::string("events/energy-") + name;
  const std::string text = sysfs.text(path), scale = sysfs.text(path + ".scale");
  PerfEvent event{.name = name};
  if (!text.starts_with("event=0x") || sysfs.text(path + ".unit") != "Joules") return {};
  const char* end = text.data() + text.size();
  const auto config = std::from_chars(text.data() + 8, end, event.config, 16);
  if (config.ec != std::errc() || config.ptr != end || event.config > 0xff) return {};
  const auto read = std::from_chars(scale.data(), scale.data() + scale.size(), event.scale);
  if (read.ec != std::errc() || !std::isfinite(event.scale) || event.scale <= 0) return {};
  return event;
}

std::vector<PerfEvent> counted_events(const Sysfs& sysfs, const std::string& filter) {
  std::vector<PerfEvent> events;
  const auto add = [&](const std::string& name) {
    if (const auto event = event_of(sysfs, name)) events.push_back(*event);
  };
  if (!filter.empty()) return add(filter), events;
  add("pkg");
  add(events.empty() ? "psys" : "ram");  // the platform holds the packages, the memory is beside them
  return events;
}

// Descriptors that close themselves when the last rail is gone.
struct OpenCounter {
  OpenCounter(PerfCalls perf, int of) : calls(std::move(perf)), descriptor(of) {}
  OpenCounter(const OpenCounter&) = delete;
  OpenCounter& operator=(const OpenCounter&) = delete;
  ~OpenCounter() { calls.close(descriptor); }
  PerfCalls calls;
  int descriptor;
};

Failure perf_refusal(const Sysfs& sysfs, int error) {
  if (error != EACCES && error != EPERM)
    return fail("E0272", fmt::format("perf_event_open of power/energy-pkg/: {}", std::strerror(error)), {},
                "try --meter powercap");
  const std::string level = sysfs.text("/proc/sys/kernel/perf_event_paranoid");
  return fail("E0272",
              fmt::format("perf's energy counters belong to the whole machine, and kernel.perf_event_paranoid is {}: "
                          "only root and CAP_PERFMON may read them above 0",
                          level.empty() ? "not known" : base::one_line(level)),
              {}, "run as root, 'setcap cap_perfmon+ep' the program, or 'sudo sysctl kernel.perf_event_paranoid=0'");
}

Result<Rail> rail_of_event(const MeterPlace& place, const PerfEvent& event, uint32_t type, int cpu, bool many) {
  const int descriptor = place.perf.open(type, event.config, cpu);
  if (descriptor < 0) return perf_refusal(Sysfs(place.root), -descriptor);
  const auto counter = std::make_shared<OpenCounter>(place.perf, descriptor);
  const std::string name = event.name + (many ? fmt::format(" of cpu {}", cpu) : "");
  return Rail{.name = name,
              .count = [counter, name]() -> Result<uint64_t> {
                uint64_t count = 0;
                if (const int error = counter->calls.read(counter->descriptor, count); error < 0)
                  return fail("E0909", fmt::format("perf's {} cannot be read: {}", name, std::strerror(-error)), {},
                              "its processor may have been taken offline: measure again");
                return count;
              },
              .joules_per_count = event.scale};
}

}  // namespace

PerfCalls PerfCalls::system() {
  return {.open = [](uint32_t type, uint64_t config, int cpu) -> int {
            perf_event_attr wanted{};
            wanted.size = sizeof wanted, wanted.type = type, wanted.config = config;
            const long got = ::syscall(SYS_perf_event_open, &wanted, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
            return got < 0 ? -errno : static_cast<int>(got);
          },
          .read = [](int descriptor, uint64_t& count) -> int {
            const ssize_t got = ::read(descriptor, &count, sizeof count);
            return got == sizeof count ? 0 : got < 0 ? -errno : -EIO;
          },
          .close = [](int descriptor) { ::close(descriptor); }};
}

Result<MeterSource> perf_source(const MeterPlace& place, const std::string& filter) {
  const Sysfs sysfs(place.root);
  const Result<uint64_t> type = sysfs.count(std::string(kPmu) + "type");
  const std::vector<int> cpus = cpus_of(sysfs.text(std::string(kPmu) + "cpumask"));
  if (!type || *type > UINT32_MAX || cpus.empty())
    return fail("E0272", fmt::format("{}{} is not there: perf knows no energy counters", place.root, kPmu), {},
                "they come with RAPL on Intel, and on AMD from Linux 5.8 on; virtual machines do not show them");
  MeterSource source{.kind = MeterKind::kPerf, .word = filter.empty() ? "perf" : "perf:" + filter};
  std::vector<std::string> names;
  for (const PerfEvent& event : counted_events(sysfs, filter)) {
    names.push_back("energy-" + event.name);
    for (const int cpu : cpus) {
      PANTOUM_ASSIGN(Rail rail, rail_of_event(place, event, static_cast<uint32_t>(*type), cpu, cpus.size() > 1));
      source.rails.push_back(std::move(rail));
    }
  }
  if (names.empty())
    return fail("E0272", fmt::format("perf has no event energy-{}", filter.empty() ? "pkg" : base::one_line(filter)),
                {}, "'perf list' names those of power/");
  source.label = fmt::format("RAPL by perf ({}{})", fmt::join(names, ", "),
                             cpus.size() > 1 ? fmt::format(", {} packages", cpus.size()) : "");
  source.period_s = 5;
  return source;
}

}  // namespace pantoum::cost
