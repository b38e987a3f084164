#include <fmt/format.h>
#include <malloc.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "api/access.h"
#include "base/files.h"
#include "base/json_text.h"
#include "check/claims.h"
#include "pipeline/next_bytes.h"
#include "pipeline/prepare_training.h"
#include "pipeline/request_json.h"
#include "plan/planner.h"
#include "problem/cost_graph_json.h"
#include "problem/objective_values.h"
#include "problem/plan_json.h"
#include "problem/time_source.h"
#include "report/explain.h"
#include "report/names.h"
#include "weights/safetensors.h"

namespace pantoum {
namespace {

std::vector<std::string> names_in(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const ir::ValueId value : values) names.push_back(graph.value(value).name);
  return names;
}

BatchTensor batch_tensor(const ir::Value& value, bool is_target) {
  return {value.name, api::public_type(value.type.dtype), value.type.shape, is_target};
}

std::vector<BatchTensor> batch_of_model(const ir::Graph& model) {
  std::vector<BatchTensor> batch;
  batch.reserve(model.inputs.size() + model.labels.size());
  for (const ir::ValueId input : model.inputs) batch.push_back(batch_tensor(model.value(input), false));
  for (const ir::ValueId label : model.labels) batch.push_back(batch_tensor(model.value(label), true));
  return batch;
}

Error with_min_ram(Error error, const plan::Infeasible& none, problem::Bytes reserve) {
  if (none.min_ram_bytes > 0) error.min_ram_bytes = none.min_ram_bytes + reserve;
  return error;
}

}  // namespace

// What a handle holds of a planned model; the rest of the compiler is given back.
struct PlanMaker {
  static Result<std::shared_ptr<Plan::Impl>> impl_of(pipeline::Compiled& compiled) {
    auto impl = std::make_shared<Plan::Impl>();
    pipeline::Program& training = compiled.training();
    const ir::Graph& model = compiled.evaluation().graph;
    for (const std::string& note : training.graph.notes) impl->notes.push_back(note);
    impl->warnings = compiled.warnings;
    PANTOUM_ASSIGN(impl->binary, pipeline::encode_programs(compiled.programs));
    PANTOUM_ASSIGN(impl->weights, api::PrivateFile::create("first.safetensors"));
    PANTOUM_ASSIGN(const std::vector<std::string> notes,
                   pipeline::write_initial_weights(training.graph, compiled.model.weights, impl->weights->path()));
    impl->notes.insert(impl->notes.end(), notes.begin(), notes.end());
    impl->wanted = pipeline::wanted_of(model);
    impl->labels = pipeline::label_ranges(training.graph);
    impl->batch = batch_of_model(model);
    impl->inputs = names_in(model, model.inputs);
    if (compiled.has_features()) impl->features = names_in(training.graph, training.graph.inputs);
    impl->graph_hash = fmt::format("{:016x}", compiled.graph_hash);
    impl->model = compiled.model;
    impl->unplanned = compiled.unplanned;
    impl->kernels = compiled.kernels;
    impl->found = training.found;
    impl->plan = std::move(training.plan);
    return impl;
  }
};

Result<Plan> Plan::make(const Model& model, const Device& device, const PlanOptions& options) {
  PANTOUM_ASSIGN(const pipeline::ModelOptions asked, api::model_options(Access::impl(model)));
  PANTOUM_ASSIGN(pipeline::PlanRequest request, api::plan_request(device, options));
  std::shared_ptr<Impl> impl;
  {
    request.graphs_made = [](const ir::Graph&, const ir::Graph& evaluation) {
      return pipeline::check_batch(evaluation);
    };
    PANTOUM_ASSIGN(pipeline::Compiled compiled, pipeline::compile_model(asked, request));
    request.reserve += pipeline::prefetch_bytes({.prefetch = options.prefetch}, compiled.training().graph);
    plan::Infeasible none;
    const Result<void> planned = pipeline::plan_model(compiled, request, nullptr, &none);
    if (!planned)
      return Failure(with_min_ram(pipeline::with_leaner_options(planned.error(), compiled), none, request.reserve));
    PANTOUM_ASSIGN(impl, PlanMaker::impl_of(compiled));
  }
  impl->options = model.options();
  impl->threads = options.threads;
  impl->prefetch = options.prefetch;
  ::malloc_trim(0);
  return Plan(std::move(impl));
}

namespace {

// The plan is taken as it is; it has the times that it was made with.
Result<std::shared_ptr<Access::PlanImpl>> impl_of_plan(const problem::Plan& given, const pipeline::ModelOptions& model,
                                                       const std::string& where) {
  PANTOUM_ASSIGN(pipeline::PlanRequest request, pipeline::parse_request_json(given.request, where));
  request.measure = {};
  pipeline::PlanRequest of_its_graph = request;
  of_its_graph.rewrite.search = false;
  std::shared_ptr<Access::PlanImpl> impl;
  {
    PANTOUM_ASSIGN(pipeline::Compiled compiled, pipeline::compile_model(model, of_its_graph));
    PANTOUM_TRY(pipeline::plan_model(compiled, request, &given));
    PANTOUM_ASSIGN(impl, PlanMaker::impl_of(compiled));
  }
  impl->threads = request.kernel_threads;
  ::malloc_trim(0);
  return impl;
}

// Of the model that the plan names.
Result<std::shared_ptr<Access::PlanImpl>> impl_of_whole_plan(const problem::Plan& given, const std::string& where) {
  if (given.model.empty() || given.request.empty())
    return fail("E0293", "the plan does not say which model it is of", where,
                "make it with `pantoum plan MODEL ... -o FILE` or Plan::save");
  PANTOUM_ASSIGN(const pipeline::ModelOptions model, pipeline::parse_model_json(given.model, where));
  if (model.path.empty())
    return fail("E0293", "the plan is of a model that was built in code, and names no file", where,
                "save the model, load it from there, and plan that");
  PANTOUM_ASSIGN(std::shared_ptr<Access::PlanImpl> impl, impl_of_plan(given, model, where));
  impl->options.optimizer = Sgd{.lr = model.lr};
  return impl;
}

}  // namespace

Result<Plan> Plan::load(const std::string& path) {
  PANTOUM_ASSIGN(const problem::Plan given, problem::read_plan(path));
  PANTOUM_ASSIGN(std::shared_ptr<Impl> impl, impl_of_whole_plan(given, path));
  return Plan(std::move(impl));
}

Result<Plan> Plan::from_json(const std::string& json) {
  PANTOUM_ASSIGN(const problem::Plan given, problem::parse_plan(json, "Plan::from_json"));
  PANTOUM_ASSIGN(std::shared_ptr<Impl> impl, impl_of_whole_plan(given, "Plan::from_json"));
  return Plan(std::move(impl));
}

Result<Plan> Plan::from_json(const std::string& json, const Model& model) {
  PANTOUM_ASSIGN(const problem::Plan given, problem::parse_plan(json, "Plan::from_json"));
  if (given.request.empty())
    return fail("E0293", "the plan does not say how it was asked for", "Plan::from_json", "give what to_json() gave");
  PANTOUM_ASSIGN(const pipeline::ModelOptions asked, api::model_options(Access::impl(model)));
  PANTOUM_ASSIGN(const std::shared_ptr<Impl> impl, impl_of_plan(given, asked, "Plan::from_json"));
  impl->options = model.options();
  return Plan(impl);
}

Result<std::string> plan_cost_graph(const std::string& json, const PlanOptions& options, KnownPlans* known) {
  PANTOUM_ASSIGN(const problem::CostGraph graph, problem::parse_cost_graph(json, "plan_cost_graph"));
  PANTOUM_ASSIGN(pipeline::PlanRequest request, api::plan_request(Device{}, options));
  std::optional<problem::Plan> start;
  if (known != nullptr && !known->start.empty()) {
    PANTOUM_ASSIGN(start, problem::parse_plan(known->start, "KnownPlans::start"));
    request.options.warm_start = &*start;
  }
  plan::Infeasible none;
  const Result<pipeline::PlannedGraph> planned = pipeline::plan_cost_graph(graph, request, &none);
  if (!planned) {
    if (known != nullptr && none.min_plan) known->least = base::ascii_json(problem::to_json(*none.min_plan), 1);
    return Failure(with_min_ram(planned.error(), none, request.reserve));
  }
  return base::ascii_json(problem::to_json(planned->plan), 1);
}

PlanFacts Plan::facts() const {
  const problem::Plan& plan = impl_->plan;
  const check::Found& found = impl_->found;
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
          .unplanned_peak_bytes = impl_->unplanned.peak_bytes,
          .unplanned_time_s = impl_->unplanned.time_s,
          .unplanned_energy_j = impl_->unplanned.energy_j,
          .device = plan.graph.device.name,
          .time_source = problem::time_source(plan.graph.device)};
}

const std::vector<std::string>& Plan::warnings() const {
  return impl_->warnings;
}

const std::vector<std::string>& Plan::notes() const {
  return impl_->notes;
}

const std::vector<BatchTensor>& Plan::batch() const {
  return impl_->batch;
}

int64_t Plan::samples_per_step() const {
  return impl_->batch.front().shape.front() * impl_->model.training.accumulate;
}

Result<void> Plan::save(const std::string& path) const {
  return problem::write_plan(impl_->plan, path);
}

std::string Plan::to_json() const {
  return base::ascii_json(problem::to_json(impl_->plan), 1);
}

Result<void> Plan::save_binary(const std::string& path) const {
  return base::write_file_atomically(path, {reinterpret_cast<const char*>(impl_->binary.data()), impl_->binary.size()});
}

Result<void> Plan::save_initial_weights(const std::string& path) const {
  PANTOUM_ASSIGN(const std::string bytes, base::read_file(impl_->weights->path()));
  return base::write_file_atomically(path, bytes);
}

Result<Verdict> Plan::verify() const {
  PANTOUM_ASSIGN(const check::Judgement judged, check::judge(impl_->plan));
  return Verdict{.proved = judged.bound, .gap = judged.gap, .certificates = judged.proved.certificates};
}

Result<Explanation> Plan::explain(int64_t effort) const {
  if (effort < 1 || effort > 1'000'000'000)
    return fail("E0116", fmt::format("{} is not between 1 and 1000000000", effort), "effort");
  const problem::Plan& plan = impl_->plan;
  std::vector<check::Span> spans;
  PANTOUM_ASSIGN(const check::Found found, check::replay(plan.graph, plan, plan.question, &spans));
  plan::PlanOptions probing;
  probing.question.freedoms = plan.question.freedoms;
  probing.effort = effort;
  PANTOUM_ASSIGN(report::NextBytes next, pipeline::next_bytes(plan, probing));
  const report::Explanation why = report::explain(plan, found, spans, std::move(next));
  Explanation answer{.ram_binds = why.ram_binds(),
                     .deadline_binds = why.deadline_binds(),
                     .text = report::to_text(why),
                     .json = base::ascii_json(report::to_json(why), 1)};
  const report::Names names(plan.graph);
  for (const report::Resident& resident : why.at_peak)
    answer.at_peak.push_back(
        {resident.tensor >= 0 ? names.tensor(resident.tensor) : report::name_of(resident.role), resident.bytes});
  return answer;
}

}  // namespace pantoum
