#include "host/processors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>

namespace pantoum::host {
namespace {

constexpr double kAlike = 0.75;             // of the fastest of a cluster
constexpr long kMostSpeed = 1'000'000'000;  // kHz, or capacity
constexpr size_t kMostText = 4096;          // of a file of sysfs: a page

// The beginning of a file; empty: there is none.
std::string text_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostText, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::optional<int> whole(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool good = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return good ? std::optional(number) : std::nullopt;
}

std::optional<double> speed_in(const std::string& path) {
  const std::optional<int> speed = whole(text_in(path));
  return speed && *speed > 0 && *speed <= kMostSpeed ? std::optional<double>(*speed) : std::nullopt;
}

// The processors of "0-3,8"; nothing: the text is no such list.
std::optional<std::set<int>> processors_in(const std::string& path) {
  std::set<int> processors;
  const std::string text = text_in(path);
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view range = rest.substr(0, comma);
    const size_t dash = std::min(range.find('-'), range.size());
    const std::optional<int> first = whole(range.substr(0, dash));
    const std::optional<int> last = dash < range.size() ? whole(range.substr(dash + 1)) : first;
    if (!first || !last || *last < *first || *last >= CPU_SETSIZE) return std::nullopt;
    for (int processor = *first; processor <= *last; ++processor) processors.insert(processor);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return processors.empty() ? std::nullopt : std::optional(std::move(processors));
}

// The speed of each; nothing: one does not have it.
std::optional<std::vector<double>> speeds_of(const std::vector<int>& processors, const std::string& root,
                                             const char* file) {
  std::vector<double> speeds;
  for (const int processor : processors) {
    const std::optional<double> speed = speed_in(fmt::format("{}/system/cpu/cpu{}/{}", root, processor, file));
    if (!speed) return std::nullopt;
    speeds.push_back(*speed);
  }
  return speeds;
}

struct Processor {
  int number = 0;
  bool small = false;  // of an x86 hybrid
  double speed = 1;
};

// Sorted: kinds apart, the fastest of a kind first. Empty: not all speeds are told.
std::vector<Processor> by_speed(const std::vector<int>& processors, const std::string& root) {
  std::optional<std::vector<double>> speeds = speeds_of(processors, root, "cpu_capacity");
  if (!speeds) speeds = speeds_of(processors, root, "cpufreq/cpuinfo_max_freq");
  if (!speeds) return {};
  const std::optional<std::set<int>> small = processors_in(root + "/cpu_atom/cpus"),
                                     big = processors_in(root + "/cpu_core/cpus");
  std::vector<Processor> all;
  for (size_t at = 0; at < processors.size(); ++at)
    all.push_back({processors[at], big && small && small->contains(processors[at]), (*speeds)[at]});
  std::ranges::stable_sort(
      all, [](const Processor& a, const Processor& b) { return a.small != b.small ? b.small : a.speed > b.speed; });
  return all;
}

double computes(const Cluster& cluster) {
  return cluster.slowest * static_cast<double>(cluster.processors.size());
}

cpu_set_t set_of(std::span<const int> processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors)
    if (processor >= 0 && processor < CPU_SETSIZE) CPU_SET(static_cast<size_t>(processor), &set);
  return set;
}

}  // namespace

std::vector<int> allowed_processors() {
  std::vector<int> processors;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(static_cast<size_t>(processor), &set)) processors.push_back(processor);
  return processors;
}

std::vector<Cluster> clusters_of(const std::vector<int>& processors, const std::string& root) {
  const std::vector<Processor> sorted = by_speed(processors, root);
  if (sorted.empty()) return {{processors, 1}};
  std::vector<Cluster> clusters;
  double fastest = 0;
  bool small = false;
  for (const Processor& each : sorted) {
    if (clusters.empty() || each.small != small || each.speed < kAlike * fastest) {
      clusters.emplace_back();
      fastest = each.speed;
      small = each.small;
    }
    clusters.back().processors.push_back(each.number);
    clusters.back().slowest = each.speed;
  }
  for (Cluster& cluster : clusters) std::ranges::sort(cluster.processors);
  std::ranges::stable_sort(clusters, std::ranges::greater(), computes);
  return clusters;
}

Team team_on(std::span<const Cluster> clusters, int threads) {
  const auto wanted = static_cast<size_t>(threads);
  Team team;
  if (clusters.size() < 2) return Team(wanted);
  std::vector<const Cluster*> order;
  for (const Cluster& cluster : clusters) order.push_back(&cluster);
  std::stable_sort(order.begin() + 1, order.end(),
                   [](const Cluster* a, const Cluster* b) { return a->slowest > b->slowest; });
  for (const Cluster* const cluster : order)
    for (size_t at = 0; at < cluster->processors.size() && team.size() < wanted; ++at)
      team.push_back({cluster->processors, cluster->slowest});
  return team.size() == wanted ? team : Team(wanted);
}

Team team_of(int threads) {
  return team_on(clusters_of(allowed_processors()), threads);
}

Team team_on_processors(std::span<const Cluster> clusters, std::span<const int> processors, int threads) {
  Team places;
  std::vector<int> given;
  double slowest = 0;
  if (clusters.size() < 2) return Team(static_cast<size_t>(threads));
  for (const Cluster& cluster : clusters)
    for (const int processor : cluster.processors)
      if (std::ranges::find(processors, processor) != processors.end()) {
        given.push_back(processor);
        slowest = slowest > 0 ? std::min(slowest, cluster.slowest) : cluster.slowest;
      }
  if (given.empty()) return Team(static_cast<size_t>(threads));
  std::ranges::sort(given);
  return Team(static_cast<size_t>(threads), Place{given, slowest});
}

Team team_on_processors(std::span<const int> processors, int threads) {
  return team_on_processors(clusters_of(allowed_processors()), processors, threads);
}

std::vector<int> processors_of(const Team& team) {
  std::set<int> all;
  for (const Place& place : team) {
    if (place.processors.empty()) return {};
    all.insert(place.processors.begin(), place.processors.end());
  }
  return {all.begin(), all.end()};
}

bool has_equal_shares(const Team& team) {
  return std::ranges::all_of(team, [&](const Place& place) { return place.share == team.front().share; });
}

std::string name_of(std::span<const int> processors) {
  std::string name;
  for (size_t at = 0; at < processors.size();) {
    size_t end = at + 1;
    while (end < processors.size() && processors[end] == processors[end - 1] + 1) ++end;
    name += fmt::format("{}cpu{}", name.empty() ? "" : ",", processors[at]);
    if (end - at > 1) name += fmt::format("-{}", processors[end - 1]);
    at = end;
  }
  return name;
}

void stay_on(std::span<const int> processors) {
  if (processors.empty()) return;
  const cpu_set_t set = set_of(processors);
  (void)::sched_setaffinity(0, sizeof set, &set);
}

StayOn::StayOn(std::span<const int> processors) {
  if (processors.empty() || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  stay_on(processors);
  moved_ = true;
}

StayOn::~StayOn() {
  if (moved_) (void)::sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace pantoum::host
