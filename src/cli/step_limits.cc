#include "cli/step_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/units.h"

namespace pantoum::cli {
namespace {

constexpr double kMostTimes = 1e9;  // of a step's time: later deadlines are none

void set_earlier(std::optional<double>& limit, double value) {
  limit = std::min(limit.value_or(value), value);
}

// "1.3x" or "450ms".
Result<void> set_deadline(const std::string& text, const char* option, pipeline::Deadline& deadline) {
  if (!text.empty() && text.back() == 'x') {
    double factor = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, factor);
    if (error != std::errc{} || end != text.data() + text.size() - 1 || !std::isfinite(factor) || factor <= 0 ||
        factor > kMostTimes)
      return fail("E0111", fmt::format("'{}' is no factor from 0 to {}", text, kMostTimes), option,
                  "write 1.3x, or a time as in 450ms");
    set_earlier(deadline.relative, factor);
    return {};
  }
  PANTOUM_ASSIGN(const double seconds, base::parse_seconds(text, option));
  if (seconds <= 0) return fail("E0111", "no step takes no time", option, "write a time as in 450ms, or 1.3x");
  set_earlier(deadline.seconds, seconds);
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
  verb.add_option("--epochs", length.epochs, "the same as --epochs times --samples / --batch").steps();
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
