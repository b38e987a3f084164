#include <fmt/format.h>
#include <malloc.h>

#include <nlohmann/json.hpp>

#include "api/access.h"
#include "base/files.h"
#include "base/json_text.h"
#include "check/claims.h"
#include "pipeline/choose_updates.h"
#include "pipeline/next_bytes.h"
#include "pipeline/prepare_training.h"
#include "plan/planner.h"
#include "problem/cost_graph.h"
#include "problem/cost_graph_json.h"
#include "problem/objective_values.h"
#include "problem/plan_json.h"
#include "report/explain.h"
#include "settings/fields.h"
#include "weights/safetensors.h"

namespace pantoum {
namespace {

Error with_min_ram(Error error, const plan::Infeasible& none) {
  if (none.min_ram_bytes > 0) error.min_ram_bytes = none.min_ram_bytes;
  return error;
}

}  // namespace

struct PlanMaker {
  // `step` takes the path for the first weights, and returns the planned step. What it reads, and `inputs` (null: none), the
  // plan guards.
  template <class Step>
  static Result<Plan> plan_of(const base::InputsInUse* inputs, const Step& step) {
    auto impl = std::make_shared<Plan::Impl>();
    PANTOUM_ASSIGN(impl->weights, base::TemporaryPath::create("first.safetensors"));
    {
      const base::RecordInputs recorded(impl->inputs.get());
      PANTOUM_ASSIGN(impl->step, step(impl->weights->path()));
    }
    impl->options = impl->step.model.options;
    impl->inputs->add_all(inputs);
    const auto add = [&](const std::vector<pipeline::BatchPart>& parts, bool is_target) {
      for (const pipeline::BatchPart& part : parts)
        impl->batch.push_back({part.name, api::public_type(part.type.dtype), part.type.shape, is_target});
    };
    impl->notes = impl->step.notes;
    impl->notes.insert(impl->notes.end(), impl->step.weight_notes.begin(), impl->step.weight_notes.end());
    add(impl->step.inputs, false);
    add(impl->step.targets, true);
    ::malloc_trim(0);  // the compiler's memory is given back
    return Plan(std::move(impl));
  }
};

Result<Plan> Plan::make(const Model& model, const Device& device, const PlanOptions& options) {
  PANTOUM_ASSIGN(pipeline::ModelRequest asked, api::model_request(Access::impl(model)));
  PANTOUM_ASSIGN(pipeline::PlanRequest request, pipeline::plan_request(device.name, options));
  return PlanMaker::plan_of(Access::impl(model).inputs.get(), [&](const std::string& weights) -> Result<pipeline::PlannedStep> {
    PANTOUM_TRY(pipeline::choose_updates(asked, request));
    PANTOUM_ASSIGN(pipeline::Compiled compiled, pipeline::compile_model(asked, request));
    plan::Infeasible none;
    const Result<void> planned = pipeline::plan_model(compiled, request, nullptr, &none);
    if (planned) return pipeline::finish_step(compiled, request, weights);
    return Failure(with_min_ram(pipeline::with_leaner_options(planned.error(), compiled, request), none));
  });
}

namespace {

Result<Plan> plan_of_record(const problem::Plan& given, const pipeline::ModelRequest& model,
                            const pipeline::PlanRequest& request, const base::InputsInUse* inputs) {
  return PlanMaker::plan_of(inputs, [&](const std::string& weights) {
    return pipeline::step_of_plan(given, model, request, weights);
  });
}

// Makes the whole plan again, for the model that it names.
Result<Plan> whole_plan(const problem::Plan& given, const std::string& where, const base::InputsInUse* inputs) {
  PANTOUM_ASSIGN(const pipeline::PlanRecord record, pipeline::record_of(given, where));
  if (record.model.path.empty())
    return fail("E0293", "the plan is of a model that was built in code, and names no file", where,
                "save the model, load it from there, and plan that");
  return plan_of_record(given, record.model, record.request, inputs);
}

}  // namespace

Result<Plan> Plan::load(const std::string& path) {
  base::InputsInUse inputs;
  inputs.add(path);
  PANTOUM_ASSIGN(const problem::Plan given, problem::read_plan(path));
  return whole_plan(given, path, &inputs);
}

namespace {

Result<Plan> plan_of_model(const problem::Plan& given, const std::string& where, const Model& model, base::InputsInUse& inputs) {
  PANTOUM_ASSIGN(const pipeline::PlanRecord record, pipeline::record_of(given, where));
  PANTOUM_ASSIGN(const pipeline::ModelRequest asked, api::model_request(Access::impl(model)));
  inputs.add_all(Access::impl(model).inputs.get());
  Result<Plan> plan = plan_of_record(given, asked, record.request, &inputs);
  if (plan || plan.error().code != "E0231") return plan;
  // What differs has a name, where it is a setting.
  pipeline::ModelRequest planned = record.model, here = asked;
  PANTOUM_TRY(settings::check_beside_plan(settings::fields_of(planned.options), settings::fields_of(here.options)));
  return plan;
}

}  // namespace

Result<Plan> Plan::load(const std::string& path, const Model& model) {
  base::InputsInUse inputs;
  inputs.add(path);
  PANTOUM_ASSIGN(const problem::Plan given, problem::read_plan(path));
  return plan_of_model(given, path, model, inputs);
}

Result<Plan> Plan::from_json(const std::string& json) {
  PANTOUM_ASSIGN(const problem::Plan given, problem::parse_plan(json, "Plan::from_json"));
  return whole_plan(given, "Plan::from_json", nullptr);
}

Result<Plan> Plan::from_json(const std::string& json, const Model& model) {
  PANTOUM_ASSIGN(const problem::Plan given, problem::parse_plan(json, "Plan::from_json"));
  base::InputsInUse inputs;
  return plan_of_model(given, "Plan::from_json", model, inputs);
}

Result<std::string> plan_cost_graph(const std::string& json, const PlanOptions& options, KnownPlans* known) {
  PANTOUM_ASSIGN(const problem::CostGraph graph, problem::parse_cost_graph(json, "plan_cost_graph"));
  PANTOUM_ASSIGN(pipeline::PlanRequest request, pipeline::plan_request(Device{}.name, options, "energy"));
  std::optional<problem::Plan> start;
  if (known != nullptr && !known->start.empty()) {
    PANTOUM_ASSIGN(start, problem::parse_plan(known->start, "KnownPlans::start"));
    request.options.warm_start = &*start;
  }
  plan::Infeasible none;
  const Result<pipeline::PlannedGraph> planned = pipeline::plan_cost_graph(graph, request, &none);
  if (!planned) {
    if (known != nullptr && none.min_plan) known->least = base::ascii_json(problem::to_json(*none.min_plan), 1);
    return Failure(with_min_ram(planned.error(), none));
  }
  return base::ascii_json(problem::to_json(planned->plan), 1);
}

PlanFacts Plan::facts() const {
  const problem::Plan& plan = impl_->step.plan;
  const check::Found& found = impl_->step.found;
  const problem::Predicted& unplanned = impl_->step.unplanned;
  return {.budget_bytes = plan.question.budget_bytes(),
          .peak_bytes = found.peak_bytes,
          .arena_bytes = found.arena_bytes,
          .time_s = found.time_s,
          .energy_j = found.energy_j,
          .computed = found.counts.compute,
          .recomputed = found.counts.recompute,
          .pages_out = found.counts.page_out,
          .pages_in = found.counts.page_in,
          .bytes_paged_out = found.bytes_out,
          .bytes_paged_in = found.bytes_in,
          .proved_energy_j = plan.bound.energy_j,
          .proved_time_s = plan.bound.time_s,
          .any_order = plan.bound.any_order,
          .gap = plan.gap,
          .optimal = plan.status == problem::Status::kOptimal,
          .unplanned_peak_bytes = unplanned.peak_bytes,
          .unplanned_time_s = unplanned.time_s,
          .unplanned_energy_j = unplanned.energy_j,
          .device = plan.graph.device.name,
          .time_source = problem::time_source(plan.graph.device)};
}

const std::vector<std::string>& Plan::warnings() const {
  return impl_->step.warnings;
}

const std::vector<std::string>& Plan::notes() const {
  return impl_->notes;
}

const std::vector<BatchTensor>& Plan::batch() const {
  return impl_->batch;
}

int64_t Plan::samples_per_step() const {
  return impl_->batch.front().shape.front() * impl_->step.model.options.accumulate;
}

Result<void> Plan::save(const std::string& path) const {
  return problem::write_plan(impl_->step.plan, path);
}

std::string Plan::to_json() const {
  return base::ascii_json(problem::to_json(impl_->step.plan), 1);
}

Result<void> Plan::save_binary(const std::string& path) const {
  const std::vector<std::byte>& binary = impl_->step.binary;
  return base::write_file_atomically(path, {reinterpret_cast<const char*>(binary.data()), binary.size()});
}

Result<void> Plan::save_initial_weights(const std::string& path) const {
  PANTOUM_ASSIGN(const std::string bytes, base::read_file(impl_->weights->path()));
  return base::write_file_atomically(path, bytes);
}

Result<Verdict> Plan::verify() const {
  PANTOUM_ASSIGN(const check::Judgement judged, check::judge(impl_->step.plan));
  return Verdict{.proved = judged.bound, .gap = judged.gap, .certificates = judged.proved.certificates};
}

Result<Explanation> Plan::explain(int64_t effort) const {
  if (effort < 1 || effort > 1'000'000'000)
    return fail("E0116", fmt::format("{} is not between 1 and 1000000000", effort), "effort");
  PANTOUM_ASSIGN(const report::CheckedPlan checked, report::check_plan(impl_->step.plan));
  plan::PlanOptions probing;
  probing.question.freedoms = checked.plan.question.freedoms;
  probing.effort = effort;
  PANTOUM_ASSIGN(report::NextBytes next, pipeline::next_bytes(checked.plan, probing));
  const report::Explanation why = report::explain(checked, std::move(next));
  Explanation answer{.ram_binds = why.ram_binds(),
                     .deadline_binds = why.deadline_binds(),
                     .text = report::to_text(why),
                     .json = base::ascii_json(report::to_json(why), 1)};
  answer.at_peak = api::held_at_peak(why);
  return answer;
}

}  // namespace pantoum
