// Forged answers: plans and refusals whose certificates, claims and questions were changed. Whatever the checker still
// accepts must be true of every plan known of the graph, and of exhaustive search.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "check/claims.h"
#include "plan/planner.h"
#include "problem/plan_json.h"
#include "testing/all_cases.h"
#include "testing/chain_graphs.h"
#include "testing/exhaustive_plans.h"
#include "testing/random_graph.h"
#include "testing/sample_graphs.h"

namespace pantoum::plan {
namespace {

using check::Random;

#ifdef PANTOUM_SANITIZER
constexpr int kForged = 2000;
constexpr uint64_t kRandomWorlds = 1;
#else
const int kForged = all_cases() ? 1'000'000 : 20'000;
const uint64_t kRandomWorlds = all_cases() ? 24 : 6;
#endif
constexpr double kRounding = 1e-9;  // of the exhaustive search's sums

// A plan that is known, whatever it was asked for.
struct Known {
  Plan plan;
  check::Found found;
  std::vector<int64_t> order;  // op ids, as they are first computed
};

std::vector<int64_t> order_of(const Plan& plan) {
  std::vector<int64_t> order;
  for (const Instruction& step : plan.instructions)
    if (step.what == Do::kCompute && std::find(order.begin(), order.end(), step.subject) == order.end())
      order.push_back(step.subject);
  return order;
}

// A graph with its honest answers, to be forged, and all the plans that are known of it.
struct World {
  CostGraph graph;
  std::vector<Known> known;
  std::vector<Refusal> refusals;
  std::map<std::string, std::optional<double>> optimum;  // of questions, by exhaustive search
};

std::vector<Question> questions_of(const CostGraph& graph) {
  const auto whole = unplanned(graph);
  if (!whole) return {};
  const Bytes most = whole->predicted.arena_bytes;
  const double time = whole->predicted.time_s, energy = whole->predicted.energy_j;
  std::vector<Question> questions;
  for (const int percent : {20, 45, 60, 75, 100}) {
    const Question all{.budget = std::max<Bytes>(1, most * percent / 100)};
    const auto add = [&](auto change) {
      Question question = all;
      change(question);
      questions.push_back(question);
    };
    add([](Question&) {});
    add([](Question& asked) { asked.freedoms.paging = false; });
    add([](Question& asked) { asked.freedoms.reordering = false; });
    add([](Question& asked) { asked.freedoms = {.paging = false, .reordering = false}; });
    add([](Question& asked) { asked.freedoms.in_place = asked.freedoms.recomputing = false; });
    add([](Question& asked) { asked.freedoms.numerics = true; });
    add([](Question& asked) { asked.objective = Objective::kTime; });
    add([](Question& asked) { asked.objective = Objective::kEdp; });
    add([&](Question& asked) { asked.deadline = time * 1.05; });
    add([&](Question& asked) { asked.deadline = time * 0.5, asked.freedoms.reordering = false; });
    add([&](Question& asked) { asked.energy_limit = energy * 1.2, asked.objective = Objective::kTime; });
    add([&](Question& asked) { asked.energy_limit = energy * 0.5; });
  }
  return questions;
}

// Another topological order.
std::vector<int64_t> shuffled(const CostGraph& graph, Random& random) {
  std::map<int64_t, const Op*> ops;
  std::map<int64_t, int64_t> producers;
  for (const Op& op : graph.ops) {
    ops[op.id] = &op;
    for (const int64_t output : op.outputs) producers[output] = op.id;
  }
  std::vector<int64_t> left = graph.order, order;
  while (!left.empty()) {
    const size_t at = random.index(left.size());
    const auto& inputs = ops[left[at]]->inputs;
    const bool ready = std::all_of(inputs.begin(), inputs.end(), [&](int64_t input) {
      return !producers.contains(input) || std::find(order.begin(), order.end(), producers[input]) != order.end();
    });
    if (!ready) continue;
    order.push_back(left[at]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return order;
}

// What an op needs just before it: a tower is done before the next one is begun.
std::vector<int64_t> depth_first(const CostGraph& graph) {
  std::map<int64_t, const Op*> producers;
  for (const Op& op : graph.ops)
    for (const int64_t output : op.outputs) producers[output] = &op;
  std::vector<int64_t> order;
  const std::function<void(const Op&)> visit = [&](const Op& op) {
    if (std::find(order.begin(), order.end(), op.id) != order.end()) return;
    for (const int64_t input : op.inputs)
      if (const auto producer = producers.find(input); producer != producers.end()) visit(*producer->second);
    order.push_back(op.id);
  };
  for (const Op& op : graph.ops)  // in the order of their last ops
    if (op.name == "last") visit(op);
  for (const Op& op : graph.ops) visit(op);
  return order;
}

// Two chains forward and back, the second forward before the first one's gradients: where nothing is paged, another
// order takes less.
CostGraph two_towers(int64_t length) {
  SampleGraph sample;
  sample.graph_.device.pager = {};
  std::vector<int64_t> states[2];
  for (std::vector<int64_t>& tower : states)
    for (int64_t layer = 0; layer < length; ++layer)
      tower.push_back(sample.add(tower.empty() ? std::vector<int64_t>{} : std::vector{tower.back()}, 100, 2));
  for (const std::vector<int64_t>& tower : states) {
    int64_t gradient = sample.add({tower.back()}, 8, 1);
    for (size_t layer = tower.size(); layer-- > 0;) gradient = sample.add({gradient, tower[layer]}, 8, 1);
    sample.graph_.ops.back().name = "last";
  }
  return sample.graph_;
}

void add_known(World& world, Plan plan) {
  plan.graph = world.graph;
  plan.bound = {}, plan.certificate.reset(), plan.lines.clear(), plan.gap = 1;
  plan.status = Status::kFeasible;
  plan.question.freedoms = {.numerics = true};
  const auto judged = check::judge(plan);
  if (judged) world.known.push_back({plan, judged->found, order_of(plan)});
}

World world_of(CostGraph graph, uint64_t seed, std::vector<Plan>& answers) {
  World world{.graph = std::move(graph)};
  Random random(seed);
  for (const Question& question : questions_of(world.graph)) {
    const PlanOptions options{.question = question, .effort = 1, .threads = 1};
    Infeasible why;
    Result<Plan> plan = make_plan(world.graph, options, &why);
    if (plan) {
      const auto judged = check::judge(*plan);
      EXPECT_TRUE(judged) << to_text(judged.error()) << problem::question_json(question).dump();
      add_known(world, *plan);
      answers.push_back(std::move(*plan));
    } else if (plan.error().code == "E0301") {
      EXPECT_TRUE(why.refusal.has_value());
      const auto proved = check::check_refusal(*why.refusal);
      EXPECT_TRUE(proved) << to_text(proved.error()) << problem::question_json(question).dump();
      world.refusals.push_back(std::move(*why.refusal));
    }
    if (why.min_plan) add_known(world, *why.min_plan);
    CostGraph other = world.graph;
    PlanOptions in_order = options;
    in_order.question.freedoms.reordering = false;
    for (const auto& order : {shuffled(world.graph, random), depth_first(world.graph)}) {
      other.order = order;
      if (Result<Plan> another = make_plan(other, in_order)) add_known(world, std::move(*another));
    }
  }
  return world;
}

// ---- forging -----------------------------------------------------------------------------------------------

double nudged(double value, Random& random) {
  switch (random.between(0, 7)) {
    case 0:
      return std::nextafter(value, 1e300);
    case 1:
      return std::nextafter(value, -1e300);
    case 2:
      return value * 2;
    case 3:
      return value * (1 + 1e-9);
    case 4:
      return value * 1.01;
    case 5:
      return 0;
    case 6:
      return value * 10;
    default:
      return value * random.unit() * 2;
  }
}

int64_t nudged(int64_t value, Random& random) {
  return random.chance(0.5) ? value + random.between(-2, 2) : value * random.between(0, 3);
}

void forge(Freedoms& freedoms, Random& random) {
  bool* all[] = {&freedoms.paging, &freedoms.recomputing, &freedoms.in_place, &freedoms.reordering, &freedoms.numerics};
  bool& one = *all[random.index(std::size(all))];
  one = !one;
}

void forge(Question& question, const World& world, Random& random) {
  const Known& other = world.known[random.index(world.known.size())];
  switch (random.between(0, 5)) {
    case 0:
      question.budget = random.chance(0.5) ? other.found.arena_bytes : nudged(question.budget_bytes(), random);
      break;
    case 1:
      question.deadline = random.chance(0.5) ? other.found.time.high : nudged(question.deadline.value_or(1), random);
      if (random.chance(0.3)) question.deadline.reset();
      break;
    case 2:
      question.energy_limit =
          random.chance(0.5) ? other.found.energy.high : nudged(question.energy_limit.value_or(1), random);
      if (random.chance(0.3)) question.energy_limit.reset();
      break;
    case 3:
      question.objective = static_cast<Objective>(random.between(0, 2));
      break;
    default:
      forge(question.freedoms, random);
  }
}

void forge_row(Certificate& certificate, Random& random) {
  if (certificate.rows.empty()) return;
  Certificate::Row& row = certificate.rows[random.index(certificate.rows.size())];
  switch (random.between(0, 4)) {
    case 0:
      row.multiplier = nudged(row.multiplier, random);
      break;
    case 1:
      if (!row.of.empty()) row.of[random.index(row.of.size())] += random.between(-2, 2);
      break;
    case 2:
      row.rule = static_cast<Rule>(random.between(0, 14));
      break;
    case 3:
      certificate.rows.push_back(row);
      break;
    default:
      certificate.rows.erase(certificate.rows.begin());
  }
}

void forge_case(Certificate& certificate, Random& random) {
  if (certificate.cases.empty()) return;
  Certificate::Case& entry = certificate.cases[random.index(certificate.cases.size())];
  if (entry.decision && random.chance(0.5)) {
    entry.decision->index += static_cast<int32_t>(random.between(-1, 1));
    entry.decision->variable = static_cast<Variable>(random.between(0, 3));
  } else if (!entry.parts.empty()) {
    Certificate::Part& part = entry.parts[random.index(entry.parts.size())];
    part.multiplier = nudged(part.multiplier, random);
  } else {
    certificate.cases.erase(certificate.cases.begin());
  }
}

void forge(Certificate& certificate, const Question& asked, const World& world, Random& random) {
  switch (random.between(0, 9)) {
    case 0:
      certificate.question = asked;
      break;
    case 1:
      certificate.question.freedoms = asked.freedoms;
      break;
    case 2:
      forge(certificate.question, world, random);
      break;
    case 3:
      certificate.any_order = !certificate.any_order;
      break;
    case 4:
      certificate.bound = nudged(certificate.bound, random);
      break;
    case 5:
      if (!certificate.boundaries.empty())
        certificate.boundaries[random.index(certificate.boundaries.size())] +=
            static_cast<int32_t>(random.between(-1, 1));
      break;
    case 6:
      certificate.order =
          random.chance(0.5) ? shuffled(world.graph, random) : world.known[random.index(world.known.size())].order;
      break;
    case 7:
      forge_case(certificate, random);
      break;
    case 8:
      certificate.second_price = nudged(certificate.second_price + (random.chance(0.5) ? 1 : 0), random);
      if (random.chance(0.5)) certificate.most_seconds = nudged(certificate.most_seconds.value_or(1), random);
      break;
    default:
      forge_row(certificate, random);
  }
}

// Certificates of the graph's other answers.
std::vector<Certificate> certificates_of(const std::vector<Plan>& answers, const World& world) {
  std::vector<Certificate> all;
  for (const Plan& plan : answers) {
    if (plan.certificate) all.push_back(*plan.certificate);
    all.insert(all.end(), plan.lines.begin(), plan.lines.end());
  }
  for (const Refusal& refusal : world.refusals)
    if (refusal.certificate) all.push_back(*refusal.certificate);
  return all;
}

// Whoever forges asks the checker what it would believe, and claims all of it.
void claim_all(Plan& plan, Random& random) {
  if (random.chance(0.5)) plan.bound.any_order = random.chance(0.5);
  const auto proved = check::prove_bounds(plan);
  if (!proved) return;
  plan.bound.energy_j = proved->energy_j;
  plan.bound.time_s = proved->time_s;
  plan.bound.edp_js = proved->edp_js;
}

Plan forged(const Plan& honest, const std::vector<Certificate>& certificates, const World& world, Random& random) {
  Plan plan = honest;
  for (int64_t changes = random.between(1, 3); changes > 0; --changes) {
    switch (random.between(0, 6)) {
      case 0:
        forge(plan.question, world, random);
        break;
      case 1:
        if (!certificates.empty()) plan.certificate = certificates[random.index(certificates.size())];
        break;
      case 2: {  // another plan's claims
        const Known& other = world.known[random.index(world.known.size())];
        plan.instructions = other.plan.instructions, plan.initial = other.plan.initial;
        plan.storage = other.plan.storage, plan.staging_at = other.plan.staging_at;
        plan.predicted = other.plan.predicted;
        break;
      }
      case 3:
        for (std::optional<double>* bound : {&plan.bound.energy_j, &plan.bound.time_s, &plan.bound.edp_js})
          if (*bound && random.chance(0.5)) *bound = nudged(**bound, random);
        plan.gap = random.chance(0.5) ? nudged(plan.gap, random) : plan.gap;
        plan.status = random.chance(0.3) ? Status::kOptimal : plan.status;
        break;
      default:
        if (plan.certificate) forge(*plan.certificate, plan.question, world, random);
        if (!plan.lines.empty()) forge(plan.lines[random.index(plan.lines.size())], plan.question, world, random);
    }
  }
  plan.question.budget = std::max<Bytes>(1, plan.question.budget_bytes());
  if (random.chance(0.6)) claim_all(plan, random);
  return plan;
}

// One number, truth value or word of the file.
void forge_json(nlohmann::ordered_json& json, Random& random) {
  nlohmann::ordered_json* at = &json;
  while (at->is_structured() && !at->empty()) {
    auto next = at->begin();
    std::advance(next, static_cast<std::ptrdiff_t>(random.index(at->size())));
    at = &*next;
  }
  if (at->is_number_float())
    *at = nudged(at->get<double>(), random);
  else if (at->is_number_integer())
    *at = nudged(at->get<int64_t>(), random);
  else if (at->is_boolean())
    *at = !at->get<bool>();
  else if (at->is_string() && (*at == "plan" || *at == "any"))
    *at = *at == "plan" ? "any" : "plan";
  else if (at->is_null())
    *at = random.unit() * 4;
}

Result<Plan> forged_file(const Plan& honest, Random& random) {
  nlohmann::ordered_json json = problem::to_json(honest);
  constexpr const char* kParts[] = {"x-certificate", "x-lines",      "question", "bound",
                                    "solver",        "budget_bytes", "status"};
  for (int64_t changes = random.between(1, 3); changes > 0; --changes)
    if (const char* part = kParts[random.index(std::size(kParts))]; json.contains(part)) forge_json(json[part], random);
  return problem::parse_plan(json.dump(), "forged");
}

Refusal forged(const Refusal& honest, const std::vector<Certificate>& certificates, const World& world,
               Random& random) {
  Refusal refusal = honest;
  for (int64_t changes = random.between(1, 3); changes > 0; --changes) {
    switch (random.between(0, 5)) {
      case 0:
        forge(refusal.question, world, random);
        break;
      case 1:
        if (!certificates.empty()) refusal.certificate = certificates[random.index(certificates.size())];
        break;
      case 2:
        refusal.of = static_cast<Objective>(random.between(0, 3));
        break;
      case 3:
        refusal.any_order = !refusal.any_order;
        break;
      case 4:
        refusal.least = refusal.of == Objective::kRam
                            ? std::floor(refusal.least + static_cast<double>(random.between(-1, 2)))
                            : nudged(refusal.least, random);
        break;
      default:
        if (refusal.certificate) forge(*refusal.certificate, refusal.question, world, random);
    }
  }
  refusal.question.budget = std::max<Bytes>(1, refusal.question.budget_bytes());
  return refusal;
}

// ---- the truth ---------------------------------------------------------------------------------------------

double high_of(Objective objective, const check::Found& found) {
  return objective == Objective::kEnergy ? found.energy.high
         : objective == Objective::kTime ? found.time.high
         : objective == Objective::kRam  ? static_cast<double>(found.arena_bytes)
                                         : found.energy.high * found.time.high * (1 + 1e-15);
}

// Nothing: the search does not know, as transfers take it no time, or offsets it no room.
std::optional<double> searched(World& world, const Question& question, Objective objective) {
  Question asked = question;
  asked.objective = objective;
  const auto [at, fresh] = world.optimum.try_emplace(problem::question_json(asked).dump());
  if (fresh) at->second = plan_test::exhaustive_optimum(world.graph, asked, 20'000);
  return at->second;
}

// Is the bound above a plan that answers the question, and that is of the order that it is claimed for?
std::string contradiction(const Plan& accepted, World& world) {
  const std::vector<int64_t> order = order_of(accepted);
  for (const Known& known : world.known) {
    if (!check::check_question_kept(accepted.question, known.found)) continue;
    if (!accepted.bound.any_order && known.order != order) continue;
    for (const Objective each : {Objective::kEnergy, Objective::kTime, Objective::kEdp}) {
      const std::optional<double>& bound = each == Objective::kEnergy ? accepted.bound.energy_j
                                           : each == Objective::kTime ? accepted.bound.time_s
                                                                      : accepted.bound.edp_js;
      if (bound && *bound > high_of(each, known.found)) return "a plan that is known is below the bound";
    }
  }
  const bool exact = world.graph.device.pager.mode != PagerMode::kAsync;
  const bool any = accepted.bound.any_order || order == world.graph.order;
  if (!exact || !any || !accepted.bound.energy_j) return "";
  Question question = accepted.question;
  question.freedoms.reordering = accepted.bound.any_order && question.freedoms.reordering;
  const auto optimum = searched(world, question, Objective::kEnergy);
  return optimum && *accepted.bound.energy_j > *optimum * (1 + kRounding) ? "the optimum is below the bound" : "";
}

std::string contradiction(const Refusal& accepted, const World& world) {
  Question but_one = accepted.question;  // without the limit that is out of reach
  if (accepted.of == Objective::kTime) but_one.deadline.reset();
  if (accepted.of == Objective::kEnergy) but_one.energy_limit.reset();
  if (accepted.of == Objective::kRam) but_one.budget.reset();
  for (const Known& known : world.known) {
    if (check::check_question_kept(accepted.question, known.found)) return "a plan that is known answers the question";
    if (check::check_question_kept(but_one, known.found) && accepted.least > high_of(accepted.of, known.found))
      return "a plan that is known takes less than is claimed to be needed";
  }
  return "";
}

struct Tally {
  int forged = 0, unreadable = 0, refused = 0, accepted = 0, false_ones = 0;
};

void report(const Tally& tally, const std::string& of) {
  for (const auto& [name, count] : {std::pair{"forged", tally.forged},
                                    {"unreadable", tally.unreadable},
                                    {"refused", tally.refused},
                                    {"accepted", tally.accepted},
                                    {"false", tally.false_ones}})
    ::testing::Test::RecordProperty(of + "_" + name, count);
}

struct Worlds {
  std::vector<World> worlds;
  std::vector<std::vector<Plan>> answers;
  std::vector<std::vector<Certificate>> certificates;
};

// Few are enough: what differs is the questions.
Worlds& worlds() {
  static Worlds made = [] {
    Worlds all;
    const auto add = [&all](CostGraph graph, uint64_t seed) {
      std::vector<Plan> answers;
      World world = world_of(std::move(graph), seed, answers);
      if (world.known.empty() || answers.empty()) return;
      all.certificates.push_back(certificates_of(answers, world));
      all.worlds.push_back(std::move(world));
      all.answers.push_back(std::move(answers));
    };
    add(plan_test::chain(6), 1);
    add(two_towers(3), 2);
    for (uint64_t seed = 1; seed <= kRandomWorlds; ++seed)
      add(check::random_cost_graph(
              seed, {.least_ops = 3, .most_ops = 5, .most_sources = 3, .several_numerics = seed % 3 == 0}),
          seed);
    return all;
  }();
  return made;
}

TEST(Forged, PlansAreBelievedOnlyWhatIsTrue) {
  Worlds& all = worlds();
  Tally tally;
  Random random(1);
  for (; tally.forged < kForged; ++tally.forged) {
    const size_t at = random.index(all.worlds.size());
    const Plan& honest = all.answers[at][random.index(all.answers[at].size())];
    const bool by_file = tally.forged % 8 == 0;
    const Result<Plan> plan = by_file ? forged_file(honest, random)
                                      : Result<Plan>(forged(honest, all.certificates[at], all.worlds[at], random));
    if (!plan) {
      ++tally.unreadable;
      continue;
    }
    if (!check::judge(*plan)) {
      ++tally.refused;
      continue;
    }
    ++tally.accepted;
    const std::string wrong = contradiction(*plan, all.worlds[at]);
    tally.false_ones += wrong.empty() ? 0 : 1;
    EXPECT_EQ(wrong, "") << "case " << tally.forged << ", " << problem::to_json(*plan).dump();
    if (tally.false_ones > 3) break;
  }
  report(tally, "plans");
  EXPECT_GT(tally.accepted, kForged / 50) << "changes that leave the claims true are few, but they are there";
  EXPECT_GT(tally.refused, kForged / 4);
}

TEST(Forged, RefusalsAreBelievedOnlyWhatIsTrue) {
  Worlds& all = worlds();
  Tally tally;
  Random random(2);
  for (; tally.forged < kForged / 4; ++tally.forged) {
    const size_t at = random.index(all.worlds.size());
    const std::vector<Refusal>& honest = all.worlds[at].refusals;
    if (honest.empty()) continue;
    const Refusal refusal = forged(honest[random.index(honest.size())], all.certificates[at], all.worlds[at], random);
    if (!check::check_refusal(refusal)) {
      ++tally.refused;
      continue;
    }
    ++tally.accepted;
    const std::string wrong = contradiction(refusal, all.worlds[at]);
    tally.false_ones += wrong.empty() ? 0 : 1;
    EXPECT_EQ(wrong, "") << "case " << tally.forged << ", " << problem::to_json(refusal).dump();
    if (tally.false_ones > 3) break;
  }
  report(tally, "refusals");
  EXPECT_GT(tally.accepted, kForged / 400);
  EXPECT_GT(tally.refused, kForged / 20);
}

}  // namespace
}  // namespace pantoum::plan
