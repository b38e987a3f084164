#include "pipeline/prepare_firmware.h"

#include <fmt/format.h>

#include <algorithm>

#include "autodiff/autodiff.h"
#include "base/units.h"
#include "data/batch_loader.h"
#include "emit/boards.h"
#include "emit/project/samples.h"
#include "emit/project_folder.h"
#include "settings/fields.h"

namespace pantoum::pipeline {

namespace {

using data::Conversion;
static_assert(static_cast<int>(Conversion::kNone) == PT_ROWS_AS_THEY_ARE &&
              static_cast<int>(Conversion::kNormalizeU8) == PT_ROWS_U8_NORMALIZED &&
              static_cast<int>(Conversion::kNormalizeF32) == PT_ROWS_F32_NORMALIZED &&
              static_cast<int>(Conversion::kU8ToF32) == PT_ROWS_U8_TO_F32 &&
              static_cast<int>(Conversion::kU8ToI64) == PT_ROWS_U8_TO_I64 &&
              static_cast<int>(Conversion::kU8ToI32) == PT_ROWS_U8_TO_I32 &&
              static_cast<int>(Conversion::kI32ToI64) == PT_ROWS_I32_TO_I64);

Result<emit::SampleRows> rows_of(const data::SampleFile& file, Conversion conversion,
                                 const data::Preparation& preparation, int64_t count) {
  const auto bytes = static_cast<size_t>(data::sample_bytes(file));
  emit::SampleRows rows;
  rows.stored_bytes = static_cast<uint8_t>(ir::size_of(file.dtype()));
  rows.elements = static_cast<uint32_t>(bytes / rows.stored_bytes);
  rows.conversion = static_cast<uint8_t>(conversion);
  if (conversion == Conversion::kNormalizeU8 || conversion == Conversion::kNormalizeF32)
    for (const data::Normalization& each : preparation.normalization)
      rows.planes.insert(rows.planes.end(), {each.mean, each.deviation});
  if (conversion == Conversion::kNormalizeU8 && rows.planes.empty()) rows.planes = {0.0F, 1.0F};
  rows.data.resize(bytes * static_cast<size_t>(count));
  for (int64_t sample = 0; sample < count; ++sample)
    PANTOUM_TRY(file.read(sample, std::span(rows.data).subspan(static_cast<size_t>(sample) * bytes, bytes)));
  return rows;
}

Result<emit::Samples> sample_rows(const data::Dataset& data, const PlannedStep& step,
                                  const data::Preparation& preparation, int64_t count) {
  emit::Samples samples;
  if (data.count() == 0) return samples;
  std::vector<BatchPart> parts = step.inputs;
  parts.insert(parts.end(), step.targets.begin(), step.targets.end());
  std::vector<data::BatchView> batch;
  batch.reserve(parts.size());
  for (const BatchPart& part : parts)
    batch.push_back({.name = part.name, .dtype = part.type.dtype, .shape = part.type.shape, .data = {}});
  data::BatchLoader loader(preparation, step.inputs.size(), step.targets.size());
  PANTOUM_TRY(loader.bind(data, batch));
  const int64_t taken = count == 0 ? data.count() : std::min(count, data.count());
  samples.count = static_cast<uint32_t>(taken);
  for (size_t at = 0; at < parts.size(); ++at) {
    const size_t label = at - step.inputs.size();
    const data::SampleFile& file = at < step.inputs.size() ? *data.inputs[at]
                                   : label == 0            ? *data.labels
                                                           : *data.more_labels[label - 1];
    PANTOUM_ASSIGN(emit::SampleRows rows, rows_of(file, loader.conversions()[at], preparation, taken));
    samples.rows.push_back(std::move(rows));
  }
  return samples;
}

constexpr uint64_t kSteps = 100;  // where neither the user nor the plan says how many

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The inputs of the whole model, then the targets; with features, a step reads few of the inputs or none.
std::vector<emit::BatchName> batch_names(const PlannedStep& step) {
  std::vector<emit::BatchName> batch;
  for (const BatchPart& input : step.inputs) {
    uint8_t readers = PT_READ_BY_EVAL;
    if (contains(step.step_inputs, input.name)) readers |= PT_READ_BY_STEP;
    if (!step.features.empty()) readers |= PT_READ_BY_BACKBONE;
    if (contains(step.prediction_inputs, input.name)) readers |= PT_READ_BY_PREDICT;
    batch.push_back({input.name, readers});
  }
  for (const BatchPart& target : step.targets) {
    uint8_t readers = PT_READ_BY_STEP | PT_READ_BY_EVAL;
    if (contains(step.prediction_inputs, target.name)) readers |= PT_READ_BY_PREDICT;
    batch.push_back({target.name, readers});
  }
  return batch;
}

std::vector<std::string> feature_names(const PlannedStep& step) {
  std::vector<std::string> names = step.features;
  const std::vector<std::string> inputs = step.input_names();
  std::erase_if(names, [&](const std::string& name) { return contains(inputs, name); });
  return names;
}

// What tells a classifier: the first loss has one label for each sample.
void set_classes(const PlannedStep& step, emit::Firmware& firmware) {
  const Loss& term = step.model.options.loss.terms().front();
  if (!autodiff::has_labels(term) || step.targets.empty() || step.targets.front().type.shape.size() != 1) return;
  firmware.labels = static_cast<uint32_t>(step.inputs.size());
  firmware.classes = term.output;
}

// Bytes of one sample as the project keeps it.
int64_t stored_bytes(const data::Dataset& data) {
  int64_t bytes = data.labels != nullptr ? data::sample_bytes(*data.labels) : 0;
  for (const auto* files : {&data.inputs, &data.more_labels})
    for (const auto& file : *files) bytes += data::sample_bytes(*file);
  return bytes;
}

// Refuses, before one is read, more samples than the board's ROM holds.
Result<void> check_room(const FirmwareOptions& options, const data::TrainTest& data) {
  PANTOUM_ASSIGN(const emit::Board board, emit::find_board(options.target, options.board.value_or(""), 0));
  if (board.is_posix()) return {};
  const auto taken = [](int64_t asked, const data::Dataset& of) {
    return asked == 0 ? of.count() : std::min(asked, of.count());
  };
  const int64_t train = taken(options.samples.value_or(0), data.train);
  const int64_t test = options.test_samples ? taken(*options.test_samples, data.test) : 0;
  const int64_t each = stored_bytes(data.train), most = static_cast<int64_t>(board.rom_bytes);
  if (train + test <= most / std::max<int64_t>(each, 1)) return {};
  const int64_t fit = most / std::max<int64_t>(each, 1) - test;
  return fail("E0292",
              fmt::format("{} samples of {} take {}, and the board {} has {} of ROM for samples, weights and program",
                          train + test, base::show_bytes(each), base::show_bytes((train + test) * each), board.name,
                          base::show_bytes(most)),
              "--samples",
              fit > 0 ? fmt::format("emit fewer than {} of them with --samples, or name another --board", fit)
                      : "emit fewer --test-samples, or name another --board");
}

// The samples of the project, if it has some.
Result<void> add_samples(const FirmwareRequest& request, const PlannedStep& step, emit::Firmware& firmware) {
  const FirmwareOptions& options = request.options;
  if (!options.data) return {};
  PANTOUM_ASSIGN(const data::TrainTest data, open_training_data({*options.data, request.data, {}}, step.wanted));
  PANTOUM_TRY(check_room(options, data));
  PANTOUM_TRY(check_labels(data, step.labels));
  PANTOUM_ASSIGN(firmware.training, sample_rows(data.train, step, request.preparation, options.samples.value_or(0)));
  if (options.test_samples) {
    PANTOUM_ASSIGN(firmware.test, sample_rows(data.test, step, request.preparation, *options.test_samples));
  }
  if (step.features.empty()) return {};
  const int64_t limit = step.model.options.feature_cache->count();
  const int64_t bytes = step.feature_row_bytes * firmware.training.count;
  if (bytes <= limit) return {};
  return fail("E0289",
              fmt::format("the features of {} samples take {}, the plan's --feature-cache allows {}",
                          firmware.training.count, base::show_bytes(bytes), base::show_bytes(limit)),
              "--samples", "emit fewer samples, or plan with a larger --feature-cache, or without");
}

Result<void> set_run(const FirmwareRequest& request, const PlannedStep& step, emit::Firmware& firmware) {
  const FirmwareOptions& options = request.options;
  Optimizer optimizer = step.model.options.optimizer;
  firmware.lr = options.lr.value_or(settings::learning_rate(optimizer));
  for (const ParameterGroup& group : step.model.options.groups)
    firmware.groups.push_back({group.lr.value_or(-1), group.weight_decay.value_or(-1)});
  PANTOUM_ASSIGN(firmware.schedule, train::parse_schedule(options.schedule, "--schedule"));
  firmware.seed = options.seed;
  firmware.steps = options.steps.value_or(static_cast<uint64_t>(step.settings.steps.value_or(kSteps)));
  firmware.energy_j = step.plan.predicted.energy_j;
  firmware.target = options.target;
  firmware.board = options.board.value_or("");
  firmware.plan_path = request.plan_path;
  firmware.endurance = static_cast<uint64_t>(options.endurance.count());
  firmware.check_blocks = options.check_blocks;
  firmware.storage_image = options.storage_image;
  firmware.layout = options.layout;
  firmware.stack_bytes = static_cast<uint64_t>(options.stack.value_or(pantoum::Bytes()).count());
  const pantoum::Bytes planned(step.plan.question.budget_bytes() + step.settings.reserve.count());
  firmware.ram_bytes = static_cast<uint64_t>(options.ram.value_or(planned).count());
  return {};
}

constexpr const char* kOtherKernels = "plan with --kernels portable, or for a device other than the host";

// A plan of inference has one program, whose parameters may be folded: neither weights nor a run can be given to it.
Result<void> check_trains(const ModelOptions& options, const std::string& where) {
  if (options.inference)
    return fail("E0291", "firmware trains; the plan is one of inference", where,
                "plan without --inference; pantoum export writes a model for inference");
  return {};
}

}  // namespace

Result<void> check_for_firmware(const PlannedStep& step, const std::string& where) {
  PANTOUM_TRY(check_trains(step.model.options, where));
  if (step.model.options.accumulate > 1)
    return fail("E0291", "firmware takes a step's batch at once; the plan is of micro-batches", where,
                "plan without --accumulate");
  if (step.model.options.split_update)
    return fail("E0291", "firmware takes a step as one program; the plan has gradients and update apart", where,
                "plan without split_update");
  if (step.kernels->back_end() != nullptr)
    return fail("E0291", "the plan is of kernels that firmware does not have", where, kOtherKernels);
  return {};
}

Result<PlannedStep> step_for_firmware(const problem::Plan& plan, const FirmwareRequest& request,
                                      const std::optional<std::string>& model) {
  using Choice = host::KernelSet::Choice;
  const std::string& where = request.plan_path;
  PANTOUM_ASSIGN(PlanRecord record, record_of(plan, where));
  PANTOUM_TRY(check_trains(record.model.options, where));
  if (model) record.model.path = *model;
  if (request.options.weights) record.model.options.weights = request.options.weights;
  const bool other_kernels = record.request.device == "host" && record.request.kernels != Choice::kPortable;
  if (other_kernels) record.request.kernels = Choice::kPortable;
  PANTOUM_TRY(emit::check_layout(request.options.folder, request.options.layout));
  PANTOUM_ASSIGN(const std::string contents, contents_path(request.options.folder));
  Result<PlannedStep> step = step_of_plan(plan, record.model, std::move(record.request), contents);
  if (!step && step.error().code == "E0231" && other_kernels)
    return fail("E0291", "the plan is of another training step, or of kernels that firmware does not have", where,
                kOtherKernels);
  if (step) PANTOUM_TRY(check_for_firmware(*step, where));
  return step;
}

Result<std::string> contents_path(const std::string& project) {
  PANTOUM_ASSIGN(emit::ProjectFolder folder, emit::ProjectFolder::open(project));
  const std::string name = "model/contents.safetensors";
  PANTOUM_TRY(folder.claim({name}));
  return folder.path_of(name);
}

Result<emit::FirmwareSizes> prepare_firmware(const PlannedStep& step, const FirmwareRequest& request) {
  const FirmwareOptions& options = request.options;
  PANTOUM_TRY(settings::check(settings::fields_of(const_cast<FirmwareOptions&>(options)), "FirmwareOptions"));
  PANTOUM_TRY(emit::check_layout(options.folder, options.layout));
  PANTOUM_ASSIGN(const std::string contents, contents_path(options.folder));
  PANTOUM_ASSIGN(const weights::SafetensorFile weights, weights::open_safetensors(contents));
  emit::Firmware firmware{.name = step.name, .plan = step.binary, .engines = step.engines, .weights = &weights};
  firmware.inputs = batch_names(step);
  firmware.features = feature_names(step);
  set_classes(step, firmware);
  PANTOUM_TRY(add_samples(request, step, firmware));
  PANTOUM_TRY(set_run(request, step, firmware));
  return emit::emit_firmware(firmware, options.folder);
}

}  // namespace pantoum::pipeline
