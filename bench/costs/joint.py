"""The search over graphs, algorithms and plans against default algorithms with the best plan, in one budget, in turns."""
import os
import time
from statistics import median

from ask import Refused, course
from turns import in_turns, ratio

NETWORKS = {"lenet5": 32, "vgg16": 8, "vgg16_bn": 8, "resnet18": 8, "resnet50": 1, "mobilenet_v2": 2, "squeezenet": 2, "unet": 2, "bert_mini": 2, "lstm": 32}
SHARES = (1, .5, .3)
DEFAULT = ("--disable", "rewriting", "--disable", "algorithms")
WAYS = {"same-bits": (), "any-bits": ("--allow-numerics-change",)}
NOISE, BETTER = 1.03, .85
SECONDS = 4  # of steps, of all ways together: 60 questions share 20 minutes
LONGER = 5  # seconds inside a budget: in three, the least that is asked for, plans of both still differ by how far they came
M4 = ("--device", "m4", "--objective", "energy", "--effort", 6)


class Pace:
    """Of questions, to the end of the benchmark."""

    def __init__(self, end, questions):
        self.begin, self.end, self.questions, self.done = time.monotonic(), end, questions, 0

    def over(self):
        return time.monotonic() > self.end

    def next(self, shortest):
        """Of the next question: how long to plan inside a budget, LONGER while all fit, else what an unbounded one gets; and until when its steps are to have more rounds than
        the least."""
        now, left = time.monotonic(), self.questions - self.done
        each = (now - self.begin) / max(1, self.done)
        self.done += 1
        return LONGER if now + each * left <= self.end else shortest, now + (self.end - now) / left


def row_of(name, share, threads, way):
    return f"joint {name} {share} {'one' if threads == 1 else 'all'} {way}"


def measured(bench, program, name, share, threads, peak, best, seconds):
    batch, count = NETWORKS[name], ("--threads", threads)
    patience = ("--time-limit", f"{seconds}s") if share < 1 else ()
    ram = f"{int(peak * share)}B"
    if program.proved_least(name, batch, *count) > int(peak * share):  # with its parameters in RAM, nothing fits
        count += ("--params-in", "aux")
    folder = os.path.join(program.folder, name)
    paths = {way: os.path.join(folder, f"joint-{way}.json") for way in ("default", *WAYS)}
    rows = {way: row_of(name, share, threads, way) for way in WAYS}
    made = {}
    for way, words in {"default": DEFAULT, **WAYS}.items():
        try:
            made[way] = program.plan(name, batch, ram, paths[way], *count, *patience, *words)
        except Refused as none:
            made[way] = str(none)
    if isinstance(made["default"], str):
        proved = program.proved_least(name, batch, *count) > int(peak * share)
        for way, row in rows.items():
            plans = not isinstance(made[way], str)
            bench.table.add(row, 1.0, "x", "<= 1", True, f"no plan with default algorithms{', which is proved' if proved else ''}; joint: {'one' if plans else 'none'}")
        return
    done = {way: course(path) for way, path in paths.items() if not isinstance(made[way], str)}
    ways = [way for way in done if way == "default" or done[way] != done["default"]]
    turns = dict(zip(ways, in_turns([program.steps(name, batch, paths[way], *count) for way in ways], SECONDS, bench.until)[0])) if len(ways) > 1 else {}
    for way, row in rows.items():
        if way in done and way not in turns:
            best.setdefault(name, 1)
            bench.table.add(row, 1.0, "x", "<= 1", True, "the same plan")
            continue
        if way not in turns:
            bench.table.add(row, 9.0, "x", "<= 1", False, f"no plan: {made[way]}")
            continue
        share_of_time = ratio(turns[way], turns["default"])
        best[name] = min(best.get(name, 1), share_of_time if way == "any-bits" else 1)
        rules = sorted({of["rule"] for of in made[way].get("substitutions", [])})
        bench.raw[row] = {"seconds": turns[way], "default_s": turns["default"], "rules": rules}
        aux = ("; parameters in storage" if "aux" in count else "") + (f"; planned for {seconds} s" if share < 1 and seconds < LONGER else "")
        bench.table.add(row, share_of_time, "x", "<= 1", share_of_time <= NOISE,
                        f"{median(turns[way]) * 1e3:.4g} of {median(turns['default']) * 1e3:.4g} ms{aux}{'; ' + ', '.join(rules) if rules else ''}")


def modelled(bench, program, name, best):
    """On a microcontroller's costs, with as much RAM as the step wants: energy, modelled."""
    base = ("plan", program.model(name), "--batch", 1, "--ram", "4GiB", "--rom", "0B", *M4)
    try:
        joint, default = program.ask_all([(*base, "--allow-numerics-change"), (*base, *DEFAULT)])
        less = joint["energy_j"] / default["energy_j"]
    except Refused as none:
        return bench.table.add(f"joint {name} m4 any-bits", 9.0, "x", "reported", False, str(none))
    best[name] = min(best.get(name, 1), less)
    bench.table.add(f"joint {name} m4 any-bits", less, "x", "reported", True, "modelled energy, batch 1, RAM for everything")


def run(bench, program, cores):
    best, asked = {}, [name for name in NETWORKS if bench.table.wants(f"joint {name}")]
    counts, shares = sorted({1, cores}), SHARES[:1] if bench.quick else SHARES
    pace = Pace(bench.end, len(asked) * len(counts) * len(shares))
    for name in asked:
        peak = program.peak(name, NETWORKS[name])
        for threads in counts:
            if not pace.over():
                program.measure(name, NETWORKS[name], "--threads", threads, "--allow-numerics-change")
            for share in shares:
                if pace.over():
                    for way in WAYS:
                        bench.table.skip(row_of(name, share, threads, way), "no time left (--minutes)")
                    continue
                seconds, bench.until = pace.next(program.plan_seconds)
                measured(bench, program, name, share, threads, peak, best, seconds)
        modelled(bench, program, name, best)
        bench.save()
    better = sorted(name for name, share in best.items() if share <= BETTER)
    if best:
        bench.table.add("joint better", len(better), "models", ">= 5", len(better) >= 5, "15% better with any bits, measured or on m4: " + ", ".join(better))
