#include "cli/line/option_table.h"

#include <algorithm>
#include <array>

namespace pantoum::cli {
namespace {

using enum Kind;

constexpr std::array kOptionRows{
    OptionRow{"MODEL", kModel, "input"},
    OptionRow{"PLAN", kPlan, "input"},
    OptionRow{"LOG", kLog, "input"},
    OptionRow{"DIR", kProject, "input"},
    OptionRow{"--costgraph", kCostGraph, "research", Shown::research},
    OptionRow{"--import", kText, "input", Shown::more},
    OptionRow{"--machine", kText, "input", Shown::more},
    OptionRow{"--export", kText, "output"},
    OptionRow{"--top", kWhole, "output", Shown::more},
    OptionRow{"--storage", kText, "device", Shown::more},
    OptionRow{"--plan", kPlan, "input"},
    OptionRow{"--resume", kCheckpoint, "input"},
    OptionRow{"--model", kModel, "input"},
    OptionRow{"--sweep", kSweep, "input"},
    OptionRow{"--weights", kWeights, "input"},
    OptionRow{"--data", kData, "data"},
    OptionRow{"--steps", kWhole, "training"},
    OptionRow{"--on-request", kText, "training", Shown::more},
    OptionRow{"--ram", kBytes, "limits"},
    OptionRow{"NAME", kDevice, "device"},
    OptionRow{"--meter", kMeter, "device", Shown::more},
    OptionRow{"--require-gap", kText, "plan", Shown::more},
    OptionRow{"--effort", kWhole, "plan"},
    OptionRow{"--planners", kText, "research", Shown::research},
    OptionRow{"--next-ram", kDuration, "plan"},
    OptionRow{"--fresh", kText, "run"},
    OptionRow{"--count", kText, "run"},
    OptionRow{"--output", kOutputOne, "output"},
    OptionRow{"--binary-out", kOutputOne, "output", Shown::more},
    OptionRow{"--costgraph-out", kOutputOne, "output", Shown::more},
    OptionRow{"--write-min-plan", kOutputOne, "output", Shown::more},
    OptionRow{"--write-refusal", kOutputOne, "output", Shown::more},
    OptionRow{"--trace", kOutputOne, "output"},
    OptionRow{"--weights-out", kOutputOne, "output", Shown::more},
    OptionRow{"--plan-out", kOutput, "output", Shown::more},
    OptionRow{"--log", kOutput, "output", Shown::more},
    OptionRow{"--log-every", kWhole, "output", Shown::more},
    OptionRow{"--report", kOutput, "output", Shown::more},
    OptionRow{"--external-data", kText, "output", Shown::more},
    OptionRow{"--nodes", kText, "output"},
    OptionRow{"--dump-after", kText, "research", Shown::research},
    OptionRow{"--format", kWord, "output"},
};

struct Synonym {
  std::string_view theirs, ours;
};

constexpr std::array kOptionSynonyms{
    // Settings of optimizers stand in --optimizer, and others that had options of their own.
    Synonym{"--momentum", "--optimizer sgd,momentum=0.9"},
    Synonym{"--nesterov", "--optimizer sgd,momentum=0.9,nesterov"},
    Synonym{"--beta1", "--optimizer adam,beta1=0.9"},
    Synonym{"--beta2", "--optimizer adam,beta2=0.999"},
    Synonym{"--betas", "--optimizer adam,beta1=0.9,beta2=0.999"},
    Synonym{"--eps", "--optimizer adam,eps=1e-8"},
    Synonym{"--alpha", "--optimizer rmsprop,alpha=0.99"},
    Synonym{"--centered", "--optimizer rmsprop,centered"},
    Synonym{"--lr-decay", "--optimizer adagrad,lr_decay=0.1"},
    Synonym{"--warmup", "--schedule constant,warmup=5%"},
    Synonym{"--warmup-steps", "--schedule constant,warmup=100"},
    Synonym{"--at-most", "--energy-limit 3.2J"},
    Synonym{"--memory", "--ram"},
    Synonym{"--mem", "--ram"},
    Synonym{"--budget", "--ram"},
    Synonym{"--ram-budget", "--ram"},
    Synonym{"--memory-budget", "--ram"},
    Synonym{"--memory-limit", "--ram"},
    Synonym{"--max-memory", "--ram"},
    Synonym{"--out", "--output"},
    Synonym{"--save", "--output"},
    Synonym{"--output-dir", "--output"},
    Synonym{"--batch-size", "--batch"},
    Synonym{"--batchsize", "--batch"},
    Synonym{"-b", "--batch"},
    Synonym{"--bs", "--batch"},
    Synonym{"--learning-rate", "--lr"},
    Synonym{"--learning_rate", "--lr"},
    Synonym{"--wd", "--weight-decay"},
    Synonym{"--num-epochs", "--epochs"},
    Synonym{"-e", "--epochs"},
    Synonym{"-n", "--epochs"},
    Synonym{"--iterations", "--steps"},
    Synonym{"--max-steps", "--steps"},
    Synonym{"--optim", "--optimizer"},
    Synonym{"--solver", "--planner"},
    Synonym{"--criterion", "--loss"},
    Synonym{"--scheduler", "--schedule"},
    Synonym{"--lr-scheduler", "--schedule"},
    Synonym{"--dataset", "--data"},
    Synonym{"--train-data", "--data"},
    Synonym{"-d", "--data"},
    Synonym{"--val-data", "--test-data"},
    Synonym{"--validation-data", "--test-data"},
    Synonym{"--eval-data", "--test-data"},
    Synonym{"--num-workers", "--prefetch"},
    Synonym{"--workers", "--prefetch"},
    Synonym{"--jobs", "--threads"},
    Synonym{"-j", "--threads"},
    Synonym{"--num-threads", "--threads"},
    Synonym{"--backend", "--kernels"},
    Synonym{"--target-device", "--device"},
    Synonym{"--timeout", "--time-limit"},
    Synonym{"--latency", "--deadline"},
    Synonym{"--pretrained", "--weights"},
    Synonym{"--load", "--weights"},
    Synonym{"--init", "--weights"},
    Synonym{"--continue", "--resume"},
    Synonym{"--restart", "--resume"},
    Synonym{"--grad-clip", "--clip-norm"},
    Synonym{"--clip-grad-norm", "--clip-norm"},
    Synonym{"--gradient-accumulation-steps", "--accumulate"},
    Synonym{"--patience", "--early-stop"},
    Synonym{"--json", "--format json"},
    Synonym{"--swap", "--page-file"},
    Synonym{"--swap-file", "--page-file"},
    Synonym{"--random-seed", "--seed"},
    Synonym{"--no-recompute", "--no-remat"},
    Synonym{"--no-checkpointing", "--no-remat"},
    Synonym{"-f", "--format"},
    Synonym{"-v", "--version"},
};

constexpr std::array kVerbSynonyms{
    Synonym{"fit", "train"},          Synonym{"run", "train"},
    Synonym{"finetune", "train"},     Synonym{"fine-tune", "train"},
    Synonym{"learn", "train"},        Synonym{"eval", "train"},
    Synonym{"evaluate", "train"},     Synonym{"compile", "plan"},
    Synonym{"optimize", "plan"},      Synonym{"schedule", "plan"},
    Synonym{"info", "inspect"},       Synonym{"show", "inspect"},
    Synonym{"summary", "inspect"},    Synonym{"print", "inspect"},
    Synonym{"convert", "export"},     Synonym{"save", "export"},
    Synonym{"check", "verify"},       Synonym{"validate", "verify"},
    Synonym{"list", "devices"},       Synonym{"targets", "devices"},
    Synonym{"ops", "operators"},      Synonym{"layers", "operators"},
    Synonym{"deploy", "emit"},        Synonym{"build", "emit"},
    Synonym{"generate", "emit"},      Synonym{"codegen", "emit"},
    Synonym{"flash", "run-firmware"}, Synonym{"simulate", "run-firmware"},
    Synonym{"qemu", "run-firmware"},  Synonym{"plot", "report"},
    Synonym{"html", "report"},        Synonym{"pareto", "sweep"},
    Synonym{"benchmark", "sweep"},    Synonym{"profile", "plan --measure"},
    Synonym{"why", "explain"},        Synonym{"status", "doctor"},
    Synonym{"version", "--version"},  Synonym{"test", "doctor"},
};

template <size_t N>
std::string_view ours(const std::array<Synonym, N>& synonyms, std::string_view theirs) {
  const auto* const found =
      std::find_if(synonyms.begin(), synonyms.end(), [&](const Synonym& each) { return each.theirs == theirs; });
  return found == synonyms.end() ? std::string_view() : found->ours;
}

}  // namespace

const OptionRow* row_of_option(std::string_view name) {
  const auto* const row =
      std::find_if(kOptionRows.begin(), kOptionRows.end(), [&](const OptionRow& each) { return each.name == name; });
  return row == kOptionRows.end() ? nullptr : row;
}

const std::vector<std::string>& groups() {
  static const std::vector<std::string> names{"input",  "model", "data",   "training", "limits", "plan",
                                              "device", "run",   "output", "research", "more"};
  return names;
}

std::string_view our_option(std::string_view theirs) {
  return ours(kOptionSynonyms, theirs);
}

std::string_view our_verb(std::string_view theirs) {
  return ours(kVerbSynonyms, theirs);
}

}  // namespace pantoum::cli
