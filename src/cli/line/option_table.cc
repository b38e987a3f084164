#include "cli/line/option_table.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace pantoum::cli {
namespace {

using enum Kind;
using enum Shown;

constexpr OptionRow kOptionRows[] = {
    {"MODEL", kModel, "input"},
    {"PLAN", kPlan, "input"},
    {"LOG", kLog, "input"},
    {"DIR", kProject, "input"},
    {"--costgraph", kCostGraph, "research", research},
    {"--one-slot", kText, "research", research},
    {"--import", kText, "input", more},
    {"--machine", kText, "input", more},
    {"--export", kText, "output"},
    {"--top", kWhole, "output", more},
    {"--storage", kText, "device", more},
    {"--plan", kPlan, "input"},
    {"--resume", kCheckpoint, "input"},
    {"--model", kModel, "input"},
    {"--sweep", kSweep, "input"},
    {"--weights", kWeights, "input"},
    {"--plugin", kText, "input", more},
    {"--data", kData, "data"},
    {"--split", kWord, "data"},
    {"--steps", kWhole, "training"},
    {"--on-request", kText, "training", more},
    {"--ram", kBytes, "limits"},
    {"NAME", kDevice, "device"},
    {"--meter", kMeter, "device", more},
    {"--require-gap", kText, "plan", more},
    {"--effort", kWhole, "plan"},
    {"--planners", kText, "research", research},
    {"--next-ram", kDuration, "plan"},
    {"--fresh", kText, "run"},
    {"--count", kText, "run"},
    {"--output", kOutputOne, "output"},
    {"--binary-out", kOutputOne, "output", more},
    {"--costgraph-out", kOutputOne, "output", more},
    {"--write-min-plan", kOutputOne, "output", more},
    {"--write-refusal", kOutputOne, "output", more},
    {"--trace", kOutputOne, "output"},
    {"--weights-out", kOutputOne, "output", more},
    {"--plan-out", kOutput, "output", more},
    {"--log", kOutput, "output", more},
    {"--log-every", kWhole, "output", more},
    {"--report", kOutput, "output", more},
    {"--external-data", kText, "output", more},
    {"--nodes", kText, "output"},
    {"--dump-after", kText, "research", research},
    {"--format", kWord, "output"},
    {"--quiet", kText, "output"},
};

struct Synonym {
  std::string_view theirs, ours;
};

constexpr Synonym kOptionSynonyms[] = {
    // Settings of optimizers stand in --optimizer, and others that had options of their own.
    {"--momentum", "--optimizer sgd,momentum=0.9"},
    {"--nesterov", "--optimizer sgd,momentum=0.9,nesterov"},
    {"--beta1", "--optimizer adam,beta1=0.9"},
    {"--beta2", "--optimizer adam,beta2=0.999"},
    {"--betas", "--optimizer adam,beta1=0.9,beta2=0.999"},
    {"--eps", "--optimizer adam,eps=1e-8"},
    {"--alpha", "--optimizer rmsprop,alpha=0.99"},
    {"--centered", "--optimizer rmsprop,centered"},
    {"--lr-decay", "--optimizer adagrad,lr_decay=0.1"},
    {"--decay", "--group '*.bias,weight_decay=0'"},
    {"--param-groups", "--group 'head.*,lr=0.1'"},
    {"--warmup", "--schedule constant,warmup=5%"},
    {"--warmup-steps", "--schedule constant,warmup=100"},
    {"--at-most", "--energy-limit 3.2J"},
    {"--memory", "--ram"},
    {"--mem", "--ram"},
    {"--budget", "--ram"},
    {"--ram-budget", "--ram"},
    {"--memory-budget", "--ram"},
    {"--memory-limit", "--ram"},
    {"--max-memory", "--ram"},
    {"--out", "--output"},
    {"--save", "--output"},
    {"--output-dir", "--output"},
    {"--batch-size", "--batch"},
    {"--batchsize", "--batch"},
    {"-b", "--batch"},
    {"--bs", "--batch"},
    {"--learning-rate", "--lr"},
    {"--learning_rate", "--lr"},
    {"--wd", "--weight-decay"},
    {"--num-epochs", "--epochs"},
    {"-e", "--epochs"},
    {"-n", "--epochs"},
    {"--iterations", "--steps"},
    {"--max-steps", "--steps"},
    {"--optim", "--optimizer"},
    {"--solver", "--planner"},
    {"--criterion", "--loss"},
    {"--scheduler", "--schedule"},
    {"--lr-scheduler", "--schedule"},
    {"--dataset", "--data"},
    {"--train-data", "--data"},
    {"-d", "--data"},
    {"--val-data", "--test-data"},
    {"--validation-data", "--test-data"},
    {"--eval-data", "--test-data"},
    {"--num-workers", "--prefetch"},
    {"--workers", "--prefetch"},
    {"--jobs", "--threads"},
    {"-j", "--threads"},
    {"--num-threads", "--threads"},
    {"--backend", "--kernels"},
    {"--target-device", "--device"},
    {"--timeout", "--time-limit"},
    {"--latency", "--deadline"},
    {"--pretrained", "--weights"},
    {"--load", "--weights"},
    {"--init", "--weights"},
    {"--continue", "--resume"},
    {"--restart", "--resume"},
    {"--grad-clip", "--clip-norm"},
    {"--clip-grad-norm", "--clip-norm"},
    {"--gradient-accumulation-steps", "--accumulate"},
    {"--patience", "--early-stop"},
    {"--json", "--format json"},
    {"--swap", "--page-file"},
    {"--swap-file", "--page-file"},
    {"--random-seed", "--seed"},
    {"--no-recompute", "--no-remat"},
    {"--no-checkpointing", "--no-remat"},
    {"-f", "--format"},
    {"-v", "--version"},
};

constexpr Synonym kVerbSynonyms[] = {
    {"fit", "train"},         {"run", "train"},          {"finetune", "train"},
    {"fine-tune", "train"},   {"learn", "train"},        {"evaluate", "eval"},
    {"infer", "predict"},     {"compile", "plan"},       {"optimize", "plan"},
    {"schedule", "plan"},     {"info", "inspect"},       {"show", "inspect"},
    {"summary", "inspect"},   {"print", "inspect"},      {"save", "export"},
    {"check", "verify"},      {"validate", "verify"},    {"list", "devices"},
    {"targets", "devices"},   {"ops", "operators"},      {"layers", "operators"},
    {"deploy", "emit"},       {"build", "emit"},         {"generate", "emit"},
    {"codegen", "emit"},      {"flash", "run-firmware"}, {"simulate", "run-firmware"},
    {"qemu", "run-firmware"}, {"plot", "report"},        {"html", "report"},
    {"pareto", "sweep"},      {"benchmark", "sweep"},    {"profile", "plan --measure"},
    {"why", "explain"},       {"status", "doctor"},      {"version", "--version"},
    {"test", "eval"},
};

// Verbs of other tools that no verb of this program stands for, and what does their work.
constexpr Synonym kOtherTools[] = {
    {"convert",
     "models are read as ONNX: torch.onnx.export or tf2onnx writes one; pantoum export puts trained weights into it"},
    {"import", "models are read as ONNX: torch.onnx.export or tf2onnx writes one; pantoum inspect reads it"},
    {"quantize",
     "training is in float32; pantoum export writes the trained ONNX model, and onnxruntime.quantization makes it "
     "int8"},
    {"prune", "nothing is pruned here; pantoum export writes the trained ONNX model for tools that do"},
    {"distill", "a loss against another model's outputs is --loss kl_div or mse, with those outputs as targets"},
    {"serve", "pantoum predict writes outputs to a file; pantoum export writes an ONNX model for onnxruntime"},
    {"tune", "pantoum sweep tries budgets; other settings are yours to try, one training each"},
    {"download", "data and models are files of yours: docs/data.md"},
    {"install", "pantoum doctor tells what this machine lacks"},
};

std::string_view ours(std::span<const Synonym> synonyms, std::string_view theirs) {
  const auto found =
      std::find_if(synonyms.begin(), synonyms.end(), [&](const Synonym& each) { return each.theirs == theirs; });
  return found == synonyms.end() ? std::string_view() : found->ours;
}

}  // namespace

const OptionRow* row_of_option(std::string_view name) {
  const auto* const row = std::find_if(std::begin(kOptionRows), std::end(kOptionRows),
                                       [&](const OptionRow& each) { return each.name == name; });
  return row == std::end(kOptionRows) ? nullptr : row;
}

const std::vector<std::string>& groups() {
  static const std::vector<std::string> names{"input",  "model", "data",   "training", "limits", "plan",
                                              "device", "run",   "output", "research", "more"};
  return names;
}

std::string_view our_option(std::string_view theirs) {
  return ours(kOptionSynonyms, theirs);
}

std::string_view instead_of_verb(std::string_view theirs) {
  return ours(kOtherTools, theirs);
}

std::string_view our_verb(std::string_view theirs) {
  return ours(kVerbSynonyms, theirs);
}

}  // namespace pantoum::cli
