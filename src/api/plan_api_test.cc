#include <gtest/gtest.h>

#include <filesystem>

#include "api/fixture.h"
#include "testing/temporary_folder.h"

namespace pantoum {
namespace {

using api::classifier, api::kBatch, api::quick;

Plan a_plan() {
  PlanOptions options = quick();
  options.ram = MiB(1);
  return *Plan::make(*classifier(), device("host"), options);
}

TEST(UnitsApi, ReadsQuantitiesWithTheirUnit) {
  EXPECT_EQ(parse_bytes("64 KiB", "ram")->count(), 65536);
  EXPECT_EQ(parse_seconds("450ms", "time")->count(), 0.45);
  EXPECT_EQ(*parse_joules("3.2J", "energy"), 3.2);
  EXPECT_EQ(*parse_fraction("1%", "gap"), 0.01);
  EXPECT_EQ(parse_deadline("1.3x", "deadline")->relative, 1.3);
  EXPECT_EQ(parse_deadline("2s", "deadline")->seconds, Seconds(2));
  const Result<std::vector<Bytes>> budgets = parse_budgets("1KiB:3KiB:3", "budgets");
  EXPECT_EQ(*budgets, (std::vector<Bytes>{KiB(1), KiB(2), KiB(3)}));
  EXPECT_EQ(show(MiB(1.5)), "1.50 MiB");
}

TEST(UnitsApi, RefusesBareNumbersByTheNameOfTheQuantity) {
  EXPECT_EQ(parse_bytes("64", "ram").error().code, "E0110");
  EXPECT_EQ(parse_bytes("64", "ram").error().where, "ram");
  EXPECT_EQ(parse_budgets("64:128:2", "budgets").error().code, "E0110");
  for (const char* text : {"", "x", "0s", "-1x", "nanx", "infx", "450", "1.3y"})
    EXPECT_EQ(parse_deadline(text, "deadline").error().code, "E0111") << text;
  EXPECT_EQ(parse_fraction("0.1", "gap").error().code, "E0112");
  EXPECT_EQ(parse_joules("3", "energy").error().code, "E0121");
}

TEST(DevicesApi, TellsProfilesByName) {
  const std::vector<DeviceInfo> all = devices();
  ASSERT_FALSE(all.empty());
  for (const DeviceInfo& info : all) EXPECT_GT(info.ram_bytes, 0) << info.name;
  EXPECT_TRUE(describe({"host"})->is_measured);
  EXPECT_EQ(describe({"none"}).error().code, "E0270");
}

// Every call that writes, onto every file that what it writes was read from.
TEST(OutputsApi, NoCallWritesOverAFileThatIsRead) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const std::string net = folder.file("net.onnx"), plan_file = folder.file("plan.json"), weights = folder.file("w");
  ASSERT_TRUE(classifier()->save(net));
  {
    PlanOptions options = quick();
    options.ram = MiB(1);
    const Result<Plan> plan = Plan::make(*Model::from_file(net, {.batch = kBatch}), device("host"), options);
    ASSERT_TRUE(plan) << to_text(plan.error());
    ASSERT_TRUE(plan->save(plan_file) && plan->save_initial_weights(weights));
  }
  const Model model = *Model::from_file(net, {.batch = kBatch, .weights = weights});
  const Plan plan = *Plan::load(plan_file, model);
  Trainer trainer = *Trainer::create(plan);
  for (const std::string& input : {net, plan_file, weights}) {
    fs::create_hard_link(input, folder.file("hard"));
    fs::create_symlink(input, folder.file("soft"));
    for (const std::string& alias : {input, folder.file("hard"), folder.file("soft")}) {
      for (const Result<void>& wrote :
           {model.save(alias), plan.save(alias), plan.save_binary(alias), plan.save_initial_weights(alias),
            trainer.save(alias), write_report(plan, alias, {}), export_onnx(model, weights, alias)}) {
        ASSERT_FALSE(wrote) << alias;
        EXPECT_EQ(wrote.error().code, "E0125") << to_text(wrote.error());
      }
      EXPECT_EQ(fs::hard_link_count(input), 2U);
    }
    fs::remove(folder.file("hard"));
    fs::remove(folder.file("soft"));
  }
}

TEST(PlanJsonApi, IsReadBackForItsModel) {
  const Plan plan = a_plan();
  const Result<Plan> back = Plan::from_json(plan.to_json(), *classifier());
  ASSERT_TRUE(back) << to_text(back.error());
  EXPECT_EQ(back->facts().peak_bytes, plan.facts().peak_bytes);
  EXPECT_EQ(*api::losses_of(*back, 3), *api::losses_of(plan, 3));
}

TEST(PlanJsonApi, IsReadBackAloneWhereItNamesItsModel) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "net.onnx").string();
  ASSERT_TRUE(classifier()->save(file));
  PlanOptions options = quick();
  options.ram = MiB(1);
  const Plan plan = *Plan::make(*Model::from_file(file, {.batch = kBatch}), device("host"), options);
  const Result<Plan> back = Plan::from_json(plan.to_json());
  ASSERT_TRUE(back) << to_text(back.error());
  EXPECT_EQ(back->to_json(), plan.to_json());
  EXPECT_EQ(Plan::from_json(a_plan().to_json()).error().code, "E0293");
}

TEST(PlanJsonApi, RefusesWhatIsNoneAndAnotherModel) {
  EXPECT_EQ(Plan::from_json("{}", *classifier()).error().code, "E0230");
  EXPECT_EQ(Plan::from_json("", *classifier()).error().code, "E0230");
  EXPECT_EQ(Plan::from_json(a_plan().to_json(), *classifier({.batch = 2 * kBatch})).error().code, "E0231");
}

TEST(PlanApiErrors, NameTheLeastRamInBytes) {
  PlanOptions options = quick();
  options.ram = Bytes(2048);
  options.reserve = Bytes(1024);
  const Result<Plan> none = Plan::make(*classifier(), device("host"), options);
  ASSERT_FALSE(none);
  ASSERT_TRUE(none.error().min_ram_bytes);
  options.ram = Bytes(*none.error().min_ram_bytes);
  const Result<Plan> plan = Plan::make(*classifier(), device("host"), options);
  EXPECT_TRUE(plan) << to_text(plan.error());
}

TEST(PlanApiErrors, CountTheReserveAndTheBatchesMadeAheadInTheLeastRam) {
  const auto least = [](int64_t reserve, int64_t prefetch) {
    PlanOptions options = quick();
    options.reserve = Bytes(reserve);
    options.prefetch = prefetch;
    const Result<Estimate> estimated = estimate(*classifier(), device("host"), options, 1);
    EXPECT_TRUE(estimated) << to_text(estimated.error());
    options.ram = Bytes(estimated->least_ram_bound_bytes - 1);
    const Result<Plan> none = Plan::make(*classifier(), device("host"), options);
    EXPECT_FALSE(none);
    EXPECT_EQ(estimated->least_ram_bytes, none.error().min_ram_bytes);
    return estimated->least_ram_bytes;
  };
  EXPECT_EQ(least(5000, 0), least(0, 0) + 5000);
  EXPECT_EQ(least(5000, 2), least(0, 2) + 5000);
  EXPECT_GT(least(0, 2), least(0, 0));
}

TEST(CostGraphApi, PlansOneWithoutAModel) {
  const char* const graph = R"({"schema": "pantoum.costgraph/1", "name": "two",
    "device": {"name": "d", "ram_bytes": 1000, "align_bytes": 1, "idle_w": 0, "engines": ["cpu"]},
    "tensors": [{"id": 0, "name": "a", "bytes": 10, "start": "ram"}, {"id": 1, "name": "b", "bytes": 20, "end": "ram"}],
    "ops": [{"id": 0, "name": "f", "inputs": [0], "outputs": [1], "choices": [{"engine": "cpu", "time_s": 1, "energy_j": 1}]}]})";
  PlanOptions options = quick();
  options.ram = Bytes(100);
  double told = 0;
  options.progress = [&told](const PlanProgress& news) { told = news.best; };
  const Result<std::string> plan = plan_cost_graph(graph, options);
  ASSERT_TRUE(plan) << to_text(plan.error());
  EXPECT_NE(plan->find("pantoum.plan/"), std::string::npos);
  EXPECT_EQ(told, 1);  // joule: the last news are of the plan, however soon it was found
  options.ram = Bytes(29);
  KnownPlans known{.start = *plan};
  const Result<std::string> none = plan_cost_graph(graph, options, &known);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().min_ram_bytes, 30);
  options.ram = Bytes(30);
  known.start = known.least;
  EXPECT_TRUE(plan_cost_graph(graph, options, &known));
  known.start = "{}";
  EXPECT_EQ(plan_cost_graph(graph, options, &known).error().code, "E0230");
}

TEST(CostGraphApi, RefusesWhatIsNone) {
  EXPECT_EQ(plan_cost_graph("{}", quick()).error().code, "E0220");
  EXPECT_EQ(plan_cost_graph("[", quick()).error().code, "E0220");
}

TEST(EstimateApi, GoesFromTheLeastRamToTheUnplannedPeak) {
  const Result<Estimate> found = estimate(*classifier(), device("host"), quick(), 3);
  ASSERT_TRUE(found) << to_text(found.error());
  ASSERT_EQ(found->rows.size(), 3U);
  EXPECT_LE(found->least_ram_bound_bytes, found->least_ram_bytes);
  EXPECT_EQ(found->rows.front().ram_bytes, found->least_ram_bytes);
  EXPECT_EQ(found->rows.back().ram_bytes, found->unplanned_peak_bytes);
  for (const SweepRow& row : found->rows) EXPECT_TRUE(row.has_plan);
  EXPECT_GE(found->rows.front().energy_j, found->rows.back().energy_j);
  ASSERT_FALSE(found->binds.empty());
  EXPECT_GE(found->binds.front().bytes, found->binds.back().bytes);
  EXPECT_EQ(estimate(*classifier(), device("host"), quick(), 0).error().code, "E0116");
}

TEST(ModelApiContents, AreTheBytesThatWereGiven) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "net.onnx").string();
  const Model model = *classifier();
  ASSERT_TRUE(model.save(file));
  EXPECT_EQ(*Model::from_file(file)->contents(), *model.contents());
}

}  // namespace
}  // namespace pantoum
