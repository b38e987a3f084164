// Opens a meter by its word, and lists the meters of a machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cost/meters/meter.h"

namespace pantoum::cost {

// "powercap", "perf", "nvml", "hwmon", "battery", each also with a colon and a filter (meter.h); "auto": the first of
// powercap, perf, hwmon and battery that works (never a GPU, because nothing is computed on it).
//   errors  E0272 there is no such meter here, or it may not be read: with what to do; for "auto" the notes give each meter's reason;
//           E0124 an unknown word, or the word of a recording, which is read when the run is over (recording.h)
[[nodiscard]] Result<std::unique_ptr<EnergyMeter>> open_meter(const std::string& word, const MeterPlace& place = {});

struct MeterFinding {
  std::string word;  // "powercap"
  bool usable = false;
  std::string label;  // the meter's label; where it cannot be used, why
  std::string help;   // what to do about it
};

// One for each kind of meter.
[[nodiscard]] std::vector<MeterFinding> find_meters(const MeterPlace& place = {});

// The words, for help and completion.
[[nodiscard]] const std::vector<std::string>& meter_words();

}  // namespace pantoum::cost
