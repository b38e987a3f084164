#include "cli/firmware_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/units.h"

namespace pantoum::cli {
namespace {

struct Row {
  std::string name, op;
  uint64_t calls = 0, macs_needed = 0, macs_done = 0;
  double instructions = 0;  // of one step
  [[nodiscard]] double ratio() const { return macs_needed == 0 ? NAN : instructions / double(macs_needed); }
};

std::string shown_name(std::string function) {
  if (function.starts_with("pt_")) function = function.substr(3);
  if (function.ends_with("_f32")) function.resize(function.size() - 4);
  return function;
}

std::vector<Row> rows_of(const emit::Counted& counted) {
  std::vector<Row> rows;
  for (const emit::CountedKernel& kernel : counted.kernels)
    rows.push_back({.name = shown_name(kernel.work.function),
                    .op = kernel.work.op,
                    .calls = kernel.work.calls,
                    .macs_needed = kernel.work.macs_needed,
                    .macs_done = kernel.work.macs_done,
                    .instructions = double(kernel.instructions) / double(counted.steps)});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.instructions > b.instructions; });
  return rows;
}

Row sum_of(const std::vector<Row>& rows, bool products_only) {
  Row sum{.name = products_only ? "products" : "kernels", .op = {}};
  for (const Row& row : rows) {
    if (products_only && row.macs_done == 0) continue;
    sum.calls += row.calls, sum.macs_needed += row.macs_needed, sum.macs_done += row.macs_done;
    sum.instructions += row.instructions;
  }
  return sum;
}

nlohmann::ordered_json to_json(const Row& row) {
  nlohmann::ordered_json json{{"instructions", row.instructions}, {"calls", row.calls}};
  if (row.macs_done == 0) return json;
  json["macs_needed"] = row.macs_needed, json["macs_done"] = row.macs_done, json["ratio"] = row.ratio();
  return json;
}

std::string to_text(const Row& row) {
  std::string text = fmt::format("  {:28} {:14.0f} {:7}", row.name, row.instructions, row.calls);
  if (row.macs_done > 0) text += fmt::format(" {:12} {:12} {:8.2f}", row.macs_needed, row.macs_done, row.ratio());
  return text + "\n";
}

}  // namespace

std::string to_text(const emit::Counted& counted) {
  const std::vector<Row> rows = rows_of(counted);
  const double all = double(counted.instructions) / double(counted.steps);
  std::string text = fmt::format("counted   {} steps; {:.0f} instructions a step\n", counted.steps, all);
  if (std::isfinite(counted.energy_j))
    text += "energy    " + base::show_joules(counted.energy_j) + " a step (modelled)\n";
  text += fmt::format("  {:28} {:>14} {:>7} {:>12} {:>12} {:>8}\n", "of a step, in", "instructions", "calls",
                      "macs needed", "macs done", "per mac");
  for (const Row& row : rows) text += to_text(row);
  const Row rest{
      .name = "interpreter, samples, paging", .op = {}, .instructions = all - sum_of(rows, false).instructions};
  text += fmt::format("  {:28} {:14.0f}\n", rest.name, rest.instructions);
  return text + to_text(sum_of(rows, true));
}

nlohmann::ordered_json to_json(const emit::Counted& counted) {
  const std::vector<Row> rows = rows_of(counted);
  nlohmann::ordered_json kernels = nlohmann::ordered_json::object();
  for (const Row& row : rows) {
    kernels[row.name] = {{"op", row.op}};
    kernels[row.name].update(to_json(row));
  }
  return {{"steps", counted.steps},
          {"instructions", double(counted.instructions) / double(counted.steps)},
          {"energy_modelled_j", counted.energy_j},
          {"products", to_json(sum_of(rows, true))},
          {"kernels", kernels}};
}

}  // namespace pantoum::cli
