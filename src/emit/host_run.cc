#include "emit/host_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/files.h"
#include "emit/model_tensors.h"
#include "emit/project/ram_disk.h"
#include "emit/project/samples.h"
#include "host/crews.h"
#include "host/engine.h"
#include "host/engine_threads.h"
#include "runtime/plan_bytes.h"
#include "train/schedule.h"
#include "weights/safetensors.h"

namespace pantoum::emit {
namespace {

using Json = nlohmann::json;

Failure no_project(const std::string& folder, const std::string& why) {
  return fail("E0294", "not a project that `pantoum emit` wrote: " + why, folder, "emit it again");
}

// The kernels of a plan under their keys, each computed by the algorithm that the host prefers where it gives the same
// bits in the same workspace: one that shares no code with the device's.
std::vector<pt_kernel> host_kernels() {
  const pt_kernel_table* table = pt_portable_kernels();
  std::vector<pt_kernel> kernels(table->kernels, table->kernels + table->count);
  for (pt_kernel& kernel : kernels)
    for (size_t row = 0; row < table->count; ++row) {
      const pt_kernel& other = table->kernels[row];
      const bool is_other = other.op == kernel.op && other.dtype == kernel.dtype && other.algorithm == 1 &&
                            kernel.algorithm != 1 && other.workspace_bytes == kernel.workspace_bytes &&
                            std::strcmp(other.numerics, kernel.numerics) == 0;
      if (is_other) kernel.submit = other.submit;
    }
  return kernels;
}

class Project {
 public:
  static Result<std::unique_ptr<Project>> open(const std::string& folder) {
    auto project = std::make_unique<Project>();
    PANTOUM_TRY(project->read(folder));
    return project;
  }

  Result<HostRun> run(const std::vector<Stretch>& stretches, const std::function<void(uint64_t, float)>& told) {
    PANTOUM_TRY(start());
    const pt_samples training = pt_samples_of(&training_), test = pt_samples_of(&test_);
    PANTOUM_TRY(good(pt_trainer_keep_features(&trainer_, &training), "making features"));
    for (size_t at = 0; at < stretches.size(); ++at) {
      trainer_.steps = stretches[at].steps == 0 ? steps_ : stretches[at].steps;
      const bool is_last = at + 1 == stretches.size();
      PANTOUM_TRY(
          run_until(is_last ? std::max(trainer_.steps, stretches[at].from) : stretches[at + 1].from, training, told));
    }
    HostRun done{.steps = trainer_.step,
                 .has_schedule = schedule_.decay != train::Schedule::Decay::kConstant || schedule_.warmup.value != 0};
    pt_counters counters;
    pt_session_counters(trainer_.session, &counters);
    done.endurance = endurance_, done.paged_in = counters.bytes_paged_in, done.paged_out = counters.bytes_paged_out;
    if (test.count >= model_.batch && model_.eval >= 0) {
      float loss = 0;
      PANTOUM_TRY(good(pt_trainer_evaluate(&trainer_, &test, &loss, &done.right, &done.counted), "the evaluation"));
      done.test_loss = loss;
    }
    PANTOUM_TRY(good(pt_trainer_state(&trainer_, &done.state), "reading the parameters"));
    return done;
  }

 private:
  Result<void> good(pt_status status, const char* what) const {
    if (status == PT_OK) return {};
    return fail("E0253", fmt::format("{} failed: {}", what, pt_status_text(status)), folder_);
  }

  Result<void> run_until(uint64_t last, const pt_samples& training, const std::function<void(uint64_t, float)>& told) {
    while (trainer_.step < last) {
      float loss = 0;
      PANTOUM_TRY(good(pt_trainer_step(&trainer_, &training, &loss), "a step"));
      if (told) told(trainer_.step, loss);
    }
    return {};
  }

  Result<void> read(const std::string& folder) {
    folder_ = folder;
    const std::filesystem::path model = std::filesystem::path(folder) / "model";
    PANTOUM_ASSIGN(plan_bytes_, base::read_file((model / "plan.bin").string()));
    PANTOUM_ASSIGN(const std::string text, base::read_file((model / "run.json").string()));
    PANTOUM_ASSIGN(sample_bytes_, base::read_file((model / "samples.bin").string()));
    PANTOUM_TRY(open_plan());
    const Json run = Json::parse(text, nullptr, false);
    try {
      PANTOUM_TRY(read_contents((model / "contents.safetensors").string(), read_batch(run)));
      return read_run(run);
    } catch (const Json::exception& error) {
      return no_project(folder_, error.what());
    }
  }

  Result<void> open_plan() {
    const pt_status status = pt_plan_open(&plan_, plan_bytes_.data(), plan_bytes_.size());
    if (status != PT_E_VERSION) return good(status, "opening the plan");
    const uint32_t version = pt_load_u16(reinterpret_cast<const uint8_t*>(plan_bytes_.data()) + PT_AT_VERSION);
    return fail("E0251",
                version == PT_PLAN_VERSION
                    ? "the project's binary plan has features that this version does not know"
                    : fmt::format("the project's binary plan has format {}, and this version reads format {}", version,
                                  PT_PLAN_VERSION),
                folder_, "emit the project again from its plan, with this release");
  }

  Result<void> read_run(const Json& run) {
    endurance_ = run.at("endurance");
    threads_ = run.value("engines", std::vector<int>());
    steps_ = run.at("steps"), model_.lr = run.at("lr"), model_.seed = run.at("seed");
    for (const Json& each : run.at("groups")) groups_.push_back({each.at(0), each.at(1)});
    rates_.resize(groups_.size());
    model_.groups = groups_.data(), model_.rates = rates_.data();
    model_.group_count = static_cast<uint32_t>(groups_.size());
    PANTOUM_ASSIGN(schedule_, train::parse_schedule(run.at("schedule"), folder_));
    runtime_schedule_ = train::runtime_schedule(schedule_);
    model_.schedule = &runtime_schedule_, model_.rate_at = pt_rate_at;
    PANTOUM_ASSIGN(batch_, batch_tensors(plan_, read_batch(run), run.at("features").get<std::vector<std::string>>()));
    PANTOUM_TRY(read_samples(run.at("training"), training_rows_, training_));
    return read_samples(run.at("test"), test_rows_, test_);
  }

  static std::vector<BatchName> read_batch(const Json& run) {
    std::vector<BatchName> batch;
    for (const Json& each : run.at("batch")) batch.push_back({each.at("name"), each.at("readers")});
    return batch;
  }

  Result<void> read_samples(const Json& set, std::vector<pt_rows>& rows, pt_sample_set& samples) {
    samples.count = set.at("count");
    planes_.reserve(64);  // addresses stay
    for (const Json& each : set.at("rows")) {
      planes_.push_back(each.at("planes").get<std::vector<float>>());
      pt_rows made{};
      const uint64_t at = each.at("at");
      made.elements = each.at("elements"), made.stored_bytes = each.at("stored_bytes");
      made.conversion = each.at("conversion");
      made.planes = planes_.back().data();
      made.plane_count = static_cast<uint32_t>(std::max<size_t>(1, planes_.back().size() / 2));
      const uint64_t bytes = uint64_t{made.elements} * made.stored_bytes * samples.count;
      if (at > sample_bytes_.size() || bytes > sample_bytes_.size() - at || planes_.size() > 32)
        return no_project(folder_, "samples.bin is too short");
      made.data = reinterpret_cast<const uint8_t*>(sample_bytes_.data()) + at;
      rows.push_back(made);
    }
    samples.rows = rows.data();
    return {};
  }

  Result<void> read_contents(const std::string& path, const std::vector<BatchName>& batch) {
    PANTOUM_ASSIGN(const weights::SafetensorFile weights, weights::open_safetensors(path));
    PANTOUM_ASSIGN(first_, initial_values(plan_, weights, names_of(batch)));
    for (const FirstContent& each : first_.tensors) contents_.push_back(each.value(false));
    return {};
  }

  // Threads and crews of a plan of several engines.
  Result<const pt_engines*> start_engines() {
    if (pt_plan_engines(&plan_) == 1) return nullptr;
    PANTOUM_ASSIGN(const std::vector<host::CrewThreads> sizes, host::crew_threads(plan_, threads_));
    PANTOUM_ASSIGN(crews_, host::Crews::create(sizes, &table_, nullptr));
    PANTOUM_ASSIGN(engine_threads_, host::EngineThreads::create(pt_plan_engines(&plan_)));
    engines_ = engine_threads_->interface(crews_.crews);
    return &engines_;
  }

  Result<void> start() {
    kernels_ = host_kernels();
    table_ = {kernels_.data(), kernels_.size()};
    PANTOUM_ASSIGN(const pt_engines* engines, start_engines());
    PANTOUM_ASSIGN(arena_, host::Arena::map(plan_.arena_bytes, plan_.align_bytes));
    PANTOUM_ASSIGN(session_, host::Arena::map(pt_session_bytes(&plan_), 1));
    PANTOUM_ASSIGN(buffer_, host::Arena::map(PT_BLOCK_BYTES, 1));
    PANTOUM_ASSIGN(rom_, host::Arena::map(first_.rom.size(), plan_.align_bytes));
    std::ranges::copy(first_.rom, static_cast<std::byte*>(rom_.data()));
    model_.plan = reinterpret_cast<const uint8_t*>(plan_bytes_.data());
    model_.plan_bytes = static_cast<uint32_t>(plan_bytes_.size());
    model_.kernels = &table_, model_.rom = static_cast<uint8_t*>(rom_.data());
    model_.contents = contents_.data(), model_.content_count = static_cast<uint32_t>(contents_.size());
    model_.rows = batch_.rows.data(), model_.row_count = static_cast<uint32_t>(batch_.rows.size());
    model_.batch = batch_.batch;
    model_.features = batch_.features.data(), model_.feature_count = static_cast<uint32_t>(batch_.features.size());
    model_.backbone = pt_plan_program(&plan_, "features");
    model_.train = pt_plan_program(&plan_, "train"), model_.eval = pt_plan_program(&plan_, "eval");
    model_.loss = pt_plan_tensor(&plan_, "loss"), model_.eval_loss = pt_plan_tensor(&plan_, "eval.loss");
    model_.right = pt_plan_tensor(&plan_, "eval.count_correct");
    model_.predict = -1;  // a run compares trainings
    const uint32_t count = storage_blocks(plan_, batch_, training_.count, false);
    if (count > 0) {
      PANTOUM_ASSIGN(disk_bytes_, host::Arena::map(uint64_t{count} * PT_BLOCK_BYTES, 1));
      pt_ram_disk_open(&disk_, static_cast<uint8_t*>(disk_bytes_.data()), count, &blocks_);
    }
    const pt_memory memory{.arena = arena_.data(),
                           .session = session_.data(),
                           .buffer = static_cast<uint8_t*>(buffer_.data()),
                           .sums = nullptr,
                           .engines = engines,
                           .start = nullptr};
    return good(pt_trainer_open(&trainer_, &model_, &memory, count > 0 ? &blocks_ : nullptr), "opening it");
  }

  std::string folder_, plan_bytes_, sample_bytes_;
  pt_plan plan_{};
  pt_model model_{};
  uint64_t steps_ = 0, endurance_ = 0;
  train::Schedule schedule_;
  pt_schedule runtime_schedule_{};
  std::vector<pt_group> groups_, rates_;
  std::vector<pt_kernel> kernels_;
  pt_kernel_table table_{};
  std::vector<int> threads_;  // of each engine
  host::Crews crews_;
  std::unique_ptr<host::EngineThreads> engine_threads_;
  pt_engines engines_{};
  std::vector<pt_initial_value> contents_;
  BatchTensors batch_;
  InitialValues first_;
  std::vector<std::vector<float>> planes_;
  std::vector<pt_rows> training_rows_, test_rows_;
  pt_sample_set training_{}, test_{};
  host::Arena arena_, session_, buffer_, rom_, disk_bytes_;
  pt_ram_disk disk_{};
  pt_blocks blocks_{};
  pt_trainer trainer_{};
};

}  // namespace

Result<HostRun> run_on_host(const std::string& folder, const std::vector<Stretch>& stretches,
                            const std::function<void(uint64_t step, float loss)>& told) {
  PANTOUM_ASSIGN(const std::unique_ptr<Project> project, Project::open(folder));
  return project->run(stretches, told);
}

}  // namespace pantoum::emit
