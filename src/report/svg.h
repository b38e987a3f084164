// Charts with two axes, as SVG that needs no script. The script of a page does not draw charts; it shows single values of a chart, which it reads
// from the data beside the chart (to_json).
//
// Colours are classes of chart.css (s0 to s7: an Okabe-Ito palette), with one value for light screens and one for dark screens. No chart relies on
// colour alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace pantoum::report {

struct Point {
  double x = 0, y = 0;  // a y that is NaN leaves a gap
};

enum class Shape {
  kLine,
  kSteps,      // y holds until the next x
  kStepsBack,  // y holds from the previous x on: a lower bound at an x is also one at smaller x
  kArea,       // kSteps, filled down to 0
};

struct Series {
  std::string label;
  int style = 0;  // s0 to s7
  Shape shape = Shape::kLine;
  std::vector<Point> points;  // by ascending x
  bool dashed = false;
  bool marked = false;            // draw a mark at each point; every style has its own form of mark
  std::vector<double> none = {};  // each x that is known to have no y: drawn as crosses above the axis
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

// Returns at most `count` + 2 round values in [least, most]: the multiples of 1, 2 or 5 times a power of ten.
[[nodiscard]] std::vector<double> ticks(double least, double most, int count = 6);

// The width for which a chart is laid out. A page may scale the chart, with its letters, to any other width.
enum class Width { kWide, kNarrow };

// Returns the chart as an svg element. Its attribute data-frame has the left, right, top and bottom edges of the plot, in the units of the viewBox,
// and the values of x at the left and right edges.
[[nodiscard]] std::string to_svg(const Chart& chart, Width width = Width::kWide);
// Returns the data that the page's script reads: {"x": label, "series": [{"label", "shape", "points": [[x..], [y..]]}]}. A y that is NaN becomes
// null. Labels are made harmless (base/foreign_text.h).
[[nodiscard]] nlohmann::ordered_json to_json(const Chart& chart);

// Returns an SVG file with the charts one below the other, in light or dark colours as the reader's screen is set.
[[nodiscard]] std::string svg_document(const std::vector<Chart>& charts);

}  // namespace pantoum::report
