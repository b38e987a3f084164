// The charts of a report's page, from the report's figures.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/svg.h"

namespace pantoum::report {

struct PageChart {
  std::string id;  // of its element
  Chart chart;
  std::string text;  // what it shows, in a sentence: for who does not see it
};

[[nodiscard]] PageChart memory_chart(const nlohmann::ordered_json& report);
// Energy and time over RAM, of the sweep; empty where there is none.
[[nodiscard]] std::vector<PageChart> sweep_page_charts(const nlohmann::ordered_json& report);
// Loss, evaluation, learning rate; a device's RAM and storage. Only those that have points.
[[nodiscard]] std::vector<PageChart> run_charts(const nlohmann::ordered_json& report);

// The lifetimes of the largest tensors: what stands in place of the interactive schedule without JavaScript, and in print.
[[nodiscard]] std::string schedule_svg(const nlohmann::ordered_json& report);

// "host", "nrf52840", "run 2 (from step 400)".
[[nodiscard]] std::string name_of_run(const nlohmann::ordered_json& report, size_t run);

}  // namespace pantoum::report
