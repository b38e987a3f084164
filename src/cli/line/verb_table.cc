#include "cli/line/verb_table.h"

#include <algorithm>

namespace pantoum::cli {
namespace {

constexpr std::array kVerbRows{
    VerbRow{"inspect",
            "look",
            "MODEL [options]",
            {"pantoum inspect net.onnx", "pantoum inspect net.onnx --batch 32 --optimizer adam",
             "pantoum inspect net.onnx --nodes --format json"}},
    VerbRow{"operators",
            "look",
            "[options]",
            {"pantoum operators", "pantoum operators --format json", "pantoum operators --format text"}},
    VerbRow{"plan",
            "plan",
            "MODEL [options]\nplan --costgraph FILE [options]",
            {"pantoum plan net.onnx --batch 32 --ram 64MiB -o step.plan.json",
             "pantoum plan net.onnx --batch 8 --device m4 --ram 512KiB --effort 10 -o m4.plan.json",
             "pantoum plan net.onnx --batch 32 --ram 64MiB --deadline 1.3x --objective time"}},
    VerbRow{"profile",
            "plan",
            "MODEL [options]\nprofile --export FILE [options]\nprofile --import FILE [options]",
            {"pantoum profile net.onnx --batch 32", "pantoum profile net.onnx --batch 32 --ram 64MiB --steps 20",
             "pantoum profile --export times.csv"}},
    VerbRow{"sweep",
            "plan",
            "MODEL --ram BUDGETS -o DIR [options]\nsweep --costgraph FILE --ram BUDGETS -o DIR [options]",
            {"pantoum sweep net.onnx --batch 32 --ram 16MiB:128MiB:8 -o sweep",
             "pantoum sweep net.onnx --batch 32 --ram 64KiB,128KiB --device m4 -o sweep-m4",
             "pantoum sweep --costgraph graph.json --ram 64KiB:1MiB:16 -o sweep-graph --planners pantoum,dtr"}},
    VerbRow{"explain",
            "plan",
            "PLAN [options]",
            {"pantoum explain step.plan.json", "pantoum explain step.plan.json --effort 20",
             "pantoum explain step.plan.json --format json"}},
    VerbRow{"verify",
            "plan",
            "PLAN [options]",
            {"pantoum verify step.plan.json", "pantoum verify step.plan.json --ram 64MiB",
             "pantoum verify refusal.json --format json"}},
    VerbRow{"train",
            "train",
            "MODEL --data PATH --ram BYTES -o FILE [options]",
            {"pantoum train net.onnx --data images --batch 32 --ram 64MiB -o net.safetensors",
             "pantoum train net.onnx --data d.csv --batch 32 --ram 64MiB --epochs 5 --optimizer adam --lr 1e-3 "
             "-o net.safetensors",
             "pantoum train net.onnx --data images --batch 32 --ram 64MiB -o net.safetensors "
             "--resume net.safetensors.checkpoint"}},
    VerbRow{"predict",
            "train",
            "PLAN|MODEL --weights FILE --data PATH -o FILE [options]",
            {"pantoum predict step.plan.json --weights net.safetensors --data images -o outputs.npy",
             "pantoum predict net.onnx --weights net.safetensors --data images --split all -o outputs.npz",
             "pantoum predict net.onnx --weights net.safetensors --data images --top 3 -o classes.csv"}},
    VerbRow{"eval",
            "train",
            "PLAN|MODEL --weights FILE --data PATH [options]",
            {"pantoum eval step.plan.json --weights net.safetensors --data images",
             "pantoum eval net.onnx --weights net.safetensors --data images --split train",
             "pantoum eval net.onnx --weights net.safetensors --data images --format json"}},
    VerbRow{"export",
            "train",
            "MODEL --weights FILE -o FILE [options]",
            {"pantoum export net.onnx --weights net.safetensors -o trained.onnx",
             "pantoum export net.onnx --weights net.safetensors -o trained.onnx --external-data",
             "pantoum export net.onnx --weights net.safetensors -o - --format text"}},
    VerbRow{"report",
            "train",
            "PLAN [LOG] -o FILE [options]\nreport --compare LOG LOG -o FILE [options]",
            {"pantoum report step.plan.json -o plan.html", "pantoum report plan.json net.safetensors.jsonl -o run.html",
             "pantoum report --compare w0.safetensors.jsonl net.safetensors.jsonl -o compare.html"}},
    VerbRow{"emit",
            "deploy",
            "PLAN --target WORD -o DIR [options]",
            {"pantoum emit m4.plan.json --target cortex-m4f -o firmware",
             "pantoum emit m4.plan.json --target cortex-m4f --data images --steps 100 -o firmware",
             "pantoum emit m4.plan.json --target posix --ram 4MiB -o firmware-here"}},
    VerbRow{"run-firmware",
            "deploy",
            "DIR [options]",
            {"pantoum run-firmware firmware", "pantoum run-firmware firmware --fresh --steps 20",
             "pantoum run-firmware firmware --count --format json"}},
    VerbRow{"devices",
            "machine",
            "[list | show NAME] [options]",
            {"pantoum devices list", "pantoum devices show m4", "pantoum devices show my-board.toml --format json"}},
    VerbRow{"devices list",
            "machine",
            "[options]",
            {"pantoum devices list", "pantoum devices list --format json", "pantoum devices list --format text"}},
    VerbRow{
        "devices show",
        "machine",
        "NAME [options]",
        {"pantoum devices show host", "pantoum devices show m4 --format json", "pantoum devices show my-board.toml"}},
    VerbRow{"doctor",
            "machine",
            "[options]",
            {"pantoum doctor", "pantoum doctor --page-file /var/tmp", "pantoum doctor --format json"}},
    VerbRow{"completion",
            "machine",
            "SHELL",
            {"pantoum completion bash", "pantoum completion zsh", "pantoum completion fish"}},
    VerbRow{"man-pages",
            "machine",
            "-o DIR",
            {"pantoum man-pages -o man", "pantoum man-pages -o /tmp/man", "pantoum man-pages --output man"}},
    VerbRow{"reference",
            "machine",
            "",
            {"pantoum reference", "pantoum reference --format text", "pantoum reference --help"}},
};

}  // namespace

const VerbRow* row_of_verb(std::string_view name) {
  const auto* const row =
      std::find_if(kVerbRows.begin(), kVerbRows.end(), [&](const VerbRow& each) { return each.name == name; });
  return row == kVerbRows.end() ? nullptr : row;
}

const std::vector<VerbGroup>& verb_groups() {
  static const std::vector<VerbGroup> all{{"look", "what a model needs, before anything is planned"},
                                          {"plan", "fit a training step into a RAM budget"},
                                          {"train", "train inside the budget, keep what was learned"},
                                          {"deploy", "train on a microcontroller"},
                                          {"machine", "this machine and the devices that are known"}};
  return all;
}

}  // namespace pantoum::cli
