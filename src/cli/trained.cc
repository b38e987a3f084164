#include "cli/trained.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/contents.h"
#include "cli/ini_settings.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "ini/model.h"
#include "pipeline/prepare_training.h"
#include "problem/plan_json.h"

namespace pantoum::cli {
namespace {

constexpr std::array kOfModel{"--batch", "--loss", "--ram", "--reserve", "--kernels", "--threads", "--params-in"};
constexpr int64_t kMostBatch = 32;

// A step of a plan, with other weights.
Result<pipeline::PlannedStep> step_of_file(const TrainedAsked& asked, const std::string& contents) {
  if (!asked.of_model.empty())
    return fail("E0231", fmt::format("the plan says itself what {} is", asked.of_model.front()), asked.of_model.front(),
                "leave it out, or name the model in place of the plan");
  PANTOUM_ASSIGN(const problem::Plan plan, problem::read_plan(asked.file));
  PANTOUM_ASSIGN(pipeline::PlanRecord record, pipeline::record_of(plan, asked.file));
  if (record.model.options.inference)
    return fail("E0231", "the plan is one of inference, which has no weights of its own", asked.file,
                "make a plan without --inference, or name the model");
  record.model.options.weights = asked.weights;
  record.model.options.keep_init.clear();
  return pipeline::step_of_plan(plan, record.model, std::move(record.request), contents);
}

Result<pipeline::PlannedStep> step_of_batch(const pipeline::ModelRequest& model, const TrainedAsked& asked, bool labels,
                                            const std::string& contents) {
  StepAsked step = asked.step;
  step.model = model.path, step.options = model.options;
  PANTOUM_ASSIGN(pipeline::PlanRequest request, plan_of(step));
  request.rewrite.search = false;
  request.outputs_alone = !labels;
  PANTOUM_ASSIGN(pipeline::Compiled compiled, pipeline::compile_model(model, request));
  if (const Result<void> planned = pipeline::plan_model(compiled, request); !planned)
    return Failure(pipeline::with_leaner_options(planned.error(), compiled, request));
  return pipeline::finish_step(compiled, request, contents);
}

Result<pipeline::PlannedStep> step_of_loss(const TrainedAsked& asked, const Losses& loss, bool labels,
                                           const std::string& contents) {
  pipeline::ModelRequest model = model_of(asked.step);
  model.path = asked.file;
  if (!asked.weights.empty()) model.options.weights = asked.weights;
  model.options.loss = loss;
  if (model.options.batch) return step_of_batch(model, asked, labels, contents);
  std::optional<Error> first;
  for (int64_t batch = kMostBatch; batch > 0; batch /= 2) {
    model.options.batch = batch;
    Result<pipeline::PlannedStep> step = step_of_batch(model, asked, labels, contents);
    if (step) return step;
    if (step.error().code == "E0301" || step.error().code == "E0302") {
      first = step.error();  // of the smallest batch in the end
      continue;
    }
    model.options.batch.reset();  // the model has a batch of its own
    return step_of_batch(model, asked, labels, contents);
  }
  return Failure(*std::move(first));
}

// Outputs are the same whatever the loss: where none is given, one that fits them. Without labels the outputs alone are planned.
Result<pipeline::PlannedStep> step_of_model(const TrainedAsked& asked, bool labels, const std::string& contents) {
  if (labels || asked.has_loss) return step_of_loss(asked, asked.step.options.loss, labels, contents);
  const bool is_captured = asked.step.options.loss.terms().front().name == "captured";  // by the model's file
  if (is_captured || base::contents_of(asked.file) == base::Contents::kTorchGraph)
    if (Result<pipeline::PlannedStep> step = step_of_loss(asked, "captured", labels, contents);
        step || step.error().code != "E0403")
      return step;
  return step_of_loss(asked, "mse", labels, contents);
}

Result<std::vector<const data::Dataset*>> parts_of(const data::TrainTest& data, const TrainedAsked& asked) {
  const bool has_test = data.test.count() > 0;
  const std::string& split = asked.split;
  if (split == "all") return has_test ? std::vector{&data.train, &data.test} : std::vector{&data.train};
  if (split == "test" && !has_test)
    return fail("E0262", "the data hold no test set", asked.data, "name it with --test-data, or give --split train");
  if (split == "train" || (split.empty() && !has_test)) return std::vector{&data.train};
  return std::vector{&data.test};
}

// A .tflite file, or an .ini file of backbones and layers without weights.
bool has_own_weights(const std::string& path) {
  if (is_named_or_holds(path, ".tflite", base::Contents::kTflite)) return true;
  if (base::contents_of(path) != base::Contents::kIni) return false;
  const Result<ini::Model> model = ini::read_model(path);
  return model && model->stored.empty();
}

}  // namespace

int64_t TrainedModel::count() const {
  int64_t count = 0;
  for (const data::Dataset* part : parts) count += part->count();
  return count;
}

void add_trained_options(Verb& verb, TrainedAsked& asked, const std::vector<std::string>& splits) {
  asked.step.plan.measure = Measure::off;
  asked.step.plan.effort = 1;
  verb.add_option("MODEL", asked.file, "a plan of `pantoum plan` or `pantoum train`, or a model")
      .required()
      .is(Kind::kStep);
  add_plugins(verb);
  add_ini_settings(verb, {.model = &asked.step.options, .trains = false});
  verb.add_option("--weights", asked.weights,
                  "the trained weights, or a checkpoint (safetensors; default: those of a .tflite model itself, or of "
                  "the backbones of an .ini model)")
      .required_unless("MODEL", has_own_weights);
  verb.add_option("--data", asked.data,
                  "the data set: a folder or file of IDX, NPY, NPZ, CIFAR-10, CSV, pictures or raw numbers")
      .required();
  verb.add_option("--split", asked.split, "which samples (default: the only ones there, else test)").one_of(splits);
  verb.add_settings_of(settings::fields_of(asked.step.options), {"batch", "loss", "params_in"});
  verb.add_settings_of(plan_fields(asked.step), {"ram", "reserve", "kernels", "threads"});
  verb.add_settings(settings::fields_of(asked.samples));
  verb.add_settings_of(settings::fields_of(asked.trainer), {"normalize", "page_file", "page_encryption", "direct_io"});
}

void see_given(const Verb& verb, TrainedAsked& asked) {
  Verb of = verb;
  asked.of_model.clear();
  for (const char* name : kOfModel)
    if (of.option(name).was_given()) asked.of_model.emplace_back(name);
  asked.has_loss = of.option("--loss").was_given();
}

Result<TrainedModel> open_trained(const TrainedAsked& asked, bool labels) {
  TrainedModel made;
  // A file of TensorFlow Lite is a trained model itself, and so are backbones.
  PANTOUM_ASSIGN(made.contents, base::TemporaryPath::create("weights.safetensors"));
  DataOptions samples = asked.samples;
  if (!samples.cache_folder) {
    PANTOUM_ASSIGN(made.cache, base::TemporaryPath::create("cache"));
    samples.cache_folder = made.cache->path();
  }
  const bool is_plan = base::contents_of(asked.file) == base::Contents::kPlan;
  ProgressLine line(asked.common.json());
  line.phase("planning " + asked.file);
  PANTOUM_ASSIGN(made.step, is_plan ? step_of_file(asked, made.contents->path())
                                    : step_of_model(asked, labels, made.contents->path()));
  for (const std::string& note : made.step.weight_notes) print_note(note);
  pipeline::DataRequest request{asked.data, samples, {}};
  PANTOUM_ASSIGN(request.preparation, pipeline::preparation_of(asked.trainer));
  data::Wanted wanted = made.step.wanted;
  wanted.labels = labels;
  PANTOUM_ASSIGN(data::TrainTest data, pipeline::open_training_data(request, wanted));
  made.data = std::make_unique<data::TrainTest>(std::move(data));
  PANTOUM_ASSIGN(made.parts, parts_of(*made.data, asked));
  PANTOUM_ASSIGN(const train::TrainerOptions settings,
                 pipeline::trainer_options(made.step, *made.step.kernels, asked.trainer));
  ::malloc_trim(0);  // the compiler's memory is given back before the arena is made
  PANTOUM_ASSIGN(made.trainer, train::Trainer::create(made.step.binary, made.contents->path(), settings));
  return made;
}

}  // namespace pantoum::cli
