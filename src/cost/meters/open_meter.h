// Meters by their words, and what a machine has of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cost/meters/sources.h"

namespace pantoum::cost {

// "powercap", "perf", "nvml", "hwmon", "battery", each also with a colon and a filter (sources.h); "auto": the first of
// powercap, perf, hwmon and battery that works (never a GPU, on which nothing is computed). E0272 no such
// meter here, or one that may not be read, with what to do; of "auto" every meter's reason is a note. E0124 no such word,
// or that of a recording, which is read at its end (recording.h).
[[nodiscard]] Result<std::unique_ptr<EnergyMeter>> open_meter(const std::string& word, const MeterPlace& place = {});

struct MeterFinding {
  std::string word;  // "powercap"
  bool usable = false;
  std::string label;  // of a usable one; else why it is not
  std::string help;   // what to do about it
};

// One for each kind of meter.
[[nodiscard]] std::vector<MeterFinding> find_meters(const MeterPlace& place = {});

// The words, for help and completion.
[[nodiscard]] const std::vector<std::string>& meter_words();

}  // namespace pantoum::cost
