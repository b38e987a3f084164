// Charts over two axes, as SVG that needs no script. The page's script draws no chart: it reads values of the one that is
// there, from the data beside it.
//
// Colours are classes (s0 to s7: an Okabe-Ito palette) of chart.css, in light and dark; no chart depends on colour alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace pantoum::report {

struct Point {
  double x = 0, y = 0;  // NaN in y: nothing there
};

enum class Shape {
  kLine,
  kSteps,      // y holds until the next x
  kStepsBack,  // y holds from the x before: a bound for more is one for less
  kArea,       // kSteps, filled down to 0
};

struct Series {
  std::string label;
  int style = 0;  // s0 to s7
  Shape shape = Shape::kLine;
  std::vector<Point> points;  // x upward
  bool dashed = false;
  bool marked = false;            // a mark at each point, of a form of its own for each style
  std::vector<double> none = {};  // x at which it is known that there is nothing: crosses above the axis
};

struct Rule {  // a horizontal line
  std::string label;
  double y = 0;
  int style = 5;
};

struct Region {  // a vertical band
  std::string label;
  double x_from = 0, x_to = 0;
  bool hatched = false;
};

struct Chart {
  std::string title, x_label, y_label;  // labels with their units
  std::vector<Series> series;
  std::vector<Rule> rules = {};
  std::vector<Region> regions = {};
  bool from_zero = true;  // false: the y axis begins near the data
};

// Round values (1, 2 or 5 times a power of ten, and their multiples) inside [least, most], at most `count` + 2.
[[nodiscard]] std::vector<double> ticks(double least, double most, int count = 6);

// The width that a picture is laid out for. It may be scaled to any other width, with its letters.
enum class Width { kWide, kNarrow };

// Its attribute data-frame says where the axes lie: left, right, top and bottom of the plot, in the units of the viewBox,
// and the values of x at left and right.
[[nodiscard]] std::string to_svg(const Chart& chart, Width width = Width::kWide);
// What the page's script reads: {"x": label, "series": [{"label", "shape", "points": [[x..], [y..]]}]}. A y that is none
// is null. Labels are made harmless (base/foreign_text.h).
[[nodiscard]] nlohmann::ordered_json to_json(const Chart& chart);

// Charts below each other as a file of its own, in light or dark as the reader's screen is.
[[nodiscard]] std::string svg_document(const std::vector<Chart>& charts);

}  // namespace pantoum::report
