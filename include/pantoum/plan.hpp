// Plans: what a training step keeps, computes again and pages, inside a RAM budget, and how near to the least that is.
#pragma once

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

// A device profile: a name of `pantoum devices list`, or the path of a .toml file. Read when it is planned for.
struct Device {
  std::string name = "host";
};
[[nodiscard]] inline Device device(std::string name) {
  return {std::move(name)};
}

struct DeviceInfo {
  std::string name, description, source;
  int64_t ram_bytes = 0, rom_bytes = 0, align_bytes = 1;
  std::string storage;       // "none", "sync", "async"
  bool is_measured = false;  // its times and its storage's are those of this machine
};
// Of a profile. E0270, E0271.
[[nodiscard]] PANTOUM_API Result<DeviceInfo> describe(const Device& device);
// The profiles that are compiled in.
[[nodiscard]] PANTOUM_API std::vector<DeviceInfo> devices();

enum class Objective : uint8_t { energy, time, edp };  // edp: energy times time
enum class Kernels : uint8_t { automatic, portable, onednn };
enum class Measure : uint8_t {
  off,
  missing,
  all,
  automatic
};  // times of this machine; automatic: missing, on the host

struct PlanProgress {
  Seconds elapsed{};
  double best = 0, bound = 0;  // of the objective; best is infinite before the first plan
};

struct PlanOptions {
  std::optional<Bytes> ram = {};  // the device's without it
  Bytes reserve = {};             // of it, kept free for stack and application
  Deadline deadline = {};
  std::optional<double> energy_limit_j = {};
  Objective objective = Objective::energy;
  double gap = 1e-4;  // stop when proved within; a share of the objective
  Seconds time_limit = Seconds(60);
  int64_t effort = 0;  // > 0: a fixed amount of search in place of the clock: the same plan on every machine
  int threads = 0;     // for planning and kernels; 0: all cores
  bool paging = true, recomputing = true, in_place = true, reordering = true, compact_activations = false;
  Kernels kernels = Kernels::automatic;  // of the host
  Measure measure = Measure::automatic;
  std::string profile_store = {};  // SQLite file of measured times; "": in memory, for this plan alone
  std::string page_folder = {};    // whose storage is measured; "": where training makes its page file
  bool page_encryption = true;
  // Bytes that batches made ahead take are part of `ram`: as many as TrainerOptions::prefetch says.
  int64_t prefetch = 0;
  std::stop_token stop = {};  // asks for the best plan so far
  // Told a few times a second, from another thread, and of the plan once it is found; what it throws is dropped.
  std::function<void(const PlanProgress&)> progress = {};
};

// All figures are the independent checker's. Times and energies are modelled unless time_source says measured.
struct PlanFacts {
  int64_t budget_bytes = 0, peak_bytes = 0, arena_bytes = 0;
  double time_s = 0, energy_j = 0;                                    // of a step (of its last micro-batch)
  int64_t computed = 0, recomputed = 0, pages_out = 0, pages_in = 0;  // instructions
  int64_t bytes_paged_out = 0, bytes_paged_in = 0;
  std::optional<double> proved_energy_j, proved_time_s;  // no plan has less
  bool any_order = false;                                // of first computations; else of this plan's
  double gap = 1;                                        // (objective - proved) / objective
  bool optimal = false;                                  // the gap is the one that was asked for, or less
  int64_t unplanned_peak_bytes = 0;
  double unplanned_time_s = 0, unplanned_energy_j = 0;
  std::string device, time_source;
};

// What a batch holds.
struct BatchTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  // of a micro-batch; the first dimension counts samples
  bool is_target = false;      // a loss is measured against it
};

struct Held {  // in RAM at the peak
  std::string name;
  int64_t bytes = 0;
};

struct Explanation {
  bool ram_binds = false, deadline_binds = false;  // with everything kept, or without it, the step would cost less
  std::vector<Held> at_peak;                       // largest first
  std::string text, json;                          // as `pantoum explain` prints them
};

// What the checker proved again, without trusting the planner.
struct Verdict {
  double proved = 0;  // lower bound of the objective
  double gap = 1;
  int64_t certificates = 0;
};

// A checked plan, ready to train. A handle: copies share it, from any thread. It owns a private file with the first
// weights, which is removed with the last copy.
class PANTOUM_API Plan {
 public:
  // E0301 proved that none fits, E0302 none was found in time; with the smallest RAM for which one is known. Cost: the
  // time limit at most, the import and measuring beside it.
  [[nodiscard]] static Result<Plan> make(const Model& model, const Device& device, const PlanOptions& options = {});
  // From a plan file (JSON), whose model and options it names; the plan is taken as it is. E0231 of another step.
  [[nodiscard]] static Result<Plan> load(const std::string& path);
  // From what to_json() gave, as load() from a file; or for the model that it is a plan of. E0230, E0231, E0293.
  [[nodiscard]] static Result<Plan> from_json(const std::string& json);
  [[nodiscard]] static Result<Plan> from_json(const std::string& json, const Model& model);

  [[nodiscard]] PlanFacts facts() const;
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  [[nodiscard]] const std::vector<std::string>& notes() const;
  [[nodiscard]] const std::vector<BatchTensor>& batch() const;  // inputs in the model's order, then targets
  [[nodiscard]] int64_t samples_per_step() const;

  [[nodiscard]] Result<void> save(const std::string& path) const;                  // JSON, with its certificate
  [[nodiscard]] Result<void> save_binary(const std::string& path) const;           // for the C library
  [[nodiscard]] Result<void> save_initial_weights(const std::string& path) const;  // safetensors
  [[nodiscard]] std::string to_json() const;

  // Replays the plan and evaluates its certificate again. E08xx.
  [[nodiscard]] Result<Verdict> verify() const;
  // Why it costs what it costs, and what more RAM would buy: the step is planned again with 1, 5 and 10% more.
  // `effort`: search spent on each of these, as PlanOptions::effort.
  [[nodiscard]] Result<Explanation> explain(int64_t effort = 1) const;

 private:
  friend struct Access;
  friend struct PlanMaker;
  struct Impl;
  explicit Plan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Plans that are known of a cost graph, as JSON.
struct KnownPlans {
  std::string start = {};  // in: a plan of this graph to start from; where it fits, the answer is never worse; "": none
  std::string least = {};  // out, with E0301 and E0302: the plan of Error::min_ram_bytes; "": none is known
};

// Plans a bare cost graph: JSON of docs/schema/costgraph-1.schema.json in, of plan-2.schema.json out. The graph holds its
// device; nothing is measured. E0220, E0221 the graph; E0230, E0231 `known->start`; E0301, E0302 as Plan::make.
[[nodiscard]] PANTOUM_API Result<std::string> plan_cost_graph(const std::string& json, const PlanOptions& options,
                                                              KnownPlans* known = nullptr);

struct SweepOptions {
  std::vector<Bytes> budgets = {};
  std::vector<std::string> planners = {"pantoum"};
  PlanOptions plan = {};    // its ram is not used
  std::string folder = {};  // where CSV, JSON, SVG and the plans are kept; "": nowhere
};

struct SweepRow {
  std::string planner;
  int64_t ram_bytes = 0;
  bool has_plan = false, proved_infeasible = false;
  int64_t peak_bytes = 0;
  double time_s = 0, energy_j = 0, gap = 1;
};

// Will it fit, and what would less RAM cost?
struct Estimate {
  std::string device, time_source;
  int64_t unplanned_peak_bytes = 0;
  double unplanned_time_s = 0;
  int64_t least_ram_bytes = 0;        // the smallest for which a plan is known
  int64_t least_ram_bound_bytes = 0;  // below it there is none: proved
  std::vector<Held> binds;            // in RAM at the peak of the plan of the least RAM, largest first
  std::vector<SweepRow> rows;         // budgets from the least RAM to the unplanned peak
};

// `options.ram` is not used; `options.time_limit` is that of the whole table.
[[nodiscard]] PANTOUM_API Result<Estimate> estimate(const Model& model, const Device& device,
                                                    const PlanOptions& options = {}, int budgets = 5);

}  // namespace pantoum
