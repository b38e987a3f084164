#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "artifact/plan_json.h"
#include "base/units.h"
#include "check/replay.h"
#include "cli/cli.h"
#include "cost/cost_graph_json.h"

namespace pantoum::cli {
namespace {

struct Options {
  Common common;
  std::string plan, costgraph, ram;
};

nlohmann::ordered_json to_json(const check::Found& found) {
  return {{"valid", true},
          {"peak_bytes", found.peak_bytes},
          {"arena_bytes", found.arena_bytes},
          {"time_s", found.time_s},
          {"energy_j", found.energy_j},
          {"counts",
           {{"compute", found.counts.compute},
            {"recompute", found.counts.recompute},
            {"page_in", found.counts.page_in},
            {"page_out", found.counts.page_out},
            {"free", found.counts.free}}},
          {"bytes_paged", {{"in", found.bytes_in}, {"out", found.bytes_out}}},
          {"keeps_order", found.keeps_order}};
}

Result<int> verify(const Options& options) {
  PANTOUM_ASSIGN(plan::Plan plan, artifact::read_plan(options.plan));
  if (!options.costgraph.empty()) {
    PANTOUM_ASSIGN(plan.graph, cost::read_cost_graph(options.costgraph));
  }
  check::Limits limits;
  if (!options.ram.empty()) {
    PANTOUM_ASSIGN(limits.ram_bytes, base::parse_bytes(options.ram, "--ram"));
  }
  PANTOUM_ASSIGN(const check::Found found, check::replay(plan.graph, plan, limits));
  if (options.common.json()) {
    std::printf("%s\n", to_json(found).dump().c_str());
    return 0;
  }
  std::printf(
      "valid: peak %s, arena %s of %s, %s, %s (modelled); %lld computed (%lld again), %lld paged in, %lld paged out\n",
      base::show_bytes(found.peak_bytes).c_str(), base::show_bytes(found.arena_bytes).c_str(),
      base::show_bytes(plan.budget_bytes).c_str(), base::show_seconds(found.time_s).c_str(),
      base::show_joules(found.energy_j).c_str(), static_cast<long long>(found.counts.compute),
      static_cast<long long>(found.counts.recompute), static_cast<long long>(found.counts.page_in),
      static_cast<long long>(found.counts.page_out));
  return 0;
}

}  // namespace

void add_verify(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("verify", "independent replay of a plan on the graph inside it");
  verb->add_option("PLAN", options->plan, "a plan file (JSON)")->required();
  verb->add_option("--costgraph", options->costgraph, "replay on this cost graph instead of the plan's own");
  verb->add_option("--ram", options->ram, "another budget");
  add_common(*verb, options->common);
  verb->final_callback([options, &chosen] { chosen = [options] { return verify(*options); }; });
}

}  // namespace pantoum::cli
