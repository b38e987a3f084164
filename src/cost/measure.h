// Measures how long operators take on this machine. Measured times replace those of the cost model, and scale the model for
// what was not measured.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "cost/build_cost_graph.h"
#include "cost/profile_store.h"

namespace pantoum::cost {

// A program whose costs are to be measured.
struct Measurable {
  const ir::Graph& graph;
  BuiltCostGraph& built;
};

// Ratios: the seconds that ops take inside a step over those that their kernels take alone. Found for one graph of a step, they
// correct the costs of the other graphs, which are compared with it.
struct StepFactors {
  std::unordered_map<std::string, double> of_op;     // by the key of an op's first choice; for all choices of that op
  std::unordered_map<std::string, double> of_other;  // by the key of another choice; for that choice alone
  std::unordered_map<std::string, double> of_kind;   // by the operator; for ops that the step does not have
  std::optional<double> usual;                       // over all ops; none: no step was run
};

// The joules of one run of a kernel, and the name of the meter that measured them. An EnergyOf calls `run` as often as its meter
// needs; it returns none where nothing was measured.
struct MeteredEnergy {
  Joules joules = 0;
  std::string meter;
};
using EnergyOf = std::function<std::optional<MeteredEnergy>(const std::function<bool()>& run)>;

// What is known of one kernel of a program.
struct FoundKernel {
  OpKey key;
  double times = 0;        // how often the first program's step runs it, with all ops at their first choices
  Seconds modelled_s = 0;  // by the fitted cost model
  std::optional<OpSample> sample = {};    // what was measured; none: nothing
  std::optional<Seconds> in_step_s = {};  // measured inside the step: the mean over its ops
};

// The seconds measured inside the step where they are known, else those with cold caches, else the modelled ones.
[[nodiscard]] Seconds usual_seconds(const FoundKernel& found);

struct MeasuringLimits {
  Seconds seconds = std::numeric_limits<Seconds>::infinity();  // time limit; one run of a kernel or an op may exceed it
  Bytes memory_bytes = Bytes{1} << 30;                         // ops whose operands take more are not measured
  bool anew = false;                                           // also measures what the store has
  const pt_pool* pool = nullptr;                               // the threads of training; outlives measuring
  int threads = 1;     // without a pool: times on so many threads count, or else those on one
  double slowest = 1;  // the speed of the pool's fastest processor over that of its slowest
  std::string machine;  // part of each key: processor, kernels and their versions
  bool numerics =
      true;  // false: a choice of another class of numerics than its op's first keeps the fitted model's seconds
  // Measures each kernel for longer, also kernels whose known interval is wider than kSettled, and runs the step until it gets
  // no quicker.
  bool settle = false;
  EnergyOf energy_of = {};  // called for each kernel whose joules this meter has not measured
  // The operands of a kernel take turns among places that are this large in all: more than the caches hold.
  Bytes cold_footprint = Bytes{64} << 20;
  // Keeps the ratios found by running the step, for other calls too; null: they are not kept.
  StepFactors* in_step = nullptr;
  bool runs_step = false;  // runs the first program's step to find these ratios (step_bench.h)
  // The size of the machine's last cache. A choice's seconds lie between those with cold and with warm caches, by what a step
  // leaves in the cache (cache_context.h). 0: seconds are those with cold caches.
  Bytes cache_bytes = 0;
  Compute compute =
      {};  // the device profile's rates, which are fitted to what was measured; with active_w, joules follow the seconds
  std::stop_token stop = {};
  // Called with the number of kernels whose times are known, of all. `last` is true once: at the end, where any was measured.
  std::function<void(size_t done, size_t all, bool last)> progress = {};
};

struct MeasuredCosts {
  size_t kernels = 0;         // of all choices; the same kernel on the same shapes counts once
  size_t known = 0, now = 0;  // times read from the store; times measured by this call
  size_t too_large = 0;       // kernels that would take more than memory_bytes
  double share = 0;           // of the seconds of the first program's ops at their first choice: what was measured
  size_t unsettled = 0;       // kernels whose interval is wider than kSettled
  std::optional<Error> store_failure = {};  // the first error of the store, after which nothing is kept
  std::vector<FoundKernel> found = {};      // of the first program, the heaviest first
};

// Measures each kernel that a choice names, once for each key; the heaviest kernel, by modelled seconds times how often it runs,
// comes first. The medians with cold and with warm caches go into the store. Each choice gets seconds between the two. A choice
// that is not measured gets the seconds of the model, which is fitted to what was measured (fit_model.h, one family for each
// operator); where nothing is measured it keeps the profile's seconds.
// With `in_step` the first program's step is run, too: the seconds of its ops inside the step correct those of all their
// choices. Then the step is run with the choices that are quicker than the first ones, which get their own correction.
// Before kernels and steps it waits until every thread of the pool has a processor: for a fifth of the time limit and for ten
// seconds at most. A choice that was not measured counts as quicker than a measured first choice only if the model says that
// it is by more than a fifth.
MeasuredCosts measure_costs(const std::vector<Measurable>& programs, ProfileStore& store,
                            const MeasuringLimits& limits);

}  // namespace pantoum::cost
