"""NNTrainer's applications as examples/ has them: rows `app NAME` of bench/nntrainer.py.

The figure is what the example reaches, its target what its run.sh asks for, and the note has the RAM: of the step by the plan, of a step without one. `app
resnet18-transfer` plans the network of the paper's transfer learning (batch 32, a frozen ResNet-18 in front of one layer); its figure is the RAM in MiB, its target what
NNTrainer was measured to take, less what a process of it takes that trains nothing.
"""
import json
import os
import re
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LONGEST = 240  # seconds of an example
MIB = 1 << 20
# Figure 12 of the paper, with the 12.3 MiB that a process of NNTrainer takes by itself taken off.
TRANSFER_MIB = 87.8 - 12.3
TRANSFER = """[model]
loss = cross
batch_size = 32
[optimizer]
type = sgd
learning_rate = 0.1
[resnet]
backbone = {}
trainable = false
[head]
type = fully_connected
unit = 10
activation = softmax
"""

# What its output says, by a pattern with the figure and the target: "test_loss 0.09, <= 0.2 asked for".
ASKED = r"{} ([\d.]+), ([<>]=) ([\d.]+) asked for"
FIGURES = {
    "product-ratings": "test_mae",
    "logistic-regression": "test_loss",
    "handmoji": "right of 100 drawings",
    "few-shot": "simple_shot_1: right of 200 drawings",
    "personal-keyword": "test_loss",
    "multi-input": "test_loss",
    "reinforcement-learning": "moments",
}
RAM = re.compile(r"RAM ([\d.]+) KiB.*?without a plan ([\d.]+) KiB")


def add_example(table, program, folder, name):
    row, out = f"app {name}", os.path.join(folder, name)
    if not table.wants(row):
        return
    begin = time.monotonic()
    try:
        done = subprocess.run([os.path.join(ROOT, "examples", name, "run.sh"), program, out], capture_output=True, text=True, timeout=LONGEST,
                              env={**os.environ, "PYTHON": "/usr/bin/python3"})
    except subprocess.TimeoutExpired:
        return table.add(row, 0.0, "", "its figure", False, f"more than {LONGEST} s")
    seconds = time.monotonic() - begin
    found, ram = re.search(ASKED.format(re.escape(FIGURES[name])), done.stdout), RAM.search(done.stdout)
    if not found:
        return table.add(row, 0.0, "", "its figure", False, (done.stderr.strip().splitlines() or ["it says no figure"])[-1])
    told = f"RAM {ram[1]} KiB, without a plan {ram[2]} KiB" if ram else "nothing is trained"
    table.add(row, float(found[1]), "", f"{found[2]} {found[3]}", done.returncode == 0, f"{FIGURES[name]}; {told}; {seconds:.0f} s")


def add_transfer(table, program, folder, backbone):
    row, model = "app resnet18-transfer", os.path.join(folder, "transfer.ini")
    if not table.wants(row):
        return
    if not os.path.exists(backbone):
        return table.skip(row, f"no {backbone}")
    with open(model, "w", encoding="utf-8") as file:
        file.write(TRANSFER.format(backbone))

    def planned(ram):
        words = [program, "plan", model, "--ram", ram, "--effort", "1", "--kernels", "portable", "--measure", "off", "--format", "json"]
        return json.loads(subprocess.run(words, capture_output=True, text=True).stdout)

    least = planned("1B")["min_ram_bytes"]
    plan = planned(f"{least}B")
    table.add(row, plan["arena_bytes"] / MIB, "MiB", f"<= {TRANSFER_MIB:g} MiB", plan["arena_bytes"] <= TRANSFER_MIB * MIB,
              f"without a plan {plan['unplanned_peak_bytes'] / MIB:.1f} MiB; the paper's ideal without a process 68.2 MiB")


def add_apps(table, program, folder, references):
    for name in FIGURES:
        add_example(table, program, folder, name)
    add_transfer(table, program, folder, os.path.abspath(os.path.join(references, "files", "Resnet-resnet18.ini")))
