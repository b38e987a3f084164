#include "report/page_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/foreign_text.h"
#include "report/words.h"

namespace pantoum::report {
namespace {

using base::html_text;

// "10.00 MiB": the unit in small letters.
std::string with_small_unit(const std::string& value) {
  const size_t space = value.find(' ');
  if (space == std::string::npos || value.find_first_of("0123456789") != 0) return html_text(value);
  return fmt::format("{} <small>{}</small>", html_text(value.substr(0, space)), html_text(value.substr(space + 1)));
}

}  // namespace

Table::Table(const std::string& caption, const std::vector<std::string>& heads) {
  made_ = fmt::format(
      "<div class='scroll' role='region' tabindex='0' aria-label='{0}'><table><caption>{0}</caption><thead><tr>",
      html_text(caption));
  for (const std::string& head : heads) {
    words_.push_back(words_.empty() || head.starts_with('*'));
    made_ += fmt::format("<th scope='col'{}>{}</th>", words_.back() ? "" : " class='n'",
                         html_text(head.starts_with('*') ? head.substr(1) : head));
  }
  made_ += "</tr></thead><tbody>\n";
}
void Table::row(const std::vector<std::string>& cells) {
  made_ += "<tr>";
  for (size_t at = 0; at < cells.size(); ++at) {
    const std::string shown = html_text(cells[at]);
    if (at == 0)
      made_ += fmt::format("<th scope='row' title='{0}'>{0}</th>", shown);
    else
      made_ += fmt::format("<td{}>{}</td>", words_[at] ? "" : " class='n'", shown);
  }
  made_ += "</tr>\n";
}
std::string Table::end() const {
  return made_ + "</tbody></table></div>\n";
}

std::string section(const char* id, const char* title, const std::string& body) {
  return fmt::format("<section id='{0}' aria-labelledby='{0}-title'>\n<h2 id='{0}-title'>{1}</h2>\n{2}</section>\n", id,
                     title, body);
}

std::string stacked(const std::string& title, const std::vector<Part>& parts,
                    const std::function<std::string(double)>& show) {
  double sum = 0;
  for (const Part& part : parts) sum += std::max(0.0, part.value);
  std::string bar, legend;
  double left = 0;
  for (const Part& part : parts) {
    if (part.value <= 0 || sum <= 0) continue;
    const double share = 100 * part.value / sum;
    bar += fmt::format("<rect x='{:.3f}%' width='{:.3f}%' height='100%' class='fill{}'/>", left, share, part.style);
    legend +=
        fmt::format("<li><span class='swatch back{}'></span>{} <b>{}</b> <span class='soft'>{}</span></li>", part.style,
                    html_text(part.label), html_text(show(part.value)), show_percent(part.value / sum));
    left += share;
  }
  if (legend.empty()) return "";
  return fmt::format(
      "<div class='stack'><h3>{0} <span class='soft'>{1}</span></h3><svg class='bar' role='img' "
      "aria-label='{0}'>{2}</svg><ul class='legend'>{3}</ul></div>\n",
      html_text(title), html_text(show(sum)), bar, legend);
}

std::string tiles(const std::vector<Tile>& all) {
  std::string made = "<ul class='tiles'>\n";
  for (const Tile& tile : all) {
    made +=
        fmt::format("<li><span class='label'>{}</span><b>{}</b>", html_text(tile.label), with_small_unit(tile.value));
    if (tile.share >= 0)
      made += fmt::format(
          "<svg class='meter' aria-hidden='true'><rect width='100%' height='100%' class='empty'/><rect width='{:.2f}%' "
          "height='100%' class='fill0'/></svg>",
          std::clamp(tile.share, 0.0, 1.0) * 100);
    made += fmt::format("<span class='note'>{}</span></li>\n", html_text(tile.note));
  }
  return made + "</ul>\n";
}

}  // namespace pantoum::report
