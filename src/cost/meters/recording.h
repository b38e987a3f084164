// A recording of current or power that an instrument made during a run: a CSV file, read when the run is over.
//
//   trigger  ____|‾‾‾‾‾‾|____|‾‾‾‾|___      windows: where the trigger is high; energy: the area below their samples
//   watts    ----.------.----.----.---      idle: what is before the first window
#pragma once

#include <array>
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

enum class Quantity : uint8_t { kTime, kPower, kCurrent, kVoltage };
inline constexpr std::array kQuantities{Quantity::kTime, Quantity::kPower, Quantity::kCurrent, Quantity::kVoltage};

template <class T>
struct ByQuantity : std::array<T, kQuantities.size()> {
  [[nodiscard]] T& operator[](Quantity quantity) { return this->at(static_cast<size_t>(quantity)); }
  [[nodiscard]] const T& operator[](Quantity quantity) const { return this->at(static_cast<size_t>(quantity)); }
};

// csv:FILE[,time=COL][,power=COL][,current=COL][,voltage=COL][,volts=3.3][,trigger=COL][,gap=SECONDS]
//         [,time_unit=ms][,power_unit=mW][,current_unit=uA][,voltage_unit=mV]
// COL: a column's name, or #3 for the third. Columns that are not named are known by the names that instruments give them.
struct RecordingWord {
  std::string file, trigger;
  ByQuantity<std::string> column, unit;  // "": not given
  std::optional<double> volts;           // in place of a column of voltages
  std::optional<Seconds> gap_s;          // the longest gap that may be bridged; none: ten sampling periods
};

[[nodiscard]] bool is_recording(const std::string& word);  // csv:...
// E0124 an unknown key, a key that stands twice, no file, an unknown unit, or a text in place of a number.
[[nodiscard]] Result<RecordingWord> read_recording_word(const std::string& word);

struct RecordedWindow {
  Seconds begin_s = 0, end_s = 0;  // on the recording's clock
  Joules joules = 0;
};

struct Recording {
  std::string label;  // "recording trace.csv (power in 'Power(mW)')"
  std::vector<RecordedWindow> windows;
  bool triggered = false;  // false: one window holds the whole recording
  Seconds period_s = 0;    // the median time between samples
  int64_t samples = 0;
  int64_t gaps = 0, lost_samples = 0;  // bridged by straight lines
  int64_t negative = 0;                // samples below zero, counted as they are
  int64_t clock_wraps = 0;             // of a logger's 32-bit counter
  std::optional<Watts> idle_w;         // power before the first window; none: that is too short, or there is no trigger
  Seconds idle_s = 0;
  [[nodiscard]] Joules joules() const;
  [[nodiscard]] Seconds seconds() const;
};

// E0273, with the line: there is no file; it is empty; it lacks the columns, or they have other units; rows are damaged; the clock goes
// back or leaps; samples are missing for longer than can be bridged; numbers are no power; the trigger never rises, or does not fall.
[[nodiscard]] Result<Recording> read_recording(const RecordingWord& word);

}  // namespace pantoum::cost
