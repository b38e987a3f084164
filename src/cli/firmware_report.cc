#include "cli/firmware_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/foreign_text.h"
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

using Json = nlohmann::ordered_json;
using pipeline::FirmwareRun;

uint64_t steps_run(const FirmwareRun& run) {
  return run.host.steps - std::min(run.host.steps, run.output.resumed);
}

// Arena, what the runtime and the board keep, and the stack at its deepest.
uint64_t ram_in_use(const FirmwareRun& run) {
  return run.memory.arena + run.memory.other + run.output.stack_used;
}

double percent(uint64_t part, uint64_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// A count of bytes with its thousands apart: 57,192.
std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string row(const char* group, const char* what, const std::string& value, const std::string& more = "") {
  std::string text = fmt::format("{:10}{:20}{:>17}{}{}", group, what, value, more.empty() ? "" : "  ", more);
  return text + "\n";
}

std::string bytes_row(const char* group, const char* what, uint64_t bytes, const std::string& more = "") {
  return row(group, what, grouped(bytes) + " B", more);
}

std::string of_all(uint64_t bytes, uint64_t all) {
  return all == 0 ? "" : fmt::format("of {} ({:.1f} %)", grouped(all), percent(bytes, all));
}

std::string place_of(const emit::ProgramMemory& memory) {
  if (memory.target.empty()) return "";
  if (memory.board.empty()) return " on this machine";
  return fmt::format(" on {} ({})", base::one_line(memory.board), base::one_line(memory.target));
}

std::string steps_text(const FirmwareRun& run) {
  const uint64_t steps = steps_run(run);
  std::string text = fmt::format("ran       {} steps{}", steps, place_of(run.memory));
  if (steps == 0) return text + fmt::format(": all {} were done by earlier runs\n", run.host.steps);
  if (run.output.resumed > 0) text += fmt::format(", {} to {}", run.output.resumed + 1, run.host.steps);
  return text + "\n";
}

std::string memory_text(const FirmwareRun& run) {
  const emit::ProgramMemory& memory = run.memory;
  std::string text = bytes_row("RAM", "arena, as planned", memory.arena);
  if (memory.flash == 0) return text;
  text += bytes_row("", "stack, at most", run.output.stack_used,
                    fmt::format("of {} reserved", grouped(run.output.stack_reserved)));
  text += bytes_row("", "static", memory.other, "tables and buffers of runtime and board");
  text += bytes_row("", "in use, at most", ram_in_use(run), of_all(ram_in_use(run), memory.ram));
  return text + bytes_row("flash", "in use", memory.flash,
                          of_all(memory.flash, memory.rom) + ": code, plan, weights, samples");
}

std::string storage_text(const FirmwareRun& run) {
  const uint64_t steps = steps_run(run);
  if (run.endurance_steps <= 0 || steps == 0) return "";
  return bytes_row("storage", "written, each step", static_cast<uint64_t>(run.bytes_a_step),
                   fmt::format("endurance: {:.3g} steps until {:.3g} bytes are written", run.endurance_steps,
                               static_cast<double>(run.host.endurance))) +
         bytes_row("", "read, each step", run.output.paged_in / steps);
}

std::string learned_text(const FirmwareRun& run) {
  const pipeline::FirmwareOutput& output = run.output;
  std::string text;
  if (!output.losses.empty()) {
    const auto [first, last] = std::pair{*output.losses.begin(), *output.losses.rbegin()};
    text += row("loss", "of a batch", fmt::format("{:.4f} -> {:.4f}", first.second, last.second),
                fmt::format("at step {} and at step {}", first.first, last.first));
  }
  if (output.test_loss && output.counted == 0)
    text += row("test", "loss", fmt::format("{:.4f}", *output.test_loss));
  if (output.test_loss && output.counted > 0)
    text += row("test", "samples right", fmt::format("{} of {}", output.right, output.counted),
                fmt::format("{:.1f} %, loss {:.4f}", percent(output.right, output.counted), *output.test_loss));
  if (output.predicted > 0)
    text += row("predict", "samples right", fmt::format("{} of {}", output.predicted_right, output.predicted),
                fmt::format("{:.1f} %, of the outputs", percent(output.predicted_right, output.predicted)));
  return text;
}

std::string bits_text(const FirmwareRun& run) {
  if (!run.is_comparable)
    return fmt::format(
        "bits      parameters and state {} on the device; not compared: earlier steps followed the schedule of a "
        "number of "
        "steps that is not known; --fresh begins anew\n",
        run.output.state);
  return fmt::format("bits      parameters and state {} on the device, {} on the host; {} losses compared: {}\n",
                     run.output.state, run.host_state, run.compared, run.equal ? "equal" : "NOT equal");
}

Json equal_json(const FirmwareRun& run) {
  return run.is_comparable ? Json(run.equal) : Json();
}

Json device_json(const FirmwareRun& run) {
  const emit::ProgramMemory& memory = run.memory;
  return {{"board", memory.board.empty() ? memory.target : memory.board},
          {"target", memory.target},
          {"steps", steps_run(run)},
          {"ram_bytes", ram_in_use(run)},
          {"ram_total_bytes", memory.ram},
          {"arena_bytes", memory.arena},
          {"static_bytes", memory.other},
          {"stack_bytes", run.output.stack_used},
          {"stack_reserved_bytes", run.output.stack_reserved},
          {"flash_bytes", memory.flash},
          {"flash_total_bytes", memory.rom},
          {"storage_written_bytes", std::strtoull(run.output.written.c_str(), nullptr, 10)},
          {"storage_written_each_step_bytes", run.bytes_a_step},
          {"storage_read_bytes", run.output.paged_in},
          {"equal_bits", equal_json(run)}};
}

Json end_json(const FirmwareRun& run) {
  const pipeline::FirmwareOutput& output = run.output;
  Json event{{"event", "end"}};
  if (output.test_loss) event["test_loss"] = *output.test_loss;
  if (output.counted > 0) {
    event["test_accuracy"] = percent(output.right, output.counted) / 100;
    event["test_right"] = output.right, event["test_counted"] = output.counted;
  }
  event["steps"] = run.host.steps;
  event["arena_bytes"] = run.memory.arena;
  event["bytes_paged_in"] = output.paged_in, event["bytes_paged_out"] = output.paged_out;
  if (!output.losses.empty()) event["final_loss"] = output.losses.rbegin()->second;
  return event;
}

}  // namespace

std::string to_text(const FirmwareRun& run) {
  const pipeline::FirmwareOutput& output = run.output;
  std::string text = steps_text(run) + memory_text(run) + storage_text(run) + learned_text(run);
  if (!output.features.empty()) text += fmt::format("features  of {}\n", output.features);
  text += bits_text(run);
  return run.counted ? text + to_text(*run.counted) : text;
}

Json to_json(const FirmwareRun& run) {
  Json json{{"equal", equal_json(run)},         {"steps", run.host.steps},
            {"state", run.output.state},        {"host_state", run.host_state},
            {"stack", run.output.stack},        {"paged", run.output.paged},
            {"written", run.output.written},    {"test", run.output.test},
            {"features", run.output.features},  {"losses_compared", run.compared},
            {"worn", run.output.storage_bytes}, {"steps_run", steps_run(run)},
            {"bytes_a_step", run.bytes_a_step}, {"life_in_steps", run.endurance_steps},
            {"device", device_json(run)}};
  if (run.output.test_loss) json["test_loss"] = *run.output.test_loss;
  if (run.output.counted > 0) json["test_right"] = run.output.right, json["test_counted"] = run.output.counted;
  if (run.output.predicted > 0)
    json["predicted_right"] = run.output.predicted_right, json["predicted"] = run.output.predicted;
  for (const auto& [step, loss] : run.output.losses) json["losses"].push_back({step, loss});
  if (run.counted) json["count"] = to_json(*run.counted);
  return json;
}

std::vector<Json> log_events(const FirmwareRun& run) {
  const auto& losses = run.output.losses;
  Json device{{"event", "device"}, {"step", losses.empty() ? run.host.steps : losses.rbegin()->first}};
  device.update(device_json(run));
  std::vector<Json> events{device};
  for (const auto& [step, loss] : run.output.losses)
    events.push_back({{"event", "step"}, {"step", step}, {"loss", loss}});
  events.push_back(end_json(run));
  return events;
}

}  // namespace pantoum::cli
