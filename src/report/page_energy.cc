#include "report/page_energy.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/words.h"

namespace pantoum::report {
namespace {

std::string step_energy(const nlohmann::ordered_json& end) {
  const auto has = [&](const char* key) { return end.contains(key) && end[key].is_number(); };
  if (!has("step_energy_j")) return "";
  std::string text = show_energy(end["step_energy_j"]);
  if (has("step_energy_half_width_j")) text += ", +- " + show_energy(end["step_energy_half_width_j"]) + " with 95%";
  if (has("idle_w")) text += fmt::format(", above {:.3g} W idle", end["idle_w"].get<double>());
  if (has("step_energy_modelled_j")) text += "; modelled: " + show_energy(end["step_energy_modelled_j"]);
  return text;
}

}  // namespace

std::vector<std::pair<const char*, std::string>> measured_energy(const nlohmann::ordered_json& end) {
  if (!end.is_object()) return {};
  std::vector<std::pair<const char*, std::string>> rows;
  if (end.contains("energy_j") && end["energy_j"].is_number()) {
    const bool source = end.contains("energy_source") && end["energy_source"].is_string();
    rows.emplace_back("energy, measured", show_energy(end["energy_j"]) +
                                              (source ? " (" + end["energy_source"].get<std::string>() + ")" : ""));
  }
  if (std::string step = step_energy(end); !step.empty()) rows.emplace_back("energy of a step", std::move(step));
  return rows;
}

}  // namespace pantoum::report
