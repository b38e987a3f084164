#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/foreign_text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cost/device.h"
#include "problem/cost_graph_json.h"

namespace pantoum::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* mode_name(problem::PagerMode mode) {
  return mode == problem::PagerMode::kAsync ? "async" : mode == problem::PagerMode::kSync ? "sync" : "none";
}

Json compute_json(const cost::Compute& compute) {
  Json json = {{"flops_per_s", compute.flops_per_s},
               {"joules_per_flop", compute.joules_per_flop},
               {"bytes_per_s", compute.bytes_per_s},
               {"active_w", compute.active_w},
               {"core_w", compute.core_w},
               {"roofline", compute.roofline == cost::Roofline::kMax ? "max" : "sum"},
               {"vector_lanes", compute.vector_lanes},
               {"caches", Json::array()}};
  for (const cost::CacheLevel& cache : compute.caches)
    json["caches"].push_back({{"bytes", cache.bytes}, {"bytes_per_s", cache.bytes_per_s}});
  return json;
}

Json to_json(const cost::DeviceProfile& profile) {
  problem::CostGraph graph;
  graph.device = profile.device;
  Json json = problem::to_json(graph)["device"];
  json["rom_bytes"] = profile.rom_bytes;
  json["description"] = profile.description;
  json["source"] = profile.source;
  json["compute"] = compute_json(profile.compute);
  json["clocks"] = Json::array();
  for (const cost::ClockLevel& level : profile.clocks)
    json["clocks"].push_back({{"name", level.name},
                              {"flops_factor", level.flops_factor},
                              {"bytes_factor", level.bytes_factor},
                              {"active_w", level.active_w}});
  json["other_engines"] = Json::array();
  for (const cost::EngineProfile& engine : profile.engines)
    json["other_engines"].push_back({{"name", engine.name},
                                     {"compute", engine.is_modelled ? compute_json(engine.compute) : Json()},
                                     {"idle_w", engine.idle_w},
                                     {"launch_s", engine.launch_s},
                                     {"handoff_s", engine.handoff_s},
                                     {"same_bits", engine.same_bits}});
  json["sources"] = Json::object();
  for (const auto& [constant, source] : profile.sources) json["sources"][constant] = source;
  return json;
}

std::string compute_text(const cost::Compute& compute, const std::string& name = "compute") {
  std::string text = fmt::format("  {:<10} {:.4g} flop/s", name, compute.flops_per_s);
  if (compute.vector_lanes > 1) text += fmt::format(" in vectors of {}", compute.vector_lanes);
  if (compute.active_w > 0)
    text += fmt::format(", {:.4g} W (modelled)", compute.active_w);
  else if (compute.joules_per_flop > 0)
    text += fmt::format(", {:.4g} flop/J (modelled)", 1 / compute.joules_per_flop);
  if (compute.core_w > 0) text += fmt::format(", {:.4g} W for each further thread (modelled)", compute.core_w);
  text += "\n";
  if (compute.bytes_per_s > 0)
    text += fmt::format("  memory     {:.4g} B/s, {}\n", compute.bytes_per_s,
                        compute.roofline == cost::Roofline::kMax ? "while it computes" : "before it computes");
  for (const cost::CacheLevel& cache : compute.caches)
    text += fmt::format("  cache      {:.4g} B/s for operands of at most {}\n", cache.bytes_per_s,
                        base::show_bytes(cache.bytes));
  return text;
}

std::string clocks_text(const cost::DeviceProfile& profile) {
  std::string text;
  for (const cost::ClockLevel& level : profile.clocks)
    text +=
        fmt::format("  {:<10} {}: {:.3g} of the flop/s, {:.3g} of the memory's B/s, {:.4g} W (modelled)\n",
                    text.empty() ? "clocks" : "", level.name, level.flops_factor, level.bytes_factor, level.active_w);
  return text;
}

std::string engines_text(const cost::DeviceProfile& profile) {
  std::string text;
  for (const cost::EngineProfile& engine : profile.engines) {
    const std::string name = "engine " + engine.name;
    text += engine.is_modelled ? compute_text(engine.compute, name)
                               : fmt::format("  {:<10} computes ops of which a table has its times\n", name);
    text += fmt::format("  {:<10} launched in {}, known of after {}, {} bits; used where --engines names it\n", "",
                        base::show_seconds(engine.launch_s), base::show_seconds(engine.handoff_s),
                        engine.same_bits ? "the processor's" : "its own");
  }
  return text;
}

std::string sources_text(const cost::DeviceProfile& profile) {
  std::string text;
  for (const auto& [constant, source] : profile.sources)
    text += fmt::format("  {:<10} {}: {}\n", text.empty() ? "constants" : "", base::one_line(constant),
                        base::one_line(source));
  return text;
}

std::string to_text(const cost::DeviceProfile& profile) {
  const problem::Device& device = profile.device;
  std::string text =
      fmt::format("{}: {}\n  source     {}\n  RAM        {}, offsets are multiples of {} B\n",
                  base::one_line(device.name), base::one_line(profile.description), base::one_line(profile.source),
                  base::show_bytes(device.ram_bytes), device.align_bytes);
  if (profile.rom_bytes > 0)
    text += fmt::format("  ROM        {}, read in place\n", base::show_bytes(profile.rom_bytes));
  text += compute_text(profile.compute) + clocks_text(profile) + engines_text(profile);
  text += fmt::format("  storage    {}", mode_name(device.pager.mode));
  if (device.pager.mode != problem::PagerMode::kNone)
    text += fmt::format(", in {:.4g} B/s after {}, out {:.4g} B/s after {}, {} B blocks, {:.3g} W (modelled)",
                        device.pager.in.bytes_per_s, base::show_seconds(device.pager.in.latency_s),
                        device.pager.out.bytes_per_s, base::show_seconds(device.pager.out.latency_s),
                        device.pager.block_bytes, device.pager.in.w);
  return text + "\n" + sources_text(profile);
}

Result<int> list(const Common& common) {
  Json all = Json::array();
  for (const std::string& name : cost::device_names()) {
    PANTOUM_ASSIGN(const cost::DeviceProfile profile, cost::load_device(name));
    if (common.json())
      all.push_back(to_json(profile));
    else
      print_formatted("{:<12} {:>10}  {}\n", name, base::show_bytes(profile.device.ram_bytes),
                      base::one_line(profile.description));
  }
  if (common.json()) print_json(all, 1);
  return 0;
}

Result<int> show(const Common& common, const std::string& name) {
  PANTOUM_ASSIGN(const cost::DeviceProfile profile, cost::load_device(name));
  common.json() ? print_json(to_json(profile), 1) : print_result(to_text(profile));
  return 0;
}

}  // namespace

void add_devices(CommandLine& line) {
  struct DevicesOptions {
    Common common;
    std::string name;
  };
  auto options = std::make_shared<DevicesOptions>();
  Verb verb = line.add_verb("devices", "device profiles");
  Verb list_verb = verb.add_verb("list", "every profile that is compiled in");
  Verb show_verb = verb.add_verb("show", "one profile: a name, or a .toml file");
  add_common(verb, options->common);
  add_common(list_verb, options->common);
  add_common(show_verb, options->common);
  show_verb.add_option("NAME", options->name, "a name of `pantoum devices list`, or a .toml file")
      .required()
      .known(cost::device_names());
  verb.does([options] { return list(options->common); });
  list_verb.does([options] { return list(options->common); });
  show_verb.does([options] { return show(options->common, options->name); });
}

}  // namespace pantoum::cli
