// Sentences of a report: the headline, and answers to the first questions of a reader.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pantoum::report {

// Adds "title", "headline" and "questions" to a `pantoum.report/1`, from its figures.
void put_words(nlohmann::ordered_json& report);

// What a proved gap, a share of the plan's value, says of the least: "0.74% above", "2.5 times"; never less than is
// proved. "": nothing is proved.
[[nodiscard]] std::string show_above_least(double gap);
// Returns the RAM that was asked for, including the reserve. The question must have a budget.
[[nodiscard]] std::string show_ram_asked(const nlohmann::ordered_json& report);
// Do the first figures name joules? Where the plan minimizes the step's time alone, they do only if a run measured them.
[[nodiscard]] bool tells_energy(const nlohmann::ordered_json& report);
// Returns the end event of the last run on a host; null: there is none.
[[nodiscard]] const nlohmann::ordered_json* last_end(const nlohmann::ordered_json& report);
// Returns the measured mean time of a step of that run, in seconds.
[[nodiscard]] std::optional<double> measured_step(const nlohmann::ordered_json& report);

// What a meter found: (what, value) of the last event of a run log, which is a stranger's; none where nothing was measured.
[[nodiscard]] std::vector<std::pair<const char*, std::string>> measured_energy(const nlohmann::ordered_json& end);

// "1.09x", "0.73%", "60,000"
[[nodiscard]] std::string show_ratio(double ratio);
[[nodiscard]] std::string show_percent(double fraction);
[[nodiscard]] std::string show_count(int64_t count);
// "0 J", "3.91 J", "1.2 kJ"; "0 s", "12.3 ms"
[[nodiscard]] std::string show_energy(double joules);
[[nodiscard]] std::string show_time(double seconds);

}  // namespace pantoum::report
