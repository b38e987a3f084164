#include "report/page_parts.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/json_text.h"
#include "report/page_files.h"

namespace pantoum::report {
namespace {

using base::html_text;

// JSON inside a script element: ASCII, without a letter that HTML reads.
std::string inside_script(const nlohmann::ordered_json& data) {
  std::string made;
  for (const char letter : base::ascii_json(data)) {
    if (letter == '<' || letter == '>' || letter == '&')
      made += fmt::format("\\u{:04x}", static_cast<int>(letter));
    else
      made += letter;
  }
  return made;
}

// 'sha256-...' of a style or a script, as a Content-Security-Policy names it.
std::string policy_hash(std::string_view contents) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(contents.data()), contents.size());
  std::array<char, sodium_base64_ENCODED_LEN(crypto_hash_sha256_BYTES, sodium_base64_VARIANT_ORIGINAL)> text{};
  sodium_bin2base64(text.data(), text.size(), digest.data(), digest.size(), sodium_base64_VARIANT_ORIGINAL);
  return fmt::format("'sha256-{}'", text.data());
}

void put(std::string& page, std::string_view slot, std::string_view value) {
  const size_t at = page.find(slot);
  if (at != std::string::npos) page.replace(at, slot.size(), value);
}

// A name may go on in the next line behind the marks that part it, a number does not behind its point; an option stays
// in one line.
std::string breakable(const std::string& name) {
  const std::string text = html_text(name);
  if (text.starts_with('-')) return fmt::format("<span class='word'>{}</span>", text);
  std::string made;
  for (size_t at = 0; at < text.size(); ++at) {
    made += text[at];
    const bool digit_follows = at + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[at + 1])) != 0;
    if (text[at] == '/' || text[at] == '_' || ((text[at] == '.' || text[at] == ',') && !digit_follows)) made += "<wbr>";
  }
  return made;
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

void Table::row(const Cells& cells, const char* mark) {
  made_ += *mark == '\0' ? "<tr>" : fmt::format("<tr class='{}'>", mark);
  for (size_t at = 0; at < cells.size(); ++at)
    made_ += at == 0 ? fmt::format("<th scope='row' title='{}'>{}</th>", html_text(cells[at]), breakable(cells[at]))
                     : fmt::format("<td{}>{}</td>", words_[at] ? "" : " class='n'",
                                   words_[at] ? breakable(cells[at]) : html_text(cells[at]));
  made_ += "</tr>\n";
}

std::string section(const char* id, const char* title, const std::string& html) {
  return fmt::format("<section id='{0}' aria-labelledby='{0}-title'>\n<h2 id='{0}-title'>{1}</h2>\n{2}</section>\n", id,
                     title, html);
}

std::string chart_figure(const PageChart& chart) {
  return fmt::format(
      "<figure><figcaption class='hidden'>{}: {}</figcaption><div class='picture' "
      "data-chart='{}'>{}{}</div></figure>\n",
      html_text(chart.chart.title), html_text(chart.text), chart.id, to_svg(chart.chart), to_svg(chart.chart, Width::kNarrow));
}

std::string command_box(const std::string& command) {
  std::string words;
  for (size_t at = 0; at < command.size();) {
    // A word ends at a space outside of quotes; an option takes the word behind it along, unless that is an option.
    const auto end_of_word = [&](size_t from) {
      char quote = '\0';
      for (; from < command.size(); ++from) {
        const char letter = command[from];
        if (quote == 0 && (letter == ' ' || letter == '\n')) break;
        if (quote == 0 && letter == '\\') {
          ++from;
        } else if (letter == '\'') {
          quote = quote == 0 ? letter : '\0';
        }
      }
      return std::min(from, command.size());
    };
    size_t end = end_of_word(at);
    const bool option = command[at] == '-';
    if (option && end + 1 < command.size() && command[end] == ' ' && command[end + 1] != '-') end = end_of_word(end + 1);
    words += fmt::format("<span class='word'>{}</span>", html_text(command.substr(at, end - at)));
    if (end < command.size()) words += command[end];
    at = end + 1;
  }
  return fmt::format(
      "<div class='command'><pre tabindex='0' aria-label='Command'><code>{}</code></pre><button type='button' class='copy' "
      "hidden>Copy</button></div>\n",
      words);
}

std::string whole_page(const WholePage& given) {
  const std::string style = std::string(page_file("chart.css")) + std::string(page_file("page.css"));
  std::string script;
  for (const char* file : {"format.js", "chart.js", "schedule.js", "live.js", "main.js"}) script += page_file(file);
  const std::string_view theme = page_file("theme.js");
  // Slots stand in the template in this order, and what was put in is not looked at again but for the last ones: texts come last.
  std::string page(page_file("page.html"));
  put(page, "{{policy}}",
      fmt::format(
          "default-src 'none'; style-src {}; script-src {} {}; img-src data:; base-uri 'none'; form-action 'none'",
          policy_hash(style), policy_hash(theme), policy_hash(script)));
  put(page, "{{script}}", script);
  put(page, "{{style}}", style);
  put(page, "{{theme}}", theme);
  put(page, "{{navigation}}", given.navigation);
  put(page, "{{version}}", html_text(given.version));
  const size_t slot_of_data = page.find("{{data}}");
  if (slot_of_data != std::string::npos) page.replace(slot_of_data, 8, inside_script(given.data));
  const size_t slot_of_body = page.find("{{body}}");
  if (slot_of_body != std::string::npos) page.replace(slot_of_body, 8, given.body);
  put(page, "{{title}}", html_text(given.title));
  return page;
}

}  // namespace pantoum::report
