#include "plan/engine_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <numeric>
#include <thread>
#include <unordered_map>

#include "base/lists.h"
#include "base/round_up.h"
#include "base/units.h"
#include "plan/bound/bounds.h"
#include "plan/bound/edp_bound.h"
#include "plan/earliest_finish.h"
#include "plan/engine_bound.h"
#include "plan/list_annealing.h"
#include "plan/realize/engine_run.h"
#include "plan/realize/realize.h"
#include "plan/stream_lists.h"

namespace pantoum::plan {
namespace {

constexpr const char* kMethod =
    "several engines: plans of one engine, earliest finish, annealing of lists with their offsets";
constexpr const char* kStreamMethod = "streams: what stays in RAM, annealing of lists with their offsets";
constexpr double kSerialShare = 0.15;            // of the limit: plans on one engine, for all of its RAM and for less
constexpr double kLessRam[] = {0.85, 0.7, 0.5};  // shares of what such a plan takes
constexpr double kLimitShare = 0.3;              // of what is left: lists that meet one limit
constexpr double kLimitMargin =
    1e-9;  // of a limit: lists are searched this far within it, for the rounding of their sums
constexpr size_t kChainsOfEffort = 2;  // with an effort, whatever the machine has
constexpr double kStreamShare = 0.5;   // of what is left: lists of a graph with streams, by what stays
constexpr Seconds kTidying = 0.1;      // beyond the limit
constexpr int kShrinks = 5;            // of the budget, until such a list has offsets in it
constexpr Bytes kLeastShrinks[kShrinks] = {200, 200, 50, 12, 4};  // the least part of it, each time
constexpr int64_t kPlacingSteps = 100'000;
constexpr int64_t kMovesPerEffort = 10'000;  // of that search, each time
constexpr int64_t kUnplannedMoves = 500;     // the same where RAM is plenty: all that may stays from the begin

// ---- bounds -------------------------------------------------------------------------------------

constexpr double kProofShare = 0.05;  // of the limit: each bound, before the search
constexpr double kPrices[] = {1, 0.5, 2, 0.8,
                              1.25};  // of a second for edp, times the joules a second of the least of both

// What is proved of all plans that answer the question.
struct Proved {
  Seconds seconds = 0;
  Joules joules = 0;
  double value = 0;  // of the objective
  std::optional<Certificate> certificate;
  std::vector<Certificate> lines;
};

class EngineProver {
 public:
  EngineProver(const EngineModel& model, const PlanOptions& options, const TimeLimit& time)
      : bound_(model), asked_(model.question), options_(options), time_(time) {}

  Proved run() const {
    Proved proved{
        .seconds = bound_.least_seconds(), .joules = bound_.least_joules(), .value = 0, .certificate = {}, .lines = {}};
    if (asked_.objective == Objective::kEdp) {
      add_lines(proved);
      return proved;
    }
    double& figure = asked_.objective == Objective::kEnergy ? proved.joules : proved.seconds;
    proved.certificate = better(asked_.objective, figure);
    if (asked_.objective == Objective::kEnergy)
      if (std::optional<Certificate> makespan = better(Objective::kTime, proved.seconds))
        proved.lines.push_back(*std::move(makespan));
    proved.value = figure;
    return proved;
  }

  // Is a limit out of reach?
  Infeasible beyond_limits() const {
    Infeasible known;
    const auto least = [&](Objective objective, double figure, double most) -> std::optional<Infeasible::Least> {
      std::optional<Certificate> certificate;
      if (figure <= most) certificate = better(objective, figure);
      if (!(figure > most)) return std::nullopt;
      // The certificate uses the limit itself: it proves that the limit is out of reach, and no bound beyond it.
      if (certificate) figure = std::min(figure, std::nextafter(most, HUGE_VAL));
      return Infeasible::Least{
          .known = {}, .proved = figure, .of_order = figure, .certificate = std::move(certificate)};
    };
    if (asked_.deadline) known.time_s = least(Objective::kTime, bound_.least_seconds(), *asked_.deadline);
    if (asked_.energy_limit && !known.time_s)
      known.energy_j = least(Objective::kEnergy, bound_.least_joules(), *asked_.energy_limit);
    return known;
  }

 private:
  // What a bound that begins now has left.
  std::function<double()> seconds_left() const {
    const Seconds until = time_.elapsed() + kProofShare * options_.time_limit;
    return [this, until]() -> double {
      if (options_.stop.stop_requested()) return 0;
      return options_.effort > 0 ? HUGE_VAL : until - time_.elapsed();
    };
  }
  // A certificate of more than `figure`, which it raises.
  std::optional<Certificate> better(Objective objective, double& figure) const {
    std::optional<Certificate> certificate = bound_.prove(objective, 0, seconds_left());
    if (!certificate || !(certificate->bound > figure)) return std::nullopt;
    figure = certificate->bound;
    return certificate;
  }
  // Lines below energy and makespan.
  void add_lines(Proved& proved) const {
    for (const auto& [objective, figure] :
         {std::pair{Objective::kTime, &proved.seconds}, {Objective::kEnergy, &proved.joules}})
      if (std::optional<Certificate> certificate = better(objective, *figure)) proved.lines.push_back(*certificate);
    std::vector<Hyperplane> planes{{.price = 0, .least = proved.joules}};
    for (const double each : kPrices) {
      const double price = each * proved.joules / proved.seconds;
      if (!(price > 0 && price < 1e30)) break;
      const std::optional<Certificate> certificate = bound_.prove(Objective::kEnergy, price, seconds_left());
      if (!certificate) continue;
      planes.push_back({.price = price, .least = certificate->bound});
      proved.lines.push_back(*certificate);
    }
    proved.value = least_corner(planes, proved.seconds).product() * (1 - 1e-9);
  }

  const EngineBound bound_;
  const Question& asked_;
  const PlanOptions& options_;
  const TimeLimit& time_;
};

// ---- lists --------------------------------------------------------------------------------------

size_t chains_of(const PlanOptions& options) {
  if (options.effort > 0) return kChainsOfEffort;
  return options.threads > 0 ? static_cast<size_t>(options.threads) : std::max(1U, std::thread::hardware_concurrency());
}

// The list of a plan.
List list_of(const Plan& plan, const CostGraph& graph) {
  std::unordered_map<int64_t, int32_t> op_of, tensor_of;
  for (const Op& op : graph.ops) op_of.emplace(op.id, static_cast<int32_t>(op_of.size()));
  for (const Tensor& tensor : graph.tensors) tensor_of.emplace(tensor.id, static_cast<int32_t>(tensor_of.size()));
  List list;
  for (const Instruction& step : plan.instructions) {
    if (step.what == Do::kFree) continue;
    const bool computes = step.what == Do::kCompute;
    Entry& entry = list.emplace_back();
    entry.what = step.what;
    entry.subject = computes ? op_of.at(step.subject) : tensor_of.at(step.subject);
    entry.way = step.choice;
    for (size_t at = 0; at < std::min<size_t>(2, step.at.size()); ++at) entry.wanted[at] = step.at[at];
    entry.wanted[2] = step.workspace_at;
  }
  return list;
}

// ---- plans --------------------------------------------------------------------------------------

// What lists are searched for: the objective, and each figure that is limited beside it.
std::vector<Objective> objectives_of(const Question& asked) {
  std::vector<Objective> objectives{asked.objective};
  if (asked.deadline && asked.objective != Objective::kTime) objectives.push_back(Objective::kTime);
  if (asked.energy_limit && asked.objective != Objective::kEnergy) objectives.push_back(Objective::kEnergy);
  return objectives;
}

// Lists of a graph with streams, which nobody plans for one engine: searched for by what stays in RAM, one for each thread and each objective, in
// less and less of the budget until their bytes have offsets in it.
std::vector<List> streamed_lists(const EngineModel& model, const PlanOptions& options, const TimeLimit& time) {
  const Seconds begin = time.elapsed(), share = std::max(0.0, kStreamShare * time.left() / kShrinks);
  const std::vector<Objective> objectives = objectives_of(model.question);
  std::vector<List> lists(std::max(chains_of(options), objectives.size()));
  const auto search = [&](size_t thread) {
    StreamLists by_stays(model);
    EngineRun run(model);
    Bytes capacity = model.question.budget_bytes();
    for (int tried = 0; tried < kShrinks && capacity > 0; ++tried) {
      const Seconds until = begin + share * (tried + 1);
      const auto done = [&](int64_t moves) {
        if (options.stop.stop_requested()) return 1.0;
        if (options.effort > 0)
          return static_cast<double>(moves) / static_cast<double>(options.effort * kMovesPerEffort);
        const Seconds left = until - time.elapsed();
        return left <= 0 ? 1.0 : 1 - left / share;
      };
      List list = by_stays.find(objectives[thread % objectives.size()], capacity, thread + 1, done);
      const std::optional<Bytes> over = run.place(list, share, options.effort > 0 ? kPlacingSteps : 0);
      if (!over) break;
      lists[thread] = std::move(list);
      if (*over == 0) break;
      capacity -= std::max(base::round_up(*over, model.align), capacity / kLeastShrinks[tried]);
    }
  };
  {
    std::vector<std::jthread> workers;
    for (size_t thread = 0; thread < lists.size(); ++thread) workers.emplace_back(search, thread);
  }
  std::erase_if(lists, &List::empty);
  List leanest = StreamLists(model).leanest();
  const bool placed = EngineRun(model).place(leanest, share, options.effort > 0 ? kPlacingSteps : 0) == Bytes{0};
  if (placed || lists.empty()) lists.push_back(std::move(leanest));
  return lists;
}

// Of an output's pairs in `overwrites` the planner of one engine knows the last, and here any of them counts: one whose bytes the output may
// take comes last.
void put_useful_pairs_last(CostGraph& graph, const problem::Freedoms& freedoms) {
  std::unordered_map<int64_t, const Tensor*> tensor_of;
  for (const Tensor& tensor : graph.tensors) tensor_of.emplace(tensor.id, &tensor);
  for (Op& op : graph.ops)
    for (Choice& choice : op.choices)
      std::ranges::stable_sort(choice.overwrites, {}, [&](const std::pair<int, int>& pair) {
        const Tensor &out = *tensor_of.at(op.output(pair.first)), &in = *tensor_of.at(op.input(pair.second));
        if (in.start == Home::kRom || in.bytes < out.bytes) return 0;
        return in.next == out.id ? 2 : freedoms.in_place && !in.pinned ? 1 : 0;
      });
}

// The graph with all choices on one engine, which runs them one after the other.
CostGraph on_one_engine(const CostGraph& graph, const problem::Freedoms& freedoms) {
  CostGraph serial = graph;
  put_useful_pairs_last(serial, freedoms);
  serial.device.engines = {{.name = "all"}};
  for (Op& op : serial.ops)
    for (Choice& choice : op.choices) choice.engines.clear();
  return serial;
}

Plan moved_to(Plan plan, const CostGraph& graph, const Question& question) {
  plan = without_proof(std::move(plan));
  plan.graph = graph;
  plan.question = question;
  plan.solver_seconds = 0;
  if (const std::optional<Predicted> predicted = predict(graph, plan)) plan.predicted = *predicted;
  return plan;
}

// The gap between the plan's value and `least`, and the status that follows.
void set_gap(Plan& plan, double least) {
  const double value = upper_end(plan, upper_end(plan, value_of(plan)));
  constexpr double kRoundings = 4 * std::numeric_limits<double>::epsilon();
  plan.gap = value > 0 ? std::clamp((value - least) / value * (1 + kRoundings), 0.0, 1.0) : 0;
  plan.status = plan.gap <= plan.asked_gap ? Status::kOptimal : Status::kFeasible;
}

void finish(Plan& plan, const Proved& proved, const PlanOptions& options) {
  plan.bound = {.energy_j = proved.joules, .time_s = proved.seconds, .any_order = true};
  if (plan.question.objective == Objective::kEdp) plan.bound.edp_js = proved.value;
  plan.certificate = proved.certificate;
  plan.lines = proved.lines;
  plan.asked_gap = options.gap;
  set_gap(plan, proved.value);
}

bool meets_limits(const Plan& plan) {
  const Question& asked = plan.question;
  return plan.predicted.arena_bytes <= asked.budget_bytes() &&
         (!asked.deadline || upper_end(plan, plan.predicted.time_s) <= *asked.deadline) &&
         (!asked.energy_limit || upper_end(plan, plan.predicted.energy_j) <= *asked.energy_limit);
}

// The answers of the planner of one engine: by the question's objective and by time, without limits on either. Those for less RAM
// leave room for ops side by side, which need bytes of their own.
std::vector<Plan> serial_plans(const CostGraph& graph, const PlanOptions& options, const PlanMaker& serial,
                               Infeasible* infeasible, std::optional<Error>& none) {
  std::vector<Plan> plans;
  const CostGraph one = on_one_engine(graph, options.question.freedoms);
  PlanOptions own = options;
  own.question.deadline.reset();
  own.question.energy_limit.reset();
  own.question.weights = {};
  own.warm_start = nullptr;
  own.time_limit = options.time_limit * kSerialShare / (1 + static_cast<double>(std::size(kLessRam)));
  for (const Objective objective : {Objective::kTime, Objective::kEnergy}) {
    if (objective == Objective::kEnergy && options.question.objective == Objective::kTime) continue;
    own.question.objective = objective;
    own.question.budget = options.question.budget;
    Infeasible known;
    Result<Plan> plan = serial(one, own, &known);
    if (!plan && !none) {
      none = plan.error();
      const bool by_graph = known.refusal && !known.refusal->certificate && known.refusal->of == Objective::kRam;
      if (!by_graph) none->code = "E0302", known.refusal.reset();
      if (known.refusal) known.refusal->graph = graph, known.refusal->plan.reset();
      if (known.min_plan) known.min_plan = moved_to(std::move(*known.min_plan), graph, known.min_plan->question);
      if (infeasible != nullptr) *infeasible = std::move(known);
    }
    if (!plan) continue;
    const auto ram = static_cast<double>(plan->predicted.arena_bytes);
    plans.push_back(moved_to(std::move(*plan), graph, options.question));
    for (const double share : kLessRam) {
      own.question.budget = static_cast<Bytes>(ram * share);
      if (*own.question.budget <= 0) continue;
      Result<Plan> smaller = serial(one, own, nullptr);
      if (!smaller) break;
      plans.push_back(moved_to(std::move(*smaller), graph, options.question));
    }
  }
  return plans;
}

// The plan of a list in the smallest arena, of some that are tried, in which it is no worse.
std::optional<Plan> smallest_plan(const List& list, const EngineModel& model) {
  constexpr int kTries = 12;
  EngineModel tight = model;
  EngineRun run(tight);
  std::optional<Plan> best;
  Bytes least = 0;
  for (int at = 0; at <= kTries; ++at) {
    if (best) tight.question.budget = least + (best->predicted.arena_bytes - least) / 2;
    Plan plan{.question = model.question, .graph = *model.graph};
    const ListFigures figures = run.run(list, &plan);
    plan.predicted = {.peak_bytes = figures.peak_bytes,
                      .arena_bytes = figures.arena_bytes,
                      .time_s = figures.seconds,
                      .energy_j = figures.joules};
    const bool fits = figures.valid && figures.arena_bytes <= tight.question.budget_bytes();
    if (!best && !fits) return std::nullopt;
    if (!best || (fits && figures.seconds <= best->predicted.time_s && figures.joules <= best->predicted.energy_j))
      best = std::move(plan), least = std::max(least, best->predicted.peak_bytes);
    else
      least = tight.question.budget_bytes();
  }
  return best;
}

// The graph with what its choices hold whole in RAM alone.
CostGraph without_streams(const CostGraph& graph) {
  CostGraph whole = graph;
  for (Op& op : whole.ops)
    for (Choice& choice : op.choices) {
      std::erase_if(choice.overwrites, [&](const auto& pair) { return !choice.writes_whole(pair.first); });
      std::erase_if(choice.reads, [&](int position) { return !choice.reads_whole(position); });
      std::erase_if(choice.writes, [&](int position) { return !choice.writes_whole(position); });
      choice.stream = {};
    }
  return whole;
}

// The largest working set, each op under its leanest choice: what it streams takes no RAM beside its workspace.
WorkingSet least_working_set(const CostGraph& graph, const PlanOptions& options) {
  CostGraph whole = without_streams(graph);
  put_useful_pairs_last(whole, options.question.freedoms);
  return least_ram(make_model(whole, options));
}

// Why no plan of a graph with streams fits: its least working set, and the leanest list.
Failure no_streamed_plan(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible) {
  Infeasible known;
  const WorkingSet least = least_working_set(graph, options);
  known.min_ram_bound_bytes = known.order_ram_bound_bytes = least.bytes;
  known.why = least.why;
  Question any = options.question;
  any.budget.reset();
  any.deadline.reset();
  any.energy_limit.reset();
  const EngineModel model(graph, any);
  const auto is_stored = [&](const List& list) {  // within the capacity
    return cost_of(EngineRun(model).run(list), model, list.size()).answers;
  };
  if (const List list = StreamLists(model).leanest(); !list.empty() && is_stored(list)) {
    if (std::optional<Plan> plan = smallest_plan(list, model)) {
      plan->question.budget = plan->predicted.arena_bytes;
      plan->method = kStreamMethod;
      known.min_ram_bytes = plan->predicted.arena_bytes;
      known.without_limits = options.question.deadline || options.question.energy_limit;
      known.min_plan = std::move(plan);
    }
  }
  known.refusal = refusal_of(graph, options, known);
  Failure missed(infeasibility_report(graph.name, options, known));
  if (infeasible != nullptr) *infeasible = std::move(known);
  return missed;
}

Failure limits_missed(const Plan& plan) {
  return fail("E0302",
              fmt::format("no plan was found that meets the limits; the best one found takes {} and {}",
                          base::show_seconds(plan.predicted.time_s), base::show_joules(plan.predicted.energy_j)),
              plan.graph.name, "give more time, or looser limits");
}

// Takes out transfers and computations that make the list no better, for kTidying beyond the limit at most.
void leave_out_needless(List& list, EngineRun& run, const EngineModel& model, const PlanOptions& options,
                        const TimeLimit& time) {
  const auto cost = [&](const List& of) { return cost_of(run.run(of), model, of.size()); };
  Cost now = cost(list);
  std::vector<int> computed(model.ops.size(), 0);
  for (const Entry& entry : list)
    if (entry.what == Do::kCompute) ++computed[static_cast<size_t>(entry.subject)];
  for (size_t at = list.size(); at-- > 0;) {
    const Entry entry = list[at];
    const bool computes = entry.what == Do::kCompute;
    if (computes && computed[static_cast<size_t>(entry.subject)] < 2) continue;
    if (options.stop.stop_requested() || (options.effort == 0 && time.elapsed() > time.limit() + kTidying)) return;
    List without = list;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(at));
    const Cost next = cost(without);
    if (next.answers < now.answers || !(next.value <= now.value)) continue;
    if (computes) --computed[static_cast<size_t>(entry.subject)];
    list = std::move(without);
    now = next;
  }
}

// One round of all chains, on so many threads.
void anneal(std::list<ListAnnealing>& chains, size_t threads, int round) {
  const size_t turns = (chains.size() + threads - 1) / threads;
  std::vector<std::jthread> workers;
  for (size_t first = 0; first < std::min(threads, chains.size()); ++first)
    workers.emplace_back([&chains, threads, turns, round, first] {
      size_t at = 0;
      for (ListAnnealing& chain : chains)
        if (at++ % threads == first) chain.anneal(round, 1 / static_cast<double>(turns));
    });
}

// Lists that answer the model's question, annealed from `starts` until one costs no more than `enough`.
std::vector<List> annealed(const EngineModel& model, const PlanOptions& options, const TimeLimit& time,
                           std::vector<List> starts, double enough) {
  EngineRun run(model);
  const auto cost = [&](const List& list) { return cost_of(run.run(list), model, list.size()); };
  std::erase_if(starts, [&](const List& list) { return std::isinf(cost(list).value); });
  std::ranges::stable_sort(starts, is_better, cost);
  if (!starts.empty() && cost(starts.front()).answers)
    std::erase_if(starts, [&](const List& list) { return !cost(list).answers; });
  const size_t workers = chains_of(options);
  std::list<ListAnnealing> chains;
  for (size_t at = 0; at < std::max(workers, starts.size()) && !starts.empty(); ++at)
    chains.emplace_back(model, options, time, at + 1, starts[at % starts.size()], enough);
  for (int round = 0; round < kAnnealingRounds && !chains.empty(); ++round) {
    anneal(chains, workers, round);
    chains.sort([](const ListAnnealing& a, const ListAnnealing& b) { return is_better(a.best_cost(), b.best_cost()); });
    if (chains.size() > workers) {  // each start has a round or two of its own
      const size_t left = round == 0 ? std::max(workers, (chains.size() + 1) / 2) : workers;
      while (chains.size() > left) chains.pop_back();
      continue;
    }
    for (auto chain = std::next(chains.begin()); chain != chains.end(); ++chain) chain->begin_with(chains.front());
  }
  std::vector<List> lists;
  for (const ListAnnealing& chain : chains) {
    if (!chain.best_cost().answers) continue;
    List& list = lists.emplace_back(chain.best());
    leave_out_needless(list, run, model, options, time);
  }
  return lists;
}

// Where nothing known meets the limits: adds lists that are annealed for the deadline alone, as if the question were for time, then for the energy limit,
// then without limits, from the lists that are given: the plan of the question without limits is found again, with an effort.
void add_lists_within_limits(std::vector<List>& starts, std::optional<Plan>& best, const EngineModel& model,
                             const PlanOptions& options, const TimeLimit& time) {
  EngineRun run(model);
  const auto answers = [&](const List& list) { return cost_of(run.run(list), model, list.size()).answers; };
  EngineModel of_limit = model;
  Question& asked = of_limit.question;
  const std::vector<List> first = starts;
  const auto add = [&](Objective objective, double enough, const std::vector<List>& from) {
    if (best || std::ranges::any_of(starts, answers)) return;
    asked.objective = objective;
    const TimeLimit part(kLimitShare * time.left());
    for (const List& list : annealed(of_limit, options, part, from, enough)) {
      std::optional<Plan> plan = smallest_plan(list, of_limit);
      if (!plan) continue;
      starts.push_back(list_of(*plan, *model.graph));
      plan->question = model.question;
      if (meets_limits(*plan)) keep_better(best, std::move(plan));
    }
  };
  const std::optional<double>&deadline = model.question.deadline, &energy_limit = model.question.energy_limit;
  asked.energy_limit.reset();
  asked.deadline.reset();
  if (deadline) add(Objective::kTime, *deadline * (1 - kLimitMargin), starts);
  asked.deadline = deadline;
  if (energy_limit) add(Objective::kEnergy, *energy_limit * (1 - kLimitMargin), starts);
  asked.deadline.reset();
  if (deadline || energy_limit) add(model.question.objective, 0, first);
}

// The best of `best` and of lists annealed from `starts`.
Result<Plan> search(const EngineModel& model, const PlanOptions& options, const TimeLimit& time,
                    std::optional<Plan> best, std::vector<List> starts) {
  const Proved proved = EngineProver(model, options, time).run();
  add_lists_within_limits(starts, best, model, options, time);
  const double enough = proved.value / std::max(1e-9, 1 - options.gap / 2);
  for (const List& list : annealed(model, options, time, std::move(starts), enough))
    if (std::optional<Plan> plan = smallest_plan(list, model)) keep_better(best, std::move(plan));
  if (!best) return fail("E0302", "no plan was found that meets the limits", model.graph->name);
  best->method = model.streams ? kStreamMethod : kMethod;
  best->solver_seconds = options.effort > 0 ? 0 : time.elapsed();
  finish(*best, proved, options);
  return std::move(*best);
}

// Where tensors start: at the given offsets, and what has none behind these.
Plan placed_at(const std::map<int64_t, Bytes>& given, const CostGraph& graph) {
  Plan places;
  Bytes top = 0;
  const Bytes align = std::max<Bytes>(1, graph.device.align_bytes);
  for (const Tensor& tensor : graph.tensors) {
    const auto found = given.find(tensor.id);
    if (tensor.start != Home::kRam || found == given.end()) continue;
    places.initial[tensor.id] = found->second;
    top = std::max(top, base::round_up(found->second + tensor.bytes, align));
  }
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.start != Home::kRam || !places.initial.emplace(tensor.id, top).second) continue;
    top += base::round_up(tensor.bytes, align);
  }
  if (graph.device.pager.staging_bytes > 0) places.staging_at = top;
  return places;
}

}  // namespace

Result<Plan> plan_for_engines(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible,
                              const PlanMaker& serial) {
  if (!problem::streams(graph) && (options.others != nullptr || !options.fixed_initial.empty()))
    return fail("E0304", "several programs in one arena are planned for one engine alone", graph.name);
  const TimeLimit time(options.time_limit);
  const Plan places = placed_at(options.fixed_initial, graph);
  const EngineModel model(graph, options.question, options.fixed_initial.empty() ? nullptr : &places);
  if (Infeasible beyond = EngineProver(model, options, time).beyond_limits(); beyond.time_s || beyond.energy_j) {
    beyond.refusal = refusal_of(graph, options, beyond);
    Failure refused(infeasibility_report(graph.name, options, beyond));
    if (infeasible != nullptr) *infeasible = std::move(beyond);
    return refused;
  }
  std::optional<Plan> best;
  std::vector<List> starts;
  std::vector<Plan> plans;
  std::optional<Error> none;  // why one engine has no plan
  if (model.streams) {
    if (options.question.budget_bytes() < least_working_set(graph, options).bytes)
      return no_streamed_plan(graph, options, infeasible);
    starts = streamed_lists(model, options, time);
  } else {
    plans = serial_plans(graph, options, serial, infeasible, none);
    if (plans.empty() && none->code != "E0302") return Failure(*std::move(none));
    starts = {earliest_finish(model)};
  }
  for (const Plan& plan : plans) {
    if (meets_limits(plan)) keep_better(best, plan);
    starts.push_back(list_of(plan, graph));
  }
  if (options.warm_start != nullptr) {
    keep_better_warm_start(best, graph, options);
    const Plan& start = *options.warm_start;
    if (structure_hash(start.graph) == structure_hash(graph) && keeps_freedoms(graph, start, options.question.freedoms))
      starts.push_back(list_of(start, graph));
  }
  Result<Plan> found = search(model, options, time, std::move(best), std::move(starts));
  if (found) return found;
  if (!model.streams) return plans.empty() ? Failure(*std::move(none)) : limits_missed(plans.front());
  return no_streamed_plan(graph, options, infeasible);
}

Bytes least_working_set_bytes(const CostGraph& graph, const PlanOptions& options) {
  return least_working_set(graph, options).bytes;
}

Result<Plan> plan_beside_one_engine(const CostGraph& graph, const Plan& one, const PlanOptions& options) {
  const TimeLimit time(options.time_limit);
  const Plan start = moved_to(one, graph, options.question);
  const EngineModel model(graph, options.question, &start);
  std::vector<List> starts{list_of(start, graph), earliest_finish(model)};
  std::optional<Plan> best;
  if (meets_limits(start)) best = start;
  return search(model, options, time, std::move(best), std::move(starts));
}

void hold_for_both(Plan& plan, const problem::Bound& other) {
  const auto lower = [](std::optional<double>& mine, const std::optional<double>& of_other) {
    if (mine) mine = std::min(*mine, of_other.value_or(0));
  };
  lower(plan.bound.energy_j, other.energy_j);
  lower(plan.bound.time_s, other.time_s);
  lower(plan.bound.edp_js, other.edp_js);
  lower(plan.bound.weighted, other.weighted);
  set_gap(plan, bound_of(plan).value_or(0));
}

namespace {

// A graph with streams, with all the RAM that it takes: what is read again stays there.
Result<Plan> unplanned_streams(const CostGraph& graph, const PlanOptions& options) {
  Question any{.objective = options.question.objective, .freedoms = options.question.freedoms};
  const EngineModel model(graph, any);
  const auto done = [](int64_t moves) { return static_cast<double>(moves) / kUnplannedMoves; };
  const List list = StreamLists(model).find(any.objective, any.budget_bytes(), 1, done);
  std::optional<Plan> plan = smallest_plan(list, model);
  if (!plan)
    return fail("E0306", "the step cannot be run even with all its tensors in RAM", graph.name,
                "check 'end', 'next' and 'recompute' in the cost graph");
  plan->question.budget = plan->predicted.arena_bytes;
  plan->method = kStreamMethod;
  return std::move(*plan);
}

}  // namespace

Result<Plan> unplanned_on_engines(const CostGraph& graph, const PlanOptions& options) {
  const bool streams = EngineModel(graph, {}).streams;
  PANTOUM_ASSIGN(Plan plan, streams ? unplanned_streams(graph, options)
                                    : unplanned(on_one_engine(graph, options.question.freedoms), options));
  Question question = plan.question;
  plan = moved_to(std::move(plan), graph, question);
  const EngineModel model(graph, question);
  const EngineBound bound(model);
  const double least = value_of(question.objective, bound.least_joules(), bound.least_seconds());
  finish(plan,
         {.seconds = bound.least_seconds(),
          .joules = bound.least_joules(),
          .value = least * (1 - 1e-9),
          .certificate = {},
          .lines = {}},
         options);
  return plan;
}

}  // namespace pantoum::plan
