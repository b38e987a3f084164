#include "cli/loss_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/settings.h"
#include "cli/line/suggestions.h"
#include "pipeline/request_json.h"

namespace pantoum::cli {
namespace {

using autodiff::Loss;
using autodiff::LossTerm;

// The settings of a loss beside its weight.
std::vector<std::string> settings_of(Loss loss) {
  switch (loss) {
    case Loss::kCrossEntropy:
      return {"smoothing", "ignore", "classes"};
    case Loss::kSoftCrossEntropy:
      return {"smoothing", "classes"};
    case Loss::kNll:
      return {"ignore", "classes"};
    case Loss::kSmoothL1:
      return {"beta"};
    case Loss::kKlDiv:
      return {"mean"};
    default:
      return {};
  }
}

constexpr std::array<const char*, 3> kMetrics{"top5", "mae", "perplexity"};

Result<double> number_between(const std::string& text, double least, double most, const std::string& where) {
  PANTOUM_ASSIGN(const double number, base::parse_number(text, where));
  if (number >= least && number <= most) return number;
  return fail("E0116", fmt::format("{} is not between {} and {}", number, least, most), where,
              fmt::format("give a number from {} to {}", least, most));
}

Result<void> set(const std::string& key, const std::string& value, LossTerm& term) {
  const std::string where = "--loss " + key;
  if (key == "weight") {
    PANTOUM_ASSIGN(term.weight, number_between(value, 0, 1e30, where));
  } else if (key == "smoothing") {
    PANTOUM_ASSIGN(term.smoothing, number_between(value, 0, 1, where));
  } else if (key == "beta") {
    PANTOUM_ASSIGN(term.beta, number_between(value, 0, 1e30, where));
  } else if (key == "ignore") {
    PANTOUM_ASSIGN(term.ignore_index, base::parse_whole(value, where));
  } else if (key == "classes") {
    if (value != "last" && value != "1")
      return fail("E0115", fmt::format("'{}' is no dimension of classes", value), where,
                  "write classes=last, or classes=1");
    term.classes_last = value == "last";
  } else {  // mean
    if (value != "batch" && value != "elements")
      return fail("E0115", fmt::format("'{}' is no mean", value), where, "write mean=batch or mean=elements");
    term.mean_of_batch = value == "batch";
  }
  return {};
}

Result<LossTerm> term_of(const std::string& text) {
  PANTOUM_ASSIGN(base::Settings settings, base::parse_settings(text, "--loss"));
  LossTerm term;
  if (const size_t sign = settings.name.rfind('='); sign != std::string::npos) {
    term.output = settings.name.substr(0, sign);
    settings.name.erase(0, sign + 1);
  }
  const std::vector<std::string>& names = pipeline::loss_names();
  const auto known = std::find(names.begin(), names.end(), settings.name);
  if (known == names.end())
    return fail("E0115", fmt::format("'{}' is no loss", settings.name), "--loss",
                fmt::format("{}use one of {}", hint_at(settings.name, names), fmt::join(names, ", ")));
  term.loss = static_cast<Loss>(known - names.begin());
  const std::vector<std::string> has = settings_of(term.loss);
  for (const auto& [key, value] : settings.values) {
    if (key != "weight" && std::find(has.begin(), has.end(), key) == has.end())
      return fail("E0117", fmt::format("the loss {} has no '{}'", settings.name, key), "--loss",
                  fmt::format("it has: weight {}", fmt::join(has, " ")));
    PANTOUM_TRY(set(key, value, term));
  }
  return term;
}

bool contains(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool LossWords::perplexity() const {
  return contains(metrics, "perplexity");
}

void add_loss_options(Verb& verb, LossWords& words) {
  verb.add_option("--loss", words.losses,
                  fmt::format("[OUTPUT=]LOSS[,weight=W][,KEY=VALUE]: {}; once for each output that has targets",
                              fmt::join(pipeline::loss_names(), ", ")))
      .known(pipeline::loss_names())
      .one_value_each();
  verb.add_option("--metrics", words.metrics, "measured beside loss and accuracy: top5, mae, perplexity")
      .known({kMetrics.begin(), kMetrics.end()})
      .separated_by(',')
      .one_value_each();
}

Result<std::vector<LossTerm>> losses_of(const LossWords& words) {
  std::vector<LossTerm> terms;
  for (const std::string& text : words.losses) {
    PANTOUM_ASSIGN(LossTerm term, term_of(text));
    terms.push_back(std::move(term));
  }
  return terms;
}

Result<autodiff::Metrics> metrics_of(const LossWords& words) {
  for (const std::string& name : words.metrics)
    if (std::find(kMetrics.begin(), kMetrics.end(), name) == kMetrics.end())
      return fail(
          "E0115", fmt::format("'{}' is no metric", name), "--metrics",
          fmt::format("{}use one of {}", hint_at(name, {kMetrics.begin(), kMetrics.end()}), fmt::join(kMetrics, ", ")));
  return autodiff::Metrics{.top5 = contains(words.metrics, "top5"),
                           .mean_absolute_error = contains(words.metrics, "mae")};
}

}  // namespace pantoum::cli
