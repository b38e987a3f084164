#include "train/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/settings.h"

namespace pantoum::train {
namespace {

using Decay = Schedule::Decay;

struct DecayName {
  const char* name;
  Decay decay;
  std::vector<std::string> must, may;  // settings beside warmup
};

const std::array<DecayName, 6>& decays() {
  static const std::array<DecayName, 6> all{{{"constant", Decay::kConstant, {}, {}},
                                             {"step", Decay::kStep, {"every"}, {"gamma"}},
                                             {"multi_step", Decay::kMultiStep, {"at"}, {"gamma", "to"}},
                                             {"exponential", Decay::kExponential, {"gamma"}, {}},
                                             {"cosine", Decay::kCosine, {}, {"to", "every"}},
                                             {"linear", Decay::kLinear, {}, {"to", "over"}}}};
  return all;
}

const DecayName& name_of(Decay decay) {
  return *std::find_if(decays().begin(), decays().end(), [&](const DecayName& each) { return each.decay == decay; });
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "100" steps, or "5%" of all.
Result<Extent> parse_extent(std::string text, bool positive, const std::string& where) {
  Extent extent{};
  extent.percent = !text.empty() && text.back() == '%';
  if (extent.percent != 0) text.pop_back();
  PANTOUM_ASSIGN(extent.value, base::parse_number(text, where));
  const bool whole = extent.percent != 0 || extent.value == std::floor(extent.value);
  if (extent.value < 0 || extent.value > 1e15 || (positive && extent.value == 0) || !whole)
    return fail("E0116", fmt::format("{} is no number of steps", text), where, "write 100, or 5% of all steps");
  return extent;
}

// The parts of a list "30:80", each as `parse` reads it.
template <typename Parse>
auto parse_list(const std::string& text, Parse parse) -> Result<std::vector<std::decay_t<decltype(*parse(text))>>> {
  std::vector<std::decay_t<decltype(*parse(text))>> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(':', begin), text.size());
    PANTOUM_ASSIGN(const auto part, parse(text.substr(begin, end - begin)));
    parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

Result<double> parse_not_negative(const std::string& text, const std::string& where) {
  PANTOUM_ASSIGN(const double number, base::parse_number(text, where));
  if (number < 0) return fail("E0116", fmt::format("{} is below 0", number), where);
  return number;
}

Result<void> set(const std::string& key, const std::string& value, const std::string& where, Schedule& schedule) {
  if (key == "warmup") {
    PANTOUM_ASSIGN(schedule.warmup, parse_extent(value, false, where));
  } else if (key == "every" || key == "over") {
    PANTOUM_ASSIGN(schedule.every, parse_extent(value, true, where));
  } else if (key == "at") {
    PANTOUM_ASSIGN(schedule.at,
                   parse_list(value, [&](const std::string& part) { return parse_extent(part, true, where); }));
  } else if (key == "gamma") {
    PANTOUM_ASSIGN(schedule.gamma, parse_not_negative(value, where));
  } else if (schedule.decay == Decay::kMultiStep) {
    PANTOUM_ASSIGN(schedule.rates,
                   parse_list(value, [&](const std::string& part) { return parse_not_negative(part, where); }));
  } else {
    PANTOUM_ASSIGN(schedule.to, parse_not_negative(value, where));
  }
  return {};
}

std::string to_text(const Extent& extent) {
  return fmt::format("{}{}", extent.value, extent.percent != 0 ? "%" : "");
}

}  // namespace

Result<Schedule> parse_schedule(const std::string& text, const std::string& where) {
  PANTOUM_ASSIGN(const base::Settings settings, base::parse_settings(text, where));
  const auto known =
      std::find_if(decays().begin(), decays().end(), [&](const DecayName& each) { return settings.name == each.name; });
  if (known == decays().end())
    return fail("E0115", fmt::format("'{}' is no schedule", settings.name), where,
                "use one of constant, step, multi_step, exponential, cosine, linear");
  Schedule schedule{.decay = known->decay};
  for (const std::string& key : known->must)
    if (!settings.values.contains(key))
      return fail("E0115", fmt::format("the schedule {} needs '{}'", settings.name, key), where);
  for (const auto& [key, value] : settings.values) {
    if (key != "warmup" && !contains(known->must, key) && !contains(known->may, key))
      return fail("E0115", fmt::format("the schedule {} has no '{}'", settings.name, key), where);
    PANTOUM_TRY(set(key, value, where + " " + key, schedule));
  }
  if (!schedule.rates.empty() && settings.values.contains("gamma"))
    return fail("E0115", "the schedule multi_step has 'gamma' or 'to', not both", where);
  if (!schedule.rates.empty() && schedule.rates.size() != schedule.at.size())
    return fail("E0115",
                fmt::format("'at' has {} steps and 'to' has {} rates", schedule.at.size(), schedule.rates.size()),
                where, "give a rate for each step: multi_step,at=30:80,to=1e-2:1e-3");
  return schedule;
}

std::string to_text(const Schedule& schedule) {
  const DecayName& name = name_of(schedule.decay);
  std::string text = name.name;
  const auto add = [&](const std::string& key, const std::string& value) {
    if (contains(name.must, key) || contains(name.may, key)) text += fmt::format(",{}={}", key, value);
  };
  std::vector<std::string> places;
  for (const Extent& extent : schedule.at) places.push_back(to_text(extent));
  if (schedule.every.value > 0) add("every", to_text(schedule.every)), add("over", to_text(schedule.every));
  add("at", fmt::format("{}", fmt::join(places, ":")));
  if (schedule.rates.empty()) add("gamma", fmt::format("{}", schedule.gamma));
  if (schedule.decay != Decay::kMultiStep) add("to", fmt::format("{}", schedule.to));
  if (!schedule.rates.empty()) add("to", fmt::format("{}", fmt::join(schedule.rates, ":")));
  return text + ",warmup=" + to_text(schedule.warmup);
}

pt_schedule runtime_schedule(const Schedule& schedule) {
  return {.decay = static_cast<uint8_t>(schedule.decay),
          .warmup = schedule.warmup,
          .gamma = schedule.gamma,
          .every = schedule.every,
          .at = schedule.at.data(),
          .at_count = static_cast<uint32_t>(schedule.at.size()),
          .to = schedule.to,
          .rates = schedule.rates.empty() ? nullptr : schedule.rates.data()};
}

double rate_at(const Schedule& schedule, double lr, uint64_t step, uint64_t total) {
  const pt_schedule same = runtime_schedule(schedule);
  return pt_rate_at(&same, lr, step, total);
}

}  // namespace pantoum::train
