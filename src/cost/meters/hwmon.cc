#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "base/foreign_text.h"
#include "cost/meters/meter.h"

namespace pantoum::cost {
namespace {

constexpr const char* kHwmon = "/sys/class/hwmon/";
constexpr int64_t kMostInterval = 60'000;  // ms
constexpr Seconds kOwnInterval = 0.01;     // assumed for a chip that does not tell its interval
constexpr const char* kIio = "/sys/bus/iio/devices/";

struct Chip {
  std::string name;
  std::vector<Rail> rails;
  Seconds update_s = 0;  // as the driver says; 0: it does not
};

// Rails that feed a whole module, so that the other rails are part of them: Jetson Xavier NX, Orin Nano and NX; TX2; Nano.
constexpr std::array<std::string_view, 4> kTotals{"VDD_IN", "POM_5V_IN", "POM_VDD_IN", "VDD_TOTAL"};

bool is_total(const std::string& name) {
  return std::find(kTotals.begin(), kTotals.end(), name) != kTotals.end();
}

// The name of the rail "/sys/.../power1": the text of power1_label, else of in1_label, else "power1".
std::string label_of(const Sysfs& sysfs, const std::string& channel) {
  const std::string name = channel.substr(channel.rfind('/') + 1), label = sysfs.text(channel + "_label");
  if (!label.empty()) return label;
  const std::string number = name.substr(std::min(name.find_first_of("0123456789"), name.size()));
  const std::string of_volts = sysfs.text(channel.substr(0, channel.size() - name.size()) + "in" + number + "_label");
  return of_volts.empty() ? name : of_volts;
}

// "/sys/.../energy1" of "energy1_input"; "": another file.
std::string channel_of(const std::string& folder, const std::string& file, std::string_view kind,
                       std::string_view suffix) {
  if (!file.starts_with(kind) || !file.ends_with(suffix) || file.size() <= kind.size() + suffix.size()) return {};
  return folder + file.substr(0, file.size() - suffix.size());
}

Rail watts_of_file(const Sysfs& sysfs, std::string name, std::string path, double unit) {
  return {.name = std::move(name), .watts = [sysfs, path = std::move(path), unit]() -> Result<Watts> {
            PANTOUM_ASSIGN(const int64_t value, sysfs.whole(path));
            return static_cast<double>(value) * unit;
          }};
}

// Millivolts times milliamperes.
Rail watts_of_product(const Sysfs& sysfs, std::string name, std::string volts, std::string amperes) {
  return {.name = std::move(name),
          .watts = [sysfs, volts = std::move(volts), amperes = std::move(amperes)]() -> Result<Watts> {
            PANTOUM_ASSIGN(const int64_t millivolts, sysfs.whole(volts));
            PANTOUM_ASSIGN(const int64_t milliamperes, sysfs.whole(amperes));
            return static_cast<double>(millivolts) * 1e-3 * static_cast<double>(milliamperes) * 1e-3;
          }};
}

// The rails of a chip: energy where it has that, else power, else voltage times current; the same for all its rails.
std::vector<Rail> rails_of_chip(const Sysfs& sysfs, const std::string& folder) {
  std::vector<Rail> energy, power, product;
  for (const std::string& file : sysfs.names(folder)) {
    if (const std::string channel = channel_of(folder, file, "energy", "_input"); !channel.empty())
      energy.push_back({.name = label_of(sysfs, channel),
                        .count = [sysfs, path = channel + "_input"] { return sysfs.count(path); },
                        .joules_per_count = 1e-6});
    for (const char* suffix : {"_input", "_average"})
      if (const std::string channel = channel_of(folder, file, "power", suffix); !channel.empty())
        if (power.empty() || power.back().name != label_of(sysfs, channel))
          power.push_back(watts_of_file(sysfs, label_of(sysfs, channel), channel + suffix, 1e-6));
    const std::string channel = channel_of(folder, file, "curr", "_input");
    if (channel.empty()) continue;
    const std::string volts = folder + "in" + channel.substr(folder.size() + 4);
    if (sysfs.text(channel + "_enable") != "0" && sysfs.text(volts + "_enable") != "0" &&
        sysfs.exists(volts + "_input"))
      product.push_back(watts_of_product(sysfs, label_of(sysfs, channel), volts + "_input", channel + "_input"));
  }
  return !energy.empty() ? energy : !power.empty() ? power : product;
}

// The driver of Jetson TX1, TX2 and Nano with Linux 4: rail_name_0 and in_power0_input, in mW.
std::vector<Rail> rails_of_iio(const Sysfs& sysfs, const std::string& folder) {
  std::vector<Rail> rails;
  for (int channel = 0; channel < 3; ++channel) {
    const std::string path = fmt::format("{}in_power{}_input", folder, channel);
    const std::string name = sysfs.text(fmt::format("{}rail_name_{}", folder, channel));
    if (sysfs.exists(path) && !name.empty() && name != "NC") rails.push_back(watts_of_file(sysfs, name, path, 1e-3));
  }
  return rails;
}

std::vector<Chip> chips_of(const Sysfs& sysfs) {
  std::vector<Chip> chips;
  const auto add = [&](const std::string& name, std::vector<Rail> rails, Seconds update = 0) {
    if (!rails.empty()) chips.push_back({name, std::move(rails), update});
  };
  for (const std::string& entry : sysfs.names(kHwmon)) {
    const std::string folder = kHwmon + entry + "/";
    const int64_t milliseconds = sysfs.whole(folder + "update_interval").value_or(0);
    add(sysfs.text(folder + "name"), rails_of_chip(sysfs, folder),
        milliseconds > 0 && milliseconds < kMostInterval ? static_cast<double>(milliseconds) * 1e-3 : 0);
  }
  for (const std::string& entry : sysfs.names(kIio)) {
    const std::string folder = kIio + entry + "/";
    const std::string name = sysfs.text(folder + "name");
    if (name.starts_with("ina3221")) add("ina3221", rails_of_iio(sysfs, folder));
  }
  return chips;
}

bool any_begins(const std::vector<Rail>& rails, std::string_view prefix) {
  return std::any_of(rails.begin(), rails.end(), [&](const Rail& rail) { return rail.name.starts_with(prefix); });
}

// Leaves out rails that are part of others: where there are totals all but those; where there are sockets their cores (amd_energy);
// where there is a card its package (xe, i915); and sums of shunt voltages.
std::vector<Rail> apart(std::vector<Rail> rails) {
  const bool totals = std::any_of(rails.begin(), rails.end(), [](const Rail& rail) { return is_total(rail.name); });
  const bool sockets = any_begins(rails, "Esocket"), card = any_begins(rails, "card");
  std::erase_if(rails, [&](const Rail& rail) {
    return (totals && !is_total(rail.name)) || (sockets && rail.name.starts_with("Ecore")) ||
           (card && rail.name.starts_with("pkg")) || rail.name.starts_with("sum of");
  });
  return rails;
}

Result<std::vector<Rail>> chosen(std::vector<Rail> rails, std::string labels) {
  if (labels.empty()) return apart(std::move(rails));
  std::vector<Rail> found;
  while (!labels.empty()) {
    const size_t end = std::min(labels.find('+'), labels.size());
    const std::string label = labels.substr(0, end);
    labels.erase(0, std::min(end + 1, labels.size()));
    const auto at = std::find_if(rails.begin(), rails.end(), [&](const Rail& rail) { return rail.name == label; });
    if (at == rails.end()) {
      std::vector<std::string> names;
      std::transform(rails.begin(), rails.end(), std::back_inserter(names),
                     [](const Rail& rail) { return base::one_line(rail.name); });
      return fail("E0272", fmt::format("no rail '{}'", base::one_line(label)), {},
                  fmt::format("the chip has {}", fmt::join(names, ", ")));
    }
    if (std::any_of(found.begin(), found.end(), [&](const Rail& rail) { return rail.name == label; }))
      return fail("E0272",
                  fmt::format("the rail '{}' is named twice, and would be counted twice", base::one_line(label)), {},
                  "name each rail once");
    found.push_back(*at);
  }
  return found;
}

// The longest interval of the chips of that name.
Seconds update_of(const std::vector<Chip>& chips, const std::string& name) {
  Seconds update = 0;
  for (const Chip& chip : chips)
    if (chip.name == name) update = std::max(update, chip.update_s);
  return update;
}

// Rails of all chips of that name: a Jetson has two INA3221s.
std::vector<Rail> rails_named(std::vector<Chip>& chips, const std::string& name) {
  std::vector<Rail> rails;
  for (Chip& chip : chips)
    if (chip.name == name) std::move(chip.rails.begin(), chip.rails.end(), std::back_inserter(rails));
  return rails;
}

Result<std::string> chip_asked(const std::vector<Chip>& chips, const std::string& asked) {
  std::vector<std::string> names;
  for (const Chip& chip : chips)
    if (std::find(names.begin(), names.end(), chip.name) == names.end()) names.push_back(chip.name);
  if (names.empty())
    return fail("E0272", "no chip of hwmon tells energy, power, or voltage and current", {},
                "a driver (ina3221, ina2xx) shows what a board measures");
  const auto has = [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (!asked.empty() && has(asked)) return asked;
  if (asked.empty() && has("ina3221")) return std::string("ina3221");
  if (asked.empty() && names.size() == 1) return names.front();
  const std::string listed = base::one_line(fmt::format("{}", fmt::join(names, ", ")));
  if (asked.empty())
    return fail("E0272", "several chips measure, and which feeds the processor is not known: " + listed, {},
                "name one: --meter hwmon:CHIP");
  return fail("E0272", fmt::format("no chip '{}' measures", base::one_line(asked)), {}, "these do: " + listed);
}

Result<void> check_rail(const Rail& rail) {
  std::optional<Error> error;
  if (rail.count) {
    if (const auto read = rail.count(); !read) error = read.error();
  } else if (const auto read = rail.watts(); !read) {
    error = read.error();
  }
  return error ? Result<void>(fail("E0272", error->message, {}, error->help)) : Result<void>{};
}

}  // namespace

Result<MeterSource> hwmon_source(const MeterPlace& place, const std::string& filter) {
  const Sysfs sysfs(place.root);
  const size_t slash = std::min(filter.find('/'), filter.size());
  std::vector<Chip> chips = chips_of(sysfs);
  PANTOUM_ASSIGN(const std::string chip, chip_asked(chips, filter.substr(0, slash)));
  MeterSource source{.kind = MeterKind::kHwmon};
  PANTOUM_ASSIGN(source.rails, chosen(rails_named(chips, chip), filter.substr(std::min(slash + 1, filter.size()))));
  std::vector<std::string> names;
  bool power = false;
  for (const Rail& rail : source.rails) {
    PANTOUM_TRY(check_rail(rail));
    names.push_back(rail.name);
    power |= !rail.count;
  }
  if (names.empty())
    return fail("E0272", fmt::format("{} has no rail that can be counted", base::one_line(chip)), {},
                "name rails: --meter hwmon:CHIP/LABEL");
  source.word = filter.empty() ? "hwmon:" + chip : "hwmon:" + filter;
  source.label = base::one_line(fmt::format("hwmon {} ({})", chip, fmt::join(names, ", ")));
  const Seconds update = update_of(chips, chip);
  source.update_s = update > 0 ? update : power ? kOwnInterval : 1e-3;
  source.period_s = power ? std::clamp(source.update_s / 2, kOwnInterval / 2, 1.0) : 1;
  return source;
}

}  // namespace pantoum::cost
