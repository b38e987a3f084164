"""Benchmark of firmware in QEMU: a table, and out/bench/firmware.json with what was measured.

usage: run.py --pantoum BINARY [--out FOLDER] [--only TEXT] [--jobs N] [--no-full]
Every case is planned, emitted, run whole and held against the host bit for bit, then run again for a few steps that are counted. Cases run side by
side, --jobs at a time. PyTorch exports the networks; without it, or without a case's data, it is skipped and said. --no-full: the counted steps alone.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from figures import paged_kinds, static_bytes, unplanned_bytes  # noqa: E402
from table import Table  # noqa: E402

KIB = 1 << 10
EFFORT = 10
# Instructions over the multiply-accumulates that a step needs, in convolutions and products: what is aimed at.
RATIOS = {"cortex-m4f": 4, "cortex-m7": 4, "cortex-m55": 2}


class Failed(RuntimeError):
    pass


def told(*command):
    """The line of JSON that a command prints; its error where it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or f"exit {done.returncode}").splitlines()[-1]
        if said.startswith('{"error"'):
            error = json.loads(said)
            said = " ".join([error["error"], error["message"], *error["notes"]]).strip().replace("\n", "; ")
        raise Failed(f"{command[1]}: {said}")
    lines = done.stdout.splitlines()
    return json.loads(lines[-1])


def test_of(run):
    """The firmware's own evaluation."""
    return {"loss": run["test_loss"], "right": run["test_right"], "counted": run["test_counted"]}


class Run:
    """One case on one target."""

    def __init__(self, args, case, target, plan, parameters):
        self.args, self.case, self.target, self.plan, self.parameters = args, case, target, plan, parameters
        self.folder = os.path.join(plan["folder"], target[0])

    def emit(self):
        case = self.case
        shutil.rmtree(self.folder, ignore_errors=True)
        weights = ["--weights", self.plan["weights"]] if self.plan["weights"] else []
        self.sizes = told(self.args.pantoum, "emit", self.plan["path"], "--target", *self.target, "--data", self.plan["data"], "--steps", case.steps, "--stack",
                          f"{case.stack}B", *weights, *case.emit, "-o", self.folder, "--format", "json")

    def measure(self):
        self.emit()
        run = [self.args.pantoum, "run-firmware", self.folder, "--fresh", "--format", "json"]
        self.whole = None if self.args.no_full else told(*run)
        self.static = static_bytes(os.path.join(self.folder, "firmware.elf")) if self.whole else {}
        image = os.path.join(self.folder, "storage.img")
        self.image_bytes = os.path.getsize(image) if os.path.exists(image) else 0
        self.counted = told(*run, "--count", "--steps", self.case.counted)
        self.count = self.counted["count"]
        self.static = self.static or static_bytes(os.path.join(self.folder, "firmware.elf"))
        return self

    # ---- what is shown ----

    def name(self, what):
        return f"{self.case.name}, {self.target[0]}: {what}"

    def show(self, table):
        self.show_memory(table)
        if self.whole:
            self.show_training(table)
        self.show_instructions(table)

    def unplanned(self):
        return unplanned_bytes(self.plan["unplanned_peak_bytes"], self.static)

    def show_memory(self, table):
        ram, need = sum(self.static.values()), self.unplanned()
        table.add(self.name("RAM in all, linked at"), ram / KIB, "KiB", f"<= {self.case.ram // KIB}", ram <= self.case.ram == self.sizes["ram_bytes"],
                  f"arena {self.sizes['arena_bytes'] / KIB:.1f}, stack {self.sizes['stack_bytes'] / KIB:.1f}; {self.parameters} parameters")
        over = need / self.case.ram
        table.add(self.name("RAM unplanned over the budget"), over, "x", ">= 2" if self.case.needs_twice else "reported", over >= 2 or not self.case.needs_twice,
                  f"{need / KIB:.1f} KiB, stack and session in it")
        missing = [kind for kind in self.case.paged if kind not in self.plan["kinds"]]
        if self.case.paged or self.plan["kinds"]:
            table.add(self.name("storage"), self.image_bytes / KIB, "KiB", "paged: " + ", ".join(self.case.paged) if self.case.paged else "reported", not missing,
                      f"{self.sizes['storage_blocks']} blocks; paged are {', '.join(sorted(self.plan['kinds'])) or 'none'}")
        if self.case.parameters:
            table.add(self.name("parameters"), self.parameters, "", f">= {self.case.parameters}", self.parameters >= self.case.parameters)

    def show_training(self, table):
        run, losses = self.whole, self.whole["losses"]
        table.add(self.name(f"bits after {run['steps']} steps are the host's"), run["losses_compared"], "losses", "equal", run["equal"], f"state {run['state']}")
        first, last = test_of(self.counted)["loss"], test_of(run)["loss"]
        table.add(self.name("loss of the test set at the end"), last, "", f"< {first:.4f}", last < first,
                  f"which it was after {self.case.counted} steps; in training {losses[0][1]:.4f} at step {losses[0][0]}, {losses[-1][1]:.4f} at the end")
        used, stack = (int(word) for word in run["stack"].split(" of "))
        table.add(self.name("stack, high-water mark"), used, "B", f"< {stack}", used < stack)
        _, paged_in, _, paged_out = run["paged"].split()
        table.add(self.name("paged in a step"), (int(paged_in) + int(paged_out)) / run["steps"] / KIB, "KiB", "reported", True,
                  f"in all {paged_in} in, {paged_out} out, {run['written']} written to storage")
        if self.case.accuracy:
            right, counted = test_of(run)["right"], test_of(run)["counted"]
            table.add(self.name("right of the test set"), right / counted, "", f">= {self.case.accuracy}", right >= self.case.accuracy * counted, f"{right} of {counted}")

    def show_instructions(self, table):
        products = self.count["products"]
        table.add(self.name("instructions a step"), self.count["instructions"] / 1e6, "M", "reported", True,
                  f"{products['macs_needed'] / 1e6:.3f} M multiply-accumulates needed, {products['macs_done'] / 1e6:.3f} M done; {self.count['energy_modelled_j'] * 1e3:.4g} mJ (modelled)")
        target = RATIOS.get(self.target[0])
        parts = [f"{name} {kernel['ratio']:.2f}" for name, kernel in self.count["kernels"].items() if "ratio" in kernel]
        table.add(self.name("instructions per multiply-accumulate"), products["ratio"], "", f"<= {target}" if target else "reported", not target or products["ratio"] <= target,
                  ", ".join(parts))

    def raw(self):
        return {"sizes": self.sizes, "static": self.static, "run": self.whole, "counted": self.counted, "parameters": self.parameters, "image_bytes": self.image_bytes,
                "unplanned_bytes": self.unplanned(), "plan": {**self.plan, "kinds": sorted(self.plan["kinds"])}}


def trained_here(args, network, folder):
    """Weights of a network that is trained on this machine first: what is transferred."""
    import data
    import networks
    model, weights = os.path.join(folder, f"{network}.onnx"), os.path.join(folder, f"{network}.safetensors")
    networks.export(network, model)
    samples = data.eight_classes(os.path.join(folder, "eight"))
    told(args.pantoum, "train", model, "--data", samples, "--batch", 16, "--epochs", 3, "--optimizer", "adam", "--lr", 0.003, "--ram", "64MiB", "--effort", 1,
         "-o", weights, "--format", "json")
    return weights


def prepare(args, case):
    """Samples and plan; every target of the case runs the same."""
    import networks
    folder = os.path.join(args.out, "firmware", case.network)
    os.makedirs(folder, exist_ok=True)
    model, path, graph = (os.path.join(folder, name) for name in ("net.onnx", "plan.json", "graph.json"))
    samples = case.samples(os.path.join(folder, "samples"))
    parameters = networks.export(case.network, model)
    weights = trained_here(args, case.weights, folder) if case.weights else ""
    options = ["--weights", weights, "--keep-init", "head*"] if weights else []
    plan = told(args.pantoum, "plan", model, "--ram", f"{case.ram}B", "--reserve", f"{case.reserve}B", "--effort", EFFORT, *case.plan, *options,
                "--costgraph-out", graph, "-o", path, "--format", "json")
    plan.update(folder=folder, path=path, data=samples, weights="", kinds=paged_kinds(path, graph))
    return plan, parameters


def run_case(args, case):
    """[(what was measured, "") or (None, why not)]"""
    import data
    try:
        plan, parameters = prepare(args, case)
    except data.Absent as reason:
        return [(None, reason, True)]
    except Failed as reason:
        return [(None, reason, False)]
    made = []
    for target in case.targets:
        try:
            made.append((Run(args, case, target, plan, parameters).measure(), "", False))
        except Failed as reason:
            made.append((None, f"{target[0]}: {reason}", False))
    return made


def missing_tools():
    return [tool for tool in ("arm-none-eabi-gcc", "arm-none-eabi-size", "qemu-system-arm", "make", "cc") if not shutil.which(tool)]


def show_case(table, case, made, raw):
    for run, why, absent in made:
        if run is None and absent:
            table.skip(case.name, str(why))
        elif run is None:
            table.add(case.name, float("nan"), "", "", False, f"failed: {why}")
        else:
            raw[f"{case.name}, {run.target[0]}"] = run.raw()
            run.show(table)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pantoum", required=True)
    parser.add_argument("--out", default=os.path.join(ROOT, "out", "bench"))
    parser.add_argument("--only", default="", help="cases whose name contains it")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--no-full", action="store_true")
    args = parser.parse_args()
    args.pantoum, args.out = os.path.abspath(args.pantoum), os.path.abspath(args.out)
    os.makedirs(args.out, exist_ok=True)
    table, raw = Table(args.only), {}
    try:
        import cases
        import networks  # noqa: F401
        lacking = missing_tools()
    except ImportError as error:
        lacking = [f"PyTorch ({error})"]
    if lacking:
        table.skip("every case", f"not there: {', '.join(lacking)}")
    else:
        chosen = [case for case in cases.CASES if table.wants(case.name)]
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for case, made in zip(chosen, pool.map(lambda case: run_case(args, case), chosen)):
                show_case(table, case, made, raw)
    with open(os.path.join(args.out, "firmware.json"), "w") as file:
        json.dump({"rows": table.rows, "raw": raw}, file, indent=1)


if __name__ == "__main__":
    main()
