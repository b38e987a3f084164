#include "cli/metered_run.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/foreign_text.h"
#include "base/units.h"
#include "base/nearest_name.h"
#include "cli/line/suggestions.h"
#include "cli/output.h"

namespace pantoum::cli {
namespace {

constexpr cost::Seconds kIdle = 2, kLongestIdle = 20;
constexpr double kIdleUpdates = 10;  // of the meter
constexpr int64_t kSecond = 1'000'000'000;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string told(const Error& error) {
  return error.message + (error.where.empty() ? "" : " (" + error.where + ")");
}

// A file from before the run is another run's recording. File systems round to a second or two.
Result<void> check_age(const std::string& file, int64_t begun_ns) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {};  // reading it tells why
  if (!S_ISREG(status.st_mode))
    return fail("E0273", "the recording is no file that was written, and reading it may never end", file,
                "let the instrument's program write a file");
  if (int64_t{status.st_mtim.tv_sec} * kSecond + status.st_mtim.tv_nsec + 2 * kSecond >= begun_ns) return {};
  return fail("E0273", "the recording was last written before the run began, so that it is another run's", file,
              "record while it trains, and write the file before it ends");
}

}  // namespace

Result<MeteredRun> MeteredRun::open(const std::string& word) {
  MeteredRun run;
  if (word.empty()) return run;
  if (cost::is_recording(word)) {
    PANTOUM_ASSIGN(run.recording_, cost::read_recording_word(word));
    return run;
  }
  auto meter = cost::open_meter(word);
  if (meter) {
    run.meter_ = *std::move(meter);
    return run;
  }
  Error error = std::move(meter).error();
  if (error.code == "E0124") error.help = base::hint_at(word, cost::meter_words()) + error.help;
  if (word != "auto") {
    error.where = "--meter";
    return Failure(std::move(error));
  }
  run.why_not_ = error.message;
  print_remark("note", error.message + ": energy is modelled (pantoum doctor tells why)");
  return run;
}

Result<void> MeteredRun::begin(const std::stop_token& stop) {
  begun_ns_ = now_ns();
  if (!meter_) return {};
  const auto idle =
      cost::measure_idle(*meter_, std::clamp(kIdleUpdates * meter_->update_s(), kIdle, kLongestIdle), stop);
  if (!idle && idle.error().code == "E0999") return Failure(idle.error());
  if (!idle) {
    why_not_ = told(idle.error());
    print_remark("warning", why_not_ + "; training goes on, and energy is modelled");
    return {};
  }
  print_remark("note", fmt::format("idle: {:.3g} W +- {:.2g} W, measured for {} by {}", idle->watts, idle->half_width,
                                   base::show_seconds(idle->seconds), meter_->label()));
  if (idle->watts <= 0)
    print_remark("warning", meter_->label() +
                                " tells nothing while idle: should it stand still while steps run too, "
                                "their energy is modelled");
  energy_ = std::make_unique<cost::StepEnergy>(*meter_, *idle);
  return {};
}

void MeteredRun::on_steps(bool steps) {
  if (energy_) steps ? energy_->go_on() : energy_->pause();
}

void MeteredRun::step() {
  if (energy_) energy_->step();
}

Result<cost::MeasuredEnergy> MeteredRun::read(int64_t steps) {
  if (energy_) return energy_->result();
  PANTOUM_TRY(check_age(recording_->file, begun_ns_));
  PANTOUM_ASSIGN(const cost::Recording recording, cost::read_recording(*recording_));
  if (!recording.triggered)
    print_remark("note", fmt::format("{} has no trigger: all of it, {}, is counted as the steps", recording.label,
                                     base::show_seconds(recording.seconds())));
  return cost::energy_of(recording, steps);
}

RunEnergy MeteredRun::finish(int64_t steps, cost::Joules modelled_j) {
  RunEnergy found{.measured = {}, .why_not = why_not_, .modelled_j = modelled_j};
  if (!energy_ && !recording_) return found;
  auto energy = read(steps);
  if (energy) {
    found.measured = *std::move(energy);
  } else {
    found.why_not = told(energy.error());
    print_remark("warning", found.why_not + "; the run is whole, and its energy is modelled" +
                                (energy.error().help.empty() ? "" : ": " + energy.error().help));
  }
  meter_ ? meter_->end() : void();
  return found;
}

void add_energy(nlohmann::ordered_json& event, const RunEnergy& energy) {
  event["step_energy_modelled_j"] = energy.modelled_j;
  event["energy_source"] = "modelled";
  if (!energy.measured) {
    if (!energy.why_not.empty()) event["energy_not_measured"] = energy.why_not;
    return;
  }
  const cost::MeasuredEnergy& measured = *energy.measured;
  event["energy_source"] = "measured by " + measured.meter;
  event["step_energy_j"] = measured.joules;
  if (measured.half_width) event["step_energy_half_width_j"] = *measured.half_width;
  event["energy_j"] = measured.joules * static_cast<double>(measured.runs);
  event["measured_w"] = measured.watts;
  event["measured_s"] = measured.measured_s;
  event["measured_steps"] = measured.runs;
  event["measured_windows"] = measured.windows;
  if (measured.idle.seconds > 0) event["idle_w"] = measured.idle.watts, event["idle_s"] = measured.idle.seconds;
  if (measured.health.gaps > 0) event["lost_s"] = measured.health.gap_s;
}

std::string energy_line(const RunEnergy& energy) {
  if (!energy.measured && energy.why_not.empty()) return {};
  const std::string modelled = base::show_joules(energy.modelled_j);
  if (!energy.measured)
    return fmt::format("energy   {} a step, modelled; not measured: {}\n", modelled, base::one_line(energy.why_not));
  std::string text = fmt::format("energy   a step: {}; modelled: {}\n", cost::to_text(*energy.measured), modelled);
  if (energy.measured->health.gaps > 0)
    text += fmt::format("         {} of samples were lost and bridged\n",
                        base::show_seconds(energy.measured->health.gap_s));
  return text;
}

}  // namespace pantoum::cli
