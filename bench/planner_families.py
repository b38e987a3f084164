"""Every family of synthetic steps on every device at several budgets, against every planner of the literature.

A row is one question. Pantoum and each baseline get the same time limit, the baselines two at a time on a core each; every
plan is replayed by the independent checker, whose figure counts. A gap of 0 is asked for: a baseline may be at the optimum. A baseline that does not apply (a method for chains, a model
too large for it), or finds no plan in the time, says so and is counted apart.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

DEVICES = ("m0", "m4", "a72", "jet")
SHARES = (0.6, 0.4, 0.3)
UNETS = ("unet 20", "unet 40", "unet 60")
OTHERS = ("resnet 8", "resnet 24", "transformer 4", "transformer 12", "chain 50", "chain 200")
QUICK = {("unet 20", "jet", 0.4), ("resnet 8", "m4", 0.4), ("transformer 4", "a72", 0.6), ("chain 50", "m0", 0.3)}
ROUNDING = 1 + 1e-9  # energies are sums in another order


def questions(quick):
    for words in (*UNETS, *OTHERS):
        for device in DEVICES:
            for share in SHARES:
                if not quick or (words, device, share) in QUICK:
                    yield words, device, share


def baselines(pantoum):
    text = subprocess.run([pantoum, "plan", "--help"], capture_output=True, text=True, check=True).stdout
    names = re.search(r"--planner TEXT:\{([^}]*)\}", text).group(1).split(",")
    return [name for name in names if not name.startswith("pantoum")]


class Asker:
    def __init__(self, args, graph):
        self.pantoum, self.graph, self.seconds = args.pantoum, graph, args.time_limit
        self.checker = os.path.join(args.reference, "tools", "check_plan.py")

    def peak(self):
        done = subprocess.run([self.pantoum, "plan", "--costgraph", self.graph, "--format", "json", "--ram", "1000GiB", "--effort", "1"],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["unplanned_peak_bytes"]

    def ask(self, planner, ram, threads):
        """What the checker says of the planner's plan, with the plan's proved gap; or {"why": ...}."""
        with tempfile.TemporaryDirectory() as folder:
            plan = os.path.join(folder, "plan.json")
            words = [self.pantoum, "plan", "--costgraph", self.graph, "--ram", f"{ram}B", "--time-limit", f"{self.seconds}s", "--format", "json",
                     "--gap", "0%", "--threads", str(threads), "--planner", planner, "-o", plan]
            try:
                done = subprocess.run(words, capture_output=True, text=True, timeout=4 * self.seconds)
            except subprocess.TimeoutExpired:
                return {"why": "late", "failed": True}
            if done.returncode:
                said = done.stderr.strip().splitlines()[-1:] or [f"exit {done.returncode}"]
                error = json.loads(said[0]) if said[0].startswith("{") else {"message": said[0]}
                return {"why": error["message"], "code": error.get("error"), "failed": error.get("error") not in ("E0301", "E0302", "E0304")}
            verdict = subprocess.run([sys.executable, self.checker, self.graph, plan, "--ram", str(ram), "--json"], capture_output=True, text=True)
            if verdict.returncode:
                return {"why": verdict.stdout.strip() or verdict.stderr.strip(), "failed": True}
            answer = json.loads(done.stdout)
            return {"energy_j": json.loads(verdict.stdout)["energy_j"], "gap": answer["gap"], "ops": answer["ops"]}


def row(table, asker, name, ram, names, raw):
    answers = {"pantoum": asker.ask("pantoum", ram, 2)}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers.update(zip(names, pool.map(lambda planner: asker.ask(planner, ram, 1), names)))
    raw[name] = {"ram_bytes": ram, "answers": answers}
    own, others = answers["pantoum"], {each: answers[each] for each in names if "energy_j" in answers[each]}
    inapplicable = sum(answers[each].get("code") == "E0304" for each in names)
    apart = f"{len(others)} baselines plan, {inapplicable} do not apply, {len(names) - len(others) - inapplicable} find none"
    broken = [each for each in answers if answers[each].get("failed")]
    if broken:
        apart += "; broken: " + ", ".join(f"{each} ({answers[each]['why'][:80]})" for each in broken)
    if "energy_j" not in own:
        least = answers["pantoum"].get("code") == "E0301" and not others
        return table.add(f"{name}: energy over the best baseline", 1.0, "", "<= 1", least and not broken, f"{own['why']}; {apart}")
    best = min(others, key=lambda each: others[each]["energy_j"], default=None)
    ratio = own["energy_j"] / others[best]["energy_j"] if best else 1.0
    table.add(f"{name}: energy over the best baseline", ratio, "", "<= 1", ratio <= ROUNDING and not broken,
              f"best {best or 'none'}; {apart}; {own['ops']} ops, proved gap {own['gap']:.2g}")


def families(table, args, raw):
    tool = os.path.join(args.reference, "tools", "gen_costgraph.py")
    names = None
    for words, device, share in questions(args.quick):
        name = f"family {words} {device} at {share:g}"
        if not table.wants(name):
            continue
        if not os.path.exists(tool):
            table.skip(name, f"no {tool}")
            continue
        names = names or baselines(args.pantoum)
        graph = os.path.join(args.out, f"{words} {device}.json".replace(" ", "-"))
        if not os.path.exists(graph):
            subprocess.run([sys.executable, tool, *words.split(), "--device", device, "-o", graph], check=True)
        asker = Asker(args, graph)
        row(table, asker, name, int(share * asker.peak()), names, raw)
    summarise(table)


def summarise(table):
    rows = [row for row in table.rows if row["name"].startswith("family ") and not row["skipped"]]
    if rows:
        table.add("families: worst energy over the best baseline", max(row["value"] for row in rows), "", "<= 1", all(row["ok"] for row in rows),
                  f"{sum(row['ok'] for row in rows)} of {len(rows)} rows never worse; mean {sum(row['value'] for row in rows) / len(rows):.4f}")
