// Times of operators, measured on this machine: in place of the model's, and as its scale.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "cost/build_cost_graph.h"
#include "cost/op_key.h"

namespace pantoum::cost {

// A program whose costs are to be measured.
struct Measurable {
  const ir::Graph& graph;
  BuiltCostGraph& built;
};

// What ops take in a step over what their kernels take alone, as far as the caches are guessed: by kernel and operands.
// Kept from one graph of a step to the others, whose costs are compared.
struct StepFactors {
  std::unordered_map<std::string, double> of_op;     // by the key of an op's first choice: of all its choices
  std::unordered_map<std::string, double> of_other;  // by the key of another choice: of that one
  std::unordered_map<std::string, double> of_kind;   // by the operator: of ops that the step has not
  std::optional<double> usual;                       // of all; none: no step was run
};

// Runs a kernel again and again, as long as a meter needs; its joules and the meter's name. None: it was not measured.
struct MeteredEnergy {
  Joules joules = 0;
  std::string meter;
};
using EnergyOf = std::function<std::optional<MeteredEnergy>(const std::function<bool()>& run)>;

// One kernel of a program, as it was found.
struct FoundKernel {
  OpKey key;
  double times = 0;                       // that the first program's step runs it, at its ops' first choices
  Seconds modelled_s = 0;                 // the fitted cost model's
  std::optional<OpSample> sample = {};    // measured
  std::optional<Seconds> in_step_s = {};  // the mean of its ops', each where it stands in the step
};

// In the step where that is known, else with cold caches, else modelled.
[[nodiscard]] Seconds usual_seconds(const FoundKernel& found);

struct MeasuringLimits {
  Seconds seconds = std::numeric_limits<Seconds>::infinity();  // exceeded by one run of a kernel or an op at most
  Bytes memory_bytes = Bytes{1} << 30;                         // no op's operands take more
  bool anew = false;                                           // what the store has too
  const pt_pool* pool = nullptr;                               // outlives measuring; the threads of training
  std::string machine;                                         // processor, kernels and their versions: part of a key
  bool numerics = true;  // false: choices of another class than their op's first keep the model's seconds, fitted
  bool settle = false;   // each kernel for longer, those too whose known interval is wider than kSettled, and the step
                         // until it gets no quicker
  EnergyOf energy_of = {};  // asked of each kernel that has no joules by this meter
  // More than the caches hold: what a kernel's places, which take turns, come to.
  Bytes cold_footprint = Bytes{64} << 20;
  // What was found of the step is kept here, for other calls too; null: nothing is.
  StepFactors* in_step = nullptr;
  bool runs_step = false;  // the first program is the step that they are found of (step_bench.h)
  // Of the machine's last cache: a choice's seconds lie between those with cold and with warm caches, by what a step
  // leaves there (cache_context.h). 0: those with cold caches.
  Bytes cache_bytes = 0;
  Compute compute =
      {};  // the profile's, which is fitted to what was measured; with active_w, joules follow the seconds
  std::stop_token stop = {};
  // Kernels whose times are known, of all; `last` once, at the end, where any was measured.
  std::function<void(size_t done, size_t all, bool last)> progress = {};
};

struct MeasuredCosts {
  size_t kernels = 0;                       // of all choices; one on the same shapes counts once
  size_t known = 0, now = 0;                // times from the store, and measured by this call
  size_t too_large = 0;                     // for memory_bytes
  double share = 0;                         // measured, of the seconds of the first program's ops at their first choice
  size_t unsettled = 0;                     // whose interval is wider than kSettled
  std::optional<Error> store_failure = {};  // the first; from there on nothing is kept
  std::vector<FoundKernel> found = {};      // of the first program, the heaviest first
};

// Measures each kernel that a choice names, once for each key, the heaviest (by modelled seconds x how often) first; puts
// the medians, with cold and with warm caches, into the store, and into the choices what lies between. What is not measured takes what the model says, fitted to what was
// (fit_model.h, a family for each operator); without any it keeps the profile's seconds. With `in_step` the first program's
// step is run, too, and its ops' seconds in it correct those of all their choices; then once more with the choices that
// are quicker than the first, whose seconds in it count instead.
// Before kernels and steps it waits until every thread of the pool has a processor, a fifth of the time at most and no more
// than ten seconds. A choice that was not measured counts as no quicker than a first one that was, unless by a fifth.
MeasuredCosts measure_costs(const std::vector<Measurable>& programs, ProfileStore& store,
                            const MeasuringLimits& limits);

}  // namespace pantoum::cost
