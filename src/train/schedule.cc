#include "train/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/settings.h"
#include "kernels/portable/pt_math.h"

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
                                             {"multi_step", Decay::kMultiStep, {"at"}, {"gamma"}},
                                             {"exponential", Decay::kExponential, {"gamma"}, {}},
                                             {"cosine", Decay::kCosine, {}, {"to"}},
                                             {"linear", Decay::kLinear, {}, {"to"}}}};
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
  Extent extent;
  extent.percent = !text.empty() && text.back() == '%';
  if (extent.percent) text.pop_back();
  PANTOUM_ASSIGN(extent.value, base::parse_number(text, where));
  const bool whole = extent.percent || extent.value == static_cast<double>(static_cast<int64_t>(extent.value));
  if (extent.value < 0 || extent.value > 1e15 || (positive && extent.value == 0) || !whole)
    return fail("E0116", fmt::format("{} is no number of steps", text), where, "write 100, or 5% of all steps");
  return extent;
}

Result<std::vector<Extent>> parse_extents(const std::string& text, const std::string& where) {
  std::vector<Extent> extents;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(':', begin), text.size());
    PANTOUM_ASSIGN(const Extent extent, parse_extent(text.substr(begin, end - begin), true, where));
    extents.push_back(extent);
    begin = end + 1;
  }
  return extents;
}

Result<double> parse_not_negative(const std::string& text, const std::string& where) {
  PANTOUM_ASSIGN(const double number, base::parse_number(text, where));
  if (number < 0) return fail("E0116", fmt::format("{} is below 0", number), where);
  return number;
}

Result<void> set(const std::string& key, const std::string& value, const std::string& where, Schedule& schedule) {
  if (key == "warmup") {
    PANTOUM_ASSIGN(schedule.warmup, parse_extent(value, false, where));
  } else if (key == "every") {
    PANTOUM_ASSIGN(schedule.every, parse_extent(value, true, where));
  } else if (key == "at") {
    PANTOUM_ASSIGN(schedule.at, parse_extents(value, where));
  } else if (key == "gamma") {
    PANTOUM_ASSIGN(schedule.gamma, parse_not_negative(value, where));
  } else {
    PANTOUM_ASSIGN(schedule.to, parse_not_negative(value, where));
  }
  return {};
}

std::string to_text(const Extent& extent) {
  return fmt::format("{}{}", extent.value, extent.percent ? "%" : "");
}

double power(double base, uint64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

constexpr double kHalfPi = 1.5707963267948966;

// cos(pi t / 2) for t from 0 to 1, by the Taylor series nearest to it.
double quarter_wave(double t) {
  const bool falls = t > 0.5;
  const double x = (falls ? 1 - t : t) * kHalfPi, z = -x * x;
  double sum = 0;  // of z^n / (2n)!, or / (2n + 1)!
  for (int n = 10; n >= 1; --n) {
    const double even = 2.0 * n, odd = even + 1;
    sum = (sum + 1) * z / (falls ? even * odd : even * (even - 1));
  }
  return falls ? x * (1 + sum) : 1 + sum;
}

// How often the steps of `at` have been passed.
uint64_t passed(const std::vector<Extent>& at, uint64_t step, uint64_t total) {
  return static_cast<uint64_t>(std::count_if(
      at.begin(), at.end(), [&](const Extent& extent) { return static_cast<double>(step) >= extent.steps(total); }));
}

// Of a decay whose steps are counted from its own start.
double decayed(const Schedule& schedule, double lr, uint64_t step, uint64_t total) {
  const double done = static_cast<double>(step),
               share = total > 0 ? std::min(done / static_cast<double>(total), 1.0) : 0;
  switch (schedule.decay) {
    case Decay::kStep:
      return lr * power(schedule.gamma, static_cast<uint64_t>(done / std::max(schedule.every.steps(total), 1.0)));
    case Decay::kMultiStep:
      return lr * power(schedule.gamma, passed(schedule.at, step, total));
    case Decay::kExponential:
      return lr * power(schedule.gamma, step);
    case Decay::kCosine: {
      const double wave = quarter_wave(share);
      return schedule.to + (lr - schedule.to) * (wave * wave);  // (1 + cos(pi t)) / 2
    }
    case Decay::kLinear:
      return lr + (schedule.to - lr) * share;
    case Decay::kConstant:
      break;
  }
  return lr;
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
  add("every", to_text(schedule.every));
  add("at", fmt::format("{}", fmt::join(places, ":")));
  add("gamma", fmt::format("{}", schedule.gamma));
  add("to", fmt::format("{}", schedule.to));
  return text + ",warmup=" + to_text(schedule.warmup);
}

double rate_at(const Schedule& schedule, double lr, uint64_t step, uint64_t total) {
  const auto warmup = static_cast<uint64_t>(schedule.warmup.steps(total));
  if (step < warmup) return lr * (static_cast<double>(step + 1) / static_cast<double>(warmup));
  return decayed(schedule, lr, step - warmup, total > warmup ? total - warmup : 0);
}

}  // namespace pantoum::train
