// The options that plan and train share: the model, how it is trained, and what the planner may do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/line/options.h"
#include "cli/loss_options.h"
#include "cli/optimizer_options.h"
#include "cli/step_limits.h"
#include "pipeline/pipeline.h"

namespace pantoum::cli {

// As the user wrote them; turned into values by the functions below, so that every error names its option.
struct ModelWords {
  std::string model, params_in = "ram", weights, feature_cache;  // feature_cache: "": none; else bytes
  LossWords loss;
  OptimizerWords optimizer;
  int64_t batch = 0;
  std::optional<uint64_t> seed;  // 0 without it
  bool accept_folded = false, inference = false;
  std::vector<std::string> freeze, train, freeze_stats, keep_init;
};

struct PlanWords {
  std::string device = "host", ram, reserve, rom, objective = "energy", gap = "0.01%", time_limit = "60s", warm_start,
              profile_store, kernels,  // kernels: "" where they are not named: auto
      measure;                         // "" where it is not said: auto
  LimitWords limits;
  int64_t effort = 0;
  int threads = 0;  // 0: all cores
  bool no_paging = false, no_remat = false, no_inplace = false, no_reorder = false, compact_activations = false,
       allow_numerics_change = false;
  std::vector<std::string> dump_after, disable, without;
};

void add_model_options(Verb& verb, ModelWords& words);
void add_plan_options(Verb& verb, PlanWords& words);
void add_inference_option(Verb& verb, ModelWords& words);

[[nodiscard]] Result<pipeline::ModelOptions> model_options(const ModelWords& words);
[[nodiscard]] Result<pipeline::PlanRequest> plan_request(const PlanWords& words);
// Prints what --dump-after asked for; null when nothing was. E0115 an unknown pass.
[[nodiscard]] Result<pipeline::Dump> dump_of(const PlanWords& words);

}  // namespace pantoum::cli
