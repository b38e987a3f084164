#include "report/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace pantoum::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Chart chart(Series series) {
  return {.title = "t", .x_label = "x", .y_label = "y", .series = {std::move(series)}};
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Ticks, AreRoundAndInside) {
  for (const auto& [least, most] :
       {std::pair{0.0, 1.0}, {3.2, 3.3}, {-5.0, 17.0}, {1e-9, 5e-9}, {0.0, 1e12}, {1.0, 1404.0}}) {
    const std::vector<double> found = ticks(least, most);
    EXPECT_GE(found.size(), 2U) << least << " to " << most;
    EXPECT_LE(found.size(), 9U) << least << " to " << most;
    for (const double tick : found) {
      EXPECT_GE(tick, least - (most - least) * 1e-6);
      EXPECT_LE(tick, most + (most - least) * 1e-6);
    }
  }
  EXPECT_EQ(ticks(2, 2).size(), 1U);
}

TEST(Svg, StepsHoldTheirValueUntilTheNext) {
  const std::string svg = to_svg(chart({.label = "a", .shape = Shape::kSteps, .points = {{0, 1}, {1, 2}, {2, 3}}}));
  const size_t path = svg.find("<path d='M");
  ASSERT_NE(path, std::string::npos);
  const std::string data = svg.substr(path, svg.find('\'', path + 9) - path);
  EXPECT_EQ(count(data, "H"), 2U);
  EXPECT_EQ(count(data, "V"), 2U);
  EXPECT_EQ(count(data, "L"), 0U);
  EXPECT_LT(data.find('H'), data.find('V'));
}

TEST(Svg, ValuesThatAreNoneLeaveAGap) {
  const double none = std::nan("");
  const std::string svg = to_svg(
      chart({.label = "a", .points = {{0, 1}, {1, none}, {2, 3}, {3, std::numeric_limits<double>::infinity()}}}));
  EXPECT_EQ(count(svg, "M"), 2U);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Svg, OnePointAloneIsAMark) {
  EXPECT_THAT(to_svg(chart({.label = "a", .points = {{7, 2}}})), HasSubstr("class='mark s0'"));
}

TEST(Svg, NothingAtAllIsAnEmptyChart) {
  EXPECT_THAT(to_svg(chart({.label = "a"})), HasSubstr("</svg>"));
  EXPECT_THAT(to_svg(Chart{}), HasSubstr("</svg>"));
}

TEST(Svg, LinesThatCoincideAreDrawnBesideEachOther) {
  Chart two = chart({.label = "a", .points = {{0, 1}, {1, 2}}});
  two.series.push_back(two.series[0]);
  two.series[1].style = 1;
  const std::string svg = to_svg(two);
  const size_t first = svg.find("<path d='"), second = svg.find("<path d='", first + 1);
  EXPECT_NE(svg.substr(first, 30), svg.substr(second, 30));
}

TEST(Svg, ForeignTextIsText) {
  Chart bad = chart({.label = "</svg><script>x</script>\"'&\u202e", .points = {{0, 1}, {1, 2}}});
  bad.title = bad.x_label = bad.y_label = "<b onload='x'>]]>";
  bad.rules.push_back({"<i>", 1});
  bad.regions.push_back({"<u>", 0, 1, true});
  for (const std::string& svg : {to_svg(bad), svg_document({bad})}) {
    EXPECT_THAT(svg, Not(HasSubstr("<script")));
    EXPECT_THAT(svg, Not(HasSubstr("<b ")));
    EXPECT_THAT(svg, Not(HasSubstr("<i>")));
    EXPECT_THAT(svg, Not(HasSubstr("\u202e")));
  }
}

TEST(Svg, TheDocumentIsLightOrDark) {
  EXPECT_THAT(svg_document({chart({.label = "a", .points = {{0, 1}}})}), HasSubstr("prefers-color-scheme: dark"));
}

}  // namespace
}  // namespace pantoum::report
