"""How the parts of planner.py ask the planner: one question, its answer checked, and what it means.

An answer is a dictionary: `seconds` from start to end, `exit`, and for a plan, which check_plan.py holds to be valid, `value`
(of the objective, as replayed), `unplanned` (the step with all the RAM), `extra` over it, `bound`, `gap`, `order` and `ops`.
Where there is none: `code` and `why`; `refuted` where the refusal's file proves it; `failed` where the answer is neither.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Callable, NamedTuple

LATE = 1.0  # seconds over the limit that starting and writing may take
UNIT = {"energy": "energy_j", "time": "time_s"}
CLEAN = ("E0301", "E0302", "E0304")  # no plan, none found, a method that does not apply
AMPLE = "1000GiB"


class Question(NamedTuple):
    """One row, and at most how long it takes; ask(table, raw) adds it."""

    name: str
    seconds: float
    ask: Callable


class Asker:
    def __init__(self, args):
        self.pantoum, self.out, self.quick = args.pantoum, args.out, args.quick
        self.tools = os.path.join(args.reference, "tools")

    def missing(self):
        """The first tool that is not there."""
        for name in ("gen_costgraph.py", "check_plan.py", "run_reference.py"):
            if not os.path.exists(self.tool(name)):
                return self.tool(name)
        return None

    def tool(self, name):
        return os.path.join(self.tools, name)

    def limit(self, seconds):
        return min(seconds, 5) if self.quick else seconds

    def graph(self, words, device="jet", seed=1):
        """The generated cost graph, made once."""
        path = os.path.join(self.out, "graphs", f"{words} {device} {seed}.json".replace(" ", "-"))
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            subprocess.run([sys.executable, self.tool("gen_costgraph.py"), *words.split(), "--device", device, "--seed", str(seed), "-o", path + ".part"], check=True)
            os.replace(path + ".part", path)
        return path

    def unplanned(self, graph, *options):
        """The step with all the RAM."""
        words = [self.pantoum, "plan", "--costgraph", graph, "--format", "json", "--ram", AMPLE, "--effort", "1", "--measure", "off", *options]
        return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    def peak(self, graph, *options):
        return self.unplanned(graph, *options)["unplanned_peak_bytes"]

    def plan(self, graph, ram, limit, *options, objective="energy", timeout=None):
        with tempfile.TemporaryDirectory() as folder:
            plan, refusal = os.path.join(folder, "plan.json"), os.path.join(folder, "refusal.json")
            words = [self.pantoum, "plan", "--costgraph", graph, "--ram", f"{ram}B", "--objective", objective, "--time-limit", f"{limit}s", "--measure", "off",
                     "--format", "json", "--write-refusal", refusal, "-o", plan, *options]
            begin = time.monotonic()
            try:
                done = subprocess.run(words, capture_output=True, text=True, timeout=timeout or 3 * limit + 60)
            except subprocess.TimeoutExpired:
                return {"seconds": time.monotonic() - begin, "exit": None, "why": "it did not come back", "failed": timeout is None}
            answer = {"seconds": time.monotonic() - begin, "exit": done.returncode}
            if done.returncode:
                return {**answer, **self.refused(done, refusal)}
            return {**answer, **self.checked(graph, plan, json.loads(done.stdout), ram, options, UNIT[objective])}

    def refused(self, done, refusal):
        said = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        error = json.loads(said) if said.startswith("{") else {"message": said}
        found = {"code": error.get("error"), "why": error["message"], "failed": error.get("error") not in CLEAN}
        if done.returncode == 5:
            found["refuted"] = os.path.exists(refusal) and subprocess.run([self.pantoum, "verify", refusal], capture_output=True).returncode == 0
        return found

    def checked(self, graph, plan, said, ram, options, unit):
        words = [sys.executable, self.tool("check_plan.py"), graph, plan, "--ram", str(ram), "--json"]
        if "--deadline" in options:
            words += ["--deadline", options[options.index("--deadline") + 1].rstrip("s")]
        verdict = subprocess.run(words, capture_output=True, text=True)
        if verdict.returncode:
            return {"why": "not valid: " + (verdict.stdout.strip() or verdict.stderr.strip()), "failed": True}
        replay = json.loads(verdict.stdout)
        value, bound = replay[unit], said["bound"].get(unit, 0.0)
        return {"value": value, "energy_j": replay["energy_j"], "time_s": replay["time_s"], "unplanned": said["unplanned_" + unit], "bound": bound,
                "extra": value / said["unplanned_" + unit] - 1, "gap": max(0.0, 1 - bound / value), "order": said["bound"].get("order"),
                "status": said["status"], "ops": said["ops"], "solver_s": said["seconds"]}


def told(answer):
    """An answer in a few words, for a row's note."""
    seconds = f"{answer['seconds']:.1f} s"
    if "value" in answer:
        return f"{answer['ops']} ops, extra {answer['extra']:.3%}, gap {answer['gap']:.2g} ({answer['order']} order), {seconds}"
    if answer.get("refuted"):
        return f"proved impossible, {seconds}"
    return f"{answer.get('code') or 'exit ' + str(answer['exit'])}: {answer['why'][:120]}, {seconds}"


def cheapest(graph, objective):
    """What every op costs at least, once: the trivial bound."""
    with open(graph) as file:
        return sum(min(choice[UNIT[objective]] for choice in op["choices"]) for op in json.load(file)["ops"])
