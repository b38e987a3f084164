#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/foreign_text.h"
#include "base/json_reader.h"
#include "base/units.h"
#include "problem/time_source.h"
#include "report/memory_trace.h"
#include "report/report.h"
#include "report/svg.h"

namespace pantoum::report {
namespace {

constexpr double kMiB = 1048576;
constexpr const char* kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "svg{width:100%;height:auto;margin:.5rem 0 1.5rem}svg text{font:12px system-ui,sans-serif;fill:#444}svg "
    ".title{font-weight:600;font-size:14px}"
    "svg .y,svg .legend{text-anchor:end}svg .x{text-anchor:middle}svg .grid{stroke:#ddd}"
    "table{border-collapse:collapse}td,th{padding:.15rem .9rem .15rem 0;text-align:left}td.n{text-align:right}";

std::string row(const std::string& what, const std::string& value) {
  return fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", base::html_text(what), base::html_text(value));
}

std::string facts(const problem::Plan& plan, const check::Found& found) {
  std::string text = "<table>\n";
  text += row("budget", base::show_bytes(plan.question.budget_bytes()));
  text += row("arena", base::show_bytes(found.arena_bytes));
  text += row("peak", base::show_bytes(found.peak_bytes));
  text += row(fmt::format("time of a step ({})", problem::time_source(plan.graph.device)),
              base::show_seconds(found.time_s));
  text += row("energy of a step (modelled)", base::show_joules(found.energy_j));
  text += row("computed", fmt::format("{} ops, {} of them again", found.counts.compute, found.counts.recompute));
  text += row("paged", fmt::format("{} out in {}, {} in in {}", base::show_bytes(found.bytes_out),
                                   found.counts.page_out, base::show_bytes(found.bytes_in), found.counts.page_in));
  if (plan.bound.energy_j) text += row("proved lower bound of the energy", base::show_joules(*plan.bound.energy_j));
  if (plan.bound.time_s) text += row("proved lower bound of the time", base::show_seconds(*plan.bound.time_s));
  text += row("gap", fmt::format("{:.3g}%", plan.gap * 100));
  return text + "</table>\n";
}

Chart memory_chart(const problem::Plan& plan, const std::vector<TracePoint>& trace) {
  Series ram{.label = "RAM", .colour = "#2266aa", .shape = Shape::kArea};
  Series budget{.label = "budget", .colour = "#bb2222"};
  for (size_t at = 0; at < trace.size(); ++at)
    ram.points.push_back({static_cast<double>(at), static_cast<double>(trace[at].ram_bytes) / kMiB});
  const double line = static_cast<double>(plan.question.budget_bytes()) / kMiB;
  budget.points = {{0, line}, {static_cast<double>(std::max<size_t>(1, trace.size() - 1)), line}};
  return {.title = "RAM over the instructions of one step",
          .x_label = "instruction",
          .y_label = "MiB",
          .series = {ram, budget}};
}

// A dot per instruction: the op or tensor it concerns, by its place in the first computation's order.
Chart schedule_chart(const problem::Plan& plan, const std::vector<TracePoint>& trace) {
  std::unordered_map<int64_t, double> rank, producer;
  for (const TracePoint& point : trace)
    if (point.what == problem::Do::kCompute && !point.again)
      rank.emplace(point.subject, static_cast<double>(rank.size()));
  for (const problem::Op& op : plan.graph.ops)
    for (int64_t output : op.outputs) producer[output] = rank.contains(op.id) ? rank[op.id] : 0;
  Series first{.label = "computed", .colour = "#2266aa", .shape = Shape::kDots},
      again{.label = "again", .colour = "#dd8800", .shape = Shape::kDots};
  Series out{.label = "paged out", .colour = "#bb2222", .shape = Shape::kDots},
      in{.label = "paged in", .colour = "#229955", .shape = Shape::kDots};
  for (size_t at = 0; at < trace.size(); ++at) {
    const TracePoint& point = trace[at];
    const double x = static_cast<double>(at);
    if (point.what == problem::Do::kCompute) (point.again ? again : first).points.push_back({x, rank[point.subject]});
    if (point.what == problem::Do::kPageOut) out.points.push_back({x, producer[point.subject]});
    if (point.what == problem::Do::kPageIn) in.points.push_back({x, producer[point.subject]});
  }
  return {.title = "Schedule: what returns, and when",
          .x_label = "instruction",
          .y_label = "op",
          .series = {first, again, out, in}};
}

// The largest tensors of the step.
std::string largest(const problem::Plan& plan) {
  std::vector<const problem::Tensor*> tensors;
  for (const problem::Tensor& tensor : plan.graph.tensors) tensors.push_back(&tensor);
  const size_t count = std::min<size_t>(12, tensors.size());
  std::partial_sort(tensors.begin(), tensors.begin() + static_cast<long>(count), tensors.end(),
                    [](const problem::Tensor* a, const problem::Tensor* b) {
                      return a->bytes != b->bytes ? a->bytes > b->bytes : a->id < b->id;
                    });
  std::string text = "<h2>Largest tensors</h2>\n<table>\n";
  for (size_t at = 0; at < count; ++at) text += row(tensors[at]->name, base::show_bytes(tensors[at]->bytes));
  return text + "</table>\n";
}

Result<std::string> run_section(std::string_view log) {
  Series loss{.label = "loss", .colour = "#2266aa"}, accuracy{.label = "test accuracy", .colour = "#229955"};
  size_t number = 0;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    ++number;
    if (line.empty()) continue;
    const auto read = base::parse_json(line, "E0290", fmt::format("line {}", number));
    if (!read || !read->is_object())
      return fail("E0290", "a line of the run log is no JSON object", fmt::format("line {}", number),
                  "give the log that pantoum train wrote");
    const nlohmann::json& event = *read;
    const auto number_of = [&](const char* key) {
      return event.contains(key) && event[key].is_number() ? event[key].get<double>() : -1.0;
    };
    const std::string kind =
        event.contains("event") && event["event"].is_string() ? event["event"].get<std::string>() : "";
    if (kind == "step") loss.points.push_back({number_of("step"), number_of("loss")});
    if (kind == "epoch") accuracy.points.push_back({number_of("epoch"), number_of("test_accuracy")});
  }
  std::string text;
  if (!loss.points.empty())
    text += to_svg({.title = "Training loss", .x_label = "step", .y_label = "loss", .series = {loss}});
  if (!accuracy.points.empty())
    text +=
        to_svg({.title = "Test accuracy", .x_label = "epoch", .y_label = "accuracy", .series = {accuracy}, .y_max = 1});
  return text.empty() ? text : "<h2>The run</h2>\n" + text;
}

}  // namespace

Result<std::string> to_html(const problem::Plan& plan, const check::Found& found, std::string_view run_log) {
  const std::vector<TracePoint> trace = trace_memory(plan);
  PANTOUM_ASSIGN(const std::string run, run_section(run_log));
  std::string page =
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>Pantoum report</title><style>" +
      std::string(kStyle) + "</style></head><body>\n";
  page += fmt::format("<h1>{} on {}</h1>\n", base::html_text(plan.graph.name), base::html_text(plan.graph.device.name));
  page += facts(plan, found) + to_svg(memory_chart(plan, trace)) + to_svg(schedule_chart(plan, trace)) + run +
          largest(plan);
  return page + "</body></html>\n";
}

}  // namespace pantoum::report
