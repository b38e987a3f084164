// The parts of which pages are made: tables, charts, sections, and the page around them. What is named `html` is HTML; all other texts are data.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/foreign_text.h"
#include "report/charts.h"

namespace pantoum::report {

using Cells = std::vector<std::string>;  // of a row

// A table that scrolls alone on a narrow screen. Columns after the first hold numbers unless they are named with a *.
class Table {
 public:
  Table(const std::string& caption, const std::vector<std::string>& heads);
  // `mark`: a class of the row, which is the page's own.
  void row(const Cells& cells, const char* mark = "");
  // A row for each of the first `most` entries.
  template <class Show>
  void rows(const nlohmann::ordered_json& list, size_t most, Show show) {
    for (size_t at = 0; at < std::min(most, list.size()); ++at) row(show(list[at]));
  }
  [[nodiscard]] std::string end() const { return made_ + "</tbody></table></div>\n"; }

 private:
  std::string made_;
  std::vector<bool> words_;  // by column
};

// `id` and `title` are the page's own.
[[nodiscard]] std::string section(const char* id, const char* title, const std::string& html);

// A chart in its wide and its narrow picture.
[[nodiscard]] std::string chart_figure(const PageChart& chart);

// A command with a button that copies it. Lines break between its words alone, and an option keeps its value beside it.
[[nodiscard]] std::string command_box(const std::string& command);

struct WholePage {
  std::string title, version;
  std::string navigation, body;  // HTML
  nlohmann::ordered_json data;   // for the scripts
};

// The page: it loads nothing, and its policy names the hashes of its styles and scripts.
[[nodiscard]] std::string whole_page(const WholePage& page);

}  // namespace pantoum::report
