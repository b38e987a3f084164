#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/foreign_text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/ini_settings.h"
#include "cli/interrupt.h"
#include "cli/metered_run.h"
#include "cli/output.h"
#include "cli/plan_summary.h"
#include "cli/planning.h"
#include "cli/resume.h"
#include "cli/run_log.h"
#include "cli/run_reporter.h"
#include "data/dataset.h"
#include "pipeline/ini_files.h"
#include "pipeline/planned_step.h"
#include "plan/planner.h"
#include "problem/plan_json.h"
#include "report/report.h"
#include "train/checkpoint.h"

namespace pantoum::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TrainOptions {
  Common common;
  StepAsked step;
  TrainerOptions trainer;
  FitOptions fit;
  DataOptions samples;
  std::vector<std::string> dump_after;
  std::string data, output, plan_output, log, report, resume, meter;
  int64_t log_every = 20;
  // What the user names, and does not leave to a plan, a checkpoint or a default.
  std::optional<uint64_t> seed = {};
  std::optional<bool> shuffle = {};
  NamedKernels kernels = {};

  [[nodiscard]] const std::string& checkpoint() const { return *fit.checkpoint; }
};

// What the words ask for.
struct Asked {
  pipeline::TrainingRequest training;
  pipeline::Dump dump;
};

using Resumed = std::optional<train::ResumePoint>;

std::string beside(const std::string& output, const char* name) {
  return (std::filesystem::path(output).parent_path() / name).string();
}

void fill_in(TrainOptions& options) {
  if (options.plan_output.empty()) options.plan_output = options.output + ".plan.json";
  if (options.log.empty()) options.log = options.output + ".jsonl";
  if (!options.fit.checkpoint) options.fit.checkpoint = options.output + ".checkpoint";
  if (!options.samples.cache_folder) options.samples.cache_folder = beside(options.output, ".cache");
}

bool writes_bin(const TrainOptions& options) {
  return options.output.ends_with(".bin") && pipeline::is_ini_model(options.step.model);
}

// Epochs are judged by an accuracy that some output has.
Result<void> check_judge(const TrainOptions& options) {
  const std::vector<Loss>& losses = options.step.options.loss.terms();
  if (options.fit.judge != Judge::accuracy || std::any_of(losses.begin(), losses.end(), autodiff::has_labels))
    return {};
  return fail("E0117", "no output has classes as labels, so that there is no accuracy", "--judge", "judge by the loss");
}

Result<Asked> read_words(const TrainOptions& options) {
  PANTOUM_TRY(check_beside_plan(options.step));
  Asked asked;
  pipeline::TrainingRequest& training = asked.training;
  training.data = {options.data, options.samples, {}};
  PANTOUM_ASSIGN(training.data.preparation, pipeline::preparation_of(options.trainer));
  PANTOUM_TRY(train::parse_schedule(options.trainer.schedule, "--schedule"));
  training.model = model_of(options.step);
  PANTOUM_ASSIGN(training.plan, plan_of(options.step, options.meter.empty() ? "" : "energy"));
  PANTOUM_TRY(check_judge(options));
  PANTOUM_ASSIGN(asked.dump, dump_of(options.dump_after));
  training.plan.settings.epochs = static_cast<int64_t>(options.fit.epochs);
  training.plan_path = options.plan_output;
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
  if (!kept_command().empty()) event["command"] = kept_command();
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
  if (options.step.planned) request.reuse = &options.step.planned->plan;
  if (resumed) PANTOUM_TRY(take_kernels_of(*resumed, options.kernels, request.plan));
  if (resumed && request.reuse == nullptr && has_kernels_of(*resumed, options.kernels))
    PANTOUM_TRY(pipeline::keep_numerics(resumed->progress.numerics, resumed->path, request.plan));
  ProgressLine line(options.common.json());
  line.phase("preparing " + options.step.model);
  attach(request.plan.options, line);
  attach_measuring(request.plan.measuring, line);
  const pipeline::Listener listener{
      .dump = asked.dump,
      .note = print_note,
      .warning = print_warning,
      .compiled = [&](const ir::Graph& training) -> Result<void> {
        return resumed ? check_resume_point(*resumed, training) : Result<void>();
      },
      .planned = [&](const pipeline::Compiled& compiled, const data::TrainTest& data) -> Result<void> {
        const int64_t batch = pipeline::batch_of(compiled) * compiled.model.options.accumulate;
        PANTOUM_TRY(train::check_length(std::max<int64_t>(1, batch), data.train.count(), options.fit.epochs));
        if (data.test.count() == 0)
          print_note(
              "the data hold no test set, so that nothing is evaluated: name one "
              "with --test-data, or hold samples out with --val-split 0.1");
        return report_plan(compiled, request.plan.expression, data, options.common.json(), log);
      }};
  plan::Infeasible infeasible;
  auto prepared = pipeline::prepare_training(request, listener, &infeasible);
  if (prepared) return prepared;
  PANTOUM_TRY(report_infeasible(prepared.error(), infeasible, options.common, {}));
  return Failure(with_origin_of_kernels(unless_interrupted(prepared.error()), options.kernels,
                                        resumed ? resumed->path : options.step.plan_input));
}

Result<void> write_report(const TrainOptions& options) {
  if (options.report.empty()) return {};
  PANTOUM_ASSIGN(problem::Plan plan, problem::read_plan(options.plan_output));
  PANTOUM_ASSIGN(const report::CheckedPlan checked, report::check_plan(std::move(plan)));
  report::ReportRequest request{
      .plan = checked, .next = {}, .version = PANTOUM_VERSION, .plan_file = options.plan_output};
  PANTOUM_ASSIGN(request.logs, report::read_logs({options.log}));
  PANTOUM_ASSIGN(const Json report, report::report_json(request));
  return base::write_file_atomically(options.report, report::to_html(report));
}

Result<std::unique_ptr<train::Trainer>> start(const TrainOptions& options, const Asked& asked, const Resumed& resumed,
                                              const pipeline::PreparedTraining& prepared) {
  const pipeline::PlannedStep& step = prepared.step;
  if (resumed) note_other_bits(*resumed, step.kernels->name(), step.threads);
  PANTOUM_ASSIGN(const std::string fingerprint, data::fingerprint_of(prepared.data.train));
  PANTOUM_ASSIGN(train::TrainerOptions settings, pipeline::trainer_options(step, *step.kernels, options.trainer));
  settings.other_kernels = options.kernels.has_value();
  settings.data = fingerprint;
  settings.samples = prepared.data.train.count();
  PANTOUM_ASSIGN(std::unique_ptr<train::Trainer> trainer,
                 train::Trainer::create(prepared.step.binary, asked.training.weights_path, settings));
  if (resumed) {
    PANTOUM_TRY(trainer->resume(resumed->path));
    return trainer;
  }
  PANTOUM_ASSIGN(const std::optional<pipeline::ContinuedBin> bin, pipeline::continued_bin(asked.training.model));
  if (!bin) return trainer;
  PANTOUM_TRY(trainer->take_state(bin->file, bin->iteration));
  print_note(fmt::format("the training goes on behind iteration {} of {}: the model's file has continue_train = true",
                         bin->iteration, bin->file.path));
  return trainer;
}

// The data that steps and evaluations read; the features stand for the training set where they are kept.
Result<data::TrainTest> data_of_run(const TrainOptions& options, pipeline::PreparedTraining& prepared,
                                    train::Trainer& trainer, RunLog& log) {
  if (prepared.step.features.empty()) return std::move(prepared.data);
  const auto begun = std::chrono::steady_clock::now();
  ProgressLine line(options.common.json());
  line.phase("computing the features of the frozen part");
  data::TrainTest data;
  PANTOUM_ASSIGN(data.train,
                 trainer.make_features(prepared.data.train, options.trainer.page_file.value_or(""), interrupted()));
  data.test = std::move(prepared.data.test);
  PANTOUM_TRY(
      log.write({{"event", "features"},
                 {"samples", data.train.count()},
                 {"bytes", prepared.feature_bytes},
                 {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()}}));
  return data;
}

// "17.3 ms a step (planned: 15.1 ms)". A step of micro-batches has a time that no plan says.
std::string step_time(const Json& end, const ReportedRun& run) {
  if (!end.contains("step_s")) return "";
  std::string text = fmt::format(", {} a step", base::show_seconds(end["step_s"].get<double>()));
  if (run.step.model.options.accumulate > 1) return text;
  const bool modelled = problem::time_source(run.step.plan.graph.device) == "modelled";
  return text + fmt::format(" ({}: {})", modelled ? "modelled" : "planned", base::show_seconds(run.step.found.time_s));
}

std::string end_text(const Json& end, const ReportedRun& run, const train::RunSummary& summary,
                     const std::string& output) {
  const uint64_t all = run.trainer.steps_done();
  const std::string trained = summary.ran == 0
                                  ? fmt::format("nothing to train: all {} steps were done before", all)
                                  : fmt::format("{} step{} in {}{}{}", summary.ran, summary.ran == 1 ? "" : "s",
                                                base::show_seconds(summary.seconds), step_time(end, run),
                                                summary.ran == all ? "" : fmt::format(", {} with those before", all));
  return fmt::format("trained  {}{};{} RAM grew by {} beside an arena of {}; weights in {}", trained,
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

// As safetensors; of an .ini model also as NNTrainer's .bin, where the name ends so.
Result<void> save_weights(const TrainOptions& options, train::Trainer& trainer) {
  PANTOUM_TRY(trainer.save(options.output));
  if (!writes_bin(options)) return {};
  return pipeline::write_as_bin(options.step.model, options.output, options.output);
}

// Trains to the end, or until Ctrl-C; the weights are written in the first case alone.
Result<int> run_to_end(const TrainOptions& options, train::Trainer& trainer, const data::TrainTest& data,
                       std::span<uint32_t> indices, const ReportedRun& reported, train::OldCheckpoint old_checkpoint,
                       MeteredRun& metered, RunLog& log) {
  PANTOUM_TRY(metered.begin(interrupted()));
  RunReporter reporter(reported, log, options.log_every, options.common.json());
  const FitOptions& fit = options.fit;
  train::RunOptions run{.epochs = fit.epochs,
                        .checkpoint_every = fit.checkpoint_every.value_or(0),
                        .checkpoint = options.checkpoint(),
                        .old_checkpoint = old_checkpoint,
                        .judge = {.by_accuracy = fit.judge == Judge::accuracy,
                                  .patience = fit.patience.value_or(0),
                                  .best = fit.keep_best.value_or("")},
                        .max_seconds = fit.max_time.value_or(Seconds(0)).count(),
                        .on_steps = [&](bool steps) { metered.on_steps(steps); },
                        .stop = interrupted(),
                        .indices = indices};
  run.progress = [&](const FitProgress& progress) {
    metered.step();
    reporter.step(progress);
  };
  run.log = [&](const train::RunEvent& event) { reporter.event(event); };
  const Result<train::RunSummary> ran = train::run_training(trainer, data, run);
  if (!ran) return with_label(ran.error(), data, reported.step.labels);
  const train::RunSummary& summary = *ran;
  Json end = end_event(reported, summary);
  const RunEnergy energy = metered.finish(static_cast<int64_t>(summary.ran), reported.step.energy_j);
  add_energy(end, energy);
  if (summary.interrupted) {
    PANTOUM_TRY(log.write(end));
    PANTOUM_TRY(write_report(options));
    return fail("E0999", fmt::format("interrupted after step {}; a checkpoint was written", trainer.steps_done()),
                options.checkpoint(), "go on with --resume " + options.checkpoint());
  }
  PANTOUM_TRY(save_weights(options, trainer));
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
          {"--checkpoint", options.checkpoint()},
          {"--log", options.log},
          {"--keep-best", options.fit.keep_best.value_or("")}};
}

Result<void> check_outputs(const TrainOptions& options) {
  std::vector<NamedOutput> outputs = written_while_running(options);
  outputs.push_back({"--plan-out", options.plan_output});
  outputs.push_back({"--report", options.report});
  PANTOUM_TRY(check_distinct(outputs));
  // What stands there beside them, and goes or is written.
  outputs.push_back({"--checkpoint", train::previous_checkpoint(options.checkpoint())});
  outputs.push_back({"--output", options.output + ".initial"});
  return check_no_input(outputs, {{"MODEL", options.step.model},
                                  {"--weights", options.step.options.weights.value_or("")},
                                  {"--contributions", options.step.options.contributions.value_or("")}});
}

Result<void> log_resume(const Resumed& resumed, RunLog& log) {
  if (!resumed) return {};
  Json event{{"event", "resume"}, {"from", resumed->path}, {"step", resumed->progress.step}};
  if (resumed->damaged) event["damaged"] = resumed->damaged->message;
  return log.write(event);
}

Result<int> train_model(TrainOptions options) {
  if (options.data.empty())
    return fail("E0100", "--data PATH is missing: the model's file names no training data", options.step.model,
                "give --data, or write [train_set] with a path into the file");
  const std::stop_token stop = interrupted();  // from here on a signal lets the run end in good order
  fill_in(options);
  PANTOUM_ASSIGN(const Asked asked, read_words(options));
  PANTOUM_TRY(check_outputs(options));
  PANTOUM_ASSIGN(MeteredRun metered, MeteredRun::open(options.meter));
  PANTOUM_ASSIGN(const std::vector<base::FileLock> locks, lock_all(written_while_running(options)));
  PANTOUM_ASSIGN(const Resumed resumed, resume_point_of(options.resume, options.seed, options.shuffle));
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
  PANTOUM_TRY(log.begin());
  PANTOUM_ASSIGN(const data::TrainTest data, data_of_run(options, prepared, *trainer, log));
  const ReportedRun reported{
      prepared.step, *trainer, {options.step.options.loss.terms(), options.step.options.metrics.perplexity}};
  return run_to_end(options, *trainer, data, indices, reported,
                    old_checkpoint_of(resumed, options.resume, options.checkpoint()), metered, log);
}

}  // namespace

void add_train(CommandLine& line) {
  auto options = std::make_shared<TrainOptions>();
  Verb verb = line.add_verb("train", "trains a model inside a RAM budget");
  StepAsked& step = options->step;
  verb.add_option("MODEL", step.model, "an ONNX model; with --plan, the one of the plan without it").required("--plan");
  verb.add_option("-o,--output", options->output, "the trained weights (safetensors)").required().is(Kind::kOutput);
  add_plan_input(verb, step, "a plan made earlier for this step, from which all settings of the step are taken",
                 [options = options.get()](const PlanOptions& planned) {
                   options->trainer.prefetch = planned.prefetch;
                   if (planned.epochs) options->fit.epochs = static_cast<uint64_t>(*planned.epochs);
                 });
  add_plugins(verb);
  add_ini_settings(verb, {.model = &step.options,
                          .trainer = &options->trainer,
                          .fit = &options->fit,
                          .samples = &options->samples,
                          .data = &options->data});
  verb.add_option("--plan-out", options->plan_output, "file for the plan (default: OUTPUT.plan.json)");
  verb.add_option("--log", options->log,
                  "file for the run log, JSON lines; continued with --resume (default: OUTPUT.jsonl)");
  verb.add_option("--log-every", options->log_every, "steps between lines of the run log").steps();
  verb.add_option("--report", options->report, "file for an HTML page about plan and run");
  verb.add_option("--meter", options->meter,
                  "measure the joules of the steps by auto, powercap, perf, hwmon, battery, nvml, or a recording, "
                  "csv:FILE,trigger=COLUMN (docs/energy.md) (default: energy is modelled)")
      .known(cost::meter_words());
  verb.add_option("--resume", options->resume,
                  "checkpoint to go on from; where it is damaged, the one before it is taken");
  verb.add_option("--data", options->data,
                  "the data set: a folder or file of IDX, NPY, NPZ, CIFAR-10, CSV, pictures or raw numbers (default: "
                  "the one that "
                  "an .ini model names)")
      .required_unless("MODEL",
                       [](const std::string& path) { return is_named_or_holds(path, ".ini", base::Contents::kIni); });
  verb.add_settings(settings::fields_of(options->fit));
  verb.add_settings(settings::fields_of(options->samples));
  verb.add_settings(settings::fields_of(options->trainer));
  add_step_settings(verb, step, {"inference", "split_update", "steps", "samples", "planner"});
  add_dump_option(verb, options->dump_after);
  add_common(verb, options->common);
  const Option seed = verb.option("--seed"), shuffle = verb.option("--shuffle"), kernels = verb.option("--kernels");
  verb.does([=] {
    TrainOptions given = *options;
    if (seed.was_given()) given.seed = given.trainer.seed;
    if (shuffle.was_given()) given.shuffle = given.trainer.shuffle;
    if (kernels.was_given()) given.kernels = given.step.plan.kernels;
    return train_model(std::move(given));
  });
}

}  // namespace pantoum::cli
