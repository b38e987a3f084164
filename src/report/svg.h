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

// are drawn.
inline constexpr size_t kMostPoints = 4000;
[[nodiscard]] std::string to_svg(const Chart& chart);

// Charts below each other as a file of its own.
[[nodiscard]] std::string svg_document(const std::vector<Chart>& charts);

}  // namespace pantoum::report
