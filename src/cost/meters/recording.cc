#include "cost/meters/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "base/files.h"
#include "base/foreign_text.h"
#include "base/units.h"
#include "cost/meters/recorded_columns.h"

namespace pantoum::cost {
namespace {

constexpr int kPreface = 64;                 // lines before the header
constexpr size_t kKnownPeriods = 4096;       // rows that tell the sampling period
constexpr double kMostRecorded = 1e6;        // watts, amperes or volts
constexpr Seconds kShortestPeriod = 0.4e-6;  // the fastest of the instruments samples every 0.5 us
constexpr Seconds kShortestIdle = 0.05;
constexpr size_t kFewestIdle = 20;
constexpr double kBridged = 10;            // periods
constexpr double kCounter = 4294967296.0;  // where a logger's millis() and micros() begin anew

struct Sample {
  Seconds at = 0;
  Watts watts = 0;
  bool high = false;
  bool lost = false;  // a row without a value
};

// Turns samples into windows. The first rows are kept until they tell the sampling period.
class Integrator {
 public:
  Integrator(const RecordingWord& word, bool triggered) : word_(word) { found_.triggered = triggered; }

  Result<void> add(const Sample& sample, int64_t line) {
    if (periods_known_) return take(sample, line);
    first_.push_back({sample, line});
    return first_.size() > kKnownPeriods ? learn_period() : Result<void>{};
  }

  Result<Recording> finish() {
    if (!periods_known_) PANTOUM_TRY(learn_period());
    if (found_.samples < 2) return bad("there are fewer than two samples");
    if (high_ && found_.triggered)
      return bad("the trigger is still high at the end, so that the last window is cut short",
                 "record on until the run is over");
    if (high_) found_.windows.back().end_s = last_.at;
    if (found_.windows.empty()) return bad("the trigger never rises", "is it wired, and the right column?");
    if (found_.joules() <= 0)
      return bad(fmt::format("the windows hold {} J", found_.joules()), "are the leads swapped? is the unit right?");
    if (idle_samples_ >= kFewestIdle && idle_s_ >= kShortestIdle)
      found_.idle_w = idle_j_ / idle_s_, found_.idle_s = idle_s_;
    return std::move(found_);
  }

  void wrapped() { ++found_.clock_wraps; }

 private:
  struct Kept {
    Sample sample;
    int64_t line;
  };
  struct Unseen {
    int64_t line, after;
    Seconds passed;
  };

  Failure bad(const std::string& message, const std::string& help = "record it again") const {
    return fail("E0273", message, word_.file, help);
  }
  Failure bad_line(int64_t line, const std::string& message, const std::string& help) const {
    return fail("E0273", message, fmt::format("{}, line {}", word_.file, line), help);
  }

  Result<void> learn_period() {
    periods_known_ = true;
    std::vector<Seconds> periods;
    for (size_t at = 1; at < first_.size(); ++at)
      if (const Seconds period = first_[at].sample.at - first_[at - 1].sample.at; period > 0) periods.push_back(period);
    if (!periods.empty()) {
      const auto middle = periods.begin() + static_cast<std::ptrdiff_t>(periods.size() / 2);
      std::nth_element(periods.begin(), middle, periods.end());
      found_.period_s = *middle;
    }
    if (!periods.empty() && found_.period_s < kShortestPeriod)
      return bad(fmt::format("samples every {:.3g} ns: no instrument is that fast", found_.period_s * 1e9),
                 "is the time in another unit? say so: csv:FILE,time_unit=s (Monsoon's Time(ms) may hold seconds)");
    bridged_ = word_.gap_s.value_or(kBridged * found_.period_s);
    for (const Kept& kept : first_) PANTOUM_TRY(take(kept.sample, kept.line));
    first_.clear(), first_.shrink_to_fit();
    return {};
  }

  Result<void> take(const Sample& sample, int64_t line) {
    if (sample.lost) {
      lost_row_ = true, lost_high_ |= sample.high;
      return {};
    }
    if (found_.samples > 0) PANTOUM_TRY(step_to(sample, line));
    if (found_.samples == 0 && found_.triggered && sample.high)
      return bad_line(line, "the trigger is high from the first sample on: the window began before the recording",
                      "start recording before the run");
    if (found_.samples == 0 && !found_.triggered) open(sample.at), high_ = true;
    ++found_.samples;
    found_.negative += sample.watts < 0;
    if (found_.triggered) PANTOUM_TRY(follow_trigger(sample, line));
    last_ = sample, last_line_ = line, lost_row_ = lost_high_ = false;
    return {};
  }

  // Joules below the straight line from the last sample to this one, from time `from` to time `to`.
  [[nodiscard]] Joules below(const Sample& sample, Seconds from, Seconds to) const {
    const Seconds passed = sample.at - last_.at;
    if (passed <= 0) return 0;
    const Seconds middle = (from + to) / 2 - last_.at;
    return (last_.watts + (sample.watts - last_.watts) * (middle / passed)) * (to - from);
  }

  Result<void> step_to(const Sample& sample, int64_t line) {
    const Seconds passed = sample.at - last_.at;
    if (passed < 0)
      return bad_line(line, fmt::format("the time goes back by {}", base::show_seconds(-passed)),
                      "the logger's clock was set, or two recordings stand in one file: record again");
    const bool within = high_ || !found_.triggered, rises = !within && sample.high;
    edge_s_ = sample.at;
    if (lost_high_ && !within && !rises)
      return bad_line(line, fmt::format("the trigger was high after line {}, where no row has a value", last_line_),
                      "a whole window is lost: record again");
    if (passed > 1.5 * found_.period_s + 1e-12 || lost_row_) {
      if (passed > bridged_) {
        if (within || rises)
          return too_long(line, passed, last_line_, rises ? "over the trigger's rise" : "within the run");
        // Before the first window and after the last one nothing is counted; between two windows a third may be hidden.
        if (!found_.windows.empty() && !unseen_) unseen_ = Unseen{line, last_line_, passed};
        return {};
      }
      ++found_.gaps;
      const double steps = found_.period_s > 0 ? std::round(passed / found_.period_s) : 0;
      found_.lost_samples += static_cast<int64_t>(std::clamp(steps - 1, 1.0, 1e15));
      // An edge in a gap counts as in the middle of it.
      edge_s_ -= std::max(passed - found_.period_s, 0.0) / 2;
    }
    if (within)
      found_.windows.back().joules += below(sample, last_.at, found_.triggered && !sample.high ? edge_s_ : sample.at);
    else if (!rises && found_.windows.empty())
      idle_j_ += below(sample, last_.at, sample.at), idle_s_ += passed, ++idle_samples_;
    return {};
  }

  Failure too_long(int64_t line, Seconds passed, int64_t after, const char* where) const {
    return bad_line(line,
                    fmt::format("no sample for {} after line {}, {}: more than the {} that may be bridged",
                                base::show_seconds(passed), after, where, base::show_seconds(bridged_)),
                    "record again, or allow it: csv:FILE,gap=SECONDS");
  }

  Result<void> follow_trigger(const Sample& sample, int64_t line) {
    if (sample.high == high_) return {};
    if (sample.high && found_.windows.size() == kMostRecordedWindows)
      return bad_line(line, fmt::format("more than {} windows: the trigger chatters", kMostRecordedWindows),
                      "mend the wire, or take another column");
    if (sample.high && unseen_)
      return too_long(unseen_->line, unseen_->passed, unseen_->after, "between windows, where another may be hidden");
    if (sample.high) {
      open(edge_s_);
      found_.windows.back().joules = below(sample, edge_s_, sample.at);
    } else {
      found_.windows.back().end_s = edge_s_;
    }
    high_ = sample.high;
    return {};
  }

  void open(Seconds at) { found_.windows.push_back({.begin_s = at, .end_s = at}); }

  const RecordingWord& word_;
  Recording found_;
  std::vector<Kept> first_;
  bool periods_known_ = false, high_ = false, lost_row_ = false, lost_high_ = false;
  Seconds bridged_ = 0, idle_s_ = 0, edge_s_ = 0;
  std::optional<Unseen> unseen_;  // the first gap after a window
  Joules idle_j_ = 0;
  size_t idle_samples_ = 0;
  Sample last_;
  int64_t last_line_ = 0;
};

// Lines of a file of any size. A line's end is LF or CR LF.
class Lines {
 public:
  explicit Lines(const RecordingWord& word)
      : word_(word), file_(word.file, std::ios::binary), buffer_(kLongestRecordedLine + 2) {}
  [[nodiscard]] bool is_open() const { return file_.is_open(); }
  [[nodiscard]] int64_t number() const { return number_; }

  // False at the end.
  Result<bool> next(std::string& line) {
    file_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    ++number_;
    if (file_.bad()) return fail("E0273", "reading it failed", word_.file, "is the disk sound?");
    if (file_.gcount() == 0) return false;
    if (file_.fail())
      return bad(fmt::format("the line has more than {} bytes", kLongestRecordedLine),
                 "this is no CSV of an instrument");
    // The last line of a file that is still written to may be cut anywhere.
    line.assign(buffer_.data(), static_cast<size_t>(file_.gcount()) - (file_.eof() ? 0 : 1));
    if (line.find('\0') != std::string::npos)
      return bad("the line holds a byte of 0", "this is no text: export it as CSV");
    if (line.ends_with('\r')) line.pop_back();
    if (number_ == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    return true;
  }
  [[nodiscard]] bool is_last() const { return file_.eof(); }
  Failure bad(const std::string& message, const std::string& help) const {
    return fail("E0273", message, fmt::format("{}, line {}", word_.file, number_), help);
  }

 private:
  const RecordingWord& word_;
  std::ifstream file_;
  std::vector<char> buffer_;
  int64_t number_ = 0;
};

class Reader {
 public:
  explicit Reader(const RecordingWord& word) : word_(word), lines_(word), found_(word, !word.trigger.empty()) {}

  Result<Recording> read() {
    if (!lines_.is_open())
      return fail("E0273", "the recording cannot be opened: " + base::system_reason(), word_.file,
                  "give the CSV file that the instrument's program writes");
    PANTOUM_TRY(read_header());
    for (std::string line; more_;) {
      PANTOUM_ASSIGN(more_, lines_.next(line));
      if (more_) PANTOUM_TRY(row(line));
    }
    PANTOUM_ASSIGN(Recording recording, found_.finish());
    recording.label = fmt::format("recording {} ({})", base::one_line(word_.file), columns_.label);
    return recording;
  }

 private:
  Result<void> read_header() {
    std::string line;
    for (int at = 0; at < kPreface; ++at) {
      PANTOUM_ASSIGN(more_, lines_.next(line));
      if (!more_) break;
      const std::string stripped = line.substr(std::min(line.find_first_not_of("# "), line.size()));
      delimiter_ = delimiter_of(stripped);
      const std::vector<std::string> fields = fields_of(stripped, delimiter_);
      if (fields.size() > kMostRecordedColumns)
        return lines_.bad(fmt::format("more than {} columns", kMostRecordedColumns), "leave some out");
      const bool numbers = is_row_of_numbers(fields);
      if (!numbers && (fields.size() < 2 || !is_header(fields, word_))) continue;
      named_ = fields.size();
      PANTOUM_ASSIGN(columns_, located(columns_of(numbers ? std::vector<std::string>{} : fields, word_)));
      return numbers ? row(line) : Result<void>{};
    }
    return fail("E0273", lines_.number() <= 1 ? "the file is empty" : "no line names columns, or holds numbers alone",
                word_.file, "export the recording as CSV, with a header");
  }

  Result<RecordedColumns> located(Result<RecordedColumns> columns) const {
    if (columns) return columns;
    Error error = columns.error();
    error.where = fmt::format("{}, line {}", word_.file, lines_.number());
    return Failure(std::move(error));
  }

  Result<void> row(const std::string& line) {
    if (line.find_first_not_of(" \t") == std::string::npos || line.starts_with('#')) return {};
    const std::vector<std::string> fields = fields_of(line, delimiter_);
    if (fields.size() < columns_.columns) {
      if (lines_.is_last()) return {};  // still being written
      return lines_.bad(fmt::format("{} fields, where {} are needed", fields.size(), columns_.columns),
                        "the row is damaged: record again, or take it out (a gap is then told)");
    }
    const auto behind = std::find_if(fields.begin() + static_cast<std::ptrdiff_t>(std::min(named_, fields.size())),
                                     fields.end(), [](const std::string& field) { return !field.empty(); });
    if (behind != fields.end())
      return lines_.bad(fmt::format("{} fields, where {} are named", fields.size(), named_),
                        "with decimal commas, export it with another separator, or with decimal points");
    Sample sample;
    PANTOUM_ASSIGN(sample.at, time_in(fields));
    PANTOUM_ASSIGN(const double watts, watts_in(fields));
    sample.watts = watts, sample.lost = std::isnan(watts);
    if (columns_.trigger) {
      PANTOUM_ASSIGN(sample.high, trigger_in(fields[*columns_.trigger]));
    }
    return found_.add(sample, lines_.number());
  }

  Result<Seconds> time_in(const std::vector<std::string>& fields) {
    const RecordedColumn& time = *columns_.of[Quantity::kTime];
    const std::string& field = fields[time.at];
    const auto value = recorded_number(field, delimiter_ != ',');
    if (!value || !std::isfinite(*value) || std::abs(*value) > 1e15)
      return lines_.bad(fmt::format("'{}' is no time", base::one_line(field.substr(0, 40))),
                        "times are numbers: seconds, or what time_unit says; no dates");
    double raw = *value + turns_ * kCounter;
    // A counter of 32 bits that began anew; anything else that goes back is refused later.
    if (raw - last_time_ < -0.9 * kCounter && *value == std::floor(*value) && *value >= 0 &&
        last_time_ < (turns_ + 1) * kCounter)
      ++turns_, raw += kCounter, found_.wrapped();
    last_time_ = raw;
    return raw * time.scale;
  }

  // NaN: the sample is lost.
  Result<Watts> watts_in(const std::vector<std::string>& fields) {
    if (columns_.of[Quantity::kPower]) return value_in(fields, Quantity::kPower);
    PANTOUM_ASSIGN(const double amperes, value_in(fields, Quantity::kCurrent));
    if (columns_.volts > 0) return amperes * columns_.volts;
    PANTOUM_ASSIGN(const double volts, value_in(fields, Quantity::kVoltage));
    return amperes * volts;
  }

  Result<double> value_in(const std::vector<std::string>& fields, Quantity quantity) {
    const RecordedColumn& column = *columns_.of[quantity];
    const std::string& field = fields[column.at];
    if (field.empty()) return std::numeric_limits<double>::quiet_NaN();
    const auto value = recorded_number(field, delimiter_ != ',');
    if (!value)
      return lines_.bad(fmt::format("'{}' is no {}", base::one_line(field.substr(0, 40)), name_of(quantity)),
                        "the row is damaged: record again, or take it out (a gap is then told)");
    if (std::abs(*value * column.scale) > kMostRecorded)
      return lines_.bad(
          fmt::format("a {} of {}, which no board takes", name_of(quantity), base::one_line(field.substr(0, 40))),
          fmt::format("is its unit right? csv:FILE,{}_unit=...", name_of(quantity)));
    return *value * column.scale;
  }

  Result<bool> trigger_in(const std::string& field) {
    if (columns_.trigger_bit >= 0) {
      const auto bit = static_cast<size_t>(columns_.trigger_bit);
      if (field.size() == 8 && (field[bit] == '0' || field[bit] == '1')) return field[bit] == '1';
    } else if (const auto value = recorded_number(field, delimiter_ != ','); value && std::isfinite(*value)) {
      return *value > 0.5;
    }
    if (field == "true" || field == "True" || field == "HIGH") return true;
    if (field == "false" || field == "False" || field == "LOW") return false;
    return lines_.bad(fmt::format("'{}' is no state of a trigger", base::one_line(field.substr(0, 40))),
                      "a trigger is a number: high above 0.5");
  }

  const RecordingWord& word_;
  Lines lines_;
  Integrator found_;
  RecordedColumns columns_;
  size_t named_ = 0;  // fields of the header, or of the first row where there is none
  char delimiter_ = ',';
  bool more_ = true;
  double last_time_ = -std::numeric_limits<double>::infinity(), turns_ = 0;
};

}  // namespace

Joules Recording::joules() const {
  Joules sum = 0;
  for (const RecordedWindow& window : windows) sum += window.joules;
  return sum;
}

Seconds Recording::seconds() const {
  Seconds sum = 0;
  for (const RecordedWindow& window : windows) sum += window.end_s - window.begin_s;
  return sum;
}

Result<Recording> read_recording(const RecordingWord& word) {
  return Reader(word).read();
}

}  // namespace pantoum::cost
