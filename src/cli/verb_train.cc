#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/foreign_text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/data_options.h"
#include "cli/interrupt.h"
#include "cli/metered_run.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "cli/page_of_run.h"
#include "cli/page_options.h"
#include "cli/plan_summary.h"
#include "cli/planning.h"
#include "cli/resume.h"
#include "cli/run_options.h"
#include "cli/run_outputs.h"
#include "cli/run_reporter.h"
#include "data/fingerprint.h"
#include "pipeline/numerics.h"
#include "plan/planner.h"
#include "problem/plan_json.h"
#include "report/report.h"

namespace pantoum::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TrainOptions {
  Common common;
  ModelWords model;
  PlanWords plan;
  RunWords run;
  DataWords data;
  std::string output, plan_input, plan_output, log, report, resume, checkpoint, meter;
  PageWords pages;
  bool keeps_other_plan = false;  // under a name that the user did not give
  int64_t epochs = 1, checkpoint_every = 0, log_every = 20;
};

// What the words ask for.
struct Asked {
  pipeline::TrainingRequest training;
  pipeline::Dump dump;
  train::Schedule schedule;
};

using Resumed = std::optional<train::ResumePoint>;

std::string beside(const std::string& output, const char* name) {
  return (std::filesystem::path(output).parent_path() / name).string();
}

void fill_in(TrainOptions& options) {
  options.keeps_other_plan = options.plan_output.empty();
  if (options.keeps_other_plan) options.plan_output = beside(options.output, "plan.json");
  if (options.log.empty()) options.log = options.output + ".jsonl";
  if (options.checkpoint.empty()) options.checkpoint = options.output + ".checkpoint";
}

Result<Asked> read_words(const TrainOptions& options) {
  Asked asked;
  pipeline::TrainingRequest& training = asked.training;
  PANTOUM_ASSIGN(training.data, data_request(options.data, options.output));
  PANTOUM_ASSIGN(asked.schedule, schedule_of(options.run.rate));
  PANTOUM_ASSIGN(training.model, model_options(options.model));
  PANTOUM_TRY(check_judge(options.run, training.model.training));
  PANTOUM_ASSIGN(training.plan, plan_request(options.plan));
  PANTOUM_ASSIGN(asked.dump, dump_of(options.plan));
  training.plan.measure.page_folder = options.pages.file;
  training.plan.measure.page_encryption = options.pages.encrypt();
  training.plan.length.epochs = options.epochs;
  training.plan_path = options.plan_output;
  training.keeps_other_plan = options.keeps_other_plan;
  training.weights_path = options.output + ".initial";
  return asked;
}

// Tells of the plan before anything is written.
Result<void> report_plan(const pipeline::Compiled& compiled, const std::string& expression, const data::TrainTest& data,
                         bool json, RunLog& log) {
  PlanSummary summary = summary_of(compiled);
  summary.expression = expression;
  if (!json) print_result(to_text(summary));
  std::fflush(stdout);
  Json event = to_json(summary);
  event["event"] = "plan";
  PANTOUM_TRY(log.write(event));
  return log.write({{"event", "data"},
                    {"format", data.train.format},
                    {"train_samples", data.train.count()},
                    {"test_samples", data.test.count()},
                    {"classes", data.train.classes}});
}

Result<pipeline::PreparedTraining> prepare(const TrainOptions& options, const Asked& asked, const Resumed& resumed,
                                           RunLog& log) {
  pipeline::TrainingRequest request = asked.training;
  std::optional<problem::Plan> warm_start, reuse;
  PANTOUM_TRY(attach_warm_start(request.plan, options.plan.warm_start, warm_start));
  if (!options.plan_input.empty()) {
    PANTOUM_ASSIGN(reuse, problem::read_plan(options.plan_input));
    request.reuse = &*reuse;
    PANTOUM_TRY(take_kernels_of(*reuse, options.plan_input, options.plan.kernels, request.plan));
  }
  if (resumed) PANTOUM_TRY(take_kernels_of(*resumed, options.plan.kernels, request.plan));
  if (resumed && !reuse && has_kernels_of(*resumed, options.plan.kernels))
    PANTOUM_TRY(pipeline::keep_numerics(resumed->progress.numerics, resumed->path, request.plan));
  ProgressLine line(options.common.json());
  line.phase("preparing " + options.model.model);
  attach(request.plan.options, line);
  attach_measuring(request.plan.measure, line);
  const pipeline::Listener listener{.dump = asked.dump,
                                    .note = print_note,
                                    .warning = print_warning,
                                    .planned = [&](const pipeline::Compiled& compiled, const data::TrainTest& data) {
                                      return report_plan(compiled, request.plan.expression, data, options.common.json(),
                                                         log);
                                    }};
  plan::Infeasible infeasible;
  auto prepared = pipeline::prepare_training(request, listener, &infeasible);
  if (prepared) return prepared;
  PANTOUM_TRY(report_infeasible(prepared.error(), infeasible, options.common, {}));
  return Failure(with_origin_of_kernels(unless_interrupted(prepared.error()), options.plan.kernels,
                                        resumed ? resumed->path : options.plan_input));
}

Result<void> write_report(const TrainOptions& options) {
  if (options.report.empty()) return {};
  PANTOUM_ASSIGN(const PageOfRun run, PageOfRun::read(options.plan_output, {options.log}));
  PANTOUM_ASSIGN(const Json report, run.report(nullptr, std::nullopt));
  return base::write_file_atomically(options.report, report::to_html(report));
}

Result<std::unique_ptr<train::Trainer>> start(const TrainOptions& options, const Asked& asked, const Resumed& resumed,
                                              const pipeline::PreparedTraining& prepared) {
  const pipeline::ModelOptions& model = asked.training.model;
  if (resumed) note_other_bits(*resumed, prepared.kernels->name(), asked.training.plan.kernel_threads);
  PANTOUM_ASSIGN(const std::string fingerprint, data::fingerprint_of(prepared.data.train));
  const train::TrainerOptions settings{.page_file = options.pages.file,
                                       .threads = asked.training.plan.kernel_threads,
                                       .encrypt_pages = options.pages.encrypt(),
                                       .seed = model.seed,
                                       .lr = model.lr,
                                       .schedule = asked.schedule,
                                       .micro_batches = model.training.accumulate,
                                       .plan_hash = prepared.graph_hash,
                                       .kernels = prepared.kernels->table(),
                                       .kernel_name = prepared.kernels->name(),
                                       .numerics = prepared.numerics,
                                       .other_kernels = !options.plan.kernels.empty(),
                                       .data = fingerprint,
                                       .samples = prepared.data.train.count(),
                                       .pool = prepared.kernels->pool(),
                                       .inputs = prepared.inputs,
                                       .features = prepared.features,
                                       .prefetch = asked.training.data.prefetch,
                                       .preparation = asked.training.data.preparation};
  PANTOUM_ASSIGN(std::unique_ptr<train::Trainer> trainer,
                 train::Trainer::create(prepared.binary, asked.training.weights_path, settings));
  if (resumed) PANTOUM_TRY(trainer->resume(resumed->path));
  return trainer;
}

// The data that steps and evaluations read; the features stand for the training set where they are kept.
Result<data::TrainTest> data_of_run(const TrainOptions& options, pipeline::PreparedTraining& prepared,
                                    train::Trainer& trainer, RunLog& log) {
  if (prepared.features.empty()) return std::move(prepared.data);
  const auto begun = std::chrono::steady_clock::now();
  ProgressLine line(options.common.json());
  line.phase("computing the features of the frozen part");
  data::TrainTest data;
  PANTOUM_ASSIGN(data.train, trainer.make_features(prepared.data.train, options.pages.file, interrupted()));
  data.test = std::move(prepared.data.test);
  PANTOUM_TRY(
      log.write({{"event", "features"},
                 {"samples", data.train.count()},
                 {"bytes", prepared.feature_bytes},
                 {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()}}));
  return data;
}

std::string end_text(const Json& end, const ReportedRun& run, const train::RunSummary& summary,
                     const std::string& output) {
  return fmt::format("trained  {} steps in {}{};{} RAM grew by {} beside an arena of {}; weights in {}",
                     run.trainer.steps_done(), base::show_seconds(summary.seconds),
                     summary.stopped_early ? ", stopped early" : "",
                     summary.evaluation ? to_text(*summary.evaluation, run.losses) + ";" : "",
                     base::show_bytes(end["rss_growth_bytes"].get<int64_t>()),
                     base::show_bytes(end["arena_bytes"].get<int64_t>()), base::one_line(output));
}

// A step knows that a label is no class; which one it was, the data tell.
Failure with_label(Error error, const data::TrainTest& data, const std::vector<data::LabelRange>& ranges) {
  if (error.code != "E0262") return Failure(std::move(error));
  for (const data::Dataset* each : {&data.train, &data.test})
    if (const Result<void> labels = data::check_labels(*each, ranges); !labels) {
      error.message = labels.error().message, error.where = labels.error().where, error.help = labels.error().help;
      error.notes.insert(error.notes.end(), labels.error().notes.begin(), labels.error().notes.end());
      break;
    }
  return Failure(std::move(error));
}

// Trains to the end, or until Ctrl-C; the weights are written in the first case alone.
Result<int> run_to_end(const TrainOptions& options, train::Trainer& trainer, const data::TrainTest& data,
                       std::span<uint32_t> indices, const ReportedRun& reported, train::OldCheckpoint old_checkpoint,
                       MeteredRun& metered, RunLog& log) {
  PANTOUM_TRY(metered.begin(interrupted()));
  RunReporter reporter(reported, log, options.log_every, options.common.json());
  train::RunOptions run{.epochs = static_cast<uint64_t>(options.epochs),
                        .checkpoint_every = static_cast<uint64_t>(options.checkpoint_every),
                        .checkpoint = options.checkpoint,
                        .old_checkpoint = old_checkpoint,
                        .judge = judge_of(options.run),
                        .on_steps = [&](bool steps) { metered.on_steps(steps); },
                        .stop = interrupted(),
                        .indices = indices};
  run.progress = [&](const train::RunProgress& progress) {
    metered.step();
    reporter.step(progress);
  };
  run.log = [&](const train::RunEvent& event) { reporter.event(event); };
  const Result<train::RunSummary> ran = train::run_training(trainer, data, run);
  if (!ran) return with_label(ran.error(), data, reported.prepared.labels);
  const train::RunSummary& summary = *ran;
  Json end = end_event(reported, summary);
  const RunEnergy energy = metered.finish(static_cast<int64_t>(summary.ran), reported.prepared.energy_j);
  add_energy(end, energy);
  if (summary.interrupted) {
    PANTOUM_TRY(log.write(end));
    PANTOUM_TRY(write_report(options));
    return fail("E0999", fmt::format("interrupted after step {}; a checkpoint was written", trainer.steps_done()),
                options.checkpoint, "go on with --resume " + options.checkpoint);
  }
  PANTOUM_TRY(trainer.save(options.output));
  PANTOUM_TRY(reporter.status());
  PANTOUM_TRY(log.write(end));
  PANTOUM_TRY(write_report(options));
  options.common.json() ? print_json(end)
                        : print_result(end_text(end, reported, summary, options.output) + "\n" + energy_line(energy));
  return 0;
}

// What a run writes while it runs, and at its end.
std::vector<NamedOutput> written_while_running(const TrainOptions& options) {
  return {{"--output", options.output},
          {"--checkpoint", options.checkpoint},
          {"--log", options.log},
          {"--keep-best", options.run.keep_best}};
}

Result<void> check_outputs(const TrainOptions& options) {
  std::vector<NamedOutput> outputs = written_while_running(options);
  outputs.push_back({"--plan-out", options.plan_output});
  outputs.push_back({"--report", options.report});
  return check_distinct(outputs);
}

Result<void> log_resume(const Resumed& resumed, RunLog& log) {
  if (!resumed) return {};
  Json event{{"event", "resume"}, {"from", resumed->path}, {"step", resumed->progress.step}};
  if (resumed->damaged) event["damaged"] = resumed->damaged->message;
  return log.write(event);
}

Result<int> train_model(TrainOptions options) {
  const std::stop_token stop = interrupted();  // from here on a signal lets the run end in good order
  fill_in(options);
  PANTOUM_ASSIGN(const Asked asked, read_words(options));
  PANTOUM_TRY(check_outputs(options));
  PANTOUM_ASSIGN(MeteredRun metered, MeteredRun::open(options.meter));
  PANTOUM_ASSIGN(const std::vector<base::FileLock> locks, lock_all(written_while_running(options)));
  PANTOUM_ASSIGN(const Resumed resumed, resume_point_of(options.resume, options.model.seed, options.model.batch));
  RunLog log(options.log, resumed.has_value());
  PANTOUM_TRY(log_resume(resumed, log));

  // The compiler's memory is given back before the arena is made.
  const TemporaryFile weights(asked.training.weights_path);
  PANTOUM_ASSIGN(pipeline::PreparedTraining prepared, prepare(options, asked, resumed, log));
  if (stop.stop_requested())
    return fail("E0999", "interrupted while planning; the best plan so far was written", options.plan_output);
  std::vector<uint32_t> indices(static_cast<size_t>(prepared.data.train.count()), 0);
  malloc_trim(0);
  PANTOUM_ASSIGN(const std::unique_ptr<train::Trainer> trainer, start(options, asked, resumed, prepared));
  PANTOUM_TRY(train::check_length(*trainer, prepared.data.train.count(), static_cast<uint64_t>(options.epochs)));
  PANTOUM_TRY(log.begin());
  PANTOUM_ASSIGN(const data::TrainTest data, data_of_run(options, prepared, *trainer, log));
  const ReportedRun reported{
      prepared, *trainer, {asked.training.model.training.losses, options.model.loss.perplexity()}};
  return run_to_end(options, *trainer, data, indices, reported,
                    old_checkpoint_of(resumed, options.resume, options.checkpoint), metered, log);
}

}  // namespace

void add_train(CommandLine& line) {
  auto options = std::make_shared<TrainOptions>();
  Verb verb = line.add_verb("train", "trains a model inside a RAM budget");
  verb.add_option("MODEL", options->model.model, "an ONNX model").required();
  verb.add_option("-o,--output", options->output, "the trained weights (safetensors)").required().is(Kind::kOutput);
  verb.add_option("--epochs", options->epochs, "passes over the training set").steps();
  verb.add_option("--plan", options->plan_input, "a plan made earlier for this step");
  verb.add_option("--plan-out", options->plan_output, "the plan (beside the weights without it)");
  verb.add_option("--log", options->log, "the run log, JSON lines (OUTPUT.jsonl without it); continued with --resume");
  verb.add_option("--log-every", options->log_every, "steps between lines of the run log").steps();
  verb.add_option("--report", options->report, "an HTML page about plan and run");
  verb.add_option("--meter", options->meter,
                  "measures the joules of the steps: auto, powercap, perf, hwmon, battery, nvml, or a recording, "
                  "csv:FILE,trigger=COLUMN (docs/energy.md); modelled without it")
      .known(cost::meter_words());
  add_page_options(verb, options->pages, "folder (or file) for what is paged out");
  verb.add_option("--resume", options->resume,
                  "a checkpoint to go on from; where it is damaged, from the one before it");
  verb.add_option(
      "--checkpoint", options->checkpoint,
      "where checkpoints are written (OUTPUT.checkpoint without it); the one before has .previous behind its name");
  verb.add_option("--checkpoint-every", options->checkpoint_every,
                  "steps between checkpoints; 0: only when interrupted")
      .within(0, 1'000'000'000'000'000);
  verb.add_option("--warm-start", options->plan.warm_start, "a plan to start planning from");
  add_run_options(verb, options->run);
  add_data_options(verb, options->data, options->model.feature_cache);
  add_model_options(verb, options->model);
  add_plan_options(verb, options->plan);
  add_common(verb, options->common);
  verb.does([options] { return train_model(*options); });
}

}  // namespace pantoum::cli
