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
    OptionRow{"--costgraph", kCostGraph, "input"},
    OptionRow{"--import", kText, "input"},
    OptionRow{"--machine", kText, "input"},
    OptionRow{"--export", kText, "output"},
    OptionRow{"--top", kWhole, "output"},
    OptionRow{"--storage", kText, "device"},
    OptionRow{"--plan", kPlan, "input"},
    OptionRow{"--warm-start", kPlan, "input"},
    OptionRow{"--resume", kCheckpoint, "input"},
    OptionRow{"--model", kModel, "input"},
    OptionRow{"--sweep", kSweep, "input"},
    OptionRow{"--batch", kWhole, "model"},
    OptionRow{"--weights", kWeights, "model"},
    OptionRow{"--keep-init", kGlob, "model"},
    OptionRow{"--freeze", kGlob, "model"},
    OptionRow{"--train", kGlob, "model"},
    OptionRow{"--freeze-stats", kGlob, "model"},
    OptionRow{"--accept-folded", kText, "model"},
    OptionRow{"--inference", kText, "model"},
    OptionRow{"--params-in", kWord, "model"},
    OptionRow{"--data", kData, "data"},
    OptionRow{"--test-data", kData, "data"},
    OptionRow{"--label-column", kText, "data"},
    OptionRow{"--normalize", kText, "data"},
    OptionRow{"--augment", kText, "data"},
    OptionRow{"--prefetch", kWhole, "data"},
    OptionRow{"--shuffle", kWord, "data"},
    OptionRow{"--feature-cache", kBytes, "data"},
    OptionRow{"--cache", kFolder, "data"},
    OptionRow{"--samples", kWhole, "data"},
    OptionRow{"--test-samples", kWhole, "data"},
    OptionRow{"--epochs", kWhole, "training"},
    OptionRow{"--steps", kWhole, "training"},
    OptionRow{"--on-request", kText, "training"},
    OptionRow{"--loss", kText, "training"},
    OptionRow{"--metrics", kText, "training"},
    OptionRow{"--optimizer", kWord, "training"},
    OptionRow{"--lr", kReal, "training"},
    OptionRow{"--momentum", kReal, "training"},
    OptionRow{"--nesterov", kText, "training"},
    OptionRow{"--weight-decay", kReal, "training"},
    OptionRow{"--beta1", kReal, "training"},
    OptionRow{"--beta2", kReal, "training"},
    OptionRow{"--eps", kReal, "training"},
    OptionRow{"--alpha", kReal, "training"},
    OptionRow{"--centered", kText, "training"},
    OptionRow{"--clip-value", kReal, "training"},
    OptionRow{"--clip-norm", kReal, "training"},
    OptionRow{"--accumulate", kWhole, "training"},
    OptionRow{"--lr-decay", kReal, "training"},
    OptionRow{"--schedule", kText, "training"},
    OptionRow{"--warmup", kText, "training"},
    OptionRow{"--early-stop", kWhole, "training"},
    OptionRow{"--judge", kWord, "training"},
    OptionRow{"--seed", kWhole, "training"},
    OptionRow{"--ram", kBytes, "limits"},
    OptionRow{"--reserve", kBytes, "limits"},
    OptionRow{"--rom", kBytes, "limits"},
    OptionRow{"--stack", kBytes, "limits"},
    OptionRow{"--endurance", kBytes, "limits"},
    OptionRow{"--deadline", kDuration, "limits"},
    OptionRow{"--at-most", kLimit, "limits"},
    OptionRow{"--finish-within", kDuration, "limits"},
    OptionRow{"--device", kDevice, "device"},
    OptionRow{"NAME", kDevice, "device"},
    OptionRow{"--target", kWord, "device"},
    OptionRow{"--board", kBoard, "device"},
    OptionRow{"--check-blocks", kText, "device"},
    OptionRow{"--threads", kWhole, "device"},
    OptionRow{"--kernels", kWord, "device"},
    OptionRow{"--measure", kWord, "device"},
    OptionRow{"--profile-store", kStore, "device"},
    OptionRow{"--meter", kMeter, "device"},
    OptionRow{"--page-file", kPageFolder, "device"},
    OptionRow{"--page-encryption", kWord, "device"},
    OptionRow{"--objective", kText, "plan"},
    OptionRow{"--gap", kPercent, "plan"},
    OptionRow{"--require-gap", kText, "plan"},
    OptionRow{"--time-limit", kDuration, "plan"},
    OptionRow{"--effort", kWhole, "plan"},
    OptionRow{"--planner", kWord, "plan"},
    OptionRow{"--planners", kText, "plan"},
    OptionRow{"--compact-activations", kText, "plan"},
    OptionRow{"--no-paging", kText, "plan"},
    OptionRow{"--no-remat", kText, "plan"},
    OptionRow{"--no-inplace", kText, "plan"},
    OptionRow{"--allow-numerics-change", kText, "plan"},
    OptionRow{"--no-reorder", kText, "plan"},
    OptionRow{"--disable", kText, "plan"},
    OptionRow{"--without", kText, "plan"},
    OptionRow{"--next-ram", kDuration, "plan"},
    OptionRow{"--fresh", kText, "run"},
    OptionRow{"--count", kText, "run"},
    OptionRow{"--output", kOutputOne, "output"},
    OptionRow{"--binary-out", kOutputOne, "output"},
    OptionRow{"--costgraph-out", kOutputOne, "output"},
    OptionRow{"--write-min-plan", kOutputOne, "output"},
    OptionRow{"--write-refusal", kOutputOne, "output"},
    OptionRow{"--trace", kOutputOne, "output"},
    OptionRow{"--weights-out", kOutputOne, "output"},
    OptionRow{"--plan-out", kOutput, "output"},
    OptionRow{"--log", kOutput, "output"},
    OptionRow{"--log-every", kWhole, "output"},
    OptionRow{"--report", kOutput, "output"},
    OptionRow{"--checkpoint", kOutput, "output"},
    OptionRow{"--checkpoint-every", kWhole, "output"},
    OptionRow{"--keep-best", kOutput, "output"},
    OptionRow{"--external-data", kText, "output"},
    OptionRow{"--nodes", kText, "output"},
    OptionRow{"--dump-after", kText, "output"},
    OptionRow{"--format", kWord, "output"},
};

struct Synonym {
  std::string_view theirs, ours;
};

constexpr std::array kOptionSynonyms{
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
    Synonym{"--max-time", "--deadline"},
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
  static const std::vector<std::string> names{"input", "model",  "data", "training", "limits",
                                              "plan",  "device", "run",  "output",   "more"};
  return names;
}

std::string_view our_option(std::string_view theirs) {
  return ours(kOptionSynonyms, theirs);
}

std::string_view our_verb(std::string_view theirs) {
  return ours(kVerbSynonyms, theirs);
}

}  // namespace pantoum::cli
