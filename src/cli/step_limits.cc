#include "cli/step_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "pipeline/step_deadline.h"

namespace pantoum::cli {
namespace {

void set_earlier(std::optional<double>& limit, const std::optional<double>& value) {
  if (value) limit = std::min(limit.value_or(*value), *value);
}

// "1.3x" or "450ms".
Result<void> set_deadline(const std::string& text, const char* option, pipeline::Deadline& deadline) {
  PANTOUM_ASSIGN(const pipeline::Deadline asked, pipeline::parse_deadline(text, option));
  set_earlier(deadline.seconds, asked.seconds);
  set_earlier(deadline.relative, asked.relative);
  return {};
}

Result<void> set_at_most(const std::string& text, pipeline::PlanRequest& request) {
  const size_t sign = text.find('=');
  const std::string what = text.substr(0, sign), value = sign == std::string::npos ? "" : text.substr(sign + 1);
  if (what == "time") return set_deadline(value, "--at-most time", request.deadline);
  if (what != "energy" || sign == std::string::npos)
    return fail("E0115", fmt::format("'{}' is no limit", text), "--at-most", "write energy=3.2J or time=450ms");
  PANTOUM_ASSIGN(const double joules, base::parse_joules(value, "--at-most energy"));
  if (joules <= 0) return fail("E0121", "no step takes no energy", "--at-most energy", "write an energy as in 3.2J");
  set_earlier(request.options.question.energy_limit, joules);
  return {};
}

}  // namespace

void add_limit_options(Verb& verb, LimitWords& words) {
  verb.add_option("--deadline", words.deadline, "of one step: 450ms, or 1.3x of the step with unlimited RAM");
  verb.add_option("--at-most", words.at_most, "a limit that no step exceeds: energy=3.2J, time=450ms; may be repeated");
  verb.add_option("--finish-within", words.finish_within,
                  "deadline of the whole training: 2h, in equal parts per step");
}

void add_length_options(Verb& verb, pipeline::TrainingLength& length) {
  verb.add_option("--steps", length.steps, "steps of the whole training, for --finish-within and for `pantoum emit`")
      .steps();
  verb.add_option("--epochs", length.epochs, "epochs of the whole training, with --samples, in place of --steps")
      .steps();
  verb.add_option("--samples", length.samples, "samples of the training set, to count the steps of --epochs").steps();
}

Result<void> set_limits(const LimitWords& words, pipeline::PlanRequest& request) {
  if (!words.deadline.empty()) PANTOUM_TRY(set_deadline(words.deadline, "--deadline", request.deadline));
  for (const std::string& text : words.at_most) PANTOUM_TRY(set_at_most(text, request));
  if (words.finish_within.empty()) return {};
  PANTOUM_ASSIGN(const double seconds, base::parse_seconds(words.finish_within, "--finish-within"));
  if (seconds <= 0) return fail("E0111", "no training takes no time", "--finish-within", "write a time as in 2h");
  request.deadline.training = seconds;
  return {};
}

}  // namespace pantoum::cli
