// A recording of current or power that an instrument made beside a run: a CSV file, read when all is over.
//
//   trigger  ____|‾‾‾‾‾‾|____|‾‾‾‾|___      windows: where the trigger is high; energy: the area below their samples
//   watts    ----.------.----.----.---      idle: what is before the first window
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "problem/cost_graph.h"

namespace pantoum::cost {

using problem::Joules;
using problem::Seconds;
using problem::Watts;

inline constexpr size_t kLongestRecordedLine = 1 << 16;  // bytes
inline constexpr size_t kMostRecordedColumns = 1 << 10;
inline constexpr size_t kMostRecordedWindows = 1 << 20;

// csv:FILE[,time=COL][,power=COL][,current=COL][,voltage=COL][,volts=3.3][,trigger=COL][,gap=SECONDS]
//         [,time_unit=ms][,power_unit=mW][,current_unit=uA][,voltage_unit=mV]
// COL: a column's name, #3 its number. What is not named is known by the names that instruments give their columns.
struct RecordingWord {
  std::string file, time, power, current, voltage, trigger;
  std::string time_unit, power_unit, current_unit, voltage_unit;
  std::optional<double> volts;
  std::optional<Seconds> gap_s;  // what may be bridged; without it ten sampling periods
};

[[nodiscard]] bool is_recording(const std::string& word);  // csv:...
// E0124 a key that is none or stands twice, no file, a unit or number that is none.
[[nodiscard]] Result<RecordingWord> read_recording_word(const std::string& word);

struct RecordedWindow {
  Seconds begin_s = 0, end_s = 0;  // on the recording's clock
  Joules joules = 0;
};

struct Recording {
  std::string label;  // "recording trace.csv (power in 'Power(mW)')"
  std::vector<RecordedWindow> windows;
  bool triggered = false;  // else the one window is all of it
  Seconds period_s = 0;    // the median one
  int64_t samples = 0;
  int64_t gaps = 0, lost_samples = 0;  // bridged by straight lines
  int64_t negative = 0;                // samples below zero, counted as they are
  int64_t clock_wraps = 0;             // of a logger's 32-bit counter
  std::optional<Watts> idle_w;         // before the first window; none: too short, or no trigger
  Seconds idle_s = 0;
  [[nodiscard]] Joules joules() const;
  [[nodiscard]] Seconds seconds() const;
};

// E0273 with the line: no file, an empty one, one without the columns or in other units, damaged rows, a clock that goes
// back or leaps, samples lost for longer than can be bridged, numbers that are no power, a trigger that never rises or does not fall.
[[nodiscard]] Result<Recording> read_recording(const RecordingWord& word);

}  // namespace pantoum::cost
