#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/foreign_text.h"
#include "base/units.h"
#include "check/certificate.h"
#include "check/replay.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "problem/cost_graph_json.h"
#include "problem/objective_values.h"
#include "problem/plan_json.h"
#include "problem/time_source.h"

namespace pantoum::cli {
namespace {

struct VerifyOptions {
  Common common;
  std::string plan, costgraph, ram;
};

// A bound that was proved again, and how far the plan is from it.
struct Proof {
  double bound = 0, gap = 0;
  size_t rows = 0, cases = 1;
};

Result<std::optional<Proof>> prove(const problem::Plan& plan, const check::Found& found) {
  if (!plan.certificate && plan.lines.empty()) return std::nullopt;
  const double value = value_of(plan.question.objective, found.energy_j, found.time_s);
  PANTOUM_ASSIGN(const double bound, check::check_bound(plan, value));
  const double gap = value > 0 ? std::max(0.0, (value - bound) / value) : 0;
  size_t rows = plan.certificate ? plan.certificate->rows.size() : 0;
  for (const problem::Certificate& line : plan.lines) rows += line.rows.size();
  return Proof{
      .bound = bound, .gap = gap, .rows = rows, .cases = plan.certificate ? plan.certificate->cases.size() / 2 + 1 : 1};
}

// What plans may not do for which the bound holds; "" where they may do all.
std::string restrictions(const problem::Certificate& certificate) {
  std::string text;
  const auto without = [&](bool allowed, const char* what) {
    if (!allowed) text += fmt::format("{}{}", text.empty() ? " for plans without " : " or ", what);
  };
  without(certificate.question.freedoms.paging, "paging");
  without(certificate.question.freedoms.recomputing, "rematerialization");
  without(certificate.question.freedoms.in_place, "in-place operation");
  return text;
}

std::string proof_line(const problem::Plan& plan, const std::optional<Proof>& proof) {
  if (!proof) return "bound    the plan carries no certificate of one";
  std::string parts;
  if (!plan.lines.empty()) parts = fmt::format(" of {} lines", plan.lines.size());
  if (proof->cases > 1) parts = fmt::format(" in {} cases", proof->cases);
  return fmt::format("bound    {} proved by {} rows{}{}, gap {:.3f}%",
                     show_value(plan.question.objective, proof->bound), proof->rows, parts,
                     restrictions(plan.lines.empty() ? *plan.certificate : plan.lines.front()), proof->gap * 100);
}

nlohmann::ordered_json to_json(const problem::Plan& plan, const std::optional<Proof>& proof) {
  if (!proof) return nullptr;
  constexpr const char* kKeys[] = {"energy_j", "time_s", "edp_js"};
  return {{kKeys[static_cast<size_t>(plan.question.objective)], proof->bound},
          {"rows", proof->rows},
          {"cases", proof->cases},
          {"gap", proof->gap}};
}

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

Result<int> verify(const VerifyOptions& options) {
  PANTOUM_ASSIGN(problem::Plan plan, problem::read_plan(options.plan));
  if (!options.costgraph.empty()) {
    PANTOUM_ASSIGN(plan.graph, problem::read_cost_graph(options.costgraph));
  }
  problem::Question asked = plan.question;
  if (!options.ram.empty()) {
    PANTOUM_ASSIGN(asked.budget, base::parse_bytes(options.ram, "--ram"));
  }
  PANTOUM_ASSIGN(const check::Found found, check::replay(plan.graph, plan, asked));
  PANTOUM_ASSIGN(const std::optional<Proof> proof, prove(plan, found));
  if (options.common.json()) {
    nlohmann::ordered_json answer = to_json(found);
    answer["bound"] = to_json(plan, proof);
    print_json(answer);
    return 0;
  }
  print_formatted("valid: peak {}, arena {} of {}, {}, {} ({}); {} computed ({} again), {} paged in, {} paged out\n",
                  base::show_bytes(found.peak_bytes), base::show_bytes(found.arena_bytes),
                  base::show_bytes(plan.question.budget_bytes()), base::show_seconds(found.time_s),
                  base::show_joules(found.energy_j), base::one_line(problem::time_and_energy_source(plan.graph.device)),
                  found.counts.compute, found.counts.recompute, found.counts.page_in, found.counts.page_out);
  print_result(proof_line(plan, proof) + "\n");
  return 0;
}

}  // namespace

void add_verify(CommandLine& line) {
  auto options = std::make_shared<VerifyOptions>();
  Verb verb = line.add_verb("verify", "independent replay of a plan on the graph inside it");
  verb.add_option("PLAN", options->plan, "a plan file (JSON)").required();
  verb.add_option("--costgraph", options->costgraph, "replay on this cost graph instead of the plan's own");
  verb.add_option("--ram", options->ram, "another budget");
  add_common(verb, options->common);
  verb.does([options] { return verify(*options); });
}

}  // namespace pantoum::cli
