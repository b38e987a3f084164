#include "pipeline/profile_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <utility>

#include "artifact/compile_program.h"
#include "host/engine.h"
#include "host/memory_meter.h"
#include "host/status_error.h"
#include "pipeline/request_json.h"
#include "problem/cost_graph.h"

namespace pantoum::pipeline {

namespace {

// Measures what takes time beside the processors' kernels.
Result<void> profile_engines(Compiled& compiled, const PlanRequest& request, Profiled& profiled) {
  PANTOUM_ASSIGN(profiled.hand_off_s, hand_off_of(request, *compiled.kernels->pool()));
  PANTOUM_ASSIGN(const cost::DeviceProfile profile, cost::load_device(request.device));
  PANTOUM_ASSIGN(profiled.device,
                 ask_device(compiled, request, profile, std::numeric_limits<problem::Seconds>::infinity()));
  PANTOUM_ASSIGN(ClusterTimes clusters,
                 measure_clusters(compiled, request, profile, std::numeric_limits<problem::Seconds>::infinity()));
  profiled.clusters = std::move(clusters.answers);
  return {};
}

}  // namespace

Result<Profiled> profile_model(const ModelRequest& model, const ProfileRequest& request, plan::Infeasible* infeasible) {
  Profiled profiled;
  PlanRequest planning = request.plan;
  if (request.reuse != nullptr) PANTOUM_TRY(take_graph_of(*request.reuse, planning.rewrite));
  if (request.steps == 0) planning.rewrite.search = false;  // nothing is planned
  PANTOUM_ASSIGN(Compiled compiled, compile_model(model, planning));
  profiled.time_source = problem::time_source(compiled.training().cost.graph.device);
  if (planning.engines.size() > 1) PANTOUM_TRY(profile_engines(compiled, planning, profiled));
  profiled.warnings = std::move(compiled.warnings);
  if (request.storage) {
    PANTOUM_ASSIGN(profiled.storage, storage_table({.folder = planning.settings.page_file.value_or(""),
                                                    .encrypt = planning.settings.page_encryption}));
  }
  if (request.steps > 0) {
    compiled.measuring_s = compiled.costing_s = 0;  // it was no part of planning
    PANTOUM_TRY(plan_model(compiled, planning, request.reuse, infeasible));
    PANTOUM_ASSIGN(profiled.steps, time_steps(compiled, {.steps = request.steps,
                                                         .page_file = planning.settings.page_file.value_or(""),
                                                         .encrypt = planning.settings.page_encryption,
                                                         .engines = planning.engines,
                                                         .stop = request.plan.options.stop,
                                                         .next = request.next_step,
                                                         .done = request.step_done}));
    profiled.plan = compiled.training().plan;
    profiled.predicted_s = expected_seconds(compiled, *profiled.plan);
  }
  PANTOUM_ASSIGN(profiled.unplanned, unplanned_step(compiled.training().cost.graph, planning));
  profiled.costs = std::move(compiled.measured);
  return profiled;
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUp = 2;

std::vector<std::byte> contents_of(const ir::Value& value) {
  const auto bytes = static_cast<size_t>(value.type.bytes());
  if (value.data) return value.data.copy();
  std::vector<std::byte> made(bytes, std::byte{0});
  if (value.role != ir::Role::kInput && value.role != ir::Role::kLabel) return made;
  if (value.type.dtype != ir::DType::kF32) return made;
  constexpr size_t kNumbers = 61;  // no power of two, so that rows of images differ
  for (size_t at = 0; at < bytes / sizeof(float); ++at) {
    const float number = static_cast<float>(at % kNumbers + 1) / static_cast<float>(kNumbers);
    std::copy_n(reinterpret_cast<const std::byte*>(&number), sizeof number, made.data() + at * sizeof number);
  }
  return made;
}

// A step may free its inputs: they are fed anew before each.
struct Feed {
  uint32_t tensor = 0;
  std::vector<std::byte> contents;
};

// Writes what lives between steps, and returns what does not.
Result<std::vector<Feed>> fill(host::Engine& engine, const ir::Graph& graph) {
  std::map<std::string, const ir::Value*> values;
  for (const ir::Value& value : graph.values)
    if (value.producer == ir::kNone) values.emplace(value.name, &value);
  std::vector<Feed> feeds;
  for (uint32_t tensor = 0; tensor < engine.plan().tensor_count; ++tensor) {
    pt_tensor_info info{};
    if (pt_plan_tensor_info(&engine.plan(), tensor, &info) != PT_OK || info.home == PT_HOME_NONE) continue;
    const auto known = values.find(info.name);
    if (known == values.end()) continue;
    std::vector<std::byte> contents = contents_of(*known->second);
    contents.resize(std::min<size_t>(contents.size(), info.payload));
    PANTOUM_TRY(engine.write(tensor, 0, contents));
    const ir::Role role = known->second->role;
    if (role == ir::Role::kInput || role == ir::Role::kLabel) feeds.push_back({tensor, std::move(contents)});
  }
  return feeds;
}

}  // namespace

Result<StepTimes> time_steps(const Compiled& compiled, const TimingRequest& request) {
  const Program& program = compiled.training();
  PANTOUM_ASSIGN(const artifact::BinaryPlan binary,
                 artifact::compile_programs({{program.kind.name, "", program.graph, program.cost, program.plan}}));
  PANTOUM_ASSIGN(std::vector<std::byte> bytes, artifact::encode(binary));
  host::EngineOptions options{.page_file = request.page_file,
                              .encrypt = request.encrypt,
                              .kernels = compiled.kernels->table(),
                              .pool = compiled.kernels->pool()};
  for (const cost::HostEngine& each : request.engines) {
    options.engines.push_back(each.opencl ? 0 : each.threads);
    options.engine_processors.push_back(each.processors);
    options.opencl_device = each.opencl.value_or(options.opencl_device);
  }
  PANTOUM_ASSIGN(const auto engine, host::Engine::open(std::move(bytes), options));
  PANTOUM_TRY(engine->start());
  PANTOUM_ASSIGN(const std::vector<Feed> feeds, fill(*engine, program.graph));
  const auto turn = compiled.kernels->turn();
  StepTimes times;
  pt_scalars scalars{.step = 0, .seed = 1, .lr = 0};
  const auto run = [&]() -> Result<problem::Seconds> {
    ++scalars.step;
    for (const Feed& feed : feeds) PANTOUM_TRY(engine->write(feed.tensor, 0, feed.contents));
    const auto begin = Clock::now();
    const pt_status status = engine->run(0, scalars);
    const auto end = Clock::now();
    if (status != PT_OK) return host::status_failure(status, "a step");
    return std::chrono::duration<double>(end - begin).count();
  };
  for (int step = 0; step < kWarmUp; ++step) PANTOUM_TRY(run());
  (void)host::reset_resident_peak();
  const auto enough = [&] {
    return !times.seconds.empty() &&
           (static_cast<int>(times.seconds.size()) >= request.steps || request.stop.stop_requested());
  };
  while (!enough() && (!request.next || request.next())) {
    PANTOUM_ASSIGN(const problem::Seconds seconds, run());
    times.seconds.push_back(seconds);
    if (request.done) request.done(seconds);
  }
  if (times.seconds.empty()) return fail("E0119", "no step was asked for", "steps", "ask for one at least");
  times.resident_bytes = static_cast<problem::Bytes>(host::read_resident_set().peak_bytes);
  std::vector<problem::Seconds> sorted = times.seconds;
  std::sort(sorted.begin(), sorted.end());
  times.median_s = sorted[sorted.size() / 2];
  times.least_s = sorted.front();
  return times;
}

}  // namespace pantoum::pipeline
