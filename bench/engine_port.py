"""PORT's figures 2 and 5 to 8 (Singhvi et al., 2024), planned here on calibrated cost graphs.

PORT publishes seconds of whole steps, not of ops. `calibrated` makes seconds of ops: each engine's sum is the published step on that engine alone, and
the sum over ops of the lesser seconds of a pair is the published step of that pair. Nothing else of them is known: how an op's seconds differ between
engines is drawn, always alike, and joules are not asked for. By PORT-M's rows (tensor v is computed in timestep v, and timesteps follow one another) no
schedule of it is shorter than that sum, with any RAM; so `lesser` is the least that PORT-M can reach on the graph. Rows are `port NETWORK-DEVICE ENGINES`: the
plan's seconds over the published ones, or over `lesser` where port.txt has no number; they hold at 1. Rows with a share of RAM are over `lesser`, which
no schedule need reach there, and hold where there is a plan that the checkers accept.
Every plan has a fixed effort, so that figures are the same everywhere. Standard library only.
"""
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "papers"))
import graphs

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EFFORT = "2"
SHARES = (None, 0.7, 0.5)  # of the peak of the unplanned step; None: all RAM that the device has
EXACT = 1e-6               # published figures have four digits; the calibration is this close to them

# Launches and hand-offs as the reference graphs of iPhones have them; PORT-M has none, so they make a plan dearer, not cheaper.
APPLE = [{"name": "cpu"}, {"name": "gpu", "launch_s": 12e-6, "handoff_s": 30e-6}, {"name": "ane", "launch_s": 15e-6, "handoff_s": 50e-6}]
COMBINATIONS = (("cpu", "gpu"), ("gpu", "ane"), ("cpu", "ane"), ("cpu", "gpu", "ane"))

# Section 5.2.2, in milliseconds: one engine (POET), and the combinations that the text names.
STEPS = {
    "resnet18-iphone13": {"ms": {"cpu": 41.02, "gpu": 119.18, "ane": 74.27, "cpu+ane": 36.56, "cpu+gpu+ane": 36.63}, "figure": 6},
    "bert-iphone13": {"ms": {"cpu": 54.79, "gpu": 117.16, "ane": 113.63, "cpu+ane": 51.16, "gpu+ane": 92.97}, "figure": 5},
    "vgg16-iphone15": {"ms": {"cpu": 151.56, "gpu": 238.51, "ane": 126.79, "cpu+ane": 101.86, "cpu+gpu+ane": 102.63}, "figure": 8},
}
# Section 5.2.1 and the caption of figure 2 give the Orin's gains alone: over POET on its better engine, "approximately 1.090x" and none. What the
# slower engine takes is not told; each of these multiples of the better one's step is a row. The unit is a step of 100 ms on the better engine.
ORIN = {"resnet18-orin": 1.090, "vgg16-orin": 1.0, "bert-orin": 1.0}
SLOWER = (1.5, 3)
# PORT does not say which BERT. At the rate with which ResNet-18 runs on the iPhone 13's CPU, its step of 54.79 ms has 4.6e9 operations; this one's has 3.9e9.
BERT = {"blocks": 6, "tokens": 128, "width": 256, "heads": 4, "weights": True}
UNIT = 0.1
MISSING = {
    "bert-iphone15": "figure 7 alone shows it, as bars without numbers: no total of any engine is known",
    "resnet18-iphone15": "figure 2 alone shows it, as bars without numbers",
    "vgg16-iphone13": "figure 2 alone shows it, as bars without numbers",
}


def draw_of(name, salt):
    return random.Random(f"{salt}:{name}").gauss(0, 1)


def shaped(weights, draws, spread, total):
    """`total`, shared out by the weights times e^(spread x draw)."""
    shares = [weight * math.exp(spread * draw) for weight, draw in zip(weights, draws)]
    return [total * share / sum(shares) for share in shares]


def lesser(*columns):
    return sum(min(times) for times in zip(*columns))


def solve(figure, wanted, low, high):
    """Where a falling or rising function has this value, between two places on either side of it."""
    rising = figure(high) > figure(low)
    if not min(figure(low), figure(high)) <= wanted <= max(figure(low), figure(high)):
        raise ValueError(f"{wanted} is not between {figure(low)} and {figure(high)}")
    for _ in range(200):
        middle = (low + high) / 2
        if (figure(middle) < wanted) == rising:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def calibrated(names, weights, ms):
    """Seconds by engine, one for each op."""
    of_ane, of_gpu = ([draw_of(name, salt) for name in names] for salt in ("ane", "gpu"))
    cpu = shaped(weights, of_ane, 0, ms["cpu"] / 1e3)
    ane_at = lambda spread: shaped(weights, of_ane, spread, ms["ane"] / 1e3)
    spread = solve(lambda at: lesser(cpu, ane_at(at)), ms["cpu+ane"] / 1e3, 0, 4)
    ane = ane_at(spread)

    def gpu_at(alike):  # 1: its ops differ from the processor's as those of the neural engine do; 0: in a way of their own
        return shaped(weights, [alike * a + (1 - alike) * b for a, b in zip(of_ane, of_gpu)], spread, ms["gpu"] / 1e3)

    alike = solve(lambda at: lesser(gpu_at(at), ane), ms["gpu+ane"] / 1e3, 0, 1) if "gpu+ane" in ms else 0.5
    return {"cpu": cpu, "gpu": gpu_at(alike), "ane": ane}


def calibrated_pair(names, weights, gain, slower):
    """The Orin's: the better engine is called gpu."""
    draws = [draw_of(name, "orin") for name in names]
    gpu = shaped(weights, draws, 0, UNIT)
    cpu_at = lambda spread: shaped(weights, draws, spread, slower * UNIT)
    spread = solve(lambda at: lesser(gpu, cpu_at(at)), UNIT / gain, 0, 6) if gain > 1 else 0
    return {"cpu": cpu_at(spread), "gpu": gpu}


class Port:
    def __init__(self, args, table, folder):
        self.args, self.table, self.folder = args, table, folder
        self.bases = {}

    def run(self, *words, accept=(0,)):
        done = subprocess.run([self.args.pantoum, *map(str, words)], capture_output=True, text=True)
        if done.returncode not in accept:
            raise SystemExit(f"{' '.join(map(str, words))}\n{done.stderr}")
        return done

    def base(self, network, device):
        """The network's step on the device's processor, as bench/papers has it: activations and gradients, one choice an op."""
        key = (network, device)
        if key not in self.bases:
            if network == "bert":
                graph = graphs.bert(json.loads(self.run("devices", "show", device, "--format", "json").stdout), network, **BERT)
            else:
                graph = graphs.from_model(self.run, os.path.join(ROOT, "tests", "values", f"{network}.onnx"), device, network, self.folder)
            self.bases[key] = graph
        return self.bases[key]

    def graph(self, base, engines, seconds, combination):
        """The step with these engines; the first one issues, whether it computes or not."""
        graph = json.loads(json.dumps(base))
        graph["device"]["engines"] = [engine for engine in engines if engine["name"] in combination or engine is engines[0]]
        graph["device"]["idle_w"] = 0
        for number, op in enumerate(graph["ops"]):
            first = {key: value for key, value in op["choices"][0].items() if key not in ("algorithm", "numerics", "energy_j")}
            op["choices"] = [{**first, "engine": engine, "time_s": seconds[engine][number], "energy_j": 0} for engine in combination]
        path = os.path.join(self.folder, "graph.json")
        with open(path, "w") as file:
            json.dump(graph, file)
        return path

    def plan(self, graph, ram):
        """(seconds, bound, whether every checker accepts it), or None."""
        path = os.path.join(self.folder, "port.plan.json")
        done = self.run("plan", "--costgraph", graph, "--ram", f"{ram}B", "--objective", "time", "--effort", EFFORT, "--allow-numerics-change", "-o", path, accept=(0, 5, 6))
        if done.returncode != 0:
            return None
        with open(path) as file:
            plan = json.load(file)
        accepted = subprocess.run([self.args.pantoum, "verify", path], capture_output=True).returncode == 0
        checker = os.path.join(self.args.reference, "tools", "check_plan.py")
        if os.path.exists(checker):
            accepted &= subprocess.run([sys.executable, checker, graph, path, "--ram", str(ram)], capture_output=True).returncode == 0
        return plan["predicted"]["time_s"], plan["bound"]["time_s"], accepted

    def add(self, name, base, engines, seconds, combination, published):
        """The rows of one combination. `published`: PORT-M's milliseconds, or None."""
        least = lesser(*(seconds[engine] for engine in combination))
        graph = self.graph(base, engines, seconds, combination)
        peak = json.loads(self.run("plan", "--costgraph", graph, "--ram", "64GiB", "--effort", EFFORT, "--format", "json").stdout)["unplanned_peak_bytes"]
        row = {"published_ms": published, "lesser_ms": 1e3 * least, "peak_bytes": peak, "plans": []}
        for share in SHARES:
            ram = base["device"]["ram_bytes"] if share is None else int(share * peak)
            over = published / 1e3 if share is None and published else least
            label = f"port {name} {'+'.join(combination)}" + ("" if share is None else f" at {share:g} of the peak")
            target, most = ("ratio <= 1", over * (1 + EXACT)) if share is None else ("a plan", math.inf)
            found = self.plan(graph, ram)
            if found is None:
                self.table.add(label, 0.0, "", target, False, "calibrated; no plan")
                row["plans"].append({"share": share, "ram_bytes": ram})
                continue
            took, bound, accepted = found
            of = "PORT-M" if share is None and published else "the sum of the lesser"
            self.table.add(label, took / over, "", target, accepted and took <= most,
                           f"calibrated; {1e3 * took:.2f} ms, {of} {1e3 * over:.2f}, bound {1e3 * bound:.2f}" + ("" if accepted else "; a checker refuses the plan"))
            row["plans"].append({"share": share, "ram_bytes": ram, "ms": 1e3 * took, "bound_ms": 1e3 * bound, "accepted": accepted})
        return row

    def add_step(self, name, step):
        network, device = name.split("-")
        base = self.base(network, {"iphone13": "iphone-13", "iphone15": "iphone-15"}[device])
        names, weights = zip(*((op["name"], op["choices"][0]["time_s"]) for op in base["ops"]))
        seconds = calibrated(names, weights, step["ms"])
        row = {"kind": "calibrated", "figure": step["figure"], "ops": len(names), "one_engine_ms": {engine: 1e3 * sum(seconds[engine]) for engine in seconds}, "combinations": {}}
        for combination in COMBINATIONS:
            key = "+".join(combination)
            row["combinations"][key] = self.add(name, base, APPLE, seconds, combination, step["ms"].get(key))
        return row

    def add_orin(self, name, gain):
        base = self.base(name.split("-")[0], "jetson-orin")
        names, weights = zip(*((op["name"], op["choices"][0]["time_s"]) for op in base["ops"]))
        row = {"kind": "calibrated", "gain": gain, "ops": len(names), "slower": {}}
        for slower in SLOWER:
            seconds = calibrated_pair(names, weights, gain, slower)
            engines = [{"name": "cpu"}, {"name": "gpu"}]
            row["slower"][str(slower)] = self.add(f"{name} slower x{slower:g}", base, engines, seconds, ("cpu", "gpu"), 1e3 * UNIT / gain)
        return row


def add_rows(table, args, raw):
    wanted = [name for name in itertools.chain(STEPS, ORIN) if table.wants(f"port {name}")]
    if not wanted:
        return
    raw["port"] = {"effort": int(EFFORT), "missing": MISSING, "steps": {}}
    with tempfile.TemporaryDirectory() as folder:
        port = Port(args, table, folder)
        for name in wanted:
            raw["port"]["steps"][name] = port.add_step(name, STEPS[name]) if name in STEPS else port.add_orin(name, ORIN[name])
    for name, why in MISSING.items():
        table.skip(f"port {name}", why)
