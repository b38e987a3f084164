#include "pipeline/prepare_firmware.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "emit/project_folder.h"
#include "pipeline/pipeline.h"
#include "pipeline/request_json.h"
#include "pipeline/sample_rows.h"
#include "problem/plan_json.h"

namespace pantoum::pipeline {
namespace {

constexpr uint64_t kSteps = 100;  // where neither the user nor the plan says how many

// A plan, and the options that made it.
struct Asked {
  problem::Plan plan;
  ModelOptions model;
  PlanRequest request;
};

Result<Asked> read_asked(const FirmwareRequest& firmware) {
  const std::string& path = firmware.plan_path;
  Asked asked;
  PANTOUM_ASSIGN(asked.plan, problem::read_plan(path));
  if (asked.plan.model.empty() || asked.plan.request.empty())
    return fail("E0293", "the plan does not say which model it is of", path,
                "make it with `pantoum plan MODEL ... -o FILE` of this release");
  PANTOUM_ASSIGN(asked.model, parse_model_json(asked.plan.model, path));
  PANTOUM_ASSIGN(asked.request, parse_request_json(asked.plan.request, path));
  if (!firmware.model.empty()) asked.model.path = firmware.model;
  if (!firmware.weights.empty()) asked.model.weights.path = firmware.weights;
  if (asked.model.training.accumulate > 1)
    return fail("E0291", "firmware takes a step's batch at once; the plan is of micro-batches", path,
                "plan without --accumulate");
  if (asked.model.training.split_update)
    return fail("E0291", "firmware takes a step as one program; the plan has gradients and update apart", path,
                "plan without split_update");
  return asked;
}

// The programs of the plan, with the kernels that firmware has.
Result<Compiled> compile_as_planned(const Asked& asked, const std::string& path) {
  using Kernels = host::KernelSet::Choice;
  PlanRequest request = asked.request;
  request.measure = {};  // the plan has the times that it was made with
  request.rewrite.search = false;
  const bool other_kernels = request.device == "host" && request.kernels != Kernels::kPortable;
  if (other_kernels) request.kernels = Kernels::kPortable;
  PANTOUM_ASSIGN(Compiled compiled, compile_model(asked.model, request));
  const Result<void> planned = plan_model(compiled, request, &asked.plan);
  if (!planned && planned.error().code == "E0231" && other_kernels)
    return fail("E0291", "the plan is of another training step, or of kernels that firmware does not have", path,
                "plan with --kernels portable, or for a device other than the host");
  PANTOUM_TRY(planned);
  return compiled;
}

bool has_input(const ir::Graph& graph, const std::string& name) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [&](ir::ValueId id) { return graph.value(id).name == name; });
}

// The inputs of the whole model, then the targets; with features, a step reads few of the inputs or none.
std::vector<emit::BatchName> batch_names(const Compiled& compiled) {
  const ir::Graph& model = compiled.evaluation().graph;
  const ir::Graph& training = compiled.training().graph;
  std::vector<emit::BatchName> batch;
  for (const ir::ValueId id : model.inputs) {
    const std::string& name = model.value(id).name;
    uint8_t readers = PT_READ_BY_EVAL;
    if (has_input(training, name)) readers |= PT_READ_BY_STEP;
    if (compiled.has_features()) readers |= PT_READ_BY_BACKBONE;
    batch.push_back({name, readers});
  }
  for (const ir::ValueId id : training.labels) batch.push_back({.name = training.value(id).name});
  return batch;
}

std::vector<std::string> feature_names(const Compiled& compiled) {
  const ir::Graph& training = compiled.training().graph;
  std::vector<std::string> names;
  for (const ir::ValueId id : training.inputs)
    if (const std::string& name = training.value(id).name; !has_input(compiled.evaluation().graph, name))
      names.push_back(name);
  return names;
}

// The samples of the project, if it has some.
Result<void> add_samples(const FirmwareRequest& request, const Compiled& compiled, emit::Firmware& firmware) {
  if (request.data.path.empty()) return {};
  const ir::Graph& model = compiled.evaluation().graph;
  const data::Preparation& preparation = request.data.preparation;
  PANTOUM_ASSIGN(const data::TrainTest data, open_training_data(request.data, model));
  PANTOUM_TRY(check_labels(data, compiled.training().graph));
  PANTOUM_ASSIGN(firmware.training, sample_rows(data.train, model, preparation, request.samples));
  if (request.test_samples > 0) {
    PANTOUM_ASSIGN(firmware.test, sample_rows(data.test, model, preparation, request.test_samples));
  }
  if (!compiled.has_features()) return {};
  const int64_t limit = *compiled.model.feature_cache;
  const int64_t bytes = feature_bytes(compiled.training().graph, firmware.training.count);
  if (bytes <= limit) return {};
  return fail("E0289",
              fmt::format("the features of {} samples take {}, the plan's --feature-cache allows {}",
                          firmware.training.count, base::show_bytes(bytes), base::show_bytes(limit)),
              "--samples", "emit fewer samples, or plan with a larger --feature-cache, or without");
}

// Where the first contents of the project's parameters are written.
Result<std::string> contents_path(const std::string& project) {
  PANTOUM_ASSIGN(emit::ProjectFolder folder, emit::ProjectFolder::open(project));
  const std::string name = "model/contents.safetensors";
  PANTOUM_TRY(folder.claim({name}));
  return folder.path_of(name);
}

// As long as the user says, else as long as the training that was planned.
uint64_t steps_of(const FirmwareRequest& request, const TrainingLength& planned) {
  const auto steps = static_cast<uint64_t>(planned.steps);
  return request.steps.value_or(steps > 0 ? steps : kSteps);
}

void set_run(const FirmwareRequest& request, const Asked& asked, emit::Firmware& firmware) {
  firmware.lr = request.lr.value_or(asked.model.lr);
  firmware.schedule = request.schedule;
  firmware.seed = asked.model.seed;
  firmware.steps = steps_of(request, asked.request.length);
  firmware.energy_j = asked.plan.predicted.energy_j;
  firmware.target = request.target;
  firmware.board = request.board;
  firmware.plan_path = request.plan_path;
  firmware.endurance = static_cast<uint64_t>(request.endurance_bytes);
  firmware.check_blocks = request.check_blocks;
  firmware.stack_bytes = static_cast<uint64_t>(request.stack_bytes);
  const problem::Bytes planned = asked.plan.question.budget_bytes() + asked.request.reserve;
  firmware.ram_bytes = static_cast<uint64_t>(request.ram_bytes.value_or(planned));
}

}  // namespace

Result<emit::FirmwareSizes> prepare_firmware(const FirmwareRequest& request,
                                             const std::function<void(const std::string&)>& note,
                                             const std::function<void(const std::string&)>& warning) {
  PANTOUM_ASSIGN(const Asked asked, read_asked(request));
  PANTOUM_ASSIGN(const Compiled compiled, compile_as_planned(asked, request.plan_path));
  for (const std::string& each : compiled.warnings) warning(each);
  PANTOUM_ASSIGN(const std::vector<std::byte> binary, encode_programs(compiled.programs));
  PANTOUM_ASSIGN(const std::string contents, contents_path(request.folder));
  PANTOUM_ASSIGN(const auto notes, write_initial_weights(compiled.training().graph, compiled.model.weights, contents));
  for (const std::string& each : notes) note(each);
  PANTOUM_ASSIGN(const weights::SafetensorFile weights, weights::open_safetensors(contents));
  emit::Firmware firmware{.name = compiled.training().graph.name, .plan = binary, .weights = &weights};
  firmware.inputs = batch_names(compiled);
  firmware.features = feature_names(compiled);
  PANTOUM_TRY(add_samples(request, compiled, firmware));
  set_run(request, asked, firmware);
  return emit::emit_firmware(firmware, request.folder);
}

}  // namespace pantoum::pipeline
