// Forged certificates of several engines: whatever is changed in them, and of whatever graph they are, what the checker still accepts is a
// bound of every plan.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "check/certificate.h"
#include "plan/engine_bound.h"
#include "plan/planner.h"
#include "problem/cost_graph_json.h"
#include "testing/all_cases.h"
#include "testing/exhaustive_engines.h"
#include "testing/exhaustive_questions.h"
#include "testing/random_graph.h"

namespace pantoum::plan {
namespace {

using check::Random;

#ifdef PANTOUM_SANITIZER
constexpr int kForgedCertificates = 2000;
constexpr uint64_t kWorlds = 4;
#else
const int kForgedCertificates = all_cases() ? 500'000 : 20'000;
const uint64_t kWorlds = all_cases() ? 100 : 24;
#endif

struct EngineWorld {
  CostGraph graph;
  std::vector<Certificate> honest;
  std::map<std::tuple<Objective, double, double, double, bool, bool>, double> optimum;

  // The least of the certificate's objective in plenty of RAM. Without streams there is no paging: a transfer that need not be is of no use.
  double least(const Certificate& certificate) {
    Question asked = certificate.question;
    asked.budget = Bytes{1} << 20;
    asked.freedoms.recomputing = true;
    const auto [at, fresh] =
        optimum.try_emplace({asked.objective, certificate.second_price, asked.deadline.value_or(-1),
                             asked.energy_limit.value_or(-1), asked.freedoms.numerics, asked.freedoms.paging},
                            HUGE_VAL);
    if (!fresh) return at->second;
    CostGraph priced = graph;
    priced.device.idle_w += certificate.second_price;
    const auto best = plan_test::best_engine_plan(priced, asked, HUGE_VAL);
    return at->second = best ? best->value : HUGE_VAL;
  }
};

std::vector<Certificate> certificates_of(const CostGraph& graph, bool paging) {
  std::vector<Certificate> all;
  Question asked{.budget = Bytes{1} << 20, .freedoms = {.paging = paging, .recomputing = false, .numerics = true}};
  const auto add = [&](Objective objective, double price) {
    asked.objective = objective;
    const EngineModel model(graph, asked);
    const EngineBound bound(model);
    if (auto certificate = bound.prove(objective, price, [] { return HUGE_VAL; }))
      all.push_back(*std::move(certificate));
  };
  for (const double price : {0.0, 0.5, 4.0}) add(Objective::kEnergy, price);
  add(Objective::kTime, 0);
  if (all.empty()) return all;
  // Plans take whole ticks of half a millisecond, and whole multiples of an eighth of a millijoule: none is at a limit but for rounding.
  const auto between = [](double value, double step) { return (std::floor(value / step) + 0.5) * step; };
  for (const double share : {0.9, 1.1, 1.6}) {
    asked.deadline = between(all.back().bound * share, 0.5e-3);
    add(Objective::kEnergy, 0);
    asked.deadline.reset();
    asked.energy_limit = between(all.front().bound * share, 0.125e-3);
    add(Objective::kTime, 0);
    asked.energy_limit.reset();
  }
  return all;
}

std::vector<EngineWorld> worlds_of(uint64_t count, bool streams) {
  std::vector<EngineWorld> made;
  for (uint64_t seed = 0; made.size() < count; ++seed) {
    const int engines = (streams ? 1 : 2) + static_cast<int>(seed % 2);
    const int ops = 3 + static_cast<int>(seed % (streams ? 2 : 3));
    CostGraph graph =
        plan_test::tiny_engine_graph(seed, {.ops = ops, .engines = engines, .paging = streams, .streams = streams});
    std::vector<Certificate> honest = certificates_of(graph, streams);
    if (!honest.empty()) made.push_back({.graph = std::move(graph), .honest = std::move(honest), .optimum = {}});
  }
  return made;
}

double nudged(double value, Random& random) {
  constexpr double kOdd[] = {0,
                             -1,
                             std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(),
                             1e100,
                             1e-300,
                             1};
  switch (random.between(0, 5)) {
    case 0:
      return kOdd[random.index(std::size(kOdd))];
    case 1:
      return -value;
    case 2:
      return std::nextafter(value, 1e300);
    case 3:
      return value * (1 + 1e-9);
    case 4:
      return value * random.unit() * 3;
    default:
      return value * 1.1;
  }
}

void forge_row(Certificate& certificate, Random& random) {
  if (certificate.rows.empty()) return;
  Certificate::Row& row = certificate.rows[random.index(certificate.rows.size())];
  switch (random.between(0, 6)) {
    case 0:
      row.multiplier = nudged(row.multiplier, random);
      break;
    case 1:
      if (!row.of.empty()) row.of[random.index(row.of.size())] += random.between(-3, 3);
      break;
    case 2:
      row.rule = static_cast<Rule>(random.between(0, static_cast<int64_t>(Rule::kRelay)));
      break;
    case 3: {
      const Certificate::Row copy = row;
      certificate.rows.push_back(copy);
      break;
    }
    case 4:
      row.of.push_back(random.between(-1, 6));
      break;
    case 5:
      if (!row.of.empty()) row.of.erase(row.of.begin() + static_cast<std::ptrdiff_t>(random.index(row.of.size())));
      break;
    default: {  // another relay
      row.rule = Rule::kRelay;
      row.of = {random.between(-1, 4)};
      for (int64_t legs = random.between(0, 3); legs > 0; --legs) {
        row.of.push_back(random.between(-1, 3));
        row.of.push_back(random.between(-1, 5));
      }
    }
  }
}

void forge_case(Certificate& certificate, Random& random) {
  if (certificate.cases.empty()) return;
  const size_t at = random.index(certificate.cases.size());
  Certificate::Case& entry = certificate.cases[at];
  switch (random.between(0, 4)) {
    case 0:
      if (entry.decision) entry.decision->index += static_cast<int32_t>(random.between(-2, 2));
      break;
    case 1:
      if (entry.decision) entry.decision->variable = static_cast<Variable>(random.between(0, 4));
      break;
    case 2: {
      const Certificate::Case copy = entry;
      certificate.cases.insert(
          certificate.cases.begin() + static_cast<std::ptrdiff_t>(random.index(certificate.cases.size())), copy);
      break;
    }
    case 3:
      certificate.cases.erase(certificate.cases.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    default:
      if (entry.parts.empty()) break;
      Certificate::Part& part = entry.parts[random.index(entry.parts.size())];
      part.multiplier = nudged(part.multiplier, random);
      if (random.chance(0.3)) part.row += static_cast<int32_t>(random.between(-2, 2));
  }
}

void forge(Certificate& certificate, const EngineWorld& world, Random& random) {
  const Certificate& other = world.honest[random.index(world.honest.size())];
  switch (random.between(0, 11)) {
    case 0:
      certificate.question = other.question;
      certificate.second_price = other.second_price;
      break;
    case 1:
      certificate.bound = nudged(certificate.bound, random);
      break;
    case 2:
      certificate.second_price = other.second_price;
      break;
    case 3:
      certificate.any_order = random.chance(0.5);
      if (!certificate.order.empty()) std::swap(certificate.order.front(), certificate.order.back());
      break;
    case 4:
      certificate.boundaries.push_back(static_cast<int32_t>(random.between(0, 3)));
      break;
    case 5:
      certificate.rows = other.rows;
      break;
    case 6:
      certificate.cases = other.cases;
      break;
    case 7:
    case 8:
      forge_case(certificate, random);
      break;
    default:
      forge_row(certificate, random);
  }
}

std::string told(const Certificate& certificate) {
  std::string text =
      fmt::format(", objective {}, price {}, deadline {}, limit {};", static_cast<int>(certificate.question.objective),
                  certificate.second_price, certificate.question.deadline.value_or(-1),
                  certificate.question.energy_limit.value_or(-1));
  for (const Certificate::Row& row : certificate.rows)
    text += fmt::format(" {} x {} {};", row.multiplier, static_cast<int>(row.rule), fmt::join(row.of, " "));
  for (const Certificate::Case& each : certificate.cases) {
    text += each.decision ? fmt::format(" [used {}]", each.decision->index) : " (";
    for (const Certificate::Part& part : each.parts) text += fmt::format("{} x {} ", part.multiplier, part.row);
  }
  return text;
}

// Forges so many certificates of these worlds. What is accepted is true.
void forge_all(std::vector<EngineWorld> worlds, int certificates) {
  Random random(44);
  int accepted = 0, refused = 0, wrong = 0, honest = 0, known = 0;
  for (EngineWorld& world : worlds)
    for (const Certificate& certificate : world.honest) {
      const auto proved = check::check_certificate(world.graph, certificate);
      ASSERT_TRUE(proved) << to_text(proved.error());
      EXPECT_GE(*proved, certificate.bound) << "the planner claims more than the rows prove";
      EXPECT_LE(*proved, world.least(certificate) * (1 + kRounding));
      ++honest;
      known += std::isfinite(world.least(certificate)) ? 1 : 0;
    }
  for (int forged = 0; forged < certificates && wrong < 4; ++forged) {
    EngineWorld& world = worlds[random.index(worlds.size())];
    const EngineWorld& from = random.chance(0.15) ? worlds[random.index(worlds.size())] : world;
    Certificate certificate = from.honest[random.index(from.honest.size())];
    if (&from != &world && random.chance(0.7)) certificate.order = world.graph.order;
    for (int64_t changes = random.between(0, 3); changes > 0; --changes) forge(certificate, world, random);
    if (random.chance(0.6)) certificate.bound = 0;  // whoever forges asks what the checker would believe
    const auto proved = check::check_certificate(world.graph, certificate);
    if (!proved) {
      ++refused;
      continue;
    }
    ++accepted;
    const double least = world.least(certificate);
    if (*proved > least * (1 + kRounding)) ++wrong;
    EXPECT_LE(*proved, least * (1 + kRounding))
        << "case " << forged << told(certificate) << problem::to_json(world.graph).dump();
  }
  testing::Test::RecordProperty("honest", honest);
  testing::Test::RecordProperty("known", known);
  testing::Test::RecordProperty("accepted", accepted);
  testing::Test::RecordProperty("refused", refused);
  testing::Test::RecordProperty("false", wrong);
  EXPECT_GT(known, honest / 2);
  EXPECT_GT(accepted, certificates / 10);
  EXPECT_GT(refused, certificates / 10);
}

TEST(ForgedEngines, CertificatesAreBelievedOnlyWhatIsTrue) {
  forge_all(worlds_of(kWorlds, false), kForgedCertificates);
}

TEST(ForgedEngines, CertificatesOfGraphsThatStreamAreBelievedOnlyWhatIsTrue) {
  forge_all(worlds_of(kWorlds / 2, true), kForgedCertificates / 2);
}

}  // namespace
}  // namespace pantoum::plan
