// The energy of a training, measured by the meter that --meter names. If no meter is named or the meter failed, the energy is modelled.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "cost/energy_meter.h"

namespace pantoum::cli {

// The known energy of a step.
struct RunEnergy {
  std::optional<cost::MeasuredEnergy> measured;
  std::string why_not;  // why the energy was not measured; "": --meter was not given
  cost::Joules modelled_j = 0;
};

class MeteredRun {
 public:
  // `word`: of --meter; "": none. With "auto" and no meter that can be read a note says so, and figures are modelled. E0124: the word is unknown;
  // E0272: the named meter cannot be read.
  [[nodiscard]] static Result<MeteredRun> open(const std::string& word);

  // Call it before the first step. Measures the idle baseline for a short window, and prints it. If the meter fails, prints a
  // warning. E0999 interrupted.
  [[nodiscard]] Result<void> begin(const std::stop_token& stop);
  void on_steps(bool steps);  // as train::RunOptions::on_steps
  void step();                // a step has ended
  // Call it at the end of a run of `steps` steps. A warning tells what failed.
  [[nodiscard]] RunEnergy finish(int64_t steps, cost::Joules modelled_j);

 private:
  [[nodiscard]] Result<cost::MeasuredEnergy> read(int64_t steps);

  std::string why_not_;
  std::unique_ptr<cost::EnergyMeter> meter_;
  std::unique_ptr<cost::StepEnergy> energy_;
  std::optional<cost::RecordingWord> recording_;
  int64_t begun_ns_ = 0;  // by the clock of files
};

// Adds the known energy to the last event of the log.
void add_energy(nlohmann::ordered_json& event, const RunEnergy& energy);

// "energy   1.2 J +- 2% a step above ...; 0.9 J modelled"; "": --meter was not given.
[[nodiscard]] std::string energy_line(const RunEnergy& energy);

}  // namespace pantoum::cli
