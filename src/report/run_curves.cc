#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "base/files.h"
#include "base/json_reader.h"
#include "base/units.h"

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kMostWords = 500, kLongestWord = 10000;  // of a command
constexpr double kMostBytesShown = 9e18, kLeastArena = 16, kMostPadding = 64;
constexpr std::array kMeasures{"train_loss", "test_loss", "test_accuracy", "test_top5", "test_mae", "test_perplexity"};
constexpr std::array kStepMeasures{"loss", "lr"};
constexpr std::array kDeviceFigures{"ram_bytes", "stack_bytes", "flash_bytes", "storage_written_bytes"};
// The figures at the end of a run. docs/training.md and docs/checkpoints.md explain them.
constexpr std::array kEndFigures{"steps",
                                 "seconds",
                                 "step_s",
                                 "budget_bytes",
                                 "arena_bytes",
                                 "queue_bytes",
                                 "rss_growth_bytes",
                                 "resident_bytes",
                                 "back_end_bytes",
                                 "bytes_paged_in",
                                 "bytes_paged_out",
                                 "encryption_bytes",
                                 "final_loss",
                                 "energy_j",
                                 "step_energy_j",
                                 "step_energy_half_width_j",
                                 "step_energy_modelled_j",
                                 "measured_w",
                                 "measured_s",
                                 "measured_steps",
                                 "idle_w",
                                 "idle_s",
                                 "lost_s"};
// The figures of the plan with which a run began, and its words.
constexpr std::array kPlanFigures{"ops",        "budget_bytes",   "arena_bytes",     "peak_bytes", "unplanned_peak_bytes",
                                  "recomputed", "bytes_paged_in", "bytes_paged_out", "time_s",     "unplanned_time_s",
                                  "energy_j",   "gap"};
constexpr std::array kPlanWords{"objective", "device", "status", "time_source"};
constexpr std::array kEnergyWords{"energy_source", "energy_not_measured"};

double number_of(const nlohmann::json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end() || !found->is_number()) return kNothing;
  const double value = found->get<double>();
  return std::isfinite(value) ? value : kNothing;
}

std::string text_of(const nlohmann::json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : "";
}

Json or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

struct Curve {
  std::vector<double> steps, values;
  void add(double step, double value) { steps.push_back(step), values.push_back(value); }
};

// Keeps the first, least, most and last value of each part of the curve, and a value that is no number.
Curve thinned(const Curve& curve) {
  const size_t part = curve.steps.size() * 4 / kMostCurvePoints + 1;
  if (curve.steps.size() <= kMostCurvePoints) return curve;
  Curve kept;
  for (size_t begin = 0; begin < curve.steps.size(); begin += part) {
    const size_t end = std::min(begin + part, curve.steps.size());
    size_t least = begin, most = begin, none = begin;
    for (size_t at = begin; at < end; ++at) {
      if (!std::isfinite(curve.values[at])) none = at;
      if (curve.values[at] < curve.values[least]) least = at;
      if (curve.values[at] > curve.values[most]) most = at;
    }
    std::array<size_t, 5> chosen{begin, least, most, none, end - 1};
    std::sort(chosen.begin(), chosen.end());
    for (size_t each = 0; each < chosen.size(); ++each)
      if (each == 0 || chosen[each] != chosen[each - 1])
        kept.add(curve.steps[chosen[each]], curve.values[chosen[each]]);
  }
  return kept;
}

Json to_json(const Curve& curve) {
  const Curve kept = thinned(curve);
  Json values = Json::array();
  for (const double value : kept.values) values.push_back(or_null(value));
  return {{"steps", kept.steps}, {"values", std::move(values)}};
}

struct Run {
  std::string log;
  std::optional<std::string> board;
  double resumed_from = kNothing, first = kNothing, last = kNothing, seconds = kNothing;
  int64_t no_numbers = 0;  // losses that are none
  bool begun = false;      // a plan, a step or a device's figures were read
  std::array<Curve, kStepMeasures.size()> of_steps;
  std::array<Curve, kMeasures.size()> of_epochs;
  std::array<Curve, kDeviceFigures.size()> of_device;
  Json plan, data, end;

  [[nodiscard]] bool trained() const { return std::isfinite(last) || !end.is_null(); }
};

class LogReader {
 public:
  explicit LogReader(const PlanOfRuns* planned) : planned_(planned) {}

  Result<void> read(const NamedLog& log) {
    events_ = 0;
    runs_.push_back({.log = log.name});
    if (runs_.size() > 1 && !runs_[runs_.size() - 2].begun && !runs_[runs_.size() - 2].trained())
      runs_.erase(runs_.end() - 2);
    std::string_view rest = log.text;
    for (size_t number = 1; !rest.empty(); ++number) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const bool cut = end == rest.size();
      PANTOUM_TRY(line(log, rest.substr(0, end), number, cut));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (events_ == 0) notes_.push_back(log.name + ": the log has no events of a run");
    return {};
  }

  [[nodiscard]] Json found() const {
    Json runs = Json::array();
    for (const Run& run : runs_)
      if (run.begun || run.trained()) runs.push_back(written(run));
    Json notes = notes_;
    if (left_out_ > 0) notes.push_back(fmt::format("the first {} runs are left out", left_out_));
    return {{"runs", std::move(runs)}, {"notes", std::move(notes)}, {"warnings", warnings_}};
  }

 private:
  Run& run() { return runs_.back(); }
  void begin_another() {
    runs_.push_back({.log = run().log});
    if (runs_.size() <= kMostRuns) return;
    runs_.erase(runs_.begin());
    ++left_out_;
  }

  Result<void> line(const NamedLog& log, std::string_view text, size_t number, bool cut) {
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) return {};
    const std::string where = fmt::format("{}, line {}", log.name, number);
    auto event = base::parse_json(text, "E0290", where);
    if (!event) event = base::parse_json(with_null_for_no_numbers(text), "E0290", where);
    if (event && event->is_object()) {
      follow(*event);
      return {};
    }
    if (!cut || number == 1)
      return fail("E0290", "a line of the run log is no JSON object", where,
                  "give the log that pantoum train wrote, or a device's (docs/report.md)");
    notes_.push_back(fmt::format("{}: the last line was cut short and is left out", log.name));
    return {};
  }

  // NaN and Infinity, which JSON does not have and which other writers write, outside of texts.
  static std::string with_null_for_no_numbers(std::string_view text) {
    constexpr std::array<std::string_view, 8> kWords{"-Infinity", "Infinity", "-nan", "NaN",
                                                     "nan",       "-inf",     "+inf", "inf"};
    std::string made;
    bool quoted = false;
    for (size_t at = 0; at < text.size();) {
      if (text[at] == '"') quoted = !quoted;
      const auto word = std::find_if(kWords.begin(), kWords.end(),
                                     [&](std::string_view each) { return text.substr(at).starts_with(each); });
      const bool none = !quoted && word != kWords.end();
      const size_t size = none ? word->size() : text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
      made += none ? std::string_view("null") : text.substr(at, size);
      at += size;
    }
    return made;
  }

  void follow(const nlohmann::json& event) {
    const std::string kind = text_of(event, "event");
    if (kind == "resume") resume(event);
    constexpr std::array kKinds{"resume", "plan", "data", "step", "epoch", "device", "end", "interrupted"};
    if (std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end()) ++events_;
    if (kind == "plan") plan(event);
    if (kind == "data") run().data = figures(event, std::array{"train_samples", "test_samples"});
    if (kind == "step") step(event);
    if (kind == "epoch") epoch(event);
    if (kind == "device") device(event);
    if (kind == "end" || kind == "interrupted") end(event, kind);
  }

  void resume(const nlohmann::json& event) {
    if (run().begun || run().trained()) begin_another();
    run().resumed_from = number_of(event, "step");
  }

  void plan(const nlohmann::json& event) {
    if (run().trained()) begin_another();
    run().begun = true;
    run().plan = figures(event, kPlanFigures);
    for (const char* key : kPlanWords)
      if (const std::string word = text_of(event, key); !word.empty()) run().plan[key] = word;
    if (const std::vector<std::string> words = words_of_command(event); !words.empty()) run().plan["command"] = words;
    if (planned_ == nullptr) return;
    std::string apart;
    const auto compare = [&](const char* key, const char* what, double own, bool of_bytes) {
      const double logged = number_of(event, key);
      if (!std::isfinite(logged) || logged == own) return;
      apart += fmt::format("{}{} {} instead of {}", apart.empty() ? "" : ", ", what, figure(logged, of_bytes),
                           figure(own, of_bytes));
    };
    compare("ops", "ops", static_cast<double>(planned_->ops), false);
    compare("budget_bytes", "a budget of", static_cast<double>(planned_->budget_bytes), true);
    compare("arena_bytes", "an arena of", static_cast<double>(planned_->arena_bytes), true);
    if (const std::string device = text_of(event, "device"); !device.empty() && device != planned_->device)
      apart += fmt::format("{}device {} instead of {}", apart.empty() ? "" : ", ", device, planned_->device);
    if (!apart.empty()) warn("is of a run of another plan", apart);
  }

  // A log is a stranger's: its command is one of pantoum train, or none.
  static std::vector<std::string> words_of_command(const nlohmann::json& event) {
    const auto found = event.find("command");
    if (found == event.end() || !found->is_array() || found->empty() || found->size() > kMostWords) return {};
    std::vector<std::string> words;
    for (const nlohmann::json& word : *found) {
      if (!word.is_string() || word.get_ref<const std::string&>().size() > kLongestWord) return {};
      words.push_back(word);
    }
    return words.front() == "train" ? words : std::vector<std::string>();
  }

  static std::string figure(double value, bool of_bytes) {
    return of_bytes && std::abs(value) < kMostBytesShown ? base::show_bytes(static_cast<int64_t>(value))
                                                         : fmt::format("{:.0f}", value);
  }

  void warn(const char* what, const std::string& apart) {
    std::string text = fmt::format("{} {}: {}", run().log, what, apart);
    if (std::find(warnings_.begin(), warnings_.end(), text) == warnings_.end()) warnings_.push_back(std::move(text));
  }

  // The arena of an emitted project is the largest of training's and evaluation's, within the budget, and may be padded.
  void compare_arena(const nlohmann::json& event) {
    const double logged = number_of(event, "arena_bytes");
    if (planned_ == nullptr || !std::isfinite(logged) || logged <= 0) return;
    const auto own = static_cast<double>(planned_->arena_bytes);
    const double most = std::max({own, static_cast<double>(planned_->budget_bytes), kLeastArena}) + kMostPadding;
    if (logged < own || logged > most)
      warn("is of a device that ran another plan",
           fmt::format("an arena of {} instead of {}", figure(logged, true), figure(own, true)));
  }

  void step(const nlohmann::json& event) {
    const double at = number_of(event, "step");
    if (!std::isfinite(at)) return;
    if (at <= run().last || !run().end.is_null()) begin_another();
    run().begun = true;
    reach(at);
    for (size_t each = 0; each < kStepMeasures.size(); ++each)
      if (event.contains(kStepMeasures[each])) run().of_steps[each].add(at, number_of(event, kStepMeasures[each]));
    if (event.contains("loss") && !std::isfinite(number_of(event, "loss"))) ++run().no_numbers;
    if (const double seconds = number_of(event, "seconds"); std::isfinite(seconds)) run().seconds = seconds;
  }

  void reach(double step) {
    if (!std::isfinite(run().first)) run().first = step;
    run().last = step;
  }

  void epoch(const nlohmann::json& event) {
    double at = number_of(event, "step");
    if (!std::isfinite(at)) at = number_of(event, "epoch");
    if (!std::isfinite(at)) return;
    run().begun = true;
    if (!(at <= run().last)) reach(at);
    for (size_t each = 0; each < kMeasures.size(); ++each)
      if (event.contains(kMeasures[each])) run().of_epochs[each].add(at, number_of(event, kMeasures[each]));
  }

  void device(const nlohmann::json& event) {
    if (run().begun && !run().board) begin_another();
    run().begun = true;
    run().board = text_of(event, "board");
    compare_arena(event);
    double at = number_of(event, "step");
    if (!std::isfinite(at)) at = std::isfinite(run().last) ? run().last : 0;
    for (size_t each = 0; each < kDeviceFigures.size(); ++each)
      if (const double value = number_of(event, kDeviceFigures[each]); std::isfinite(value) && value >= 0)
        run().of_device[each].add(at, value);
  }

  void end(const nlohmann::json& event, const std::string& how) {
    run().end = figures(event, kEndFigures);
    const auto take_word = [&](const char* key) {
      if (const std::string word = text_of(event, key); !word.empty()) run().end[key] = word;
    };
    for (const auto& [key, what] : kEndWords) take_word(key);
    for (const char* key : kEnergyWords) take_word(key);
    for (const char* key : kMeasures)
      if (const double value = number_of(event, key); std::isfinite(value)) run().end[key] = value;
    run().end["how"] = how;
  }

  template <size_t N>
  static Json figures(const nlohmann::json& event, const std::array<const char*, N>& keys) {
    Json found = Json::object();
    for (const char* key : keys)
      if (const double value = number_of(event, key); std::isfinite(value)) found[key] = event[key];
    return found;
  }

  static Json written(const Run& run) {
    Json json{{"log", run.log},
              {"board", run.board ? Json(*run.board) : Json(nullptr)},
              {"resumed_from", or_null(run.resumed_from)},
              {"first_step", or_null(run.first)},
              {"last_step", or_null(run.last)},
              {"seconds", or_null(run.seconds)},
              {"losses_that_are_no_number", run.no_numbers}};
    for (const auto& [keys, curves] :
         {std::pair<std::span<const char* const>, std::span<const Curve>>{kStepMeasures, run.of_steps},
          {kMeasures, run.of_epochs},
          {kDeviceFigures, run.of_device}})
      for (size_t each = 0; each < keys.size(); ++each)
        if (!curves[each].steps.empty()) json["curves"][keys[each]] = to_json(curves[each]);
    if (!json.contains("curves")) json["curves"] = Json::object();
    json["plan"] = run.plan;
    json["data"] = run.data;
    json["end"] = run.end;
    return json;
  }

  const PlanOfRuns* planned_;
  size_t events_ = 0;  // of the log that is read
  std::vector<std::string> warnings_;
  std::vector<Run> runs_;
  std::vector<std::string> notes_;
  int64_t left_out_ = 0;
};

}  // namespace

Result<std::vector<NamedLog>> read_logs(const std::vector<std::string>& paths) {
  std::vector<NamedLog> logs;
  for (const std::string& path : paths) {
    PANTOUM_ASSIGN(std::string text, base::read_file(path));
    logs.push_back({path, std::move(text)});
  }
  return logs;
}

Result<nlohmann::ordered_json> read_runs(const std::vector<NamedLog>& logs, const PlanOfRuns* planned) {
  LogReader reader(planned);
  for (const NamedLog& log : logs) PANTOUM_TRY(reader.read(log));
  return reader.found();
}

}  // namespace pantoum::report
