#include "pipeline/choose_updates.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "check/replay.h"
#include "pipeline/planned_step.h"

namespace pantoum::pipeline {
namespace {

constexpr const char* kModel = PANTOUM_SOURCE_DIR "/examples/keyword-spotting/model.onnx";

std::vector<std::string> trained_by(const Compiled& compiled) {
  std::vector<std::string> names;
  for (const ir::Value& value : compiled.training().graph.values)
    if (value.role == ir::Role::kParameter && value.next != ir::kNone) names.push_back(value.name);
  return names;
}

PlanRequest request_for(const PlanOptions& more = {}) {
  PlanOptions options = more;
  options.effort = 1, options.kernels = Kernels::portable, options.time_limit = Seconds(20);
  return plan_request("m4", options).value();
}

ModelRequest asked(const std::string& within, const std::map<std::string, double>& rows) {
  const std::string path = testing::TempDir() + "/contributions.csv";
  std::ofstream file(path);
  for (const auto& [name, value] : rows) file << name << ',' << value << '\n';
  return {.path = kModel,
          .options = {.batch = 1, .optimizer = Sgd{.momentum = 0.9}, .update_within = within, .contributions = path}};
}

// All parameters with a worth of its own, and the figures of a step that trains them all.
struct Whole {
  std::map<std::string, double> rows;
  problem::Predicted figures;

  static Whole of_model() {
    const ModelRequest model{.path = kModel, .options = {.batch = 1, .optimizer = Sgd{.momentum = 0.9}}};
    Compiled compiled = compile_model(model, request_for()).value();
    Whole whole;
    for (const std::string& name : trained_by(compiled))
      whole.rows[name] = 1 + static_cast<double>(whole.rows.size() % 5);
    EXPECT_TRUE(plan_model(compiled, request_for()));
    const check::Found& found = compiled.training().found;
    whole.figures = {.peak_bytes = found.peak_bytes, .time_s = found.time_s, .energy_j = found.energy_j};
    return whole;
  }
};

// The step that was chosen, planned as every caller does.
Compiled planned(ModelRequest& model, PlanRequest& request) {
  const Result<void> chosen = choose_updates(model, request);
  EXPECT_TRUE(chosen) << (chosen ? "" : to_text(chosen.error()));
  Compiled compiled = compile_model(model, request).value();
  const Result<void> done = plan_model(compiled, request);
  EXPECT_TRUE(done) << (done ? "" : to_text(done.error()));
  return compiled;
}

TEST(ChooseUpdates, KeepsALimitOfEnergyTimeAndRam) {
  const Whole whole = Whole::of_model();
  for (const double share : {0.55, 0.8}) {
    const std::string limits[] = {
        fmt::format("{}J", share * whole.figures.energy_j), fmt::format("{}s", share * whole.figures.time_s),
        fmt::format("{}B", static_cast<int64_t>(share * static_cast<double>(whole.figures.peak_bytes)))};
    for (const std::string& limit : limits) {
      ModelRequest model = asked(limit, whole.rows);
      // Paging and recomputing would make room for all.
      PlanRequest request = limit.ends_with("B") ? request_for({.paging = false, .recomputing = false}) : request_for();
      const Compiled compiled = planned(model, request);
      ASSERT_TRUE(compiled.model.updates) << limit;
      const ChosenUpdates& updates = *compiled.model.updates;
      EXPECT_EQ(updates.tensors, trained_by(compiled)) << limit;
      EXPECT_FALSE(updates.tensors.empty()) << limit;
      EXPECT_LT(updates.tensors.size(), whole.rows.size()) << limit;
      const check::Found& found = compiled.training().found;
      const double figure = limit.ends_with("J")   ? found.energy_j / whole.figures.energy_j
                            : limit.ends_with("s") ? found.time_s / whole.figures.time_s
                                                   : static_cast<double>(found.arena_bytes) /
                                                         static_cast<double>(whole.figures.peak_bytes);
      EXPECT_LE(figure, share * (1 + 1e-6)) << limit;
      // The plan says it, and a plan file is the same step without the table.
      const Result<PlanRecord> record = record_of(compiled.training().plan, "plan.json");
      ASSERT_TRUE(record) << to_text(record.error());
      ASSERT_TRUE(record->model.updates);
      EXPECT_EQ(record->model.updates->tensors, updates.tensors);
      EXPECT_FALSE(record->model.options.update_within);
      EXPECT_EQ(trained_by(make_graphs(record->model, record->request).value()), updates.tensors);
    }
  }
}

TEST(ChooseUpdates, TrainsAllWhereAllFits) {
  const Whole whole = Whole::of_model();
  ModelRequest model = asked(fmt::format("{}J", 1.5 * whole.figures.energy_j), whole.rows);
  PlanRequest request = request_for();
  ASSERT_TRUE(choose_updates(model, request));
  EXPECT_EQ(model.updates->tensors.size(), whole.rows.size());
  EXPECT_TRUE(model.options.freeze.empty());
  EXPECT_TRUE(model.updates->best);
  EXPECT_EQ(model.updates->plans, 1);
}

TEST(ChooseUpdates, LeavesWhatIsNotListedFrozen) {
  const Whole whole = Whole::of_model();
  std::map<std::string, double> some{*whole.rows.begin(), *std::next(whole.rows.begin())};
  ModelRequest model = asked(fmt::format("{}J", 1.5 * whole.figures.energy_j), some);
  PlanRequest request = request_for();
  const Compiled compiled = planned(model, request);
  const std::vector<std::string> trained = trained_by(compiled);
  EXPECT_EQ(std::set<std::string>(trained.begin(), trained.end()),
            (std::set<std::string>{some.begin()->first, std::next(some.begin())->first}));
}

std::string refusal(ModelRequest model, PlanRequest request = request_for()) {
  const Result<void> chosen = choose_updates(model, request);
  return chosen ? "" : chosen.error().code + ": " + chosen.error().message;
}

TEST(ChooseUpdates, RefusesWhatNoTensorCanKeepAndNamesTheLeast) {
  const Whole whole = Whole::of_model();
  for (const char* limit : {"1uJ", "1us", "1KiB"}) {
    const std::string told = refusal(asked(limit, whole.rows));
    EXPECT_TRUE(told.starts_with("E0307: no tensor of the table can be trained within 1")) << told;
    EXPECT_NE(told.find("' alone, takes "), std::string::npos) << told;
  }
  // Too little RAM for any step is the planner's to refuse.
  const std::string told = refusal(asked("1uJ", whole.rows), request_for({.ram = KiB(1)}));
  EXPECT_EQ(told.substr(0, 5), "E0301") << told;
}

TEST(ChooseUpdates, RefusesOptionsThatDoNotFit) {
  const std::map<std::string, double> rows{{"nothing", 1}};
  EXPECT_EQ(refusal(asked("20mJ", rows)), "E0126: the model has no tensor 'nothing'");
  EXPECT_EQ(refusal(asked("20", rows)), "E0126: '20' is no energy, no time and no RAM above 0");
  EXPECT_EQ(refusal(asked("0J", rows)), "E0126: '0J' is no energy, no time and no RAM above 0");
  ModelRequest model = asked("20mJ", rows);
  model.options.contributions.reset();
  EXPECT_EQ(refusal(model).substr(0, 5), "E0119");
  model = asked("20mJ", rows);
  model.options.update_within.reset();
  EXPECT_EQ(refusal(model).substr(0, 5), "E0119");
  model = asked("20mJ", rows);
  model.options.feature_cache = MiB(1);
  EXPECT_EQ(refusal(model).substr(0, 5), "E0113");
  model = asked("20mJ", rows);
  model.options.contributions = "/nowhere/contributions.csv";
  EXPECT_EQ(refusal(model).substr(0, 5), "E0201");
  // Where nothing is planned, nothing is chosen, and the options are not passed over.
  const auto graphs = make_graphs(asked("20mJ", rows), request_for());
  ASSERT_FALSE(graphs);
  EXPECT_EQ(graphs.error().code, "E0113");
}

}  // namespace
}  // namespace pantoum::pipeline
