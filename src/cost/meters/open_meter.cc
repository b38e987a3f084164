#include "cost/meters/open_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/foreign_text.h"
#include "cost/meters/recording.h"

namespace pantoum::cost {
namespace {

struct KindOfMeter {
  const char* word;
  Result<MeterSource> (*source)(const MeterPlace&, const std::string& filter);
  bool automatic;  // "auto" may choose it: it measures the processor
};

constexpr std::array<KindOfMeter, 5> kKinds{{{"powercap", powercap_source, true},
                                             {"perf", perf_source, true},
                                             {"hwmon", hwmon_source, true},
                                             {"battery", battery_source, true},
                                             {"nvml", nvml_source, false}}};

const KindOfMeter* kind_of(const std::string& word) {
  const std::string name = word.substr(0, word.find(':'));
  const auto* at =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const KindOfMeter& kind) { return name == kind.word; });
  return at == kKinds.end() ? nullptr : at;
}

std::unique_ptr<EnergyMeter> meter_of(MeterSource source, const MeterPlace& place) {
  return std::make_unique<EnergyMeter>(std::move(source), place.clock, place.sampling_thread);
}

// "auto" takes a chip of hwmon only where it is known to measure what feeds the processor.
bool feeds_processor(const MeterSource& source) {
  return source.kind != MeterKind::kHwmon || source.word.starts_with("hwmon:ina3221") ||
         source.word.starts_with("hwmon:amd_energy");
}

Result<std::unique_ptr<EnergyMeter>> first_meter(const MeterPlace& place) {
  std::vector<std::string> reasons;
  for (const KindOfMeter& kind : kKinds) {
    if (!kind.automatic) continue;
    Result<MeterSource> source = kind.source(place, "");
    if (source && feeds_processor(*source)) return meter_of(*std::move(source), place);
    reasons.push_back(
        fmt::format("{}: {}", kind.word,
                    source ? source->label + ": what it feeds is not known; name it" : source.error().message));
  }
  return fail("E0272", "no meter of this machine can be read", {},
              "energy is modelled without one; docs/energy.md says what each needs", std::move(reasons));
}

}  // namespace

const std::vector<std::string>& meter_words() {
  static const std::vector<std::string> kWords{"auto", "powercap", "perf", "hwmon", "battery", "nvml"};
  return kWords;
}

Result<std::unique_ptr<EnergyMeter>> open_meter(const std::string& word, const MeterPlace& place) {
  if (is_recording(word))
    return fail("E0124", "a recording is read when all is over, so that nothing can be repeated by it", {},
                "use a meter of this machine, or --meter csv:... with train");
  if (word == "auto") return first_meter(place);
  const KindOfMeter* kind = kind_of(word);
  if (!kind)
    return fail("E0124", fmt::format("'{}' is no meter", base::one_line(word)), {},
                "use auto, powercap, perf, hwmon, battery, nvml or csv:FILE; pantoum doctor tells which there are");
  const size_t colon = word.find(':');
  PANTOUM_ASSIGN(MeterSource source, kind->source(place, colon == std::string::npos ? "" : word.substr(colon + 1)));
  return meter_of(std::move(source), place);
}

std::vector<MeterFinding> find_meters(const MeterPlace& place) {
  std::vector<MeterFinding> found;
  for (const KindOfMeter& kind : kKinds) {
    const Result<MeterSource> source = kind.source(place, "");
    found.push_back({.word = kind.word,
                     .usable = source.has_value(),
                     .label = source ? source->label : source.error().message,
                     .help = source ? "" : source.error().help});
  }
  return found;
}

}  // namespace pantoum::cost
