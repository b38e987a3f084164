#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pantoum::report {
namespace {

constexpr double kWidth = 900, kHeight = 300, kLeft = 80, kRight = 20, kTop = 34, kBottom = 42;

struct Frame {
  double x_min = 0, x_max = 1, y_max = 1;
  [[nodiscard]] double x(double value) const {
    return kLeft + (value - x_min) / (x_max - x_min) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double value) const {
    return kHeight - kBottom - std::min(value, y_max) / y_max * (kHeight - kTop - kBottom);
  }
};

bool finite(const Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y);
}

Frame frame_of(const Chart& chart) {
  Frame frame;
  bool any = false;
  frame.y_max = chart.y_max;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) {
      if (!finite(point)) continue;
      frame.x_min = any ? std::min(frame.x_min, point.x) : point.x;
      frame.x_max = any ? std::max(frame.x_max, point.x) : point.x;
      if (chart.y_max <= 0) frame.y_max = std::max(frame.y_max, point.y * 1.05);
      any = true;
    }
  }
  if (frame.x_max <= frame.x_min) frame.x_max = frame.x_min + 1;
  if (frame.y_max <= 0) frame.y_max = 1;
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
  const double y_step = tick_step(frame.y_max), x_step = tick_step(frame.x_max - frame.x_min);
  for (double value = 0; value <= frame.y_max * 1.0001; value += y_step)
    text += fmt::format(
        "<line x1='{}' x2='{}' y1='{:.1f}' y2='{:.1f}' class='grid'/><text x='{}' y='{:.1f}' class='y'>{:.4g}</text>\n",
        kLeft, kWidth - kRight, frame.y(value), frame.y(value), kLeft - 6, frame.y(value) + 4, value);
  for (double value = std::ceil(frame.x_min / x_step) * x_step; value <= frame.x_max; value += x_step)
    text +=
        fmt::format("<text x='{:.1f}' y='{}' class='x'>{:.4g}</text>\n", frame.x(value), kHeight - kBottom + 16, value);
  text += fmt::format("<text x='{}' y='{}' class='x'>{}</text>\n", (kLeft + kWidth) / 2, kHeight - 8,
                      escape(chart.x_label));
  text += fmt::format("<text x='14' y='{}' class='x' transform='rotate(-90 14 {})'>{}</text>\n", kHeight / 2,
                      kHeight / 2, escape(chart.y_label));
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
  return fmt::format("<path d='{}' fill='{}' fill-opacity='{}' stroke='{}' stroke-width='1.5'/>\n", path,
                     area ? series.colour : "none", area ? "0.25" : "0", series.colour);
}

std::string dots_of(const Series& series, const Frame& frame) {
  std::string text;
  for (const Point& point : thin(series.points))
    text += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='2.4' height='2.4' fill='{}'/>", frame.x(point.x) - 1.2,
                        frame.y(point.y) - 1.2, series.colour);
  return text + "\n";
}

}  // namespace

std::string escape(const std::string& text) {
  std::string out;
  for (char letter : text) {
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

std::string to_svg(const Chart& chart) {
  const Frame frame = frame_of(chart);
  std::string svg =
      fmt::format("<svg viewBox='0 0 {} {}' role='img' aria-label='{}'>\n<text x='{}' y='18' class='title'>{}</text>\n",
                  kWidth, kHeight, escape(chart.title), kLeft, escape(chart.title));
  svg += axes(chart, frame);
  double legend = kWidth - kRight;
  for (const Series& series : chart.series) {
    svg += series.shape == Shape::kDots ? dots_of(series, frame) : path_of(series, frame);
    svg += fmt::format("<text x='{:.0f}' y='18' class='legend' fill='{}'>{}</text>\n", legend, series.colour,
                       escape(series.label));
    legend -= 9.0 * static_cast<double>(series.label.size()) + 16;
  }
  return svg + "</svg>\n";
}

}  // namespace pantoum::report
