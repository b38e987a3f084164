#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/data_options.h"
#include "cli/evaluation_report.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"
#include "cli/plan_summary.h"
#include "cli/planning.h"
#include "cli/run_log.h"
#include "cli/run_options.h"
#include "host/memory_meter.h"
#include "problem/plan_json.h"
#include "report/report.h"
#include "train/run_loop.h"
#include "train/trainer.h"

namespace pantoum::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  Common common;
  ModelWords model;
  PlanWords plan;
  RunWords run;
  DataWords data;
  std::string output, plan_input, plan_output, log, report, page_file, resume, checkpoint;
  int64_t epochs = 1, checkpoint_every = 0, log_every = 20;
};

// What remains of the compiler once training starts: everything else is given back first.
struct Prepared {
  std::shared_ptr<const host::KernelSet> kernels;
  std::vector<std::byte> binary;
  data::TrainTest data;
  std::vector<std::string> inputs;    // the model's, in its order
  std::vector<std::string> features;  // what a step reads instead, where they are kept
  int64_t feature_bytes = 0;
  ToldLosses told;
  std::string plan_hash;
  double energy_j = 0;
  int64_t budget_bytes = 0, unplanned_peak_bytes = 0, planned_out_bytes = 0, planned_in_bytes = 0;
  std::string plan_json;  // for the report
};

std::string beside(const std::string& output, const char* name) {
  return (std::filesystem::path(output).parent_path() / name).string();
}

std::vector<std::string> names_of(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::vector<std::string> names;
  for (const ir::ValueId value : values) names.push_back(graph.value(value).name);
  return names;
}

// Whether what the compiled backbone gives is more than --feature-cache allows; stderr says so.
Result<bool> is_too_much(const Options& options, const pipeline::Compiled& compiled, int64_t samples) {
  if (!compiled.features) return false;
  PANTOUM_ASSIGN(const int64_t limit, base::parse_bytes(options.data.feature_cache, "--feature-cache"));
  const int64_t bytes = feature_bytes(compiled.training, samples);
  if (bytes <= limit) return false;
  std::fprintf(stderr, "note: the features take %s, more than --feature-cache: none are kept\n",
               base::show_bytes(bytes).c_str());
  return true;
}

Result<Prepared> prepare(const Options& options, RunLog& log, const std::string& weights_path) {
  PANTOUM_ASSIGN(pipeline::ModelOptions model, model_options(options.model));
  PANTOUM_TRY(check_judge(options.run, model.training));
  PANTOUM_ASSIGN(model.cut_features, wants_features(options.data));
  PANTOUM_ASSIGN(pipeline::PlanRequest request, plan_request(options.plan));
  PANTOUM_ASSIGN(const pipeline::Dump dump, dump_of(options.plan));
  request.measure.page_folder = options.page_file;
  std::optional<problem::Plan> warm, reuse;
  PANTOUM_TRY(attach_warm_start(request, options.plan.warm_start, warm));
  if (!options.plan_input.empty()) {
    PANTOUM_ASSIGN(reuse, problem::read_plan(options.plan_input));
  }
  ProgressLine line(options.common.json());
  attach(request.options, line);
  PANTOUM_ASSIGN(pipeline::Compiled compiled, pipeline::compile_model(model, request, dump));
  PANTOUM_ASSIGN(data::TrainTest data, open_data(options.data, beside(options.output, ".cache"), compiled.evaluation));
  PANTOUM_ASSIGN(const bool too_much, is_too_much(options, compiled, data.train.count()));
  if (too_much) {
    model.cut_features = false;
    PANTOUM_ASSIGN(compiled, pipeline::compile_model(model, request, dump));
  }
  for (const std::string& note : compiled.training.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  request.reserve += prefetch_bytes(options.data, compiled.training);
  PANTOUM_TRY(set_finish_within(options.plan.limits, {.epochs = options.epochs, .samples = data.train.count()},
                                pipeline::batch_of(compiled), request));
  plan::Infeasible infeasible;
  Result<pipeline::Planned> planned =
      pipeline::plan_model(compiled, request, reuse ? &*reuse : nullptr, &infeasible, dump);
  if (!planned) {
    PANTOUM_TRY(tell_infeasible(planned.error(), infeasible, options.common, ""));
    return tl::make_unexpected(with_leaner_kernels(planned.error(), compiled));
  }
  const PlanSummary summary{planned->training,
                            planned->found,
                            planned->unplanned_peak_bytes,
                            planned->unplanned_time_s,
                            planned->unplanned_energy_j,
                            model.training.accumulate,
                            planned->accumulation_found};
  if (!options.common.json()) std::printf("%s", to_text(summary).c_str());
  std::fflush(stdout);
  Json event = to_json(summary);
  event["event"] = "plan";
  PANTOUM_TRY(log.write(event));
  PANTOUM_TRY(log.write({{"event", "data"},
                         {"format", data.train.format},
                         {"train_samples", data.train.count()},
                         {"test_samples", data.test.count()},
                         {"classes", data.train.classes}}));
  Prepared prepared{.data = std::move(data),
                    .plan_hash = fmt::format("{:016x}", problem::structure_hash(compiled.training_cost.graph)),
                    .energy_j = planned->found.energy_j};
  if (planned->accumulation_found)
    prepared.energy_j += static_cast<double>(model.training.accumulate - 1) * planned->accumulation_found->energy_j;
  prepared.told = {.terms = model.training.losses, .perplexity = options.model.loss.perplexity()};
  prepared.kernels = compiled.kernels;
  prepared.budget_bytes = planned->training.question.budget_bytes();
  prepared.unplanned_peak_bytes = planned->unplanned_peak_bytes;
  prepared.planned_in_bytes = planned->found.bytes_in;
  prepared.planned_out_bytes = planned->found.bytes_out;
  prepared.inputs = names_of(compiled.evaluation, compiled.evaluation.inputs);
  if (compiled.features) {
    prepared.features = names_of(compiled.training, compiled.training.inputs);
    prepared.feature_bytes = feature_bytes(compiled.training, prepared.data.train.count());
  }
  PANTOUM_ASSIGN(prepared.binary, pipeline::encode_programs(compiled, *planned));
  PANTOUM_ASSIGN(const std::vector<std::string> notes,
                 pipeline::write_initial_weights(compiled.training, {options.model.weights, options.model.keep_init},
                                                 weights_path));
  for (const std::string& note : notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  PANTOUM_TRY(problem::write_plan(planned->training, options.plan_output));
  return prepared;
}

// Steps and epochs, as lines of the log and of the terminal.
class Narrator {
 public:
  Narrator(const Options& options, const Prepared& prepared, const train::Trainer& trainer, RunLog& log)
      : prepared_(prepared),
        log_(log),
        line_(options.common.json()),
        arena_bytes_(trainer.usage().arena_bytes),
        batch_(trainer.batch()),
        log_every_(static_cast<uint64_t>(options.log_every)) {}

  void step(const train::RunProgress& progress) {
    if (progress.step % log_every_ == 0 || progress.step == 1)
      keep(log_.write({{"event", "step"},
                       {"step", progress.step},
                       {"loss", progress.loss},
                       {"lr", progress.lr},
                       {"seconds", progress.seconds}}));
    if (!line_.due()) return;
    const double rate = progress.samples_per_s / static_cast<double>(batch_);
    const double left = static_cast<double>(progress.total_steps - progress.step) / std::max(rate, 1e-9);
    line_.show(fmt::format(
        "step {}/{}  loss {:.3f}  {:.2f} step/s  peak {:.2f}/{:.2f} MiB (rss {:.1f})  {}/step (modelled)  eta {}",
        progress.step, progress.total_steps, progress.loss, rate, mib(arena_bytes_),
        mib(static_cast<uint64_t>(prepared_.budget_bytes)), mib(host::read_resident_set().now_bytes),
        base::show_joules(prepared_.energy_j), base::show_seconds(left)));
  }

  void event(const train::RunEvent& event) {
    if (event.kind == train::RunEvent::Kind::kCheckpoint)
      return keep(log_.write({{"event", "checkpoint"}, {"step", event.step}, {"seconds", event.seconds}}));
    Json line{{"event", "epoch"},
              {"epoch", event.epoch + 1},
              {"step", event.step},
              {"train_loss", event.mean_loss},
              {"seconds", event.seconds}};
    std::string text = fmt::format("epoch {}  train loss {:.4f}", event.epoch + 1, event.mean_loss);
    if (event.evaluation) {
      line.update(to_json(*event.evaluation, prepared_.told));
      text += to_text(*event.evaluation, prepared_.told);
    }
    if (event.best) line["best"] = true;
    keep(log_.write(line));
    line_.finish(text);
  }

  [[nodiscard]] const Result<void>& status() const { return status_; }

 private:
  static double mib(uint64_t bytes) { return static_cast<double>(bytes) / 1048576; }
  void keep(Result<void> result) {
    if (status_ && !result) status_ = std::move(result);
  }

  const Prepared& prepared_;
  RunLog& log_;
  ProgressLine line_;
  uint64_t arena_bytes_;
  int64_t batch_;
  uint64_t log_every_;
  Result<void> status_;
};

Json end_event(const Prepared& prepared, const train::Trainer& trainer, const train::RunSummary& summary) {
  const train::Usage usage = trainer.usage();
  Json event{{"event", summary.interrupted ? "interrupted" : "end"}};
  if (summary.evaluation) event.update(to_json(*summary.evaluation, prepared.told));
  if (summary.stopped_early) event["stopped_early"] = true;
  event["steps"] = trainer.steps_done();
  event["budget_bytes"] = prepared.budget_bytes;
  event["arena_bytes"] = usage.arena_bytes;
  event["queue_bytes"] = usage.queue_bytes;
  event["unplanned_peak_bytes"] = prepared.unplanned_peak_bytes;
  event["rss_growth_bytes"] = usage.high_water > usage.rss_before_arena ? usage.high_water - usage.rss_before_arena : 0;
  event["kernels"] = prepared.kernels->name();
  event["back_end_bytes"] = usage.back_end_bytes;
  event["resident_bytes"] = usage.high_water;
  event["bytes_paged_in"] = usage.bytes_paged_in;
  event["bytes_paged_out"] = usage.bytes_paged_out;
  event["seconds"] = summary.seconds;
  event["direct_io"] = usage.direct_io;
  event["io_backend"] = usage.io_backend;
  event["final_loss"] = summary.loss;
  return event;
}

Result<void> write_report(const Options& options) {
  if (options.report.empty()) return {};
  PANTOUM_ASSIGN(const problem::Plan plan, problem::read_plan(options.plan_output));
  PANTOUM_ASSIGN(const check::Found found, check::replay(plan.graph, plan));
  PANTOUM_ASSIGN(const std::string log, base::read_file(options.log));
  PANTOUM_ASSIGN(const std::string page, report::to_html(plan, found, log));
  return base::write_file_atomically(options.report, page);
}

Result<std::unique_ptr<train::Trainer>> start(const Options& options, const Prepared& prepared,
                                              const std::string& weights) {
  PANTOUM_ASSIGN(const train::Schedule schedule, schedule_of(options.run.rate));
  train::TrainerOptions settings{.page_file = options.page_file,
                                 .threads = thread_count(options.plan),
                                 .seed = options.model.seed,
                                 .lr = options.model.optimizer.lr,
                                 .schedule = schedule,
                                 .micro_batches = options.model.optimizer.accumulate,
                                 .plan_hash = prepared.plan_hash,
                                 .kernels = prepared.kernels->table(),
                                 .pool = prepared.kernels->pool(),
                                 .inputs = prepared.inputs,
                                 .features = prepared.features,
                                 .prefetch = options.data.prefetch};
  PANTOUM_ASSIGN(settings.preparation, preparation_of(options.data));
  PANTOUM_ASSIGN(std::unique_ptr<train::Trainer> trainer, train::Trainer::create(prepared.binary, weights, settings));
  if (!options.resume.empty()) PANTOUM_TRY(trainer->resume(options.resume));
  return trainer;
}

// The data that steps and evaluations read; the features stand for the training set where they are kept.
Result<data::TrainTest> data_of_run(const Options& options, Prepared& prepared, train::Trainer& trainer, RunLog& log) {
  if (prepared.features.empty()) return std::move(prepared.data);
  const auto begun = std::chrono::steady_clock::now();
  data::TrainTest data;
  PANTOUM_ASSIGN(data.train, trainer.make_features(prepared.data.train, options.page_file, interrupted()));
  data.test = std::move(prepared.data.test);
  PANTOUM_TRY(
      log.write({{"event", "features"},
                 {"samples", data.train.count()},
                 {"bytes", prepared.feature_bytes},
                 {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()}}));
  return data;
}

Result<int> train_model(Options options) {
  if (options.plan_output.empty()) options.plan_output = beside(options.output, "plan.json");
  if (options.log.empty()) options.log = beside(options.output, "run.jsonl");
  if (options.checkpoint.empty()) options.checkpoint = options.output + ".checkpoint";
  PANTOUM_TRY(preparation_of(options.data));
  PANTOUM_TRY(schedule_of(options.run.rate));
  PANTOUM_ASSIGN(RunLog log, RunLog::create(options.log));

  // The compiler's memory is given back before the arena is made.
  const TemporaryFile weights(options.output + ".initial");
  PANTOUM_ASSIGN(Prepared prepared, prepare(options, log, weights.path()));
  if (interrupted().stop_requested())
    return fail("E0999", "interrupted while planning; the best plan so far was written", options.plan_output);
  std::vector<uint32_t> indices(static_cast<size_t>(prepared.data.train.count()), 0);
  malloc_trim(0);
  PANTOUM_ASSIGN(const std::unique_ptr<train::Trainer> trainer, start(options, prepared, weights.path()));
  PANTOUM_ASSIGN(const data::TrainTest data, data_of_run(options, prepared, *trainer, log));
  Narrator narrator(options, prepared, *trainer, log);
  train::RunOptions run{.epochs = static_cast<uint64_t>(options.epochs),
                        .checkpoint_every = static_cast<uint64_t>(options.checkpoint_every),
                        .checkpoint = options.checkpoint,
                        .judge = judge_of(options.run),
                        .stop = interrupted(),
                        .indices = indices};
  run.progress = [&](const train::RunProgress& progress) { narrator.step(progress); };
  run.log = [&](const train::RunEvent& event) { narrator.event(event); };
  PANTOUM_ASSIGN(const train::RunSummary summary, train::run_training(*trainer, data, run));
  const Json end = end_event(prepared, *trainer, summary);
  if (summary.interrupted) {
    PANTOUM_TRY(log.write(end));
    return fail("E0999", fmt::format("interrupted after step {}; a checkpoint was written", trainer->steps_done()),
                options.checkpoint, "go on with --resume " + options.checkpoint);
  }
  PANTOUM_TRY(trainer->save(options.output));
  PANTOUM_TRY(narrator.status());
  PANTOUM_TRY(log.write(end));
  PANTOUM_TRY(write_report(options));
  std::printf("%s\n",
              options.common.json()
                  ? end.dump().c_str()
                  : fmt::format("trained  {} steps in {}{};{} RAM grew by {} beside an arena of {}; weights in {}",
                                trainer->steps_done(), base::show_seconds(summary.seconds),
                                summary.stopped_early ? ", stopped early" : "",
                                summary.evaluation ? to_text(*summary.evaluation, prepared.told) + ";" : "",
                                base::show_bytes(end["rss_growth_bytes"].get<int64_t>()),
                                base::show_bytes(end["arena_bytes"].get<int64_t>()), options.output)
                        .c_str());
  return 0;
}

}  // namespace

void add_train(CommandLine& line) {
  auto options = std::make_shared<Options>();
  Verb verb = line.add_verb("train", "trains a model inside a RAM budget");
  verb.add_option("MODEL", options->model.model, "an ONNX model").required();
  verb.add_option("-o,--output", options->output, "the trained weights (safetensors)").required();
  verb.add_option("--epochs", options->epochs, "passes over the training set").positive();
  verb.add_option("--plan", options->plan_input, "a plan made earlier for this step");
  verb.add_option("--plan-out", options->plan_output, "the plan (beside the weights without it)");
  verb.add_option("--log", options->log, "the run log, JSON lines (beside the weights without it)");
  verb.add_option("--log-every", options->log_every, "steps between lines of the run log").positive();
  verb.add_option("--report", options->report, "an HTML page about plan and run");
  verb.add_option("--page-file", options->page_file, "folder (or file) for what is paged out");
  verb.add_option("--resume", options->resume, "a checkpoint to go on from");
  verb.add_option("--checkpoint", options->checkpoint, "where checkpoints are written (OUTPUT.checkpoint without it)");
  verb.add_option("--checkpoint-every", options->checkpoint_every,
                  "steps between checkpoints; 0: only when interrupted")
      .not_negative();
  verb.add_option("--warm-start", options->plan.warm_start, "a plan to start planning from");
  add_run_options(verb, options->run);
  add_data_options(verb, options->data);
  add_model_options(verb, options->model);
  add_plan_options(verb, options->plan);
  add_common(verb, options->common);
  verb.does([options] { return train_model(*options); });
}

}  // namespace pantoum::cli
