"""Benchmark of the runtime against PyTorch and NNTrainer: a table, and out/bench/runtime.json with the raw samples.

usage: run.py --pantoum BINARY [--out FOLDER] [--only TEXT] [--rounds N] [--quick]
PyTorch (torch) must be importable; without it every row that needs it is skipped and said. Step times of both are taken in turns, several rounds
each, and compared by their medians; NNTrainer's memory is that of its own measured runs (NNTRAINER below). --quick: one round of few steps.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from table import Table  # noqa: E402

MIB = 1 << 20
# Peak resident set of NNTrainer (December 2025), one thread, batch 32: its own process, training.
NNTRAINER = {"lenet5": 13.7 * MIB, "vgg16": 132.6 * MIB, "resnet18": 253 * MIB}
TIGHT = ("--time-limit", "20s")  # of planning inside a budget
LAST_LAYER = 80.5 * MIB
# Steps of a round: so many that a round takes seconds, not minutes.
STEPS = {"lenet5": 200, "vgg16": 12, "resnet18": 8, "resnet50": 5, "mobilenet_v2": 6, "bert_mini": 12, "lstm": 60}


class Bench:
    def __init__(self, args):
        self.args, self.raw, self.table = args, {}, Table(args.only)
        self.work = os.path.join(args.out, "runtime")
        os.makedirs(self.work, exist_ok=True)
        self.rounds = 1 if args.quick else args.rounds

    def steps(self, name):
        return max(3, STEPS[name] // (4 if self.args.quick else 1))

    # ---- the two sides ----

    def torch_steps(self, name, threads, segments=0, compiled=False):
        command = [sys.executable, os.path.join(HERE, "torch_steps.py"), name, str(threads), str(self.steps(name) + 1)]
        command += ["checkpoint", str(segments)] if segments else ["compile"] if compiled else []
        answer = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": str(threads)})
        found = json.loads(answer.stdout.splitlines()[-1])
        return found["seconds"][1:], found["resident_bytes"]

    def model(self, name):
        """Folder with net.onnx and random data for a round of steps."""
        folder = os.path.join(self.work, name)
        marker = os.path.join(folder, f"ready-{self.steps(name)}")
        if not os.path.exists(marker):
            os.makedirs(folder, exist_ok=True)
            subprocess.run([sys.executable, os.path.join(HERE, "make_data.py"), name, folder, str(self.steps(name) + 1)], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            open(marker, "w").close()
        return folder

    def pantoum(self, folder, batch, *options, search=("--effort", "4")):
        """One epoch; seconds of every step but the first, and the last line of the log."""
        log = os.path.join(folder, "run.jsonl")
        command = [self.args.pantoum, "train", os.path.join(folder, "net.onnx"), "--data", folder, "--batch", str(batch), *search,
                   "--log-every", "1", "--log", log, "--page-file", folder, "-o", os.path.join(folder, "out.safetensors"), *options]
        answer = subprocess.run(command, capture_output=True, text=True)
        if answer.returncode != 0:
            raise RuntimeError(answer.stderr.strip().splitlines()[-1] if answer.stderr.strip() else f"exit {answer.returncode}")
        with open(log) as file:
            lines = [json.loads(line) for line in file]
        ends = [line["seconds"] for line in lines if line["event"] == "step"]
        return [b - a for a, b in zip(ends, ends[1:])], lines[-1]

    def in_turns(self, sides):
        """Medians of sides, each a call that returns (seconds of steps, facts); rounds take turns."""
        seconds, facts = [[] for _ in sides], [None] * len(sides)
        for _ in range(self.rounds):
            for side, call in enumerate(sides):
                taken, facts[side] = call()
                seconds[side] += taken
        return [statistics.median(taken) for taken in seconds], facts

    def attempt(self, name, act):
        if not self.table.wants(name):
            return
        try:
            act(name)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            self.table.add(name, float("nan"), "", "", False, f"failed: {error}")

    # ---- rows ----

    def against_torch(self, network, batch, threads):
        def act(name):
            folder = self.model(network)
            options = ("--ram", "8GiB", "--threads", str(threads))
            sides = [lambda: self.pantoum(folder, batch, *options), lambda: self.torch_steps(network, threads)]
            if not self.args.quick:  # a minute of compiling
                sides.append(lambda: self.torch_steps(network, threads, compiled=True))
            (ours, *others), (log, *memory) = self.in_turns(sides)
            self.raw[name] = {"pantoum_s": ours, "torch_s": others[0], "compiled_s": others[1] if others[1:] else None,
                              "pantoum_bytes": log["resident_bytes"], "torch_bytes": memory[0]}
            for peer, theirs, resident in zip(("", ", torch.compile"), others, memory):
                self.table.add(name + peer, ours / theirs, "x", "<= 1.0", ours <= theirs,
                               f"{ours * 1e3:.4g} ms against {theirs * 1e3:.4g} ms; {log['resident_bytes'] / MIB:.0f} MiB against {resident / MIB:.0f} MiB")

        self.attempt(f"step time, {network} b{batch}, {threads} thread{'s' if threads > 1 else ''}", act)

    def against_both(self, network, batch, *options):
        def act(name):
            folder = self.model(network)
            (ours, theirs), (log, _) = self.in_turns(
                [lambda: self.pantoum(folder, batch, "--threads", "1", *options), lambda: self.torch_steps(network, 1)])
            memory = log["resident_bytes"] / NNTRAINER[network]
            self.raw[name] = {"pantoum_s": ours, "torch_s": theirs, "pantoum_bytes": log["resident_bytes"]}
            self.table.add(f"{name}: time over PyTorch's", ours / theirs, "x", "<= 1.1", ours <= 1.1 * theirs, f"{ours * 1e3:.4g} ms, {' '.join(options)}")
            self.table.add(f"{name}: memory over NNTrainer's", memory, "x", "<= 0.95", memory <= 0.95, f"{log['resident_bytes'] / MIB:.1f} MiB resident")
            if network == "lenet5":
                self.table.add(f"{name}: resident", log["resident_bytes"] / MIB, "MiB", "< 10", log["resident_bytes"] < 10 * MIB, log["kernels"])

        self.attempt(f"one run, {network} b{batch}", act)

    def least(self, folder, batch, *options):
        """The smallest budget for which a plan is known, and the unplanned peak."""
        command = [self.args.pantoum, "plan", os.path.join(folder, "net.onnx"), "--batch", str(batch), "--ram", "1B", "--effort", "4",
                   "--format", "json", "-o", os.path.join(folder, "none.json"), *options]
        return self.answer_of(command)["min_ram_bytes"]

    @staticmethod
    def answer_of(command):
        """The line of JSON that a command prints, whatever its exit code."""
        answer = subprocess.run(command, capture_output=True, text=True)
        if not answer.stdout.strip():
            raise RuntimeError(answer.stderr.strip().splitlines()[-1] if answer.stderr.strip() else f"exit {answer.returncode}")
        return json.loads(answer.stdout.splitlines()[0])

    def rate_of_products(self, threads):
        """Of one large product by Pantoum's kernels, in floating-point operations a second."""
        path = os.path.join(self.work, "product.onnx")
        if not os.path.exists(path):
            subprocess.run([sys.executable, os.path.join(HERE, "torch_steps.py"), path, "1", "product"], check=True, capture_output=True)
        found = self.answer_of([self.args.pantoum, "profile", path, "--batch", "2048", "--ram", "8GiB", "--inference", "--loss", "mse", "--threads", str(threads),
                                "--measure", "all", "--profile-store", os.path.join(self.work, "product.db"), "--format", "json"])
        return max(2 * 2048 ** 3 / op["seconds"] for op in found["ops"] if op["op"] == "matmul")

    def of_machines_peak(self, network, batch, threads):
        """A step's time over that of its products and convolutions at the best rate of large products, PyTorch's or Pantoum's."""
        def act(name):
            folder = self.model(network)
            peak = self.answer_of([sys.executable, os.path.join(HERE, "torch_steps.py"), network, str(threads), "peak"])
            (ours,), _ = self.in_turns([lambda: self.pantoum(folder, batch, "--ram", "8GiB", "--threads", str(threads))])
            peak["flops_per_s"] = max(peak["flops_per_s"], self.rate_of_products(threads))
            least = peak["flops"] / peak["flops_per_s"]
            self.raw[name] = {"pantoum_s": ours, **peak}
            self.table.add(name, ours / least, "x", "<= 1.5", ours <= 1.5 * least, f"{ours * 1e3:.4g} ms; {least * 1e3:.4g} ms at {peak['flops_per_s'] / 1e9:.4g} GFLOP/s; the aim is 1.3")

        self.attempt(f"machine's peak, {network} b{batch}, {threads} thread{'s' if threads > 1 else ''}", act)

    def inside_budgets(self, network, batch, threads):
        def act(name):
            folder = self.model(network)
            store = os.path.join(folder, "profile.db")
            if os.path.exists(store):  # of an earlier run
                os.remove(store)
            options = ("--threads", str(threads), "--measure", "missing", "--profile-store", store, "--objective", "time")
            _, log = self.pantoum(folder, batch, "--ram", "8GiB", *options)
            peak, least = log["unplanned_peak_bytes"], self.least(folder, batch)
            for share, target in [(2, 1.10), (4, 1.30)]:
                ram = max(peak // share, least)
                (free, held), (_, log) = self.in_turns([lambda: self.pantoum(folder, batch, "--ram", "8GiB", *options),
                                                        lambda: self.pantoum(folder, batch, "--ram", f"{ram}B", *options, search=TIGHT)])
                counts = free >= 0.05
                row = f"{name}, {'half' if share == 2 else 'a quarter'} of the peak"
                self.raw[row] = {"free_s": free, "held_s": held, "ram": ram, "peak": peak, "least": least}
                self.table.add(row, held / free, "x", f"<= {target}" if counts else "reported", not counts or held <= target * free,
                               f"{ram / MIB:.1f} of {peak / MIB:.1f} MiB{', the least that is feasible' if ram == least else ''}; "
                               f"{log['bytes_paged_out'] / MIB:.0f} MiB paged out in all")

        self.attempt(f"inside a budget, {network} b{batch}, {threads} thread{'s' if threads > 1 else ''}", act)

    def against_checkpoint(self, network, batch, segments):
        def act(name):
            folder = self.model(network)
            _, resident = self.torch_steps(network, 1, segments)
            (ours, theirs), (log, _) = self.in_turns([lambda: self.pantoum(folder, batch, "--ram", f"{int(resident)}B", "--threads", "1"),
                                                      lambda: self.torch_steps(network, 1, segments)])
            fits = log["resident_bytes"] <= resident
            self.table.add(name, theirs / ours, "x faster", ">= 1.3", theirs >= 1.3 * ours and fits,
                           f"{log['resident_bytes'] / MIB:.0f} MiB against {resident / MIB:.0f} MiB")

        self.attempt(f"torch.utils.checkpoint, {network} b{batch}", act)

    def side_by_side(self, network, batch, segments, *kernels):
        """One network in every way to train it here, in turns: a row for each way, its quickest step over PyTorch's."""
        def act(name):
            folder = self.model(network)
            peak = self.pantoum(folder, batch, "--ram", "8GiB", *kernels)[1]["unplanned_peak_bytes"]
            ram = max(peak // 2, self.least(folder, batch, *kernels))
            ways = {"PyTorch": lambda: self.torch_steps(network, 1),
                    f"PyTorch, checkpoint in {segments} segments": lambda: self.torch_steps(network, 1, segments),
                    "Pantoum, --ram 8GiB": lambda: self.held(folder, batch, "--ram", "8GiB", *kernels),
                    f"Pantoum, --ram {ram}B": lambda: self.held(folder, batch, "--ram", f"{ram}B", "--objective", "time", *kernels, search=TIGHT)}
            runs = {way: [] for way in ways}
            for _ in range(self.rounds):
                for way, call in ways.items():
                    runs[way].append(call())
            self.raw[name] = {"network": network, "batch": batch, "unplanned_peak_bytes": peak, "ways": [self.way(way, of) for way, of in runs.items()]}
            least = self.raw[name]["ways"][0]["quickest_s"]
            for way in self.raw[name]["ways"]:
                self.table.add(f"{name}: {way['way']}", way["quickest_s"] / least, "x", "reported", True,
                               f"{way['quickest_s'] * 1e3:.4g} ms, median {way['median_s'] * 1e3:.4g}; {way['resident_bytes'] / MIB:.1f} MiB resident")

        self.attempt(f"side by side, {network} b{batch}", act)

    def held(self, folder, batch, *options, **search):
        seconds, log = self.pantoum(folder, batch, "--threads", "1", *options, **search)
        return seconds, log["resident_bytes"]

    @staticmethod
    def way(name, runs):
        seconds = [step for taken, _ in runs for step in taken]
        return {"way": name, "steps": len(seconds), "quickest_s": min(seconds), "median_s": statistics.median(seconds),
                "resident_bytes": max(resident for _, resident in runs)}

    def table_4(self):
        import cases
        for case, (_, _, paper) in cases.TABLE_4.items():
            def act(name, case=case, paper=paper):
                path = os.path.join(self.work, f"table4-{list(cases.TABLE_4).index(case)}.onnx")
                if not os.path.exists(path):
                    cases.export(case, path)
                kept = self.ask(path, f"{paper}KiB", "--no-paging", "--no-remat")
                peaks = {"kept": kept.get("arena_bytes") or kept["min_ram_bytes"]}  # what is known of a refused budget is no more than an upper bound
                peaks["least"] = min(peaks["kept"], self.ask(path, "1B")["min_ram_bytes"])
                self.table.add(f"{name}: planned, everything kept", peaks["kept"] / 1024, "KiB", f"<= {paper}", peaks["kept"] <= paper * 1024)
                self.table.add(f"{name}: with recomputing and paging", peaks["least"] / 1024, "KiB", f"< {paper}", peaks["least"] < paper * 1024)

            self.attempt(f"Table 4, {case}", act)

    def ask(self, path, ram, *options):
        import cases
        return self.answer_of([self.args.pantoum, "plan", path, "--batch", str(cases.BATCH), "--loss", "mse", "--ram", ram, "--effort", "4",
                               "--kernels", "portable", "--format", "json", "-o", path + ".plan.json", *options])

    def last_layer(self):
        def act(name):
            folder = self.model("resnet18")
            _, log = self.pantoum(folder, 32, "--threads", "1", "--ram", "60MiB", "--freeze", "[0-9].*")
            self.table.add(name, log["resident_bytes"] / MIB, "MiB", "<= 80.5", log["resident_bytes"] <= LAST_LAYER)

        self.attempt("only the last layer, resnet18 b32", act)

    def loss_curve(self, threads):
        """Means of 25 steps against PyTorch's; the noise is how far PyTorch's own runs, rounded otherwise, lie from one another."""
        import curve
        steps, window = (100 if self.args.quick else 500), 25

        def act(name):
            if not os.path.isdir(curve.FASHION):
                return self.table.skip(name, f"{curve.FASHION} is not there: apt-get install dataset-fashion-mnist")
            folder = os.path.join(self.work, f"curve-{steps}")
            os.makedirs(folder, exist_ok=True)
            program = [sys.executable, os.path.join(HERE, "curve.py"), folder, str(steps)]
            subprocess.run([*program, "data"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            losses = {way: json.loads(subprocess.run([*program, way, str(threads)], check=True, capture_output=True, text=True).stdout.splitlines()[-1])
                      for way in ("plain", "reversed", "rotated")}
            self.pantoum(folder, curve.BATCH, "--ram", "8GiB", "--threads", str(threads), "--seed", str(curve.SEED), "--lr", str(curve.RATE),
                         "--momentum", str(curve.MOMENTUM))
            with open(os.path.join(folder, "run.jsonl")) as file:
                losses["pantoum"] = [line["loss"] for line in map(json.loads, file) if line["event"] == "step"]
            self.raw[name] = losses
            means = {way: [statistics.mean(of[at:at + window]) for at in range(0, steps, window)] for way, of in losses.items()}

            def gap(a, b):
                return max(abs(x - y) for x, y in zip(means[a], means[b]))
            noise = max(gap("plain", "reversed"), gap("plain", "rotated"), gap("reversed", "rotated"))
            first = max(abs(a / b - 1) for a, b in zip(losses["pantoum"][:3], losses["plain"]))
            worst = gap("pantoum", "plain")
            self.table.add(f"{name}: gap over the noise", worst / noise, "x", "<= 1.5", worst <= 1.5 * noise,
                           f"{worst:.4f} against {noise:.4f}; the first steps differ by {first:.1e}; the last mean is {means['pantoum'][-1]:.4f}, "
                           f"PyTorch's {means['plain'][-1]:.4f}")

        self.attempt(f"loss curve, resnet18 on Fashion-MNIST, {steps} steps", act)

    def save(self):
        with open(os.path.join(self.args.out, "runtime.json"), "w") as file:
            json.dump({"rows": self.table.rows, "raw": self.raw}, file, indent=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pantoum", required=True)
    parser.add_argument("--out", default=os.path.join(ROOT, "out", "bench"))
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    args.pantoum = os.path.abspath(args.pantoum)
    os.makedirs(args.out, exist_ok=True)
    bench = Bench(args)
    try:
        import networks
    except ImportError as error:
        bench.table.skip("every row", f"PyTorch is not there ({error}): pip install torch")
        return bench.save()
    batches = {name: network[1] for name, network in networks.NETWORKS.items()}
    cores = len(os.sched_getaffinity(0))
    for name, batch in batches.items():
        for threads in sorted({1, cores}):
            bench.against_torch(name, batch, threads)
    bench.against_both("lenet5", 32, "--ram", "2MiB", "--kernels", "portable")
    bench.against_both("vgg16", 32, "--ram", "96MiB")
    bench.against_both("resnet18", 32, "--ram", "205MiB")
    for name, batch in batches.items():
        for threads in sorted({1, cores}):
            bench.inside_budgets(name, batch, threads)
    for threads in sorted({1, cores}):
        bench.of_machines_peak("resnet18", batches["resnet18"], threads)
    bench.against_checkpoint("resnet18", 32, 4)
    for name, kernels in [("lenet5", ("--kernels", "portable")), ("vgg16", ()), ("resnet18", ())]:
        bench.side_by_side(name, batches[name], 4, *kernels)
    bench.table_4()
    bench.last_layer()
    bench.loss_curve(cores)
    bench.save()


if __name__ == "__main__":
    main()
