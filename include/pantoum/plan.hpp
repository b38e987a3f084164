// Plans: the tensors that a training step retains, recomputes and pages in a RAM budget, and a proved bound on the cost of any plan.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "pantoum/export.h"
#include "pantoum/model.hpp"
#include "pantoum/result.hpp"
#include "pantoum/units.hpp"

namespace pantoum {

// A device profile: a name of `pantoum devices list`, or the path of a .toml file. The file is read when a plan is made for the device.
struct Device {
  std::string name = "host";
};
template <class Visitor>
void describe(Visitor& v, Device& device) {
  v.group("device");
  v.field(device.name, {.name = "device",
                        .help = "device profile: a name of `pantoum devices list`, or a .toml file",
                        .option = "--device",
                        .shown = Shown::common,
                        .holds = Holds::device});
}
[[nodiscard]] inline Device device(std::string name) {
  return {std::move(name)};
}

struct DeviceInfo {
  std::string name, description, source;
  int64_t ram_bytes = 0, rom_bytes = 0, align_bytes = 1;
  std::string storage;       // "none", "sync", "async"
  bool is_measured = false;  // times of ops and of the storage are measured on this machine
};
// Returns a description of a device's profile. E0270, E0271.
[[nodiscard]] PANTOUM_API Result<DeviceInfo> describe(const Device& device);
// Returns the profiles that are compiled into the library.
[[nodiscard]] PANTOUM_API std::vector<DeviceInfo> devices();

enum class Kernels : uint8_t { automatic, portable, onednn };
[[nodiscard]] constexpr std::array<const char*, 3> names_of(Kernels) {
  return {"auto", "portable", "onednn"};
}

// Times of operators and storage on this machine. missing: those that the store lacks, in a tenth of the time limit or
// less; all: measured anew; known: those of the store, and nothing is measured; automatic: missing on the host, known for
// other devices where a store is named, else off, and off with a fixed effort.
enum class Measure : uint8_t { off, missing, all, automatic, known };
[[nodiscard]] constexpr std::array<const char*, 5> names_of(Measure) {
  return {"off", "missing", "all", "auto", "known"};
}

struct PlanProgress {
  Seconds elapsed{};
  double best = 0, bound = 0;  // values of the objective; best is infinite before the first plan
};

struct PlanOptions {
  std::optional<Bytes> ram = {};
  Bytes reserve = {};
  std::optional<Bytes> rom = {};
  Deadline deadline = {};
  std::optional<double> energy_limit_j = {};
  std::optional<Seconds> finish_within = {};
  std::optional<int64_t> steps = {}, epochs = {}, samples = {};  // length of the training that finish_within limits
  std::optional<std::string> objective = {};
  double gap = 1e-4;  // a share of 1
  Seconds time_limit = Seconds(60);
  std::optional<int64_t> effort = {};
  std::optional<int> threads = {};
  std::string engines = "cpu";
  bool gangs = true;
  bool paging = true, recomputing = true, in_place = true, reordering = true, allow_numerics_change = false,
       compact_activations = false;
  Kernels kernels = Kernels::automatic;
  Measure measure = Measure::automatic;
  std::optional<std::string> profile_store = {};
  std::optional<std::string> page_file = {};
  bool page_encryption = true;
  int64_t prefetch = 0;
  std::optional<std::string> warm_start = {};
  std::string planner = "pantoum";
  std::vector<std::string> disable = {}, without = {};

  std::stop_token stop = {};  // asks for the best plan so far
  // Called a few times a second, from another thread, and once more when the plan is found. Exceptions that it throws are ignored.
  std::function<void(const PlanProgress&)> progress = {};
};

template <class Visitor>
void describe(Visitor& v, PlanOptions& o) {
  using enum Shown;
  using enum BesidePlan;
  v.group("limits");
  v.field(o.ram, {.name = "ram",
                  .help = "RAM budget of a training step, with its unit",
                  .option = "--ram",
                  .shown = common,
                  .otherwise = "the device's RAM",
                  .beside_plan = not_less});
  v.field(o.reserve, {.name = "reserve",
                      .help = "part of the RAM budget that is kept for stack and application",
                      .option = "--reserve",
                      .least = 0});
  v.field(o.rom, {.name = "rom",
                  .help = "ROM that kernels read frozen parameters from; 0B: none",
                  .option = "--rom",
                  .otherwise = "the device's ROM",
                  .least = 0});
  v.field(o.deadline, {.name = "deadline",
                       .help = "longest time of one step: 450ms, or 1.3x of the step with "
                               "unlimited RAM; with both, the earlier one counts",
                       .option = "--deadline",
                       .shown = common,
                       .otherwise = "none"});
  v.field(o.energy_limit_j, {.name = "energy_limit_j",
                             .help = "most energy of one step, as 3.2J",
                             .option = "--energy-limit",
                             .otherwise = "none",
                             .unit = "J",
                             .least = 0,
                             .most = 1e30,
                             .above = true});
  v.field(o.finish_within, {.name = "finish_within",
                            .help = "longest time of the whole training, an equal part of it for each step",
                            .option = "--finish-within",
                            .otherwise = "none",
                            .least = 0,
                            .above = true});
  v.field(o.steps, {.name = "steps",
                    .help = "steps of the whole training, for --finish-within and `pantoum emit`",
                    .option = "--steps",
                    .least = 1,
                    .most = 1e15,
                    .beside_plan = taken});
  v.field(o.epochs, {.name = "epochs",
                     .help = "epochs of the whole training, for --finish-within, with --samples",
                     .option = "--epochs",
                     .least = 1,
                     .most = 1e15,
                     .beside_plan = taken});
  v.field(o.samples, {.name = "samples",
                      .help = "samples of the training set, which count the steps of an epoch",
                      .option = "--samples",
                      .least = 1,
                      .most = 1e15,
                      .beside_plan = taken});
  v.group("plan");
  v.field(o.objective,
          {.name = "objective",
           .help = "what the plan minimizes: energy, time, edp (energy times time), "
                   "power, or a formula as '0.6*energy + 0.4*time' (J, s, W)",
           .option = "--objective",
           .shown = common,
           .otherwise = "time; energy for a device that runs on a battery, with --meter, and for a bare cost graph"});
  v.field(o.gap, {.name = "gap",
                  .help = "planning ends when the plan is proved to be this near to the best",
                  .option = "--gap",
                  .unit = "%",
                  .least = 0,
                  .most = 1,
                  .beside_plan = taken});
  v.field(o.time_limit, {.name = "time_limit",
                         .help = "longest time of planning",
                         .option = "--time-limit",
                         .shown = common,
                         .least = 0,
                         .beside_plan = taken});
  v.field(o.paging, {.name = "paging", .help = "recompute only: nothing is paged", .option = "--no-paging"});
  v.field(o.recomputing,
          {.name = "recomputing", .help = "page only: nothing is computed again", .option = "--no-remat"});
  v.field(o.in_place, {.name = "in_place",
                       .help = "no output takes over the bytes of an input, updates excepted",
                       .option = "--no-inplace"});
  v.field(o.reordering,
          {.name = "reordering", .help = "keep the given order of first computations", .option = "--no-reorder"});
  v.field(o.compact_activations, {.name = "compact_activations",
                                  .help = "let signs and window taps stand for activations: less RAM, weaker proofs",
                                  .option = "--compact-activations"});
  v.field(o.allow_numerics_change, {.name = "allow_numerics_change",
                                    .help = "allow algorithms whose sums have another order where they are cheaper; "
                                            "budgets may then differ in bits",
                                    .option = "--allow-numerics-change"});
  v.field(o.warm_start, {.name = "warm_start",
                         .help = "plan of the same step from which planning starts",
                         .option = "--warm-start",
                         .holds = Holds::plan,
                         .beside_plan = taken,
                         .recorded = false});
  v.group("device");
  v.field(o.threads, {.name = "threads",
                      .help = "threads of kernels and planning",
                      .option = "--threads",
                      .shown = common,
                      .otherwise = "all cores",
                      .least = 1,
                      .most = 4096});
  v.field(o.engines, {.name = "engines",
                      .help = "engines that compute at the same time: of the host, processors of each, as in "
                              "cpu0,cpu1 or cpu0-3,cpu4-7, and behind them opencl0, the first OpenCL device; of "
                              "another device, names of its profile, as in cpu,gpu; cpu: one of all threads",
                      .option = "--engines"});
  v.field(o.gangs, {.name = "gangs",
                    .help = "every op on one of the engines: none takes several of the host's at once",
                    .option = "--no-gangs"});
  v.field(
      o.kernels,
      {.name = "kernels", .help = "kernels of the host; auto: onednn where it is installed", .option = "--kernels"});
  v.field(o.measure, {.name = "measure",
                      .help = "which times of operators and storage are measured on this machine: "
                              "missing ones, all anew, none (known: those of the store), or off",
                      .option = "--measure",
                      .alone = "all",
                      .beside_plan = taken});
  v.field(o.profile_store,
          {.name = "profile_store",
           .help = "SQLite file of measured times",
           .option = "--profile-store",
           .otherwise = "of the program: pantoum/times.db in the user's cache; of the library: in memory",
           .holds = Holds::store,
           .beside_plan = taken});
  v.field(o.page_file, {.name = "page_file",
                        .help = "folder or file for what is paged out; its storage is measured",
                        .option = "--page-file",
                        .otherwise = "the system's folder for temporary files",
                        .holds = Holds::page_folder,
                        .beside_plan = taken});
  v.field(o.page_encryption, {.name = "page_encryption",
                              .help = "encryption of what is paged out",
                              .option = "--page-encryption",
                              .beside_plan = taken});
  v.group("data");
  v.field(o.prefetch, {.name = "prefetch",
                       .help = "batches made ahead on a thread of their own, inside the RAM budget",
                       .option = "--prefetch",
                       .least = 0,
                       .most = 64,
                       .beside_plan = not_more});
  v.group("research");
  v.field(o.effort, {.name = "effort",
                     .help = "fixed amount of search in place of the time limit: the same plan on "
                             "every machine",
                     .option = "--effort",
                     .shown = research,
                     .otherwise = "by the clock",
                     .least = 1,
                     .most = 1e9,
                     .beside_plan = taken});
  v.field(o.planner, {.name = "planner",
                      .help = "pantoum, or a method of the literature to compare with",
                      .option = "--planner",
                      .shown = research,
                      .beside_plan = taken});
  v.field(o.disable, {.name = "disable",
                      .help = "passes and substitutions that are switched off",
                      .option = "--disable",
                      .shown = research,
                      .list = true});
  v.field(o.without, {.name = "without",
                      .help = "rules of the planner that are switched off",
                      .option = "--without",
                      .shown = research,
                      .beside_plan = taken,
                      .list = true});
}

// The independent checker computes all figures. Times and energies are modelled unless time_source is measured.
struct PlanFacts {
  int64_t budget_bytes = 0, peak_bytes = 0, arena_bytes = 0;
  double time_s = 0, energy_j = 0;                                    // of a step (of its last micro-batch)
  int64_t computed = 0, recomputed = 0, pages_out = 0, pages_in = 0;  // instructions
  int64_t bytes_paged_out = 0, bytes_paged_in = 0;
  std::optional<double> proved_energy_j, proved_time_s;  // every plan needs at least this
  bool any_order = false;  // the proof covers every order of first computations; false: only this plan's order
  double gap = 1;          // (objective - proved) / objective
  bool optimal = false;    // the gap is at most the gap that was asked for
  int64_t unplanned_peak_bytes = 0;
  double unplanned_time_s = 0, unplanned_energy_j = 0;
  std::string device, time_source;
};

// A tensor of a batch.
struct BatchTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  // of a micro-batch; the first dimension counts samples
  bool is_target = false;      // a loss compares an output with it
};

struct Held {  // in RAM at the peak
  std::string name;
  int64_t bytes = 0;
};

struct Explanation {
  bool ram_binds = false, deadline_binds = false;  // the step would cost less with unlimited RAM; without the deadline
  std::vector<Held> at_peak;                       // largest first
  std::string text, json;                          // the output of `pantoum explain`
};

// The result of the checker, which does not trust the planner.
struct Verdict {
  double proved = 0;  // lower bound of the objective
  double gap = 1;
  int64_t certificates = 0;
};

// A checked plan, ready to train. A handle: copies share one plan, and any thread may use it. The plan owns a private file with the first weights;
// the last copy removes the file.
class PANTOUM_API Plan {
 public:
  // Plans the model for a device. E0301: it is proved that no plan fits; E0302: no plan was found in time. Both errors have the smallest RAM for
  // which a plan is known. Cost: at most the time limit, plus import and measurements.
  [[nodiscard]] static Result<Plan> make(const Model& model, const Device& device, const PlanOptions& options = {});
  // Loads a plan file (JSON), which names its model and options. The plan is not changed. E0231: the plan is of another step.
  [[nodiscard]] static Result<Plan> load(const std::string& path);
  [[nodiscard]] static Result<Plan> load(const std::string& path,
                                         const Model& model);  // the model that it is a plan of
  // Makes a plan from a text of to_json(), as load() does from a file; or for the model to which the plan belongs. E0230, E0231, E0293.
  [[nodiscard]] static Result<Plan> from_json(const std::string& json);
  [[nodiscard]] static Result<Plan> from_json(const std::string& json, const Model& model);

  [[nodiscard]] PlanFacts facts() const;
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  [[nodiscard]] const std::vector<std::string>& notes() const;
  [[nodiscard]] const std::vector<BatchTensor>& batch() const;  // inputs in the model's order, then targets
  [[nodiscard]] int64_t samples_per_step() const;

  // Here as elsewhere, E0125: no file that a model, plan or data set which lives was read from is written over.
  [[nodiscard]] Result<void> save(const std::string& path) const;                  // JSON, with its certificate
  [[nodiscard]] Result<void> save_binary(const std::string& path) const;           // for the C library
  [[nodiscard]] Result<void> save_initial_weights(const std::string& path) const;  // safetensors
  [[nodiscard]] std::string to_json() const;

  // Replays the plan and checks its certificate again. E08xx.
  [[nodiscard]] Result<Verdict> verify() const;
  // Explains the costs of the plan and the effect of more RAM: plans the step again with 1, 5 and 10% more. `effort`: the search for each of these
  // plans, as PlanOptions::effort.
  [[nodiscard]] Result<Explanation> explain(int64_t effort = 1) const;

 private:
  friend struct Access;
  friend struct PlanMaker;
  struct Impl;
  explicit Plan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Known plans of a cost graph, as JSON.
struct KnownPlans {
  std::string start = {};  // in: a plan of this graph to start from; if it fits, the answer is not worse; "": none
  std::string least = {};  // out, with E0301 and E0302: the plan of Error::min_ram_bytes; "": none is known
};

// Plans a bare cost graph: JSON of docs/schema/costgraph-1.schema.json in, of plan-2.schema.json out. The graph contains its device; nothing is
// measured. E0220, E0221: of the graph; E0230, E0231: of `known->start`; E0301, E0302: as Plan::make.
[[nodiscard]] PANTOUM_API Result<std::string> plan_cost_graph(const std::string& json, const PlanOptions& options,
                                                              KnownPlans* known = nullptr);

struct SweepOptions {
  std::vector<Bytes> budgets = {};  // empty: eight at most, in equal steps of whole KiB from the least RAM known to the unplanned peak
  std::vector<std::string> planners = {"pantoum"};
  PlanOptions plan = {};                   // its field ram is not used
  std::optional<std::string> folder = {};  // folder for CSV, JSON, SVG and the plans; nullopt: nothing is written
};

struct SweepRow {
  std::string planner;
  int64_t ram_bytes = 0;
  bool has_plan = false, proved_infeasible = false;
  int64_t peak_bytes = 0;
  double time_s = 0, energy_j = 0, gap = 1;
};

// Whether the step fits, and what less RAM would cost.
struct Estimate {
  std::string device, time_source;
  int64_t unplanned_peak_bytes = 0;
  double unplanned_time_s = 0;
  int64_t least_ram_bytes = 0;        // the smallest for which a plan is known
  int64_t least_ram_bound_bytes = 0;  // proved: no plan exists with less RAM
  std::vector<Held> binds;            // in RAM at the peak of the plan of the least RAM, largest first
  std::vector<SweepRow> rows;         // budgets from the least RAM to the unplanned peak
};

// `options.ram` is not used; `options.time_limit` is that of the whole table.
[[nodiscard]] PANTOUM_API Result<Estimate> estimate(const Model& model, const Device& device,
                                                    const PlanOptions& options = {}, int budgets = 5);

}  // namespace pantoum
