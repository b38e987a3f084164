#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/foreign_text.h"
#include "base/units.h"
#include "check/claims.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/plan_summary.h"
#include "cli/planning.h"
#include "cli/progress.h"
#include "problem/cost_graph.h"
#include "problem/cost_graph_json.h"
#include "problem/objective_values.h"
#include "problem/plan_json.h"

namespace pantoum::cli {
namespace {

struct VerifyOptions {
  Common common;
  std::string plan, costgraph, ram;
};

constexpr const char* kUnits[] = {"energy_j", "time_s", "edp_js", "ram_bytes", "weighted"};

const char* key_of(problem::Objective objective) {
  return kUnits[static_cast<size_t>(objective)];
}

size_t rows_of(const problem::Plan& plan) {
  size_t rows = plan.certificate ? plan.certificate->rows.size() : 0;
  for (const problem::Certificate& line : plan.lines) rows += line.rows.size();
  return rows;
}

size_t cases_of(const problem::Plan& plan) {
  return plan.certificate ? plan.certificate->cases.size() / 2 + 1 : 1;
}

// Returns, as words, the freedoms that the question denies a plan; "" if it denies none.
std::string restrictions(const problem::Freedoms& freedoms) {
  std::string text;
  const auto without = [&](bool allowed, const char* what) {
    if (!allowed) text += fmt::format("{}{}", text.empty() ? " without " : " or ", what);
  };
  without(freedoms.paging, "paging");
  without(freedoms.recomputing, "rematerialization");
  without(freedoms.in_place, "in-place operation");
  if (!freedoms.reordering) text += ", in the graph's order";
  return text;
}

std::string text_of(const problem::Question& question) {
  std::string text =
      fmt::format("{} in {}", problem::name_of(question.objective), base::show_bytes(question.budget_bytes()));
  if (question.deadline) text += fmt::format(", within {} s", *question.deadline);
  if (question.energy_limit) text += fmt::format(", at most {} J", *question.energy_limit);
  return text + restrictions(question.freedoms);
}

std::string claims_of(const problem::Plan& plan) {
  const problem::Objective objective = plan.question.objective;
  const std::optional<double> bound = bound_of(plan);
  std::string text = fmt::format("{} (a gap of at most {:.4g}% was asked for), gap {:.4g}%", status_of(plan),
                                 plan.asked_gap * 100, plan.gap * 100);
  if (bound)
    text += fmt::format(", bound {} for {}", show_value(objective, *bound),
                        plan.bound.any_order ? "any order" : "this order");
  return text;
}

std::string proof_line(const problem::Plan& plan, const check::Judgement& judged) {
  std::string parts;
  if (!plan.certificate && !plan.lines.empty()) parts = fmt::format(" of {} lines", plan.lines.size());
  if (cases_of(plan) > 1) parts = fmt::format(" in {} cases", cases_of(plan));
  const std::string how =
      judged.proved.certificates == 0 ? "from the costs alone" : fmt::format("by {} rows{}", rows_of(plan), parts);
  return fmt::format("bound    {} proved {} for {}, gap {:.3f}%", show_value(plan.question.objective, judged.bound),
                     how, plan.bound.any_order ? "any order" : "this order", judged.gap * 100);
}

nlohmann::ordered_json claims_json(const problem::Plan& plan) {
  return {
      {"status", status_of(plan)}, {"asked_gap", plan.asked_gap}, {"gap", plan.gap}, {"bound", to_json(plan.bound)}};
}

nlohmann::ordered_json proved_json(const problem::Plan& plan, const check::Judgement& judged) {
  return {{"order", plan.bound.any_order ? "any" : "plan"},
          {"energy_j", judged.proved.energy_j},
          {"time_s", judged.proved.time_s},
          {"edp_js", judged.proved.edp_js},
          {"gap", judged.gap},
          {"certificates", judged.proved.certificates}};
}

// Returns the proved bound of the plan's objective, the size of its proof, and the gap.
nlohmann::ordered_json bound_json(const problem::Plan& plan, const check::Judgement& judged) {
  return {{key_of(plan.question.objective), judged.bound},
          {"rows", rows_of(plan)},
          {"cases", cases_of(plan)},
          {"gap", judged.gap}};
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

void print(const problem::Plan& plan, const check::Judgement& judged, bool as_json) {
  const check::Found& found = judged.found;
  if (as_json) {
    nlohmann::ordered_json answer = to_json(found);
    answer["bound"] = bound_json(plan, judged);
    answer["asked"] = question_json(plan.question);
    answer["claimed"] = claims_json(plan);
    answer["proved"] = proved_json(plan, judged);
    return print_json(answer);
  }
  print_formatted("valid: peak {}, arena {} of {}, {}, {} ({}); {} computed ({} again), {} paged in, {} paged out\n",
                  base::show_bytes(found.peak_bytes), base::show_bytes(found.arena_bytes),
                  base::show_bytes(plan.question.budget_bytes()), base::show_seconds(found.time_s),
                  base::show_joules(found.energy_j), base::one_line(problem::time_and_energy_source(plan.graph.device)),
                  found.counts.compute, found.counts.recompute, found.counts.page_in, found.counts.page_out);
  print_result(
      fmt::format("asked    {}\nclaimed  {}\n{}\n", text_of(plan.question), claims_of(plan), proof_line(plan, judged)));
}

Result<int> verify_plan(problem::Plan plan, const VerifyOptions& options) {
  if (!options.costgraph.empty()) {
    PANTOUM_ASSIGN(plan.graph, problem::read_cost_graph(options.costgraph));
  }
  if (!options.ram.empty()) {
    problem::Question asked = plan.question;
    const Result<int64_t> budget = base::parse_bytes(options.ram, "--ram");
    if (const std::optional<double> share = base::share_in(options.ram); !budget && share)
      return Failure(Share{*share, budget.error()}.refused(unplanned_peak(plan)));
    PANTOUM_TRY(budget);
    asked.budget = *budget;
    PANTOUM_TRY(check::replay(plan.graph, plan, asked));
  }
  PANTOUM_ASSIGN(const check::Judgement judged, check::judge(plan));
  print(plan, judged, options.common.json());
  return 0;
}

nlohmann::ordered_json number(problem::Objective of, double value) {
  if (of == problem::Objective::kRam) return static_cast<int64_t>(value);  // bytes are whole
  return value;
}

std::string amount(problem::Objective of, double value) {
  return of == problem::Objective::kRam ? fmt::format("{} bytes", static_cast<int64_t>(value))
                                        : problem::show_value(of, value);
}

Result<int> verify_refusal(problem::Refusal refusal, const VerifyOptions& options) {
  if (!options.ram.empty()) return fail("E0113", "a refusal is of its own budget", "--ram", "leave it out");
  if (!options.costgraph.empty()) {
    PANTOUM_ASSIGN(refusal.graph, problem::read_cost_graph(options.costgraph));
  }
  PANTOUM_ASSIGN(const double proved, check::check_refusal(refusal));
  const char* order = refusal.any_order ? "any" : "plan";
  if (options.common.json()) {
    print_json(
        {{"valid", true},
         {"status", "infeasible"},
         {"asked", question_json(refusal.question)},
         {"claimed",
          {{"of", problem::name_of(refusal.of)}, {"least", number(refusal.of, refusal.least)}, {"order", order}}},
         {"proved", {{key_of(refusal.of), number(refusal.of, proved)}, {"order", order}}}});
    return 0;
  }
  print_result(fmt::format(
      "valid: no plan answers the question\nasked    {}\nclaimed  at least {} {}\n"
      "proved   at least {}, {}\n",
      text_of(refusal.question), amount(refusal.of, refusal.least),
      refusal.any_order ? "in any order" : "in the graph's order", amount(refusal.of, proved),
      refusal.certificate ? fmt::format("by {} rows", refusal.certificate->rows.size()) : "from the costs alone"));
  return 0;
}

Result<int> verify(const VerifyOptions& options) {
  ProgressLine line(options.common.json());
  line.phase("checking " + options.plan);
  PANTOUM_ASSIGN(auto answer, problem::read_answer(options.plan));
  if (auto* refusal = std::get_if<problem::Refusal>(&answer)) return verify_refusal(std::move(*refusal), options);
  return verify_plan(std::move(std::get<problem::Plan>(answer)), options);
}

}  // namespace

void add_verify(CommandLine& line) {
  auto options = std::make_shared<VerifyOptions>();
  Verb verb = line.add_verb("verify", "checks all that a plan or a refusal claims, from the cost graph inside it");
  verb.add_option("PLAN", options->plan, "a plan or a refusal (JSON)").required().is(Kind::kAnswer);
  add_plugins(verb);
  verb.add_option("--costgraph", options->costgraph, "replay on this cost graph instead of the plan's own");
  verb.add_option("--ram", options->ram, "another budget, which the plan must keep as well");
  add_common(verb, options->common);
  verb.does([options] { return verify(*options); });
}

}  // namespace pantoum::cli
