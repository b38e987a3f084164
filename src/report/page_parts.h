// What a page is put together from, as HTML. Every text that enters is made harmless here.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace pantoum::report {

// A table that scrolls alone on a narrow screen. Columns after the first hold numbers unless they are named with a *.
class Table {
 public:
  Table(const std::string& caption, const std::vector<std::string>& heads);
  void row(const std::vector<std::string>& cells);
  [[nodiscard]] std::string end() const;

 private:
  std::string made_;
  std::vector<bool> words_;
};

// `id` and `title` are the page's own; `body` is HTML.
[[nodiscard]] std::string section(const char* id, const char* title, const std::string& body);

struct Part {
  std::string label;
  double value = 0;
  int style = 0;
};

// One bar of parts, with a legend that says the figures. "": there is nothing.
[[nodiscard]] std::string stacked(const std::string& title, const std::vector<Part>& parts,
                                  const std::function<std::string(double)>& show);

struct Tile {
  std::string label, value, note;
  double share = -1;  // of what there is; < 0: no meter
};

[[nodiscard]] std::string tiles(const std::vector<Tile>& all);

}  // namespace pantoum::report
