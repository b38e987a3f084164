"""The program, asked in JSON; models and their folders."""
import concurrent.futures
import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLENTY = "64GiB"


class Refused(RuntimeError):
    """There is no plan, or the program failed, with its first line."""

    @staticmethod
    def first_error(said, code):
        """Of what it said on standard error; warnings stand before it."""
        return ([line for line in said.splitlines() if line.startswith('{"error"')] or [f"exit {code}"])[0][:160]


class Program:
    """`export` is a command that writes net.onnx, and what goes with it, of the network NAME into FOLDER: its last two arguments."""

    def __init__(self, pantoum, folder, plan_seconds, export):
        self.pantoum, self.folder, self.plan_seconds, self.export = pantoum, folder, plan_seconds, export
        self.store = os.path.join(folder, "times.db")
        self.known_limits = {}
        os.makedirs(folder, exist_ok=True)

    def ask(self, *words):
        """The last line of JSON on stdout; the exit code tells of refusals."""
        done = subprocess.run([self.pantoum, *map(str, words), "--format", "json"], capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not lines:
            raise Refused(Refused.first_error(done.stderr, done.returncode))
        return json.loads(lines[-1])

    def ask_all(self, questions):
        """Answers in their order, of as many at a time as there are cores: for what neither measures nor plans for a time."""
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return list(pool.map(lambda words: self.ask(*words), questions))

    def model(self, name):
        """Exported once in a process of its own: PyTorch stays out of this one."""
        folder = os.path.join(self.folder, name)
        path = os.path.join(folder, "net.onnx")
        if not os.path.exists(path):
            os.makedirs(folder, exist_ok=True)
            subprocess.run([*self.export, name, folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return path

    def forget_times(self):
        """Those of an earlier run, of a machine that was busier or of other kernels."""
        if os.path.exists(self.store):
            os.remove(self.store)

    def times(self):
        return ("--profile-store", self.store)

    def plan(self, name, batch, ram, out, *words):
        return self.ask("plan", self.model(name), "--batch", batch, "--ram", ram, *(() if "--time-limit" in words else ("--time-limit", f"{self.plan_seconds}s")),
                        *(() if "--objective" in words else ("--objective", "time")), "--measure", "missing", *self.times(), "-o", out, *words)

    def steps(self, name, batch, plan, *words):
        """The command that takes a step of a plan whenever it is asked to."""
        return (self.pantoum, "profile", self.model(name), "--batch", batch, "--plan", plan, "--on-request", "--steps", 100000, "--measure", "known",
                "--ram", PLENTY, "--format", "json", *self.times(), *words)

    def measure(self, name, batch, *words):
        """Every kernel of a step that was not measured yet, whatever it takes."""
        return self.ask("profile", self.model(name), "--batch", batch, "--ram", PLENTY, *self.times(), *words)

    def peaks(self, asked):
        """Of steps (network, batch, words) with everything kept, in bytes."""
        made = self.ask_all([("plan", self.model(name), "--batch", batch, "--ram", PLENTY, "--effort", 1, "--disable", "rewriting", *words) for name, batch, *words in asked])
        return [of["unplanned_peak_bytes"] for of in made]

    def peak(self, *asked):
        return self.peaks([asked])[0]

    def least_ram(self, name, batch, *words):
        """For which a plan is known, in bytes."""
        return self.limits(name, batch, *words)["min_ram_bytes"]

    def proved_least(self, name, batch, *words):
        """Below which no plan is, proved, in bytes."""
        return self.limits(name, batch, *words)["min_ram_bound_bytes"]

    def limits(self, name, batch, *words):
        asked = (name, batch, *words)
        if asked not in self.known_limits:
            self.known_limits[asked] = self.ask_limits(*asked)
        return self.known_limits[asked]

    def ask_limits(self, name, batch, *words):
        done = subprocess.run([self.pantoum, "plan", self.model(name), "--batch", str(batch), "--ram", "1B", "--format", "json",
                               *map(str, words if "--effort" in words else ("--effort", 1, "--disable", "rewriting", *words))],
                              capture_output=True, text=True)
        said = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if not said or not json.loads(said[-1]).get("min_ram_bytes"):
            raise Refused(Refused.first_error(done.stderr, done.returncode))
        return json.loads(said[-1])


def course(path):
    """What a plan does, in order: kernels, transfers and their places in the arena."""
    with open(path) as file:
        plan = json.load(file)
    names = {tensor["id"]: tensor["name"] for tensor in plan["graph"]["tensors"]}
    ops = {op["id"]: op for op in plan["graph"]["ops"]}
    return [(ops[step["op"]]["name"], ops[step["op"]]["choices"][step["choice"]]["algorithm"], step["at"]) if step["do"] == "compute" else
            (step["do"], names[step["tensor"]], step.get("at")) for step in plan["instructions"]]
