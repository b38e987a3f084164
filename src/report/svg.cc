#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/foreign_text.h"
#include "report/page_files.h"

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kRight = 24, kTop = 58, kAxis = 46;  // beside, above and below the plot
constexpr double kLegendLine = 20, kSample = 26, kLegendGap = 20;
constexpr double kLetter = 7.4, kTitleLetter = 9.2;  // of the widest usual letters (DejaVu) at 12 and, bold, at 14 dots
constexpr double kHatch = 14, kApart = 2.5;  // of lines that would hide each other
constexpr size_t kMostPoints = 3000;

struct Layout {
  double width, left, height;  // of the picture; of the margin left of the plot; of the plot
  int x_ticks, y_ticks;
  double near_tick;  // the share of the axis within which a tick replaces the axis' end
  [[nodiscard]] double right() const { return width - kRight; }
  [[nodiscard]] double bottom() const { return kTop + height; }
};

const Layout& layout_of(Width width) {
  static constexpr Layout kWide{900, 76, 250, 8, 6, 0.05}, kNarrow{380, 58, 190, 4, 4, 0.12};
  return width == Width::kWide ? kWide : kNarrow;
}

struct Frame {
  const Layout& layout;
  double x_min = 0, x_max = 1, y_min = 0, y_max = 1;
  bool one_x = false;  // all points stand at one x
  [[nodiscard]] double x(double value) const {
    return layout.left + (value - x_min) / (x_max - x_min) * (layout.right() - layout.left);
  }
  [[nodiscard]] double y(double value) const {
    return layout.bottom() - (std::clamp(value, y_min, y_max) - y_min) / (y_max - y_min) * layout.height;
  }
};

bool finite(const Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y);
}

class Range {
 public:
  void add(double value) { least_ = std::min(least_, value), most_ = std::max(most_, value); }
  [[nodiscard]] bool empty() const { return least_ > most_; }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double most() const { return most_; }

 private:
  double least_ = std::numeric_limits<double>::infinity(), most_ = -std::numeric_limits<double>::infinity();
};

// The text as one line of at most `width`, with an ellipsis where it is longer.
std::string fitted(std::string_view text, double width, double letter = kLetter) {
  std::string line = base::one_line(text);
  const auto is_begin = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; };
  auto left = static_cast<int64_t>(width / letter);
  if (std::count_if(line.begin(), line.end(), is_begin) <= left) return line;
  size_t end = 0;
  for (; end < line.size(); ++end)
    if (is_begin(line[end]) && --left < 1) break;
  return line.substr(0, end) + "\u2026";
}

double width_of(std::string_view text) {
  return kLetter * static_cast<double>(text.size());
}

// One value alone gets room on both sides.
void widen(double& least, double& most) {
  if (most - least > 1e-12 * std::max(std::abs(least), std::abs(most))) return;
  const double half = most == 0 ? 0.5 : std::abs(most) * 0.05;
  least -= half, most += half;
}

Frame frame_of(const Chart& chart, const Layout& layout) {
  Range x, y;
  for (const Series& series : chart.series)
    for (const Point& point : series.points)
      if (std::isfinite(point.x)) {
        x.add(point.x);
        if (finite(point)) y.add(point.y);
      }
  for (const Region& region : chart.regions) x.add(region.x_from), x.add(region.x_to);
  for (const Series& series : chart.series)
    for (const double none : series.none) x.add(none);
  for (const Rule& rule : chart.rules) y.add(rule.y);
  Frame frame{layout};
  if (!x.empty()) frame.x_min = x.least(), frame.x_max = x.most();
  if (!y.empty()) frame.y_min = chart.from_zero ? std::min(0.0, y.least()) : y.least(), frame.y_max = y.most();
  frame.one_x = frame.x_min == frame.x_max;
  widen(frame.x_min, frame.x_max);
  if (chart.from_zero && frame.y_max <= frame.y_min) frame.y_max = frame.y_min + 1;
  widen(frame.y_min, frame.y_max);
  const double room = (frame.y_max - frame.y_min) * 0.06;
  if (!chart.from_zero || frame.y_min < 0) frame.y_min -= room;
  frame.y_max += room;
  return frame;
}

double tick_step(double range, int count) {
  const double rough = range / count, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

// Shows the value with as many digits as tell neighbouring ticks apart.
std::string shown(double value, double step) {
  const double size = std::max(std::abs(value), std::abs(step));
  if (size != 0 && (size >= 1e7 || std::abs(step) < 1e-5)) return fmt::format("{:.3g}", value);
  const int digits = std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 6);
  return fmt::format("{:.{}f}", value == 0 ? 0 : value, digits);
}

// The values beside the x axis: its ticks, and where it begins and ends unless a tick is near. Those without room are left out, never the last.
std::vector<double> x_values(const Frame& frame, double step) {
  if (frame.one_x) return {(frame.x_min + frame.x_max) / 2};
  std::vector<double> all = ticks(frame.x_min, frame.x_max, frame.layout.x_ticks);
  const double near = (frame.x_max - frame.x_min) * frame.layout.near_tick;
  if (all.empty() || all.front() - frame.x_min > near) all.insert(all.begin(), frame.x_min);
  if (frame.x_max - all.back() > near) all.push_back(frame.x_max);
  std::vector<double> kept;
  const auto meet = [&](double a, double b) {
    return frame.x(b) - frame.x(a) < (width_of(shown(a, step)) + width_of(shown(b, step))) / 2 + kLetter;
  };
  for (const double value : all)
    if (kept.empty() || !meet(kept.back(), value)) kept.push_back(value);
  while (kept.back() != all.back() && kept.size() > 1 && meet(kept.back(), all.back())) kept.pop_back();
  if (kept.back() != all.back() && !meet(kept.back(), all.back())) kept.push_back(all.back());
  return kept;
}

// Letters that would lie outside are pressed together.
std::string pressed(const std::string& value, double room) {
  return width_of(value) > room ? fmt::format(" textLength='{:.0f}' lengthAdjust='spacingAndGlyphs'", room) : "";
}

// The label of an axis; where it begins so far from 0 that lengths mislead, it says so.
std::string with_cut(const std::string& label, double from, double to, double room) {
  constexpr double kNoticed = 0.05;
  const std::string cut = from > kNoticed * to ? " (cut: not from 0)" : "";
  return fitted(label, room - width_of(cut)) + cut;
}

std::string axes(const Chart& chart, const Frame& frame) {
  const Layout& layout = frame.layout;
  const double left = layout.left, right = layout.right(), bottom = layout.bottom();
  const double x_step = tick_step(frame.x_max - frame.x_min, layout.x_ticks),
               y_step = tick_step(frame.y_max - frame.y_min, layout.y_ticks);
  std::string text;
  for (const double value : ticks(frame.y_min, frame.y_max, layout.y_ticks))
    text += fmt::format(
        "<line x1='{0}' x2='{1}' y1='{2:.1f}' y2='{2:.1f}' class='grid'/><text x='{3}' y='{4:.1f}' class='y'{6}>{5}</text>\n",
        left, right, frame.y(value), left - 8, frame.y(value) + 4, shown(value, y_step),
        pressed(shown(value, y_step), left - 10));
  for (const double value : x_values(frame, x_step)) {
    const std::string label = shown(value, x_step);
    const double half = width_of(label) / 2, x = std::clamp(frame.x(value), half + 1, layout.width - half - 1);
    text += fmt::format(
        "<line x1='{0:.1f}' x2='{0:.1f}' y1='{1}' y2='{2}' class='tick'/><text x='{5:.1f}' y='{3}' "
        "class='x'>{4}</text>\n",
        frame.x(value), bottom, bottom + 5, bottom + 18, label, x);
  }
  return text + fmt::format(
                    "<line x1='{0}' x2='{1}' y1='{2}' y2='{2}' class='axis'/>\n<text x='{3}' y='{4}' class='label "
                    "x'>{5}</text>\n<text x='8' y='{6}' class='label'>{7}</text>\n",
                    left, right, bottom, (left + right) / 2, bottom + 38,
                    base::html_text(with_cut(chart.x_label, frame.x_min, frame.x_max, right - left)), kTop - 22,
                    base::html_text(with_cut(chart.y_label, frame.y_min, frame.y_max, layout.width - 16)));
}

// Keeps the point with the largest y of each run of points, so that peaks stay, and the first and the last point.
std::vector<Point> thin(const std::vector<Point>& points) {
  if (points.size() <= kMostPoints) return points;
  const size_t run = points.size() / kMostPoints + 1;
  std::vector<Point> kept{points.front()};
  for (size_t begin = 1; begin < points.size(); begin += run) {
    const auto first = points.begin() + static_cast<long>(begin);
    const auto last = points.begin() + static_cast<long>(std::min(points.size(), begin + run));
    kept.push_back(*std::max_element(first, last, [](const Point& a, const Point& b) { return a.y < b.y; }));
  }
  if (kept.back().x < points.back().x) kept.push_back(points.back());
  return kept;
}

std::string path_data(const Series& series, const Frame& frame, double down) {
  std::string path;
  double start = 0;
  const Point* before = nullptr;
  for (const Point& point : series.points) {
    if (!finite(point)) {
      before = nullptr;
      continue;
    }
    const double x = frame.x(point.x), y = frame.y(point.y) + down;
    if (before == nullptr) {
      path += fmt::format("M{:.1f} {:.1f}", start = x, y);
    } else if (series.shape == Shape::kLine) {
      path += fmt::format("L{:.1f} {:.1f}", x, y);
    } else {
      path +=
          series.shape == Shape::kStepsBack ? fmt::format("V{:.1f}H{:.1f}", y, x) : fmt::format("H{:.1f}V{:.1f}", x, y);
    }
    before = &point;
  }
  if (series.shape == Shape::kArea && before != nullptr)
    path += fmt::format("V{:.1f}H{:.1f}Z", frame.y(std::max(0.0, frame.y_min)), start);
  return path;
}

// A circle, a square, a diamond, a triangle: by style.
std::string mark(double x, double y, int style) {
  switch (style % 4) {
    case 0:
      return fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3.4' class='mark s{}'/>", x, y, style);
    case 1:
      return fmt::format("<rect x='{:.1f}' y='{:.1f}' width='6.4' height='6.4' class='mark s{}'/>", x - 3.2, y - 3.2,
                         style);
    case 2:
      return fmt::format("<polygon points='{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}' class='mark s{}'/>",
                         x, y - 4.6, x + 4.6, y, x, y + 4.6, x - 4.6, y, style);
    default:
      return fmt::format("<polygon points='{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}' class='mark s{}'/>", x, y - 4.4,
                         x + 4.4, y + 3.6, x - 4.4, y + 3.6, style);
  }
}

std::string drawn(const Series& given, const Frame& frame, double down) {
  Series series = given;
  series.points = thin(given.points);
  const std::string path = path_data(series, frame, down);
  if (path.empty()) return "";
  std::string text =
      fmt::format("<path d='{}' class='{} s{}'{}/>\n", path, series.shape == Shape::kArea ? "area" : "line",
                  series.style, series.dashed ? " stroke-dasharray='6 4'" : "");
  if (series.marked || series.points.size() == 1)
    for (const Point& point : series.points)
      if (finite(point)) text += mark(frame.x(point.x), frame.y(point.y) + down, series.style);
  return text + "\n";
}

bool alike(const Series& a, const Series& b) {
  if (a.points.empty() || a.shape != b.shape) return false;
  size_t same = 0;
  for (const Point& point : a.points)
    same += static_cast<size_t>(std::any_of(b.points.begin(), b.points.end(), [&](const Point& other) {
      return point.x == other.x && std::abs(point.y - other.y) <= 1e-6 * std::abs(point.y);
    }));
  return same * 3 >= a.points.size();  // a third of them
}

// How far each series is drawn below its place, so that none hides another.
std::vector<double> shifts(const Chart& chart) {
  std::vector<double> down(chart.series.size(), 0);
  for (size_t at = 0; at < down.size(); ++at)
    for (size_t other = 0; other < at; ++other)
      if (alike(chart.series[at], chart.series[other])) down[at] = std::max(down[at], down[other] + kApart);
  return down;
}

// Leaning lines between two x, cut off at the edges.
std::string hatch(double left, double right, const Layout& layout) {
  std::string text;
  for (double foot = left - layout.height + kHatch; foot < right; foot += kHatch) {
    const double from = std::max(foot, left), to = std::min(foot + layout.height, right);
    text += fmt::format("<line x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}' class='hatch'/>", from, to,
                        layout.bottom() - (from - foot), layout.bottom() - (to - foot));
  }
  return text;
}

// Just above the axis, a row for each series that has some.
std::string crosses(const Chart& chart, const Frame& frame) {
  std::string text;
  double y = frame.layout.bottom() - 9;
  for (const Series& series : chart.series) {
    for (const double value : series.none)
      text += fmt::format(
          "<polyline points='{0:.1f},{2:.1f} {1:.1f},{3:.1f}' class='cross-mark s{4}'/><polyline "
          "points='{0:.1f},{3:.1f} {1:.1f},{2:.1f}' class='cross-mark s{4}'/>",
          frame.x(value) - 3.5, frame.x(value) + 3.5, y - 3.5, y + 3.5, series.style);
    if (!series.none.empty()) y -= 11;
  }
  return text + "\n";
}

// A text's place: nothing is written upon it.
struct Box {
  double left, right, top, bottom;
  [[nodiscard]] bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};
// Of a line of text that begins at x, on the base line y.
Box box_of(std::string_view text, double x, double y) {
  return {x, x + width_of(text), y - 12, y + 4};
}

std::string regions_of(const Chart& chart, const Frame& frame, std::vector<Box>& taken) {
  std::string text;
  for (const Region& region : chart.regions) {
    const double left = frame.x(region.x_from), right = frame.x(region.x_to);
    text += fmt::format("<rect x='{:.1f}' y='{}' width='{:.1f}' height='{}' class='region{}'/>\n", left, kTop,
                        std::max(0.0, right - left), frame.layout.height, region.hatched ? " hatched" : "");
    if (region.hatched) text += hatch(left, right, frame.layout);
    const Box box = box_of(region.label, left + 4, kTop - 5);
    const bool is_free = std::none_of(taken.begin(), taken.end(), [&](const Box& other) { return other.meets(box); });
    if (!is_free || box.right > (region.hatched ? frame.layout.width : right + 4)) continue;
    taken.push_back(box);
    text += fmt::format("<text x='{:.1f}' y='{}' class='region'>{}</text>\n", left + 4, kTop - 5,
                        base::html_text(region.label));
  }
  return text;
}

// The names of lines stand above them at the right end, or where there is room: below, or at the left end.
std::string rules_of(const Chart& chart, const Frame& frame, std::vector<Box>& taken) {
  std::string text;
  const double left = frame.layout.left, right = frame.layout.right();
  for (const Rule& rule : chart.rules) {
    const std::string label = fitted(rule.label, right - left - 8);
    const double y = frame.y(rule.y), at_end = right - 4 - width_of(label);
    text += fmt::format("<line x1='{0}' x2='{1}' y1='{2:.1f}' y2='{2:.1f}' class='rule s{3}'/>", left, right, y, rule.style);
    for (const auto& [x, base] : {std::pair{at_end, y - 5}, {at_end, y + 14}, {left + 4, y - 5}, {left + 4, y + 14}}) {
      const Box box = box_of(label, x, base);
      if (box.bottom > frame.layout.bottom() ||
          std::any_of(taken.begin(), taken.end(), [&](const Box& other) { return other.meets(box); }))
        continue;
      taken.push_back(box);
      text += fmt::format("<text x='{:.1f}' y='{:.1f}' class='rule{}'>{}</text>\n", x == at_end ? right - 4 : x, base,
                          x == at_end ? "" : " left", base::html_text(label));
      break;
    }
  }
  return text;
}

struct Drawing {
  std::string frame;  // of the attribute data-frame
  std::string body = {};
  double height = 0;
};

// Below the axis, each entry with a sample of its line.
void add_legend(const Chart& chart, const Layout& layout, Drawing& drawing) {
  const double left = layout.left < 2 * kSample + 8 ? 8 : layout.left;
  double x = left, y = layout.bottom() + kAxis + kLegendLine;
  for (const Series& series : chart.series) {
    const std::string label = fitted(series.label, layout.width - left - kSample - 8);
    const double width = kSample + 8 + width_of(label) + kLegendGap;
    if (x + width - kLegendGap > layout.width && x > left) x = left, y += kLegendLine;
    if (series.shape == Shape::kArea)
      drawing.body += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{}' height='10' class='area s{}'/>", x, y - 9,
                                  kSample, series.style);
    else if (series.points.size() != 1)
      drawing.body +=
          fmt::format("<line x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}' class='line s{}'{}/>", x, x + kSample,
                      y - 4, y - 4, series.style, series.dashed ? " stroke-dasharray='6 4'" : "");
    if (series.marked) drawing.body += mark(x + kSample / 2, y - 4, series.style);
    drawing.body += fmt::format("<text x='{:.1f}' y='{:.1f}' class='legend'>{}</text>\n", x + kSample + 8, y,
                                base::html_text(label));
    x += width;
  }
  drawing.height = y + kLegendLine * 0.7;
}

Drawing draw(const Chart& chart, const Layout& layout) {
  const Frame frame = frame_of(chart, layout);
  Drawing drawing{.frame = fmt::format("{} {} {} {} {} {}", layout.left, layout.right(), kTop, layout.bottom(),
                                       frame.x_min, frame.x_max)};
  std::vector<Box> taken;
  drawing.body = fmt::format("<text x='8' y='16' class='title'>{}</text>\n",
                             base::html_text(fitted(chart.title, layout.width - 8, kTitleLetter))) +
                 regions_of(chart, frame, taken) + axes(chart, frame);
  const std::vector<double> down = shifts(chart);
  for (size_t at = 0; at < chart.series.size(); ++at) drawing.body += drawn(chart.series[at], frame, down[at]);
  drawing.body += crosses(chart, frame) + rules_of(chart, frame, taken);
  add_legend(chart, layout, drawing);
  return drawing;
}

const char* name_of(Shape shape) {
  constexpr std::array kNames{"line", "steps", "steps-back", "area"};
  return kNames[static_cast<size_t>(shape)];
}

Json points_json(const std::vector<Point>& points) {
  Json xs = Json::array(), ys = Json::array();
  for (const Point& point : thin(points)) {
    if (!std::isfinite(point.x)) continue;
    xs.push_back(point.x);
    ys.push_back(std::isfinite(point.y) ? Json(point.y) : Json(nullptr));
  }
  return {std::move(xs), std::move(ys)};
}

}  // namespace

std::vector<double> ticks(double least, double most, int count) {
  std::vector<double> found;
  if (!(most > least) || !std::isfinite(most - least)) return {least};
  const double step = tick_step(most - least, count);
  for (double number = std::ceil(least / step - 1e-9); number * step <= most + step * 1e-9 && found.size() < 100;
       ++number)
    found.push_back(number * step);
  return found;
}

std::string to_svg(const Chart& chart, Width width) {
  const Layout& layout = layout_of(width);
  const Drawing drawing = draw(chart, layout);
  return fmt::format(
      "<svg viewBox='0 0 {} {:.0f}' class='chart {}' data-frame='{}' role='img' aria-label='{}'>\n{}</svg>\n",
      layout.width, drawing.height, width == Width::kWide ? "wide" : "narrow", drawing.frame,
      base::html_text(chart.title), drawing.body);
}

Json to_json(const Chart& chart) {
  Json series = Json::array();
  for (const Series& each : chart.series)
    series.push_back({{"label", base::one_line(each.label)},
                      {"shape", name_of(each.shape)},
                      {"points", points_json(each.points)}});
  return {{"x", base::one_line(chart.x_label)}, {"series", std::move(series)}};
}

std::string svg_document(const std::vector<Chart>& charts) {
  const Layout& layout = layout_of(Width::kWide);
  std::string body;
  double top = 0;
  for (const Chart& chart : charts) {
    const Drawing drawing = draw(chart, layout);
    body += fmt::format("<g transform='translate(0 {:.0f})'>\n{}</g>\n", top, drawing.body);
    top += drawing.height + kLegendLine;
  }
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1:.0f}' width='{0}' height='{1:.0f}' "
      "class='chart'>\n<style>{2}</style>\n"
      "<rect width='100%' height='100%' class='paper'/>\n{3}</svg>\n",
      layout.width, top, page_file("chart.css"), body);
}

}  // namespace pantoum::report
