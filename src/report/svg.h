// Small SVG charts, self-contained: no script, no external style.
#pragma once

#include <string>
#include <vector>

namespace pantoum::report {

struct Point {
  double x = 0, y = 0;
};

enum class Shape { kLine, kSteps, kArea, kDots };

struct Series {
  std::string label, colour;
  Shape shape = Shape::kLine;
  std::vector<Point> points;
  bool dashed = false;
};

struct Chart {
  std::string title, x_label, y_label;
  std::vector<Series> series;
  double y_max = 0;       // 0: from the data
  bool from_zero = true;  // false: the y axis begins near the data
};

// The chart as an <svg> element. Labels are escaped; non-finite points are left out; at most `kMostPoints` per series
// are drawn.
inline constexpr size_t kMostPoints = 4000;
[[nodiscard]] std::string to_svg(const Chart& chart);

// Charts below each other as a file of its own.
[[nodiscard]] std::string svg_document(const std::vector<Chart>& charts);

// Text for HTML and SVG: & < > " replaced.
[[nodiscard]] std::string escape(const std::string& text);

}  // namespace pantoum::report
