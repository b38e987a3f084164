#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/foreign_text.h"

namespace pantoum::report {
namespace {

constexpr double kWidth = 900, kHeight = 300, kLeft = 80, kRight = 20, kTop = 34, kBottom = 42;
constexpr double kLetter = 9, kLegendGap = 16, kLegendLine = 18;
constexpr const char* kDocumentStyle =
    "text{font:12px system-ui,sans-serif;fill:#444}.title{font-weight:600;font-size:14px}.y,.legend{text-anchor:end}"
    ".x{text-anchor:middle}.grid{stroke:#ddd}";

struct Frame {
  double x_min = 0, x_max = 1, y_min = 0, y_max = 1;
  [[nodiscard]] double x(double value) const {
    return kLeft + (value - x_min) / (x_max - x_min) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double value) const {
    return kHeight - kBottom - (std::min(value, y_max) - y_min) / (y_max - y_min) * (kHeight - kTop - kBottom);
  }
};

bool finite(const Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y);
}

// Room around the data, at least a hundredth of them.
void zoom(Frame& frame, double lowest) {
  const double range = std::max(frame.y_max / 1.05 - lowest, frame.y_max * 0.01);
  frame.y_max = frame.y_max / 1.05 + range * 0.08;
  frame.y_min = std::max(0.0, lowest - range * 0.08);
}

Frame frame_of(const Chart& chart) {
  Frame frame;
  bool any = false;
  double lowest = 0;
  frame.y_max = chart.y_max;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) {
      if (!finite(point)) continue;
      frame.x_min = any ? std::min(frame.x_min, point.x) : point.x;
      frame.x_max = any ? std::max(frame.x_max, point.x) : point.x;
      lowest = any ? std::min(lowest, point.y) : point.y;
      if (chart.y_max <= 0) frame.y_max = std::max(frame.y_max, point.y * 1.05);
      any = true;
    }
  }
  if (frame.x_max <= frame.x_min) frame.x_max = frame.x_min + 1;
  if (frame.y_max <= 0) frame.y_max = 1;
  if (any && !chart.from_zero && lowest > 0) zoom(frame, lowest);
  return frame;
}

// A step (1, 2 or 5 times a power of ten) that gives four to eight ticks.
double tick_step(double range) {
  const double rough = range / 6, power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

std::string axes(const Chart& chart, const Frame& frame) {
  std::string text;
  const double y_step = tick_step(frame.y_max - frame.y_min), x_step = tick_step(frame.x_max - frame.x_min);
  for (double value = std::ceil(frame.y_min / y_step) * y_step; value <= frame.y_max * 1.0001; value += y_step)
    text += fmt::format(
        "<line x1='{}' x2='{}' y1='{:.1f}' y2='{:.1f}' class='grid'/><text x='{}' y='{:.1f}' class='y'>{:.4g}</text>\n",
        kLeft, kWidth - kRight, frame.y(value), frame.y(value), kLeft - 6, frame.y(value) + 4, value);
  for (double value = std::ceil(frame.x_min / x_step) * x_step; value <= frame.x_max; value += x_step)
    text +=
        fmt::format("<text x='{:.1f}' y='{}' class='x'>{:.4g}</text>\n", frame.x(value), kHeight - kBottom + 16, value);
  text += fmt::format("<text x='{}' y='{}' class='x'>{}</text>\n", (kLeft + kWidth) / 2, kHeight - 8,
                      base::html_text(chart.x_label));
  text += fmt::format("<text x='14' y='{}' class='x' transform='rotate(-90 14 {})'>{}</text>\n", kHeight / 2,
                      kHeight / 2, base::html_text(chart.y_label));
  return text;
}

// Every n-th point, but within each run of n the one with the largest y, so that peaks stay.
std::vector<Point> thin(const std::vector<Point>& points) {
  const size_t run = points.size() / kMostPoints + 1;
  std::vector<Point> kept;
  for (size_t begin = 0; begin < points.size(); begin += run) {
    const auto first = points.begin() + static_cast<long>(begin);
    const auto last = points.begin() + static_cast<long>(std::min(points.size(), begin + run));
    const auto top = std::max_element(first, last, [](const Point& a, const Point& b) { return a.y < b.y; });
    if (finite(*top)) kept.push_back(*top);
  }
  return kept;
}

std::string path_of(const Series& series, const Frame& frame) {
  const std::vector<Point> points = thin(series.points);
  if (points.empty()) return "";
  std::string path;
  for (size_t at = 0; at < points.size(); ++at) {
    if (at > 0 && series.shape != Shape::kLine) path += fmt::format("H{:.1f}", frame.x(points[at].x));
    path += fmt::format("{}{:.1f} {:.1f}", at == 0 ? "M" : "L", frame.x(points[at].x), frame.y(points[at].y));
  }
  if (series.shape == Shape::kArea) path += fmt::format("V{:.1f}H{:.1f}Z", frame.y(0), frame.x(points.front().x));
  const bool area = series.shape == Shape::kArea;
  return fmt::format("<path d='{}' fill='{}' fill-opacity='{}' stroke='{}' stroke-width='1.5'{}/>\n", path,
                     area ? series.colour : "none", area ? "0.25" : "0", series.colour,
                     series.dashed ? " stroke-dasharray='5 4'" : "");
}

std::string dots_of(const Series& series, const Frame& frame) {
  std::string text;
  for (const Point& point : thin(series.points))
    text += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='2.4' height='2.4' fill='{}'/>", frame.x(point.x) - 1.2,
                        frame.y(point.y) - 1.2, series.colour);
  return text + "\n";
}

struct Drawing {
  std::string body;
  double height = kHeight;
};

double width_of(const Series& series) {
  return kLetter * static_cast<double>(series.label.size()) + kLegendGap;
}

std::string legend_entry(const Series& series, double right, double y) {
  return fmt::format("<text x='{:.0f}' y='{:.0f}' class='legend' style='fill:{}'>{}{}</text>\n", right, y,
                     series.colour, series.dashed ? "- - " : "", base::html_text(series.label));
}

// Beside the title where there is room, else in lines below the chart.
void add_legend(const Chart& chart, Drawing& drawing) {
  double wanted = kLetter * static_cast<double>(chart.title.size());
  for (const Series& series : chart.series) wanted += width_of(series);
  const bool beside = wanted < kWidth - kLeft - kRight;
  double right = beside ? kWidth - kRight : kLeft, y = beside ? 18 : kHeight + kLegendLine / 2;
  for (const Series& series : chart.series) {
    if (!beside && right + width_of(series) > kWidth && right > kLeft) right = kLeft, y += kLegendLine;
    if (!beside) right += width_of(series);
    drawing.body += legend_entry(series, right, y);
    if (beside) right -= width_of(series);
  }
  if (!beside) drawing.height = y + kLegendLine / 2;
}

Drawing draw(const Chart& chart) {
  const Frame frame = frame_of(chart);
  Drawing drawing{fmt::format("<text x='{}' y='18' class='title'>{}</text>\n", kLeft, base::html_text(chart.title))};
  drawing.body += axes(chart, frame);
  for (const Series& series : chart.series)
    drawing.body += series.shape == Shape::kDots ? dots_of(series, frame) : path_of(series, frame);
  add_legend(chart, drawing);
  return drawing;
}

}  // namespace

std::string to_svg(const Chart& chart) {
  const Drawing drawing = draw(chart);
  return fmt::format("<svg viewBox='0 0 {} {}' role='img' aria-label='{}'>\n{}</svg>\n", kWidth, drawing.height,
                     base::html_text(chart.title), drawing.body);
}

std::string svg_document(const std::vector<Chart>& charts) {
  std::string body;
  double top = 0;
  for (const Chart& chart : charts) {
    const Drawing drawing = draw(chart);
    body += fmt::format("<g transform='translate(0 {})'>\n{}</g>\n", top, drawing.body);
    top += drawing.height + kLegendLine;
  }
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {} {}' width='{}' height='{}'>\n<style>{}</style>\n<rect "
      "width='100%' height='100%' fill='#fff'/>\n{}</svg>\n",
      kWidth, top, kWidth, top, kDocumentStyle, body);
}

}  // namespace pantoum::report
