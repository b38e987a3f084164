#include "cli/run_reporter.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/foreign_text.h"
#include "base/units.h"
#include "cli/planning.h"

namespace pantoum::cli {

namespace {

using Json = nlohmann::ordered_json;

double mib(uint64_t bytes) {
  return static_cast<double>(bytes) / 1048576;
}

std::string progress_text(const ReportedRun& run, const FitProgress& progress) {
  const double rate = progress.samples_per_s / static_cast<double>(run.trainer.batch());
  const double left = static_cast<double>(progress.total_steps - progress.step) / std::max(rate, 1e-9);
  // What a narrow terminal cuts off is the least of it.
  return fmt::format("step {}/{}  {} left  loss {:.4g}  {:.3g} step/s  {:.2f} of {:.2f} MiB", progress.step,
                     progress.total_steps, base::show_seconds(left), progress.loss, rate,
                     mib(run.trainer.usage().arena_bytes),
                     mib(static_cast<uint64_t>(run.step.plan.question.budget_bytes())));
}

}  // namespace

namespace {

// Four decimals, and of a large number three digits: "0.4764", "1.8e+32".
std::string show_figure(double value) {
  constexpr double kLarge = 1e6;
  return std::abs(value) < kLarge ? fmt::format("{:.4f}", value) : fmt::format("{:.3g}", value);
}

}  // namespace

RunReporter::RunReporter(const ReportedRun& run, RunLog& log, int64_t log_every, bool quiet)
    : run_(run), log_(log), line_(quiet), log_every_(static_cast<uint64_t>(log_every)) {
  line_.phase("training");
}

void RunReporter::keep(Result<void> result) {
  if (!status_ || result) return;
  status_ = std::move(result);
  print_warning(status_.error().message + "; training goes on, and the run ends with that error");
}

void RunReporter::step(const FitProgress& progress) {
  if (progress.step % log_every_ == 0 || progress.step == 1)
    keep(log_.write({{"event", "step"},
                     {"step", progress.step},
                     {"loss", progress.loss},
                     {"lr", progress.lr},
                     {"seconds", progress.seconds}}));
  if (line_.due()) line_.show(progress_text(run_, progress));
}

void RunReporter::event(const train::RunEvent& event) {
  if (event.kind == train::RunEvent::Kind::kCheckpoint)
    return keep(log_.write({{"event", "checkpoint"}, {"step", event.step}, {"seconds", event.seconds}}));
  Json line{{"event", "epoch"},
            {"epoch", event.epoch + 1},
            {"step", event.step},
            {"train_loss", event.mean_loss},
            {"seconds", event.seconds}};
  std::string text = fmt::format("epoch {}  train loss {}", event.epoch + 1, show_figure(event.mean_loss));
  if (event.evaluation) {
    line.update(to_json(*event.evaluation, run_.losses));
    text += to_text(*event.evaluation, run_.losses);
  }
  if (event.best) line["best"] = true;
  keep(log_.write(line));
  line_.finish(text);
}

Json end_event(const ReportedRun& run, const train::RunSummary& summary) {
  const train::Usage usage = run.trainer.usage();
  Json event{{"event", summary.interrupted ? "interrupted" : "end"}};
  if (summary.evaluation) event.update(to_json(*summary.evaluation, run.losses));
  if (summary.stopped_early) event["stopped_early"] = true;
  event["steps"] = run.trainer.steps_done();
  event["budget_bytes"] = run.step.plan.question.budget_bytes();
  event["arena_bytes"] = usage.arena_bytes;
  event["queue_bytes"] = usage.queue_bytes;
  event["unplanned_peak_bytes"] = run.step.unplanned.peak_bytes;
  event["rss_growth_bytes"] = usage.high_water > usage.rss_before_arena ? usage.high_water - usage.rss_before_arena : 0;
  event["kernels"] = run.step.kernels->name();
  event["back_end_bytes"] = usage.back_end_bytes;
  event["resident_bytes"] = usage.high_water;
  event["bytes_paged_in"] = usage.bytes_paged_in;
  event["bytes_paged_out"] = usage.bytes_paged_out;
  event["seconds"] = summary.seconds;
  if (summary.ran > 0) event["step_s"] = summary.step_seconds / static_cast<double>(summary.ran);
  event["direct_io"] = usage.direct_io;
  event["io_backend"] = usage.io_backend;
  event["page_encryption"] = usage.cipher;
  event["encryption_bytes"] = usage.encryption_bytes;
  event["final_loss"] = summary.loss;
  return event;
}

namespace {

using Measures = std::vector<std::pair<std::string, double>>;

Measures measures_of(const train::TermEvaluation& term, const autodiff::LossTerm& loss, bool perplexity) {
  Measures measures;
  if (term.accuracy) measures.emplace_back("accuracy", *term.accuracy);
  if (term.top5) measures.emplace_back("top5", *term.top5);
  if (term.mean_absolute_error) measures.emplace_back("mae", *term.mean_absolute_error);
  if (perplexity && autodiff::has_labels(loss) && loss.weight > 0)
    measures.emplace_back("perplexity", std::exp(term.loss / loss.weight));
  return measures;
}

Measures measures_of(const train::Evaluation& evaluation, const ReportedLosses& losses, size_t term) {
  return measures_of(evaluation.terms[term], losses.terms[term], losses.perplexity);
}

}  // namespace

nlohmann::ordered_json to_json(const train::Evaluation& evaluation, const ReportedLosses& losses) {
  nlohmann::ordered_json json{{"test_loss", evaluation.loss}};
  if (evaluation.has_accuracy) json["test_accuracy"] = evaluation.accuracy;
  const bool alone = losses.terms.size() == 1;
  for (size_t term = 0; term < losses.terms.size(); ++term) {
    nlohmann::ordered_json output{{"loss", evaluation.terms[term].loss}};
    for (const auto& [name, value] : measures_of(evaluation, losses, term))
      (alone ? json["test_" + name] : output[name]) = value;
    if (!alone) json["outputs"][losses.terms[term].output.value_or("")] = output;
  }
  return json;
}

std::string to_text(const train::Evaluation& evaluation, const ReportedLosses& losses) {
  std::string text = "  test loss " + show_figure(evaluation.loss);
  for (size_t term = 0; term < losses.terms.size(); ++term) {
    if (losses.terms.size() > 1)
      text += fmt::format("  {}: loss {}", base::one_line(losses.terms[term].output.value_or("")), show_figure(evaluation.terms[term].loss));
    for (const auto& [name, value] : measures_of(evaluation, losses, term))
      text += fmt::format("  {}{} {}", losses.terms.size() > 1 ? "" : "test ", name, show_figure(value));
  }
  return text;
}

}  // namespace pantoum::cli
