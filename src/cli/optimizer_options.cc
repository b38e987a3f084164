#include "cli/optimizer_options.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace pantoum::cli {
namespace {

struct Range {
  double below;  // [0, below)
  const char* words;
};
constexpr Range kAnyPositive{HUGE_VAL, "a number of 0 or more"}, kFraction{1, "a number from 0 to below 1"};

// An option with a number, and the optimizers that have it.
struct NumberOption {
  const char* option;
  const std::optional<double>& given;
  Range range;
  std::vector<std::string> optimizers;
};

std::vector<NumberOption> numbers_of(const OptimizerWords& words) {
  return {{"--momentum", words.momentum, kAnyPositive, {"sgd", "rmsprop"}},
          {"--weight-decay", words.weight_decay, kAnyPositive, {"sgd", "adam", "adamw", "rmsprop", "adagrad"}},
          {"--beta1", words.beta1, kFraction, {"adam", "adamw"}},
          {"--beta2", words.beta2, kFraction, {"adam", "adamw"}},
          {"--eps", words.eps, kAnyPositive, {"adam", "adamw", "rmsprop", "adagrad"}},
          {"--alpha", words.alpha, kFraction, {"rmsprop"}},
          {"--lr-decay", words.lr_decay, kAnyPositive, {"adagrad"}}};
}

Failure not_of_this(const OptimizerWords& words, const char* option, const std::vector<std::string>& optimizers) {
  return fail("E0117", fmt::format("the optimizer {} has no {}", words.name, option), option,
              fmt::format("leave it out, or use --optimizer {}", fmt::join(optimizers, " or ")));
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<void> check(const OptimizerWords& words) {
  if (!std::isfinite(words.lr) || words.lr < 0)
    return fail("E0116", fmt::format("{} is not {}", words.lr, kAnyPositive.words), "--lr", "give a rate as in 0.01");
  for (const NumberOption& number : numbers_of(words)) {
    if (!number.given) continue;
    if (!(*number.given >= 0 && *number.given < number.range.below))
      return fail("E0116", fmt::format("{} is not {}", *number.given, number.range.words), number.option,
                  fmt::format("give {}", number.range.words));
    if (!has(number.optimizers, words.name)) return not_of_this(words, number.option, number.optimizers);
  }
  if (words.nesterov && words.name != "sgd") return not_of_this(words, "--nesterov", {"sgd"});
  if (words.centered && words.name != "rmsprop") return not_of_this(words, "--centered", {"rmsprop"});
  if (words.nesterov && words.momentum.value_or(0) == 0)
    return fail("E0117", "Nesterov's step is one with momentum", "--nesterov", "give --momentum too, as in 0.9");
  return {};
}

template <class Adam>
Adam adam_of(const OptimizerWords& words) {
  Adam adam;
  adam.beta1 = words.beta1.value_or(adam.beta1);
  adam.beta2 = words.beta2.value_or(adam.beta2);
  adam.eps = words.eps.value_or(adam.eps);
  adam.weight_decay = words.weight_decay.value_or(adam.weight_decay);
  return adam;
}

autodiff::RmsProp rmsprop_of(const OptimizerWords& words) {
  autodiff::RmsProp rmsprop{.centered = words.centered};
  rmsprop.alpha = words.alpha.value_or(rmsprop.alpha);
  rmsprop.eps = words.eps.value_or(rmsprop.eps);
  rmsprop.momentum = words.momentum.value_or(0);
  rmsprop.weight_decay = words.weight_decay.value_or(0);
  return rmsprop;
}

}  // namespace

void add_optimizer_options(Verb& verb, OptimizerWords& words) {
  verb.add_option("--optimizer", words.name, "sgd, adam, adamw, rmsprop or adagrad")
      .one_of({"sgd", "adam", "adamw", "rmsprop", "adagrad"});
  verb.add_option("--lr", words.lr, "learning rate");
  verb.add_option("--momentum", words.momentum, "of sgd and rmsprop; 0 without it");
  verb.add_flag("--nesterov", words.nesterov, "sgd: Nesterov's momentum");
  verb.add_option("--weight-decay", words.weight_decay,
                  "L2 penalty, as in PyTorch's optimizers (adamw: decoupled, 0.01 if not given; else 0)");
  verb.add_option("--beta1", words.beta1, "adam, adamw: decay of the mean (0.9)");
  verb.add_option("--beta2", words.beta2, "adam, adamw: decay of the square (0.999)");
  verb.add_option("--eps", words.eps, "added to the root of the square (1e-8; adagrad 1e-10)");
  verb.add_option("--alpha", words.alpha, "rmsprop: decay of the square (0.99)");
  verb.add_flag("--centered", words.centered, "rmsprop: the variance in place of the square");
  verb.add_option("--clip-value", words.clip_value, "gradients: every element between -this and this; not without it")
      .positive();
  verb.add_option("--clip-norm", words.clip_norm,
                  "gradients: scaled down where the norm of all together is above this; not without it")
      .positive();
  verb.add_option("--accumulate", words.accumulate, "batches whose mean gradient makes one step").within(1, 1'000'000);
  verb.add_option("--lr-decay", words.lr_decay,
                  "adagrad: the learning rate falls as 1 / (1 + steps * this); 0 without it");
}

Result<autodiff::Optimizer> optimizer_of(const OptimizerWords& words) {
  PANTOUM_TRY(check(words));
  if (words.name == "adam") return adam_of<autodiff::Adam>(words);
  if (words.name == "adamw") return adam_of<autodiff::AdamW>(words);
  if (words.name == "rmsprop") return rmsprop_of(words);
  if (words.name == "adagrad")
    return autodiff::Adagrad{.lr_decay = words.lr_decay.value_or(0),
                             .eps = words.eps.value_or(autodiff::Adagrad{}.eps),
                             .weight_decay = words.weight_decay.value_or(0)};
  return autodiff::Sgd{.momentum = words.momentum.value_or(0),
                       .weight_decay = words.weight_decay.value_or(0),
                       .nesterov = words.nesterov};
}

}  // namespace pantoum::cli
