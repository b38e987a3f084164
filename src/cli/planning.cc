#include "cli/planning.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "artifact/plan_json.h"
#include "cli/interrupt.h"
#include "cli/plan_summary.h"
#include "plan/objective.h"

namespace pantoum::cli {

void attach(plan::PlanOptions& options, ProgressLine& line, const std::string* label) {
  options.stop = interrupted();
  options.progress = [&line, label, objective = options.objective](const plan::Progress& progress) {
    if (!line.due()) return;
    const auto show = [&](double value) {
      return std::isfinite(value) ? plan::show_value(objective, value) : std::string("-");
    };
    const double gap = std::isfinite(progress.best) && progress.best > 0
                           ? 100 * (progress.best - progress.bound) / progress.best
                           : 100;
    line.show(fmt::format("{}{:.1f}s  best {}  bound {}  gap {:.2g}%", label ? *label : "", progress.elapsed,
                          show(progress.best), show(progress.bound), gap));
  };
}

Result<void> attach_warm_start(pipeline::PlanRequest& request, const std::string& path,
                               std::optional<plan::Plan>& kept) {
  if (path.empty()) return {};
  PANTOUM_ASSIGN(kept, artifact::read_plan(path));
  request.options.warm_start = &*kept;
  return {};
}

Result<pipeline::Planned> plan_in_some_layout(const pipeline::ModelOptions& model, pipeline::PlanRequest& request,
                                              pipeline::Compiled& compiled, const plan::Plan* reuse,
                                              plan::Infeasible& infeasible, const pipeline::Dump& dump) {
  Result<pipeline::Planned> planned = pipeline::plan_model(compiled, request, reuse, &infeasible, dump);
  const bool in_blocks = request.layouts && compiled.kernels->back_end() != nullptr;
  if (planned || !in_blocks || interrupted().stop_requested()) return planned;
  const std::string& code = planned.error().code;
  if (code != "E0301" && code != "E0302" && code != "E0231") return planned;
  request.layouts = false;
  PANTOUM_ASSIGN(compiled, pipeline::compile_model(model, request, dump));
  infeasible = {};
  planned = pipeline::plan_model(compiled, request, reuse, &infeasible, dump);
  if (planned) std::fprintf(stderr, "note: images stay plain: in blocks of channels the step does not fit\n");
  return planned;
}

Result<void> tell_infeasible(const Error& error, const plan::Infeasible& infeasible, const Common& common,
                             const std::string& min_plan_path) {
  if (error.code != "E0301" && error.code != "E0302") return {};
  if (common.json() && error.code == "E0301") std::printf("%s\n", to_json(infeasible).dump().c_str());
  if (min_plan_path.empty()) return {};
  if (!infeasible.min_plan) return fail("E0302", "no plan for the smallest budget is known", min_plan_path);
  return artifact::write_plan(*infeasible.min_plan, min_plan_path);
}

}  // namespace pantoum::cli
